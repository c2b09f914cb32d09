"""A system and questions -> its run: rankings, costs and inputs, kept in the store.

A run is stored in blocks of `BLOCK` questions as they finish. The key of a block has all that it
depends on: class and parameters of the system (files by content), knowledge bases, questions (not
their gold), k and the code, see `identity`. After a killed comparison, the same call runs only the
missing blocks.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kg2rag.compute import Store
from kg2rag.compute.parallel import progress_bar
from kg2rag.evaluation import provenance
from kg2rag.evaluation.code_identity import NoKeyError
from kg2rag.evaluation.gold import check_rankings, noted
from kg2rag.evaluation.identity import Walk
from kg2rag.evaluation.loaded_code import code_version, replaced_names
from kg2rag.evaluation.machine import environment
from kg2rag.evaluation.outside_reads import empty_unwatched, note_watched, watched
from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.announcement import announce
from kg2rag.retrievers.system_parts import knowledge_bases, workloads
from kg2rag.text.records import as_parquet, read_json, read_parquet
from kg2rag.types import Notes, QADataset, Query, Ranking, Triple, UnansweredError

BLOCK = 100
"""Questions of an entry of the store: at most so many are lost if a run is killed."""
STAGE, RANKINGS, ABOUT = "runs", "rankings.parquet", "about.json"
LIBRARIES = ("bm25s", "faiss-cpu", "numpy", "scipy")
"""Libraries that compute scores; those of an encoder are part of its fingerprint."""
WITH_PATHS = 20
"""Hits of a ranking whose paths are kept: a path is often computed only when it is displayed."""
_TRIPLE = pa.struct(
    [
        ("head", pa.string()),
        ("relation", pa.string()),
        ("tail", pa.string()),
        ("passage_id", pa.string()),
        ("description", pa.string()),
        ("strength", pa.float64()),
        ("confidence", pa.float64()),
    ]
)
_NAMES = tuple(_TRIPLE.names)  # a struct type computes its names at each access
_PART = pa.struct([("name", pa.string()), ("values", pa.list_(pa.float64()))])
_PATH = pa.struct([("row", pa.int64()), ("triples", pa.list_(_TRIPLE))])
SCHEMA = pa.schema(
    [
        ("query_id", pa.string()),
        ("rows", pa.list_(pa.int64())),
        ("scores", pa.list_(pa.float64())),
        ("stages", pa.list_(pa.string())),
        ("stage_codes", pa.list_(pa.int8())),
        ("parts", pa.list_(_PART)),
        ("paths", pa.list_(_PATH)),
        ("notes", pa.string()),
    ]
)
"""One row per question."""


@dataclass(frozen=True, eq=False)
class Run:
    """The rankings of a system for a set of questions, with times and inputs.

    rankings : one per question, in their order.
    ms_per_query : milliseconds of a warm system. NaN if its rankings were computed elsewhere
    (`timed = False`), or if something was still built while the clock ran.
    build_seconds : spent before that on indexes, graphs, vectors, and a batch to warm up.
    about : what the run depends on and when it was made, as JSON values: see `provenance.of_run`.
    not_cached : why it is not in the store; "" if it is.
    n_stored : how many of the rankings were read from the store; `about["started"]` says when they
    were made.
    """

    rankings: Sequence[Ranking]
    ms_per_query: float
    build_seconds: float
    about: Mapping[str, Any]
    not_cached: str = ""
    n_stored: int = 0


def run(
    system: Any,
    data: QADataset,
    k: int,
    *,
    name: str = "",
    store: Store | None = None,
    batch_size: int = BLOCK,
    fresh: bool = False,
    progress: bool = True,
) -> Run:
    """The run of a system on all questions of a data set; stored blocks are read.

    A run is not stored if its key would be incomplete: a part of the system cannot be compared by
    content, or the user's code reads files that are not parameters, a network or random numbers.

    Parameters
    ----------
    system : ranks a batch, `retrieve_batch(queries, k)`; `prepare(queries)`, if it has that, is
        called first and not timed: it builds indexes, encodes queries.
    name : of the system, for messages and the progress bar.
    store : where runs are kept; by default that of the system's knowledge base. Without one the
        system is run each time.
    batch_size : queries given to the system at once, at most `BLOCK`; changes speed, never a
        ranking.
    fresh : run it anew, and keep that.

    Raises
    ------
    ValueError : a ranking that cannot be judged.
    Exception : what the system raises, with a note that names the system and the first query of the
        batch.
    """
    kbs = knowledge_bases(system)
    cache, not_cached = _cache(system, kbs, k, store, replaced_names())
    worker = _Worker(name, system, data, k, kbs, min(batch_size, BLOCK), cache, fresh)
    blocks = _blocks(data)
    entries = list(map(worker.find, blocks))
    missing: list[Query] = []
    for block, entry in zip(blocks, entries, strict=True):
        if entry is None:
            missing += block
    if missing:
        worker.prepare(missing)
    rankings: list[Ranking] = []
    abouts = []
    with progress_bar(len(data.queries), name, "query", shown=progress) as bar:
        for block, entry in zip(blocks, entries, strict=True):
            block_rankings, about = worker.run(block, entry)
            rankings += block_rankings
            abouts.append(about)
            bar.update(len(block))
    worker.finish()
    return Run(
        rankings,
        _ms_per_query(system, abouts, len(data.queries)),
        sum(about["build_seconds"] for about in abouts),
        provenance.of_blocks(abouts),
        not_cached or worker.outside,
        len(data.queries) - len(missing),
    )


def announce_work(
    systems: Iterable[Any], data: QADataset, k: int, *, fresh: bool = False
) -> None:
    """Print on stderr the texts that the models of some systems will encode.

    See `announcement.announce`.

    `fresh` : the systems run even if the store has their runs.
    """
    with suppress(Exception):  # raised again by the run of the system, which names it
        replaced = list(replaced_names())
        waiting = [
            system
            for system in systems
            if fresh or not _is_stored(system, data, k, replaced)
        ]
        announce(data.name, workloads(waiting, data.queries))


def _is_stored(
    system: object, data: QADataset, k: int, replaced: Sequence[tuple[str, Any]]
) -> bool:
    """Whether the store has the rankings of all questions; `replaced` as of `replaced_names`."""
    cache, _ = _cache(system, knowledge_bases(system), k, None, replaced)
    return cache is not None and all(map(cache.find, _blocks(data)))


def _blocks(data: QADataset) -> list[Sequence[Query]]:
    """The questions of each entry of the store."""
    return [
        data.queries[start : start + BLOCK]
        for start in range(0, len(data.queries), BLOCK)
    ]


def _ms_per_query(
    system: object, abouts: Sequence[Mapping[str, Any]], n_queries: int
) -> float:
    """Milliseconds per query of all blocks; NaN where one was not timed."""
    seconds: list[Any] = [about["seconds"] for about in abouts]
    if None in seconds or not getattr(system, "timed", True):
        return math.nan
    return float(1000 * sum(seconds) / n_queries)


def _cache(
    system: object,
    kbs: Sequence[KnowledgeBase],
    k: int,
    store: Store | None,
    replaced: Iterable[tuple[str, Any]],
) -> tuple[_Cache | None, str]:
    """The cache of a system's run; or None and the reason why the run is not kept."""
    if store is None and kbs:
        store = kbs[0].store
    if not getattr(system, "timed", True):
        return None, "its rankings were computed elsewhere"
    if store is None:
        return None, "it has no knowledge base, so no store"
    walk = Walk()
    try:
        key = {"system": walk.system(system, replaced), "code": code_version(), "k": k}
    except NoKeyError as error:
        return None, str(error)
    return _Cache(store, key, kbs, walk), ""


