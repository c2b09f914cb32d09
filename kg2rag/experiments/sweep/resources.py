"""Names of graphs and encoders -> the objects by label; and the identity of a data set."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kg2rag.compute.encoder import DEFAULT_MODEL, Embedder, SentenceEncoder
from kg2rag.experiments.sweep.configuration import GraphSource
from kg2rag.extraction import Extractor
from kg2rag.extraction.sources import parse, takes_file
from kg2rag.knowledge.graph import KnowledgeGraph
from kg2rag.types.questions import QADataset

Graphs = GraphSource | Sequence[str] | Mapping[str, GraphSource]
Encoders = str | Embedder | Sequence[str] | Mapping[str, str | Embedder] | None


def graphs(given: Graphs, beside: Mapping[str, Path]) -> dict[str, Extractor | KnowledgeGraph]:
    """Label -> source; `beside` are the graph files of the data set, by kind."""
    named: Mapping[str, GraphSource] = _by_label(given, "graph")
    found: dict[str, Extractor | KnowledgeGraph] = {}
    for label, graph in named.items():
        if isinstance(graph, str) and takes_file(graph):
            if graph not in beside:
                raise ValueError(f"graphs: no {graph} file lies beside the questions. Write {graph}:FILE.")
            graph = f"{graph}:{beside[graph]}"
        found[_short(label)] = parse(graph) if isinstance(graph, str) else graph
    if len(found) < len(named) or not found:
        raise ValueError(f"graphs = {list(named)}: give each a label of its own, as label = source.")
    return found


def embedders(given: Encoders) -> dict[str, Embedder]:
    """Label -> encoder; a model's label is the last part of its name."""
    named: Mapping[str, str | Embedder] = _by_label(DEFAULT_MODEL if given in (None, "") else given, "encoder")
    found = {
        label.split("/")[-1]: SentenceEncoder(one) if isinstance(one, str) else one for label, one in named.items()
    }
    if len(found) < len(named) or not found:
        raise ValueError(f"encoders = {list(named)}: give each a label of its own, as label = model.")
    return found


def _by_label(given: Any, label: str) -> Mapping[str, Any]:
    """Names as labels of themselves, a mapping as it is, a single object under `label`."""
    if isinstance(given, str):
        return {given: given}
    if isinstance(given, Sequence):
        return {name: name for name in given}
    return given if isinstance(given, Mapping) else {label: given}


def fingerprint(data: QADataset) -> str:
    """Of the corpus, the questions, and how they are judged."""
    digest = hashlib.sha256(f"{data.corpus.fingerprint} {data.setting} {data.unit}".encode())
    for question in data.questions:
        digest.update(repr(question).encode())
    return digest.hexdigest()[:16]


def _short(label: str) -> str:
    """The kind of a graph file ("openie:folder/file.json" -> "openie"); other labels as they are."""
    kind, colon, _ = label.partition(":")
    return kind if colon and takes_file(kind) else label
