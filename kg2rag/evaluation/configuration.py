"""What `compare` was asked, what it ran and where -> the configuration of its result, as JSON values."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from kg2rag.evaluation import described, provenance
from kg2rag.evaluation.graph_use import graph_use
from kg2rag.evaluation.running import System, remarks, run, run_further
from kg2rag.types import GoldUnit, QADataset, Ranking


@dataclass
class Measured:
    """Systems as they were run.

    Attributes
    ----------
    runs : name -> a run for each seed. ms_per_query : name -> the mean over seeds. unread : name -> the graphs that
        were given and of which nothing was read. about : the configuration, as far as it is known without the options.
    """

    runs: dict[str, list[list[Ranking]]] = field(default_factory=dict)
    ms_per_query: dict[str, float] = field(default_factory=dict)
    unread: dict[str, list[str]] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)


class Clock:
    """When, under what load and at which commit some work began: a checkout may be at another when it ends."""

    def __init__(self) -> None:
        self.started, self.begin = datetime.now(UTC), time.perf_counter()
        self.load, self.commit = provenance.load_average(), provenance.commit()

    def read(self) -> dict[str, Any]:
        """Beginning, seconds and load since then, machine and versions, and the commit of the beginning."""
        return {
            "started": self.started.isoformat(timespec="seconds"),
            "seconds": round(time.perf_counter() - self.begin, 3),
            "load_average": {"start": self.load, "end": provenance.load_average()},
            **provenance.environment(),
            "commit": self.commit,
        }


def measured(
    systems: Mapping[str, Sequence[System]], data: QADataset, *, k: int, batch_size: int, progress: bool
) -> Measured:
    """Run systems, each under its seeds, and describe what they are and read."""
    first = {name: alike[0] for name, alike in systems.items()}
    encodings, done = described.encodings(first), Measured()
    for name, alike in systems.items():
        read_before = described.graph_reads(alike)
        results = [run(name, alike[0], data, k, batch_size, progress=progress)]
        results += run_further(name, alike[1:], data, k, batch_size, progress=progress)
        if described.graph_reads(alike) == read_before and (given := described.given_graphs(alike)):
            done.unread[name] = given
        done.runs[name] = [rankings for rankings, _ in results]
        done.ms_per_query[name] = round(sum(ms for _, ms in results) / len(results), 3)
    about = described.parameters(first)
    done.about = {
        "systems": {name: repr(system) for name, system in first.items()},
        "parameters": about,
        "tuning": described.tuning(about),
        "knowledge": described.knowledge(first, encodings),
        "graphs": described.graphs(first),
        "graph_unread": done.unread,
        "remarks": remarks(first),
        "graph_use": graph_use({name: alike[0] for name, alike in done.runs.items()}),
        "ms_per_query": {name: None if ms != ms else ms for name, ms in done.ms_per_query.items()},
    }
    return done


def seeds(systems: Mapping[str, Sequence[System]]) -> dict[str, list[str]]:
    """Name -> the systems of that name, of those that run under several seeds."""
    return {name: list(map(repr, alike)) for name, alike in systems.items() if len(alike) > 1}


def about_data(data: QADataset, unit: GoldUnit) -> dict[str, Any]:
    """What the configuration says of the questions and passages."""
    return {**described.data(data), "unit": unit, "gold_out_of_reach": _out_of_reach(data)}


def _out_of_reach(data: QADataset) -> int:
    """How many questions have gold that is not among their own candidates, which caps every system's recall."""
    corpus = data.corpus
    name = str if data.unit == "passage" else lambda id_: corpus.doc_ids[corpus.row(id_)]
    return sum(q.candidates is not None and not set(q.gold) <= set(map(name, q.candidates)) for q in data.questions)