@dataclass(frozen=True)
class _Cache:
    """The entries of one system's run; `walk` : what was met when the key was made."""

    store: Store
    key: Mapping[str, object]
    kbs: Sequence[KnowledgeBase]
    walk: Walk

    def find(self, queries: Sequence[Query]) -> Path | None:
        """The entry of a block, if the encoders that it asked for vectors are still the same."""
        entry = self.store.find(STAGE, self._key(queries), libraries=LIBRARIES)
        if entry is None:
            return None
        for about, kb in zip(
            read_json(entry / ABOUT)["knowledge"], self.kbs, strict=True
        ):
            fingerprint = about["encoder"].get("fingerprint")
            if fingerprint is not None and fingerprint != kb.embedder.fingerprint(
                kb.store
            ):
                self.store.remove(entry)
                return None
        return entry

    def write(
        self,
        queries: Sequence[Query],
        rankings: Sequence[Ranking],
        about: object,
        *,
        fresh: bool,
    ) -> Path:
        """Write the entry of a block; `fresh`: in place of one that is there."""
        key = self._key(queries)
        if fresh:
            self.store.remove(self.store.place(STAGE, key, libraries=LIBRARIES))

        def fill(folder: Path) -> None:
            table = pa.Table.from_pylist(
                [_row(ranking) for ranking in rankings], schema=SCHEMA
            )
            (folder / RANKINGS).write_bytes(as_parquet(table))
            (folder / ABOUT).write_text(
                json.dumps(about, ensure_ascii=False), encoding="utf-8"
            )

        return self.store.entry(STAGE, key, fill, libraries=LIBRARIES)

    def _key(self, queries: Sequence[Query]) -> dict[str, object]:
        texts = repr([(query.id, query.text, query.candidates) for query in queries])
        checksum = hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()
        return {**self.key, "questions": checksum}


