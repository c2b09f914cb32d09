"""Rankings of another program -> a system that returns them, so that any run can be compared in the same table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from kg2rag.retrievers.adapters import trec
from kg2rag.retrievers.contract import Retriever
from kg2rag.text.records import reading
from kg2rag.types import Corpus, Query, Ranking

if TYPE_CHECKING:
    import pandas as pd
    import ranx

FIELDS = ("query_id", "passage_id", "score")


@dataclass(frozen=True)
class Recorded(Retriever):
    """The rankings of a run, by query id; make one with `from_trec`, `from_ranx` or `from_frame`.

    The order is the run's own. Where its scores do not fall from rank to rank (some systems rank by other numbers than
    they print), or are equal, the hits get 1/rank as score, so that the order survives. A query without hits must
    still be named in `empty`, or it counts as missing.

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
            ids = [id_ for id_, _ in hits]
            unknown = [id_ for id_ in ids if id_ not in known]
            if unknown:
                raise ValueError(
                    f"run {self.name!r}, query {query!r}: passage {unknown[0]!r} is not in the corpus "
                    f"({len(unknown)} of {len(ids)} are not). Was the run made over another corpus?"
                )
            if len(set(ids)) < len(ids):
                twice = next(id_ for at, id_ in enumerate(ids) if id_ in ids[:at])
                raise ValueError(f"run {self.name!r}, query {query!r}: passage {twice!r} is ranked twice.")

    @classmethod
    def from_trec(
        cls, path: Path | str, corpus: Corpus, empty: frozenset[str] = frozenset(), queries: Iterable[str] = ()
    ) -> Recorded:
        """A TREC run file; the system is called as the file.

        Such a file has no line for a query that was answered with nothing. Of the ids in `queries` those without a line
        count as that, and the system's remark says how many they are. ValueError: none of them has a line.
        """
        path = Path(path)
        with reading(path, "Is it a run over this corpus?", ValueError):
            return cls(corpus, trec.load(path), trec.name_of(path), empty).answering(queries)

    def answering(self, queries: Iterable[str]) -> Recorded:
        """The run with those of the queries that it lacks as answered with nothing.

        ValueError: it has none of them.
        """
        asked = frozenset(queries)
        if asked and asked.isdisjoint(self.run):
            raise ValueError(
                f"run {self.name!r} has no line for any of the {len(asked)} questions; its queries are called "
                f"{next(iter(self.run), 'nothing')!r} and the like, theirs {min(asked)!r}."
            )
        return replace(self, empty=self.empty | (asked - set(self.run)))

    @property
    def remark(self) -> str:
        """What the table should say of it."""
        count = len(self.empty - set(self.run))
        return f"{count:,} questions have no line in the run and count as answered with nothing" if count else ""

    @classmethod
    def from_ranx(cls, run: ranx.Run, corpus: Corpus, name: str = "") -> Recorded:
        """A ranx run: ordered by falling score; equal scores by corpus position, since ranx keeps no order of them."""
        ordered = {
            query: sorted(hits.items(), key=lambda hit: (-hit[1], corpus.row(hit[0])))
            for query, hits in run.to_dict().items()
        }
        return cls(corpus, ordered, name or run.name or "run")

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, corpus: Corpus, name: str = "run") -> Recorded:
        """Columns query_id, passage_id, score, one row a hit, the rows of a query best first."""
        lacking = [column for column in FIELDS if column not in frame.columns]
        if lacking:
            raise ValueError(f"run {name!r} lacks the column {lacking[0]!r}. Needed: {', '.join(FIELDS)}.")
        run: dict[str, list[tuple[str, float]]] = {}
        for query, id_, score in frame[list(FIELDS)].itertuples(index=False):
            run.setdefault(str(query), []).append((str(id_), float(score)))
        return cls(corpus, run, name)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """What was recorded, at most `k` hits. ValueError: the run lacks a query; `k` is below 1."""
        missing = [query.id for query in queries if query.id not in self.run and query.id not in self.empty]
        if missing:
            raise ValueError(
                f"run {self.name!r} lacks {len(missing)} of {len(queries)} queries (first: {missing[0]!r}). "
                "Every query needs a ranking, if an empty one."
            )
        return [self._ranking(query.id).top(k) for query in queries]

    def prepare(self, queries: Sequence[Query]) -> None:
        """Nothing: there is nothing to build."""

    def _ranking(self, query: str) -> Ranking:
        hits = self.run.get(query, ())
        rows = np.array([self.corpus.row(id_) for id_, _ in hits], dtype=np.int64)
        scores = np.array([score for _, score in hits], dtype=np.float64)
        # A ranking's order is canonical, by (-score, corpus position); a run's order need not be.
        if not np.isfinite(scores).all() or (np.diff(scores) >= 0).any():
            scores = 1.0 / np.arange(1, len(hits) + 1)
        return Ranking(query, rows, scores, self.corpus.ids, stages=(self.name,))
