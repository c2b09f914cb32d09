"""Rankings of another program, or a function -> a system, so that any run can be compared in the same table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.adapters import trec
from kg2rag.retrievers.contract import Retriever
from kg2rag.text.records import reading
from kg2rag.types import Corpus, Notes, Passage, QADataset, Query, Ranking, called

FIELDS = ("query_id", "passage_id", "score")
Found = Iterable[str | tuple[str, float]] | Mapping[str, float]
"""Passage ids, best first, or (passage id, score)."""


@dataclass(frozen=True)
class Recorded(Retriever):
    """The rankings of a run, by query id; `of` makes one of a file, a frame or a mapping.

    The order is the run's own. Where its scores do not fall from rank to rank (some systems rank by other numbers than
    they print), the hits get 1/rank as score, so that the order survives. A query that neither `run` nor `empty` names
    counts as missing.

    Parameters
    ----------
    run : query id -> (passage id, score), best first.
    name : of the system, for messages.
    empty : queries that the system answered with nothing.
    """

    corpus: Corpus = field(repr=False)
    run: Mapping[str, Sequence[tuple[str, float]]] = field(repr=False)
    name: str = "run"
    empty: frozenset[str] = frozenset()
    timed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        known = set(self.corpus.ids)
        for query, hits in self.run.items():
            ids, where = [id_ for id_, _ in hits], f"run {self.name!r}, query {query!r}"
            if unknown := [id_ for id_ in ids if id_ not in known]:
                raise ValueError(
                    f"{where}: passage {unknown[0]!r} is not in the corpus ({len(unknown)} of {len(ids)} are not). "
                    "Was the run made over another corpus?"
                )
            if len(set(ids)) < len(ids):
                raise ValueError(f"{where}: passage {max(ids, key=ids.count)!r} is ranked twice.")

    @classmethod
    def of(cls, given: Any, corpus: Corpus, name: str = "", queries: Iterable[str] = ()) -> Recorded:
        """A run over a corpus.

        Parameters
        ----------
        given : the path of a TREC run file; a frame with query_id, passage_id and score, which is ordered by its `rank`
            or else by score; a `ranx.Run`; or a mapping from query id to passage id to score, or to passage ids, best
            first. Ids may be numbers.
        name : by default that of the file.
        queries : ids; those without a line in the run count as answered with nothing, and the remark says how many.

        ValueError: a run of other passages, or of none of the queries; TypeError: a mapping of something else.
        """
        if isinstance(given, Path | str):
            with reading(path := Path(given), "Is it a run over this corpus?", ValueError):
                return cls.of(trec.load(path), corpus, name or trec.name_of(path), queries)
        if _is_ranx_run(given):
            return cls.of(given.to_dict(), corpus, name or given.name or "", queries)
        if isinstance(given, pd.DataFrame):
            if lacking := [column for column in FIELDS if column not in given.columns]:
                raise ValueError(f"run {name!r} lacks the column {lacking[0]!r}. Needed: {', '.join(FIELDS)}.")
            given = _frame_hits(given)
        run = {str(query): _hits(of, query) for query, of in given.items()}
        name, asked = name or "run", frozenset(queries)
        if asked and asked.isdisjoint(run):
            raise ValueError(
                f"run {name!r} has no line for any of the {len(asked)} questions; its queries are called "
                f"{next(iter(run), 'nothing')!r} and the like, theirs {min(asked)!r}."
            )
        return cls(corpus, run, name, asked - set(run))

    @property
    def remark(self) -> str:
        """How many questions have no line in the run, for tables."""
        without = "questions have no line in the run and count as answered with nothing"
        return f"{len(self.empty):,} {without}" if self.empty else ""

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """What was recorded, at most `k` hits. ValueError: the run lacks a query; `k` is below 1."""
        if missing := [query.id for query in queries if query.id not in self.run and query.id not in self.empty]:
            raise ValueError(
                f"run {self.name!r} lacks {len(missing)} of {len(queries)} queries (first: {missing[0]!r}). "
                "Every query needs a ranking, if an empty one."
            )
        rankings = []
        for query in queries:
            hits = self.run.get(query.id, ())
            rows = np.array([self.corpus.row(id_) for id_, _ in hits], dtype=np.int64)
            scores = np.array([score for _, score in hits], dtype=np.float64)
            # A ranking's order is canonical, by (-score, corpus position); a run's order need not be.
            if not np.isfinite(scores).all() or (np.diff(scores) >= 0).any():
                scores = 1.0 / np.arange(1, len(hits) + 1)
            rankings.append(Ranking(query.id, rows, scores, self.corpus.ids, stages=(self.name,)).top(k))
        return rankings


@dataclass(frozen=True)
class Answering(Retriever):
    """A function (text of the question, k) -> passage ids, best first, or pairs of id and score, as a system.

    Its hits are scored as a run's (`Recorded`). What the function raises is raised on. TypeError: it returns something
    else. ValueError: an id that the corpus lacks, or one twice; a query with candidates, which it does not know.
    """

    corpus: Corpus = field(repr=False)
    function: Callable[[str, int], Found] = field(repr=False)
    name: str

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Call the function for each query; hits beyond `k` are cut."""
        if limited := [query.id for query in queries if query.candidates is not None]:
            raise ValueError(f"{self.name} knows no candidates, which query {limited[0]!r} has. Use setting='pooled'.")
        run = {query.id: self.function(query.text, k) for query in queries}
        return Recorded.of(run, self.corpus, self.name).retrieve_batch(queries, k)

    def prepare(self, queries: Sequence[Query]) -> None:
        """Nothing is known of what the function builds."""