@dataclass
class _Worker:
    """One system at work on the questions whose rankings are not there.

    cache : where its blocks are kept; None if they are not. fresh : write them in place of those
    that are there.
    outside : what its code has read from outside so far, in words, so that its rankings cannot be
    kept; "" for nothing.
    """

    name: str
    system: Any
    data: QADataset
    k: int
    kbs: Sequence[KnowledgeBase]
    batch_size: int
    cache: _Cache | None
    fresh: bool
    build_seconds: float = 0.0
    environment: dict[str, Any] = field(default_factory=dict)
    outside: str = ""
    read_known: bool = False
    unanswered: list[UnansweredError] = field(default_factory=list)
    has_answers: bool = False

    def __post_init__(self) -> None:
        self.before = [kb.counts.copy() for kb in self.kbs]

    @property
    def walk(self) -> Walk | None:
        """The parts of a system with code of the user's, which is watched; otherwise None."""
        if self.cache is None or not self.cache.walk.has_user_code:
            return None
        return self.cache.walk

    def find(self, queries: Sequence[Query]) -> Path | None:
        """The entry of a block in the store; None if there is none, or none is to be read."""
        if self.cache is None or self.fresh:
            return None
        return self.cache.find(queries)

    def run(
        self, queries: Sequence[Query], entry: Path | None
    ) -> tuple[list[Ranking], dict[str, Any]]:
        """The rankings and record of a block, from its entry; without one the system is run."""
        if entry is None:
            rankings, about = self.block(queries)
            if self.cache is None or self.outside:
                return rankings, about
            # A stored block is read back, so that the first run equals all later ones.
            entry = self.cache.write(queries, rankings, about, fresh=self.fresh)
        rows = read_parquet(entry / RANKINGS).to_pylist()
        return [_ranking(row, self.data.corpus.ids) for row in rows], read_json(
            entry / ABOUT
        )

    def prepare(self, queries: Sequence[Query]) -> None:
        """Build indexes and vectors; the first batch, which compiles, is not timed either."""
        self.environment = environment()
        started = time.perf_counter()
        if self.walk is not None:
            empty_unwatched(self.walk.memos)
        with noted(
            f"System {self.name!r} failed while its indexes and vectors were built."
        ):
            if hasattr(self.system, "prepare"):
                # `retrieve` reports a query without an answer.
                with self._watched(), suppress(UnansweredError):
                    self.system.prepare(queries)
        if self.kbs:
            with self._watched(), suppress(UnansweredError):
                self.retrieve(queries[: self.batch_size])
        self.build_seconds += time.perf_counter() - started

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Watch what the user's code reads; a system that has none is not slowed down."""
        if self.walk is None:
            yield
            return
        with watched(self.walk.files) as watch:
            yield
        self.outside = self.outside or watch.reason
        self.read_known |= watch.read_known

    def finish(self) -> None:
        """Mark memos for reuse by later runs if they were filled without reading from outside."""
        if (
            self.environment
            and self.walk is not None
            and not self.outside
            and not self.read_known
        ):
            note_watched(self.walk.memos)

    def retrieve(self, queries: Sequence[Query]) -> list[Ranking]:
        """The rankings of some queries, batch by batch.

        A query that a component of the system cannot answer, such as one for which a language model
        wrote something unusable, has an empty ranking whose notes give the cause; such a run is not
        kept. UnansweredError if no query of the run has been answered.
        """
        rankings: list[Ranking] = []
        self.unanswered = []
        for start in range(0, len(queries), self.batch_size):
            batch = queries[start : start + self.batch_size]
            first = f"{batch[0].id!r}: {batch[0].text!r}"
            with noted(
                f"System {self.name!r} failed in the batch that begins with query {first}"
            ):
                rankings += self._batch(batch)
                self.has_answers |= len(self.unanswered) < len(rankings)
                if len(self.unanswered) == len(queries) and not self.has_answers:
                    raise self.unanswered[0]
        return rankings

    def _batch(self, batch: Sequence[Query]) -> list[Ranking]:
        try:
            return list(self.system.retrieve_batch(batch, self.k))
        except UnansweredError as error:
            if len(batch) > 1:  # answers that came are stored: none is paid twice
                return [ranking for query in batch for ranking in self._batch([query])]
            self.unanswered.append(error)
            self.outside = (
                self.outside or f"some queries have no ranking: {error.cause}"
            )
            notes = Notes(warning=f"no ranking: {error.cause}")
            return [
                Ranking.from_scores(
                    batch[0].id, [], [], self.data.corpus.ids, notes=notes
                )
            ]

    def block(self, queries: Sequence[Query]) -> tuple[list[Ranking], dict[str, Any]]:
        """The rankings of a block, checked, and what it depends on.

        If a knowledge base built anything while the clock ran, the block is run once more; if it
        builds again, the time is unknown.
        """
        started, seconds = datetime.now(UTC).isoformat(timespec="seconds"), None
        for _ in range(2):
            built = self._n_builds()
            with self._watched():
                started_seconds = time.perf_counter()
                rankings = self.retrieve(queries)
                spent = time.perf_counter() - started_seconds
            if self._n_builds() == built:
                seconds = spent
                break
            self.build_seconds += spent
        check_rankings(rankings, self.data, queries=queries, k=self.k, name=self.name)
        times = {"seconds": seconds, "build_seconds": self.build_seconds}
        self.build_seconds = 0.0
        about = provenance.of_run(self.kbs, self.before)
        return rankings, {
            "started": started,
            **times,
            **about,
            "environment": self.environment,
        }

    def _n_builds(self) -> int:
        return sum(kb.counts["builds"] for kb in self.kbs)


