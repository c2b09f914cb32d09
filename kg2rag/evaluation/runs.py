"""A system + questions -> its run: every ranking, what it cost and what it read, kept as entries of the store.

A run is kept in blocks of `BLOCK` questions, each as soon as it is finished, under a key of all that it depends on:
the class and parameters of the system (files by their content), its knowledge bases, the questions (not their gold),
k and the code. Asked for again, a block is read; so a killed comparison goes on where it was, and a comparison with
one more system, another metric or more questions runs only what is new.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import kg2rag
from kg2rag.compute import Store
from kg2rag.compute.parallel import progress_bar
from kg2rag.evaluation import provenance
from kg2rag.evaluation.inputs import check_rankings
from kg2rag.evaluation.provenance import files_in, is_file, knowledge_bases
from kg2rag.evaluation.stored_rankings import read_rankings, write_rankings
from kg2rag.knowledge import KnowledgeBase
from kg2rag.text.records import read_json, sha256
from kg2rag.types import Corpus, QADataset, Query, Ranking

BLOCK = 100
"""Questions of an entry of the store: so many are lost, at most, where a run is killed."""
STAGE, RANKINGS, ABOUT = "runs", "rankings.parquet", "about.json"
ROOMS = ("types", "text", "compute", "extraction", "knowledge", "retrievers")
"""The rooms whose code a ranking depends on."""
LIBRARIES = ("bm25s", "faiss-cpu", "numpy", "scipy")
"""Libraries that compute scores; those of an encoder are part of its fingerprint."""


class System(Protocol):
    """Anything that ranks passages for a batch of queries, such as a `kg2rag.Retriever`.

    A method `prepare(queries)`, where there is one, is called first and not timed: it builds indexes, encodes queries.
    """

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One ranking of at most `k` hits a query, in the order of the queries."""


class NoKeyError(TypeError):
    """Something in a system does not say what it computes, so that its runs cannot be kept."""


@dataclass(frozen=True, eq=False)
class Run:
    """What a system returned for a set of questions.

    Attributes
    ----------
    rankings : one a question, in their order.
    ms_per_query : milliseconds of a warm system. NaN where its rankings were computed elsewhere (`timed = False`), or
        where something was still built while the clock ran.
    build_seconds : what was spent before that: on indexes, graphs, vectors, and a batch to warm up.
    about : what the run depends on and when it was made, as JSON values: see `provenance.of_run`.
    not_kept : why it is not in the store; "" where it is.
    """

    rankings: Sequence[Ranking]
    ms_per_query: float
    build_seconds: float
    about: Mapping[str, Any]
    not_kept: str = ""


def run(
    system: System,
    data: QADataset,
    k: int,
    *,
    name: str = "",
    store: Store | None = None,
    batch_size: int = BLOCK,
    fresh: bool = False,
    progress: bool = True,
) -> Run:
    """The run of a system on all questions of a data set, from the store as far as it is there.

    Parameters
    ----------
    name : of the system, for messages and the progress bar.
    store : where runs are kept; that of the system's knowledge base where not given. A system without one is run
        each time.
    batch_size : queries given to the system at once, at most `BLOCK`; changes speed, never a ranking.
    fresh : run it anew, and keep that.

    Raises
    ------
    ValueError : a ranking that cannot be judged.
    Exception : what the system raises, with a note that names it and the first query of the batch.
    """
    kbs = list({id(kb): kb for kb in knowledge_bases(system)}.values())
    kept, not_kept = _place(system, kbs, k, store)
    queries, worker = data.queries, _Worker(name, system, data, k, kbs, min(batch_size, BLOCK))
    blocks = [queries[start : start + BLOCK] for start in range(0, len(queries), BLOCK)]
    found = [None if kept is None or fresh else kept.find(block) for block in blocks]
    missing = [query for block, entry in zip(blocks, found, strict=True) if entry is None for query in block]
    rankings, abouts = list[Ranking](), list[dict[str, Any]]()
    with progress_bar(len(queries), name, "query", shown=progress) as bar:
        for block, entry in zip(blocks, found, strict=True):
            if entry is None:
                worker.prepare(missing)
                own, about = worker.block(block)
                entry = None if kept is None else kept.keep(block, own, about, fresh=fresh)
            if entry is not None:  # also what was run now: the same however often it is asked for
                own, about = read_rankings(entry / RANKINGS, data.corpus.ids), read_json(entry / ABOUT)
            rankings += own
            abouts.append(about)
            bar.update(len(block))
    ms = _milliseconds(abouts, len(queries)) if getattr(system, "timed", True) else math.nan
    spent = sum(about["build_seconds"] for about in abouts)
    return Run(rankings, ms, spent, provenance.of_blocks(abouts), not_kept)


