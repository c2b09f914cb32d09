"""Query -> Ranking: the two things a strategy can be, a `Retriever` or a `Stage`, and `>>`, which joins them.

Everything else in the package is a frozen dataclass that implements one of these; its constructor arguments are its
configuration, and its `repr` is the line a report prints.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from kg2rag.types.parameters import check
from kg2rag.types.passages import Query
from kg2rag.types.rankings import Ranking
from kg2rag.types.trace import Trace


class Retriever(ABC):
    """Finds passages for queries.

    The contract, which one test holds for every named system: a batch equals its queries one by one; the hits at a
    smaller `k` are a prefix of those at a larger one; every query gets a ranking, the empty string included.
    """

    def __post_init__(self) -> None:
        check(self)

    @abstractmethod
    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One ranking of at most `k` hits for each query, in the order of the queries."""

    def retrieve(self, query: str | Query, k: int = 10) -> Ranking:
        """The ranking of one query: a batch of one."""
        asked = Query(id="q", text=query) if isinstance(query, str) else query
        return self.retrieve_batch([asked], k)[0]

    def prepare(self, queries: Sequence[Query]) -> None:
        """Build what is shared by all queries and encode these, so that a timing measures retrieval alone."""
        if queries:
            self.retrieve_batch(queries[:1], 1)

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """The rankings of `retrieve_batch` and, where the system can tell, the steps that led to them.

        A system that says no more than this default does can only be told "not retrieved" from "ranked below k".
        """
        return [Trace(ranking) for ranking in self.retrieve_batch(queries, k)]

    def __rshift__(self, stage: Stage) -> Pipeline:
        return Pipeline(self, (stage,))


class Stage(ABC):
    """Changes rankings: reranks, expands, filters, re-orders."""

    def __post_init__(self) -> None:
        check(self)

    @property
    @abstractmethod
    def depth(self) -> int:
        """How many hits of each ranking the stage reads, whatever `k` the caller wants."""

    @property
    def encodes(self) -> bool:
        """Whether `apply` encodes texts that it finds on the way, which `Pipeline.prepare` then does beforehand."""
        return False

    @abstractmethod
    def apply(self, queries: Sequence[Query], rankings: Sequence[Ranking]) -> list[Ranking]:
        """A new ranking for each query; the rankings given have at most `depth` hits."""

    def trace(self, queries: Sequence[Query], before: Sequence[Trace]) -> list[Trace]:
        """The traces of what stands before, with what `apply` made of their first `depth` hits."""
        after = self.apply(queries, [trace.ranking.top(self.depth) for trace in before])
        name = type(self).__name__
        return [trace.then(name, self.depth, ranking) for trace, ranking in zip(before, after, strict=True)]


@dataclass(frozen=True)
class Pipeline(Retriever):
    """A retriever and the stages that follow it; written `retriever >> stage >> stage`."""

    retriever: Retriever
    stages: tuple[Stage, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.stages:
            raise ValueError("A pipeline needs at least one stage; without any, use the retriever itself.")

    def __repr__(self) -> str:
        return " >> ".join([repr(self.retriever), *map(repr, self.stages)])

    def __rshift__(self, stage: Stage) -> Pipeline:
        return Pipeline(self.retriever, (*self.stages, stage))

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Each stage reads the first `depth` hits of what stands before it; `k` cuts the last one's output."""
        rankings = self.retriever.retrieve_batch(queries, self.stages[0].depth)
        for stage in self.stages:
            rankings = stage.apply(queries, [ranking.top(stage.depth) for ranking in rankings])
        return [ranking.top(k) for ranking in rankings]

    def prepare(self, queries: Sequence[Query]) -> None:
        """Prepare the retriever, then every stage: through one query, or all where a stage encodes what it finds."""
        self.retriever.prepare(queries)
        if queries and any(stage.encodes for stage in self.stages):
            self.retrieve_batch(queries, 1)
        super().prepare(queries)

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """What the retriever and every stage did; the rankings are those of `retrieve_batch`."""
        traces = self.retriever.trace_batch(queries, max(k, self.stages[0].depth))
        for stage in self.stages:
            traces = stage.trace(queries, traces)
        return [Trace(trace.ranking.top(k), trace.steps) for trace in traces]
