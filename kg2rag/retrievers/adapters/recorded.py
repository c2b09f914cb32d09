"""Rankings of another program, or a function -> a system, for comparison with other systems."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.adapters import trec
from kg2rag.retrievers.adapters.hit_names import HitNames
from kg2rag.retrievers.adapters.run_files import load_run, run_of_records
from kg2rag.retrievers.adapters.run_frames import frame_hits, is_frame
from kg2rag.retrievers.contract import Retriever
from kg2rag.text.records import reading
from kg2rag.types import Corpus, Notes, Passage, QADataset, Query, Ranking, called
from kg2rag.types.coerce_corpus import python_value

Found = Iterable[str | tuple[str, float]] | Mapping[str, float]
"""Passage ids, best first, or (passage id, score)."""


@dataclass(frozen=True)
class Recorded(Retriever):
    """A system that returns the rankings of a run, by query id; `of` reads a file, frame or mapping.

    The order of the run is kept. If the scores of a query have another order (some systems print other
    numbers than they rank by), its hits get 1/rank as scores; equal scores have that of the corpus. A
    query in neither `run` nor `empty` is an error.

    Parameters
    ----------
    run : query id -> (passage id, score), best first.
    name : the name of the system, for messages.
    empty : the queries without hits.
    n_others : the number of queries of the run that are no questions of the data.
    n_documents : the number of hits that named documents; see `of`.
    unscored : questions without gold, which may have no ranking.
    """

    corpus: Corpus = field(repr=False)
    run: Mapping[str, Sequence[tuple[str, float]]] = field(repr=False)
    name: str = "run"
    empty: frozenset[str] = frozenset()
    n_others: int = field(default=0, repr=False, compare=False)
    n_documents: int = field(default=0, repr=False, compare=False)
    unscored: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    timed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        corpus_ids = set(self.corpus.ids)
        for query, hits in self.run.items():
            where = f"run {self.name!r}, query {query!r}"
            ids = [passage_id for passage_id, _ in hits]
            unknown = [passage_id for passage_id in ids if passage_id not in corpus_ids]
            if unknown:
                raise ValueError(
                    f"{where}: passage {unknown[0]!r} is not in the corpus ({len(unknown)} of {len(ids)} are not). "
                    "Was the run made over another corpus?"
                )
            if len(set(ids)) < len(ids):
                raise ValueError(
                    f"{where}: passage {max(ids, key=ids.count)!r} is ranked twice."
                )

    @classmethod
    def of(
        cls,
        rankings: Any,
        corpus: Corpus,
        name: str = "",
        queries: Iterable[str] | Mapping[str, str] = (),
    ) -> Recorded:
        """A run over a corpus.

        Parameters
        ----------
        rankings : the path of a run file, see `run_files`; a frame of any library with query_id, passage_id and
            score, ordered by its `rank`, or by score if it has none or a query has one twice; a frame or Series of
            pandas with a list of passages a query; a list of such records; a `ranx.Run`; or a mapping from query id to
            passage id to score, or to passage ids, best first. Ids may be numbers. A hit that names a document is its
            first passage, which unit="document" judges as the document; the remark counts them. A hit may also be
            the whole text of a passage.
        name : by default that of the file.
        queries : ids; those without a line in the run have no hits, and the remark counts them. With
            a mapping from id to text, a run may name queries by their texts.

        ValueError: the run has other passages, or none of the queries. TypeError: the values of a
        mapping are no rankings.
        """
        if isinstance(rankings, Path | str):
            path = Path(rankings)
            with reading(path, "Is it a run over this corpus?", ValueError):
                return cls.of(
                    load_run(path), corpus, name or trec.name_of(path), queries
                )
        if _is_ranx_run(rankings):
            return cls.of(
                rankings.to_dict(), corpus, name or rankings.name or "", queries
            )
        run = _hits_by_query(rankings, corpus, name)
        if isinstance(queries, Mapping):
            run = _by_ids(run, queries)
        return cls._of_hits(run, corpus, name or "run", frozenset(queries))

    @classmethod
    def _of_hits(
        cls,
        run: Mapping[str, Sequence[tuple[str, float]]],
        corpus: Corpus,
        name: str,
        queries: frozenset[str],
    ) -> Recorded:
        """A run whose queries without a line are empty; ValueError if that is every query."""
        if queries and queries.isdisjoint(run):
            raise ValueError(
                f"run {name!r} has no line for any of the {len(queries)} questions; its queries are called "
                f"{next(iter(run), 'nothing')!r} and the like, theirs {min(queries)!r}."
            )
        n_others = len(run.keys() - queries) if queries else 0
        hits, n_documents = HitNames(corpus).with_ids(run)
        return cls(corpus, hits, name, queries - set(run), n_others, n_documents)

    @property
    def remark(self) -> str:
        """The numbers of questions without a line in the run, and of other queries, as a remark in tables."""
        counts = {
            "questions without a line in the run, counted as answered with nothing": len(
                self.empty
            ),
            "queries of the run that are no scored questions, left out": self.n_others,
            "hits that name a document, taken as its first passage; judge them by unit='document'": (
                self.n_documents
            ),
        }
        return "; ".join(f"{cause}: {n:,}" for cause, n in counts.items() if n)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """The recorded rankings, at most `k` hits. ValueError: no ranking of a query; `k` < 1."""
        missing = [
            query.id
            for query in queries
            if query.id not in self.run
            and query.id not in self.empty
            and query.id not in self.unscored
        ]
        if missing:
            raise ValueError(
                f"run {self.name!r} lacks {len(missing)} of {len(queries)} queries (first: {missing[0]!r}). "
                "Every query needs a ranking, if an empty one."
            )
        return [
            self._ranking(query.id, self.run.get(query.id, ())).top(k)
            for query in queries
        ]

    def _ranking(self, query_id: str, hits: Sequence[tuple[str, float]]) -> Ranking:
        rows = np.array(
            [self.corpus.row(passage_id) for passage_id, _ in hits], dtype=np.int64
        )
        scores = np.array([score for _, score in hits], dtype=np.float64)
        # A ranking is ordered by (-score, corpus position); a run need not be.
        order = np.lexsort((rows, -scores))
        if not np.isfinite(scores).all() or (np.diff(order) < 0).any():
            scores = 1.0 / np.arange(1, len(hits) + 1)
        return Ranking(query_id, rows, scores, self.corpus.ids, stages=(self.name,))


@dataclass(frozen=True)
class Answering(Retriever):
    """A function (question text, k) -> passage ids, or (id, score) pairs, best first, as a system.

    Hits are scored as in a run (`Recorded`). Errors of the function propagate. TypeError: the function
    returns another type. ValueError: an id is unknown or repeated, or a query has candidates, which
    the function does not get.
    """

    corpus: Corpus = field(repr=False)
    function: Callable[[str, int], Found] = field(repr=False)
    name: str

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Call the function for each query, and keep the first `k` hits."""
        limited = [query.id for query in queries if query.candidates is not None]
        if limited:
            raise ValueError(
                f"{self.name} knows no candidates, which query {limited[0]!r} has. Use setting='pooled'."
            )
        run = {query.id: self.function(query.text, k) for query in queries}
        return Recorded.of(run, self.corpus, self.name).retrieve_batch(queries, k)

    def prepare(self, queries: Sequence[Query]) -> None:
        """Do nothing, since the parts that the function needs are unknown."""