def _milliseconds(blocks: Sequence[Mapping[str, Any]], queries: int) -> float:
    seconds = [block["seconds"] for block in blocks]
    return math.nan if None in seconds else 1000 * sum(seconds) / queries


def _place(system: object, kbs: Sequence[KnowledgeBase], k: int, store: Store | None) -> tuple[_Place | None, str]:
    """Where the blocks of a system's run are kept, or None and why they are not."""
    store = store or (kbs[0].store if kbs else None)
    if not getattr(system, "timed", True):
        return None, "its rankings were computed elsewhere"
    if store is None:
        return None, "it has no knowledge base, so no store"
    try:
        return _Place(store, {"system": identity(system), "code": code_version(), "k": k}, kbs), ""
    except NoKeyError as error:
        return None, str(error)


@dataclass(frozen=True)
class _Place:
    """The entries of one system's run."""

    store: Store
    key: Mapping[str, object]
    kbs: Sequence[KnowledgeBase]

    def find(self, queries: Sequence[Query]) -> Path | None:
        """The entry of a block, where the encoders that it asked for vectors are still the same ones."""
        entry = self.store.find(STAGE, self._key(queries), libraries=LIBRARIES)
        if entry is None:
            return None
        then = [kb["encoder"].get("fingerprint") for kb in read_json(entry / ABOUT)["knowledge"]]
        if all(one in (None, kb.embedder.fingerprint(kb.store)) for one, kb in zip(then, self.kbs, strict=True)):
            return entry
        self.store.remove(entry)
        return None

    def keep(self, queries: Sequence[Query], rankings: Sequence[Ranking], about: object, *, fresh: bool) -> Path:
        """Write the entry of a block; `fresh`: in place of one that is there."""
        key = self._key(queries)
        if fresh:
            self.store.remove(self.store.place(STAGE, key, libraries=LIBRARIES))

        def write(folder: Path) -> None:
            write_rankings(folder / RANKINGS, rankings)
            (folder / ABOUT).write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")

        return self.store.entry(STAGE, key, write, libraries=LIBRARIES)

    def _key(self, queries: Sequence[Query]) -> dict[str, object]:
        return {**self.key, "questions": _questions(queries)}