@dataclass(frozen=True)
class ScoreFunction(Retriever):
    """Every passage by a function's score, highest first; equal scores by corpus position.

    The quickest way to try an idea: one call a question and passage, so slow for a large corpus. `score`: (text of the
    question, passage) -> a finite number, as `lambda text, passage: float(passage.title in text)`; `name`: the stage.
    """

    kb: KnowledgeBase = field(repr=False)
    score: Callable[[str, Passage], float] = field(repr=False)
    name: str = "scored"

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Score every passage, or every candidate. ValueError: a score is not finite, or `k` is below 1."""
        passages, rankings = list(self.kb.corpus), []
        for query, mask in zip(queries, self.kb.candidates(queries), strict=True):
            rows = np.arange(len(passages)) if mask is None else mask
            scores = np.array([self.score(query.text, passages[row]) for row in rows.tolist()], dtype=np.float64)
            said = {"stages": (self.name,), "score_parts": {"score": scores}, "notes": Notes("score", "text")}
            rankings.append(Ranking.from_scores(query.id, rows, scores, self.kb.corpus.ids, **said).top(k))  # type: ignore[arg-type]
        return rankings


def as_system(name: str, given: Any, data: QADataset) -> Any:
    """A function as `Answering`, a run, of perhaps not all questions, as `Recorded`; anything else stays as it is."""
    if hasattr(given, "retrieve_batch") or isinstance(given, type | str | list | tuple):
        return given
    if isinstance(given, pd.DataFrame | Mapping) or _is_ranx_run(given):
        return Recorded.of(given, data.corpus, name, [question.id for question in data.questions])
    return Answering(data.corpus, given, name) if callable(given) else given


def _is_ranx_run(given: object) -> bool:
    """Whether it is a `ranx.Run`, by its module: ranx takes seconds to import."""
    return type(given).__module__.partition(".")[0] == "ranx" and hasattr(given, "to_dict")


def _hits(found: Any, query: object) -> list[tuple[str, float]]:
    """Ids and scores, best first; 1/rank for ids without scores."""
    if isinstance(found, Mapping):
        return sorted(((str(id_), float(score)) for id_, score in found.items()), key=lambda hit: -hit[1])
    if isinstance(found, str | bytes) or not isinstance(found, Iterable):
        raise TypeError(f"the ranking of {query!r} is {called(found)}; wanted: passage ids, or (id, score).")
    pairs = [hit if isinstance(hit, tuple) else (hit, 1.0 / place) for place, hit in enumerate(found, start=1)]
    if wrong := [pair for pair in pairs if len(pair) != 2]:
        raise TypeError(f"the ranking of {query!r} has {wrong[0]!r}, which is no passage id and no (id, score).")
    hits = [(str(id_), float(score)) for id_, score in pairs]
    if damaged := [hit for hit in hits if not math.isfinite(hit[1])]:
        raise ValueError(
            f"the ranking of {query!r} has the score {damaged[0][1]} for {damaged[0][0]!r}; give a number."
        )
    return hits


def _frame_hits(frame: pd.DataFrame) -> dict[str, list[tuple[Any, Any]]]:
    """Query id -> passage ids and scores of a frame, best first; equal scores in the order of the frame."""
    if "rank" in frame.columns:
        frame = frame.sort_values("rank", kind="stable")
    else:
        frame = frame.sort_values("score", ascending=False, kind="stable")
    queries = frame.groupby(frame["query_id"].astype(str), sort=False)
    return {query: list(zip(hits["passage_id"], hits["score"], strict=True)) for query, hits in queries}