@dataclass(frozen=True)
class ScoreFunction(Retriever):
    """All passages, ranked by the score of a function; ties by corpus position.

    It is the shortest way to try an idea, with one call per question and passage, so slow for a large
    corpus. `score` : (question text, passage) -> a finite number, such as `lambda text, passage:
    float(passage.title in text)`. `name` : the stage.
    """

    kb: KnowledgeBase = field(repr=False)
    score: Callable[[str, Passage], float] = field(repr=False)
    name: str = "scored"

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Score every passage, or candidate. ValueError: a score is not finite; `k` < 1."""
        passages = list(self.kb.corpus)
        rankings = []
        for query, candidate_rows in zip(
            queries, self.kb.candidates(queries), strict=True
        ):
            rows = (
                np.arange(len(passages)) if candidate_rows is None else candidate_rows
            )
            values = [self.score(query.text, passages[row]) for row in rows.tolist()]
            scores = np.array(values, dtype=np.float64)
            ranking = Ranking.from_scores(
                query.id,
                rows,
                scores,
                self.kb.corpus.ids,
                stages=(self.name,),
                score_parts={"score": scores},
                notes=Notes("score", "text"),
            )
            rankings.append(ranking.top(k))
        return rankings


def as_system(name: str, system: Any, data: QADataset) -> Any:
    """A function as `Answering`, a run or its path as `Recorded`, any other value unchanged.

    Questions of the data without a line in a run have no hits. A run may name them by their texts.
    """
    if hasattr(system, "retrieve_batch") or isinstance(
        system, type | str | list | tuple
    ):
        return system
    if isinstance(system, Mapping | Path) or _is_ranx_run(system) or is_frame(system):
        texts = {question.id: question.text for question in data.questions}
        recorded = Recorded.of(system, data.corpus, name, texts)
        unscored = frozenset(query.id for query in data.unjudged)
        return replace(recorded, unscored=unscored)
    if callable(system):
        return Answering(data.corpus, system, name)
    return system


def _by_ids(run: dict[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """The run by the ids of queries, if it names none by its id and some by their texts."""
    if not texts.keys().isdisjoint(run):
        return run
    named = {id_: run[text] for id_, text in texts.items() if text in run}
    others = run.keys() - set(texts.values())
    return {**named, **{query: run[query] for query in others}} if named else run


def _is_ranx_run(run: object) -> bool:
    """Whether an object is a `ranx.Run`, by its module: ranx takes seconds to import."""
    return type(run).__module__.partition(".")[0] == "ranx" and hasattr(run, "to_dict")


def _hits_by_query(
    rankings: Any, corpus: Corpus, name: str
) -> dict[str, list[tuple[str, float]]]:
    """Query id -> the (passage id, score) of each hit, of a frame, records or a mapping."""
    if isinstance(rankings, list | Mapping):
        rankings = run_of_records(rankings, f"run {name!r}")
    if is_frame(rankings):
        rankings = frame_hits(rankings, name, HitNames(corpus))
    return {
        str(python_value(query)): _hits(ranking, query)
        for query, ranking in rankings.items()
    }


def _hits(ranking: Any, query: object) -> list[tuple[str, float]]:
    """The (passage id, score) of each hit, best first; the score of a hit without one is 1/rank."""
    if isinstance(ranking, Mapping):
        hits = [_hit(pair, 1, query) for pair in ranking.items()]
        return sorted(hits, key=lambda hit: -hit[1])
    if isinstance(ranking, str | bytes) or not isinstance(ranking, Iterable):
        raise TypeError(
            f"the ranking of {query!r} is {called(ranking)}; wanted: passage ids, or (id, score)."
        )
    return [_hit(hit, rank, query) for rank, hit in enumerate(ranking, start=1)]


def _hit(hit: Any, rank: int, query: object) -> tuple[str, float]:
    """The id and score of a hit: (id, score), or only the id."""
    if not isinstance(hit, tuple | list):
        return str(python_value(hit)), 1.0 / rank
    if len(hit) != 2 or isinstance(hit[1], str):
        raise TypeError(
            f"the ranking of {query!r} has {hit!r}, which is no passage id and no (id, score)."
        )
    passage_id = str(python_value(hit[0]))
    score = float(hit[1])
    if not math.isfinite(score):
        raise ValueError(
            f"the ranking of {query!r} has the score {score} for {passage_id!r}; give a number."
        )
    return passage_id, score
