"""Runs and data -> the record that is saved with results: inputs, systems, machine and date.

It is not part of a key; see `run_key`.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from kg2rag.evaluation.machine import load_average
from kg2rag.evaluation.run_key import text_identity
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.extraction.sources import SOURCES, CombinedExtractor
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.system_parts import is_component, knowledge_bases
from kg2rag.types import Corpus, GoldUnit, QADataset

_NO_DIFFERENCE = (
    "started seconds ms_per_query build_seconds runs load_average command batch_size threads blas graphs graph_unread "
    "graph_use graph_systems not_cached code fingerprint"
).split()
"""Keys of a configuration that do not determine its numbers."""
_MACHINE = ("python", "platform", "processor", "versions", "threads", "blas", "commit")


def without_folders(value: object) -> str:
    """The `repr` of a source or encoder with names of files in place of paths.

    It is equal on all machines.
    """
    if isinstance(value, Path) or (
        isinstance(value, str) and Path(value).is_absolute()
    ):
        return repr(Path(value).name)
    if isinstance(value, list | tuple):
        return f"({', '.join(map(without_folders, value))})"
    if is_component(value) and type(value).__dataclass_params__.repr:  # type: ignore[attr-defined]
        shown = [field.name for field in fields(value) if field.repr]  # type: ignore[arg-type]
        parameters = [
            f"{name}={without_folders(getattr(value, name))}" for name in shown
        ]
        return f"{type(value).__name__}({', '.join(parameters)})"
    return repr(value)


def source_label(source: object) -> str:
    """A graph source as a user writes it, such as "openie(FILE)"; its `repr` if it has no name."""
    if isinstance(source, CombinedExtractor):
        return "+".join(map(source_label, source.sources))
    for name, entry in SOURCES.entries.items():
        if entry == f"{type(source).__module__}:{type(source).__name__}":
            file = getattr(source, "path", None)
            return name if file is None else f"{name}({Path(file).name})"
    return without_folders(source)


def parameters(value: object) -> Any:
    """The parameters of a system for readers, as JSON values.

    A file has its checksum beside its name. A parameter that `repr` hides is a checksum, and one
    that is no JSON value is its `repr`. Knowledge bases are left out.
    """
    if isinstance(value, bool | int | float | None):
        return value
    if isinstance(value, str | Path):
        return _text(value)
    if isinstance(value, Mapping):
        return {str(key): parameters(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        value = sorted(value, key=repr)
    if isinstance(value, list | tuple):
        return [parameters(item) for item in value]
    if is_component(value) and not isinstance(value, KnowledgeBase | Corpus):
        return dict(_component_parameters(value))
    return repr(value)


def _component_parameters(component: Any) -> Iterator[tuple[str, Any]]:
    """The items of a component's record: its class, then each parameter."""
    yield "class", f"{type(component).__module__}.{type(component).__qualname__}"
    for field in fields(component):
        part = getattr(component, field.name)
        if field.name.startswith("_") or isinstance(part, KnowledgeBase):
            continue
        if field.repr:
            yield field.name, parameters(part)
        elif isinstance(part, np.ndarray | str | Mapping):
            yield field.name, {"sha256": _checksum(part)}


def _text(value: str | Path) -> Any:
    """The record of a text or path, with the checksums of the files that it names."""
    content = text_identity(value)
    if isinstance(content, dict):
        return {"file": str(value), **content}
    if isinstance(content, list) and isinstance(value, str) and content[:1] == [value]:
        checksums = [part["sha256"] for part in content[1:] if isinstance(part, dict)]
        return {"value": value, "sha256": checksums}
    if isinstance(value, Path):
        return repr(value)
    return value


def _checksum(value: np.ndarray | str | Mapping[Any, Any]) -> str:
    """The SHA-256 of an array's bytes, or of the `repr` of another value."""
    content = repr(value).encode("utf-8", "surrogatepass")
    if isinstance(value, np.ndarray):
        content = value.tobytes()
    return hashlib.sha256(content).hexdigest()


def of_run(
    kbs: Sequence[KnowledgeBase], former_counts: Sequence[Mapping[str, int]]
) -> dict[str, Any]:
    """The record of a block of a run: its knowledge bases with their encoders, and its graphs.

    former_counts : the counts of each knowledge base before the run.
    """
    knowledge = []
    graphs = []
    read_graph = False
    for kb, counts_before in zip(kbs, former_counts, strict=True):
        counts = kb.usage - Counter(counts_before)
        read_graph |= counts["graph reads"] > 0
        source = without_folders(kb.source)
        about = {
            "corpus": kb.corpus.fingerprint,
            "passages": len(kb.corpus),
            "shuffled": kb.mention_table is not None,
            "graph": {"source": source, "fingerprint": kb.source.fingerprint},
            "encoder": _encoder_record(kb, has_encoded=counts["encodings"] > 0),
        }
        knowledge.append(about)
        if kb.graph_sizes:
            graphs.append({"source": source, **kb.graph_sizes})
    return {
        "load_average": load_average(),
        "knowledge": knowledge,
        "graphs": graphs,
        "read_graph": read_graph,
    }


