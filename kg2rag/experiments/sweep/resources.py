"""What a sweep names -> objects: spaces of systems' parameters, checked against the catalogue; graphs; encoders."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from kg2rag.compute import DEFAULT_MODEL, Embedder, embedder_named
from kg2rag.experiments.sweep.configuration import GraphSource
from kg2rag.experiments.sweep.space import Choice, Space, read
from kg2rag.extraction import Extractor
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.extraction.sources import SOURCES, takes_file
from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.retrievers import systems as catalogue
from kg2rag.types import Corpus, Passage, QADataset

SystemSpaces = tuple[str, Mapping[str, Space]]
"""A system's name, and the space of each parameter that is set."""
Graphs = GraphSource | Sequence[str] | Mapping[str, GraphSource]
Encoders = str | Embedder | Sequence[str] | Mapping[str, str | Embedder] | None


def read_systems(
    systems: Mapping[str, Mapping[str, object] | Sequence[Mapping[str, object]]], *, ranges: bool
) -> tuple[SystemSpaces, ...]:
    """The systems in the order given; `ranges` allows ranges without a step, which a grid cannot take.

    Raises
    ------
    ValueError : an unknown system or parameter, or what is no space of values.
    """
    if not isinstance(systems, Mapping) or not systems:
        raise ValueError(f"systems = {systems!r}: name at least one. Known: {', '.join(catalogue.names())}.")
    found: list[SystemSpaces] = []
    for system, given in systems.items():
        if not isinstance(given, list | tuple | Mapping):
            raise ValueError(f"systems.{system} = {given!r}: expected parameters with their values.")
        for number, parameters in enumerate([given] if isinstance(given, Mapping) else given, start=1):
            where = f"systems.{system}" if isinstance(given, Mapping) else f"systems.{system}[{number}]"
            if not isinstance(parameters, Mapping):
                raise ValueError(f"{where} = {parameters!r}: expected parameters with their values.")
            found.append((system, _spaces(where, system, parameters, ranges=ranges)))
    return tuple(found)


def check_systems(spaces: Sequence[SystemSpaces]) -> None:
    """Build every system with each of its values once; ValueError with the catalogue's own words."""
    for system, own in spaces:
        for settings in each_value_once(own):
            try:
                catalogue.build(system, smallest(), **settings)
            except ValueError as error:
                raise ValueError(f"systems.{system}: {error}") from error


@cache
def smallest() -> KnowledgeBase:
    """A knowledge base to build systems over that are looked at and never run."""
    corpus = Corpus.from_passages([Passage("p", "", "p", "p", 0)])
    return KnowledgeBase.build(corpus, KnowledgeGraph.build(Mentions().extract(corpus), corpus))


def _spaces(where: str, system: str, given: Mapping[str, object], *, ranges: bool) -> dict[str, Space]:
    known = catalogue.parameters(system)
    found: dict[str, Space] = {}
    for name, values in given.items():
        if name not in known:
            raise ValueError(
                f"{where}.{name}: system {system!r} has no parameter {name!r}. Known: {', '.join(sorted(known))}."
            )
        try:
            found[name] = read(values)
            if not ranges:
                found[name].grid()
        except ValueError as error:
            raise ValueError(f"{where}.{name} = {values!r}: {error}.") from error
    return found


def each_value_once(spaces: Mapping[str, Space]) -> Iterator[dict[str, object]]:
    """Settings in which one parameter at a time departs from the first values."""
    values = {
        name: space.values if isinstance(space, Choice) else (space.low, space.high) for name, space in spaces.items()
    }
    first = {name: known[0] for name, known in values.items()}
    yield first
    for name, known in values.items():
        yield from ({name: value} for value in known)


def graphs(given: Graphs, beside: Mapping[str, Path]) -> dict[str, Extractor | KnowledgeGraph]:
    """Label -> source; `beside` are the graph files of the data set, by kind."""
    named: Mapping[str, GraphSource] = _by_label(given, "graph")
    found: dict[str, Extractor | KnowledgeGraph] = {}
    for label, graph in named.items():
        if isinstance(graph, str) and takes_file(graph):
            if graph not in beside:
                raise ValueError(f"graphs: no {graph} file lies beside the questions. Write {graph}(FILE).")
            graph = f"{graph}({json.dumps(str(beside[graph]))})"
        # The label of a graph file, "openie(folder/file.json)", is its kind.
        kind = label.partition("(")[0]
        found[kind if takes_file(kind) else label] = SOURCES.build(graph) if isinstance(graph, str) else graph
    if len(found) < len(named) or not found:
        raise ValueError(f"graphs = {list(named)}: give each a label of its own, as label = source.")
    return found


def embedders(given: Encoders) -> dict[str, Embedder]:
    """Label -> encoder; a model's label is the last part of its name, after "static-" for a static encoder."""
    named: Mapping[str, str | Embedder] = _by_label(DEFAULT_MODEL if given in (None, "") else given, "encoder")
    found = {
        _encoder_label(label): embedder_named(one) if isinstance(one, str) else one for label, one in named.items()
    }
    if len(found) < len(named) or not found:
        raise ValueError(f"encoders = {list(named)}: give each a label of its own, as label = model.")
    return found


def _encoder_label(name: str) -> str:
    static = "static-" if name.startswith("static:") else ""
    return static + name.split("/")[-1].removeprefix("static:")


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