def _row(ranking: Ranking) -> dict[str, Any]:
    """The row of a ranking, as `SCHEMA` has it."""
    paths = []
    for row in ranking.rows[:WITH_PATHS].tolist():
        path = ranking.paths.get(row, ())
        if path:
            triples = [
                {name: getattr(triple, name) for name in _NAMES} for triple in path
            ]
            paths.append({"row": row, "triples": triples})
    return {
        "query_id": ranking.query_id,
        "rows": ranking.rows,
        "scores": ranking.scores,
        "stages": ranking.stages,
        "stage_codes": ranking.stage_codes,
        "parts": [
            {"name": name, "values": values}
            for name, values in ranking.score_parts.items()
        ],
        "paths": paths,
        "notes": json.dumps(ranking.notes.to_json(), ensure_ascii=False),
    }


def _ranking(row: Mapping[str, Any], ids: Sequence[str]) -> Ranking:
    """The ranking of a row; `ids` are those of the corpus whose rows it counts."""
    codes = row["stage_codes"]
    score_parts = {}
    for part in row["parts"]:
        score_parts[part["name"]] = np.array(part["values"], dtype=np.float64)
    paths = {}
    for path in row["paths"]:
        paths[path["row"]] = tuple(Triple(**triple) for triple in path["triples"])
    return Ranking(
        row["query_id"],
        np.array(row["rows"], dtype=np.int64),
        np.array(row["scores"], dtype=np.float64),
        ids,
        stages=tuple(row["stages"]),
        stage_codes=None if codes is None else np.array(codes, dtype=np.int8),
        score_parts=score_parts,
        paths=paths,
        notes=Notes.from_json(json.loads(row["notes"])),
    )