def _encoder_record(kb: KnowledgeBase, *, has_encoded: bool) -> dict[str, Any]:
    """The record of a knowledge base's encoder, with its fingerprint if it was called."""
    record: dict[str, Any] = {"encoder": without_folders(kb.embedder)}
    if has_encoded:
        record["fingerprint"] = kb.embedder.fingerprint(kb.store)
        record |= getattr(kb.embedder, "describe", lambda _: {})(kb.store)
    return record


def of_blocks(blocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The record of a whole run from those of its blocks: inputs, start and machine."""
    first = min(blocks, key=lambda block: str(block["started"]))
    # A block that called the encoder has the longest record.
    fullest = max(blocks, key=lambda block: len(str(block["knowledge"])))
    return {
        **first["environment"],
        "started": first["started"],
        "load_average": first["load_average"],
        "knowledge": fullest["knowledge"],
        "graphs": max((block["graphs"] for block in blocks), key=len),
        "read_graph": any(block["read_graph"] for block in blocks),
    }


def of_runs(
    runs: Mapping[str, Mapping[str, Any]], systems: Mapping[str, object]
) -> dict[str, Any]:
    """The entries of a configuration on inputs, machine and date.

    Machine and versions are those of the first run; the entry "runs" has the differences of others.

    runs : system -> `Run.about`.
    """
    first = next(iter(runs.values()))
    unread = {
        name: _unread_graphs(about, systems[name]) for name, about in runs.items()
    }
    graphs = {
        json.dumps(graph): graph for about in runs.values() for graph in about["graphs"]
    }
    return {
        "knowledge": _knowledge_of(runs),
        "graphs": list(graphs.values()),
        "graph_unread": {name: graphs for name, graphs in unread.items() if graphs},
        **{key: first[key] for key in _MACHINE},
        "started": min(about["started"] for about in runs.values()),
        "runs": {
            name: _date_and_machine_differences(about, first)
            for name, about in runs.items()
        },
    }


def _date_and_machine_differences(
    about: Mapping[str, Any], first: Mapping[str, Any]
) -> dict[str, Any]:
    """The date of a run, and the facts about its machine that differ from those of the first run."""
    machine = [key for key in _MACHINE if about[key] != first[key]]
    return {key: about[key] for key in ("started", "load_average", *machine)}


def _unread_graphs(about: Mapping[str, Any], system: object) -> list[str]:
    """The labels of graphs that the user chose for a system and that its run did not read.

    The default graph is not chosen by the user.
    """
    if about["read_graph"]:
        return []
    default = Mentions().fingerprint
    sources = [
        kb.source for kb in knowledge_bases(system) if kb.source.fingerprint != default
    ]
    return list(dict.fromkeys(map(source_label, sources)))


def _knowledge_of(runs: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The distinct knowledge bases of runs, each with its systems.

    The record of its encoder is the longest, that of a run which called it.
    """
    knowledge: dict[str, dict[str, Any]] = {}
    for name, about in runs.items():
        for kb in about["knowledge"]:
            key = json.dumps(
                [kb["corpus"], kb["shuffled"], kb["graph"], kb["encoder"]["encoder"]]
            )
            entry = knowledge.setdefault(key, {"systems": [], **kb})
            entry["systems"].append(name)
            entry["encoder"] = max(entry["encoder"], kb["encoder"], key=len)
    return list(knowledge.values())


def data(dataset: QADataset, unit: GoldUnit | None = None) -> dict[str, Any]:
    """The record of a data set: name, source, sizes and checksums.

    `gold_out_of_reach` is the number of questions whose gold no system may return completely.
    """
    about = {
        "name": dataset.name,
        "setting": dataset.setting,
        "unit": unit or dataset.unit,
        "questions": len(dataset),
        "passages": len(dataset.corpus),
        "corpus_fingerprint": dataset.corpus.fingerprint,
        "questions_sha256": questions(dataset),
        "source": dict(dataset.source),
        "gold_out_of_reach": _gold_out_of_reach(dataset),
    }
    if dataset.unjudged:
        about["without_gold"] = {
            "questions": len(dataset.unjudged),
            "judged": dataset.irrelevant,
            "unmatched": dataset.unmatched,
        }
    return about


def _gold_out_of_reach(dataset: QADataset) -> int:
    """The number of questions with gold that is not among their candidates."""
    count = 0
    corpus = dataset.corpus
    for question in dataset.questions:
        if question.candidates is None:
            continue
        reachable = set(question.candidates)
        if dataset.unit == "document":
            reachable = {
                corpus.doc_ids[corpus.row(candidate)] for candidate in reachable
            }
        count += not set(question.gold) <= reachable
    return count


def questions(data: QADataset) -> str:
    """A checksum of all questions: ids, texts, gold, candidates and answers."""
    text = "".join(map(repr, data.questions))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def fingerprint(config: Mapping[str, Any]) -> str:
    """A checksum of the entries that determine the numbers, without those on time and speed."""
    compared = {
        name: value for name, value in config.items() if name not in _NO_DIFFERENCE
    }
    text = json.dumps(compared, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
