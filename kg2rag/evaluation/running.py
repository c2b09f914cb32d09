"""Systems -> checked before any work, then one over all questions: its rankings and its milliseconds per query."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, TypeVar

from kg2rag.compute import has_workers, map_pieces
from kg2rag.compute.progress import bar as progress_bar
from kg2rag.evaluation.checks import check_candidates, check_rankings
from kg2rag.types import FloatArray, IntArray, QADataset, Query, Ranking, called

T = TypeVar("T")


class System(Protocol):
    """Anything that ranks passages for a batch of queries, such as a `kg2rag.Retriever`.

    A method `prepare(queries)`, where there is one, is called first and not timed: it builds indexes, encodes queries.
    """

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One ranking of at most `k` hits a query, in the order of the queries."""


_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")


def require_mapping(systems: object) -> None:
    """Raise TypeError where systems are not given by name."""
    if not isinstance(systems, Mapping):
        raise TypeError(
            f"systems must be a mapping name -> system, not {called(systems)}. Write {{'dense': Dense(kb)}}."
        )


def require_name(what: str, name: object) -> None:
    """Raise ValueError where a name cannot name a file."""
    if not isinstance(name, str) or not _SAFE_NAME.fullmatch(name):
        raise ValueError(
            f"{what} name {name!r} cannot name a file. Use a letter or digit, then letters, digits and '._+-'."
        )


def check_systems(systems: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Name -> the systems of that name, several where they differ by seed.

    Raises TypeError: no mapping, or a value that is not a system; ValueError: none, or a name that cannot name a file.
    """
    require_mapping(systems)
    if not systems:
        raise ValueError("No system to compare. Pass at least one, such as {'bm25': BM25(kb)}.")
    lower: dict[str, str] = {}
    for name in systems:
        require_name("System", name)
        if name.lower() in lower:
            raise ValueError(f"System names {lower[name.lower()]!r} and {name!r} differ only in case; files may not.")
        lower[name.lower()] = name
    return {name: _repeated(name, given) for name, given in systems.items()}


def _repeated(name: str, given: Any) -> list[Any]:
    alike = list(given) if isinstance(given, list | tuple) else [given]
    if not alike:
        raise ValueError(f"System {name!r} is an empty list. Pass a system, or one for every seed.")
    for system in alike:
        if isinstance(system, type) and hasattr(system, "retrieve_batch"):
            raise TypeError(
                f"System {name!r} is the class {system.__name__}. Pass {system.__name__}(kb), or graphs={{…}} "
                "to make one over each."
            )
        if not callable(getattr(system, "retrieve_batch", None)):
            raise TypeError(
                f"System {name!r} is {called(system)}, which has no retrieve_batch(queries, k). "
                "Pass a kg2rag.Retriever, such as BM25(kb), a function (text, k) -> passage ids, or a run."
            )
    if len({repr(system) for system in alike}) < len(alike):
        raise ValueError(
            f"System {name!r} contains one system twice: {[repr(system) for system in alike]}. An equal seed is no "
            "repetition."
        )
    return alike


def replicates(system: T, seeds: int | Iterable[int]) -> list[T]:
    """The system under seeds 0 … n-1, or under those given, ready for `compare({"name": replicates(…)}, …)`.

    Raises
    ------
    TypeError : the system is no dataclass with a field `seed`.
    ValueError : fewer than two seeds, or one given twice.
    """
    chosen = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    names = [field.name for field in dataclasses.fields(system)] if dataclasses.is_dataclass(system) else []
    if "seed" not in names:
        raise TypeError(
            f"{system!r} has no field 'seed', so seeds change nothing in it. Pass a list of systems that differ by "
            "what is random in them."
        )
    if len(set(chosen)) < max(2, len(chosen)):
        raise ValueError(f"Several seeds need at least two, each once, not {chosen}.")
    replaceable: Any = system
    return [dataclasses.replace(replaceable, seed=seed) for seed in chosen]


def remarks(systems: Mapping[str, object]) -> dict[str, str]:
    """Name -> what a system, or a retriever that it is made of, says of its rankings; only those that say anything."""
    said = {name: " ".join(dict.fromkeys(_remarks(system))) for name, system in systems.items()}
    return {name: text for name, text in said.items() if text}


def _remarks(system: object) -> Iterator[str]:
    own = getattr(system, "remark", "")
    if own:
        yield str(own)
    if dataclasses.is_dataclass(system):
        for part in (getattr(system, field.name) for field in dataclasses.fields(system)):
            for one in part if isinstance(part, tuple) else (part,):
                if hasattr(one, "retrieve_batch"):
                    yield from _remarks(one)


def run(
    name: str, system: System, data: QADataset, k: int, batch_size: int, *, progress: bool
) -> tuple[list[Ranking], float]:
    """All rankings of one system, checked, and its milliseconds per query.

    The time is NaN where a system has `timed = False`: its rankings were computed elsewhere.
    """
    queries, rankings, seconds = data.queries, [], 0.0
    with progress_bar(len(queries), name, "query", shown=progress) as bar:
        if prepare := getattr(system, "prepare", None):
            with _said(f"System {name!r} failed as it was prepared: indexes, vectors, a first question."):
                prepare(queries)
        for start in range(0, len(queries), batch_size):
            batch = queries[start : start + batch_size]
            before = time.perf_counter()
            first = f"the batch that begins with query {batch[0].id!r}: {batch[0].text!r}"
            with _said(f"System {name!r} failed in {first}"):
                rankings += system.retrieve_batch(batch, k)
            seconds += time.perf_counter() - before
            bar.update(len(batch))
    check_rankings(rankings, data, k=k, name=name)
    check_candidates(rankings, queries, name)
    return rankings, 1000 * seconds / len(queries) if getattr(system, "timed", True) else float("nan")


def run_further(
    name: str, systems: Sequence[System], data: QADataset, k: int, batch_size: int, *, progress: bool
) -> list[tuple[list[Ranking], float]]:
    """`run` of a system under its further seeds, by workers where there are any (see `kg2rag.compute.workers`).

    From workers come rows and scores: stages, paths and notes are read of the first seed's rankings alone.
    """
    if not has_workers():
        return [run(name, system, data, k, batch_size, progress=progress) for system in systems]
    apart = partial(_run_apart, name, data=data, k=k, batch_size=batch_size)
    found = list(map_pieces(apart, systems, f"{name}, further seeds" if progress else "", len(systems)))
    queries, ids = data.queries, data.corpus.ids
    return [
        ([Ranking(query.id, *hits, ids) for query, hits in zip(queries, rankings, strict=True)], ms)
        for rankings, ms in found
    ]


def _run_apart(
    name: str, system: System, data: QADataset, k: int, batch_size: int
) -> tuple[list[tuple[IntArray, FloatArray]], float]:
    rankings, ms = run(name, system, data, k, batch_size, progress=False)
    return [(ranking.rows, ranking.scores) for ranking in rankings], ms


@contextmanager
def _said(where: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # whatever a system raises is raised on, with where it happened
        error.add_note(where)
        raise