def _questions(queries: Sequence[Query]) -> str:
    told = [(query.id, query.text, query.candidates) for query in queries]
    return hashlib.sha256(repr(told).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass
class _Worker:
    """One system at work on the questions whose rankings are not there."""

    name: str
    system: Any
    data: QADataset
    k: int
    kbs: Sequence[KnowledgeBase]
    batch_size: int
    prepared: bool = False
    build_seconds: float = 0.0

    def __post_init__(self) -> None:
        self.before = [kb.counts.copy() for kb in self.kbs]

    def prepare(self, queries: Sequence[Query]) -> None:
        """Build what is needed, once; what a first batch builds or compiles is no part of the time per query."""
        if self.prepared:
            return
        self.prepared, self.environment, before = True, provenance.environment(), time.perf_counter()
        if prepare := getattr(self.system, "prepare", None):
            with _said(f"System {self.name!r} failed as it was prepared: indexes, vectors, a first question."):
                prepare(queries)
        if self.kbs:
            self.retrieve(queries[: self.batch_size])
        self.build_seconds += time.perf_counter() - before

    def retrieve(self, queries: Sequence[Query]) -> list[Ranking]:
        rankings: list[Ranking] = []
        for start in range(0, len(queries), self.batch_size):
            batch = queries[start : start + self.batch_size]
            first = f"the batch that begins with query {batch[0].id!r}: {batch[0].text!r}"
            with _said(f"System {self.name!r} failed in {first}"):
                rankings += self.system.retrieve_batch(batch, self.k)
        return rankings

    def block(self, queries: Sequence[Query]) -> tuple[list[Ranking], dict[str, Any]]:
        """The rankings of a block, checked, and what is said of them.

        Where a knowledge base built anything while the clock ran, the block is run once more; and where it still
        does, there is no time to report.
        """
        started, seconds = provenance.now(), math.nan
        for _ in range(2):
            built, before = sum(kb.counts["builds"] for kb in self.kbs), time.perf_counter()
            rankings = self.retrieve(queries)
            spent = time.perf_counter() - before
            if sum(kb.counts["builds"] for kb in self.kbs) == built:
                seconds = spent
                break
            self.build_seconds += spent
        check_rankings(rankings, self.data, queries=queries, k=self.k, name=self.name)
        times = {"seconds": None if math.isnan(seconds) else seconds, "build_seconds": self.build_seconds}
        self.build_seconds = 0.0
        about = provenance.of_run(self.kbs, self.before)
        return rankings, {"started": started, **times, **about, "environment": self.environment}


@contextmanager
def _said(where: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # whatever a system raises is raised on, with where it happened
        error.add_note(where)
        raise


def identity(value: object) -> Any:
    """All that the rankings of a system depend on but the code of this package, as JSON values.

    Files count by their content, knowledge bases by corpus, graph and encoder, other people's classes by the file
    that defines them.

    Raises NoKeyError: something that does not say what it computes, such as a function.

    >>> identity((1, "a", None))
    [1, 'a', None]
    """
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str | Path):
        return _text_or_files(value)
    if isinstance(value, KnowledgeBase):
        return [value.corpus.fingerprint, value.source.fingerprint, value.mention_table is not None, _encoder(value)]
    if isinstance(value, Corpus):
        return value.fingerprint
    if isinstance(value, np.ndarray | np.generic):
        return [str(value.dtype), value.shape, hashlib.sha256(value.tobytes()).hexdigest()]
    if isinstance(value, Mapping):
        return {str(key): identity(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [identity(one) for one in (sorted(value, key=repr) if isinstance(value, set | frozenset) else value)]
    if is_dataclass(value) and not isinstance(value, type):
        own = {one.name: identity(getattr(value, one.name)) for one in fields(value) if not one.name.startswith("_")}
        return {"class": _class(type(value)), **own}
    raise NoKeyError(f"{value!r} does not say what it computes")


def _encoder(kb: KnowledgeBase) -> str:
    if " object at 0x" in repr(kb.embedder):
        raise NoKeyError(f"its encoder {kb.embedder!r} has no repr that names it")
    return repr(kb.embedder)


def _class(kind: type) -> list[str]:
    """The name of a class, and the content of the files that define it and its bases, of other packages than ours."""
    named = [f"{kind.__module__}.{kind.__qualname__}"]
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] not in ("kg2rag", "builtins", "abc", "typing"):
            try:
                file = inspect.getsourcefile(base)
            except TypeError:  # defined in a cell of a notebook, or by hand
                file = None
            if file is None or not Path(file).is_file():
                raise NoKeyError(f"its class {base.__qualname__} is defined in no file")
            named.append(sha256(Path(file)))
    return named


def _text_or_files(value: str | Path) -> Any:
    if is_file(value):
        return {"sha256": sha256(Path(value))}
    if os.sep in str(value) and Path(value).is_dir():  # as that of a model: too large to be read for this
        states = ((file.name, file.stat()) for file in sorted(Path(value).iterdir()))
        return [[name, state.st_size, state.st_mtime_ns] for name, state in states]
    return [value, *(sha256(Path(file)) for file in files_in(str(value)))] if files_in(str(value)) else str(value)


@cache
def code_version() -> str:
    """A checksum of the files that a ranking depends on, code and data: this package's, from `retrievers` downward."""
    root, digest = Path(kg2rag.__file__).parent, hashlib.sha256()
    for room in ROOMS:
        for file in sorted((root / room).rglob("*")):
            if file.is_file() and file.parent.name != "__pycache__":
                digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()
