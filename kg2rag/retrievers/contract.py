"""Query -> Ranking: the two kinds of strategy, `Retriever` and `Stage`, and their pipeline, `>>`.

Every strategy is a frozen dataclass that implements one of them. Its constructor arguments are its
configuration, and its `repr` is its line in a report. `kg2rag.testing.check_retriever` tests the
contract.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Literal, NamedTuple, Self, TypeVar, cast

from kg2rag.text.suggestions import require_parameters
from kg2rag.types import (
    Query,
    Ranking,
    Step,
    Trace,
    called,
    check,
    require_k,
)

Builder = TypeVar("Builder")
# The maximum of characters read from a query: encoders read a few hundred words, some searches more.
MAX_CHARACTERS = 10_000


class TuningRecord(NamedTuple):
    """Parameters of a system that were chosen with access to questions; the entries of `TUNING`.

    `kind` : "fitted", by a program on gold; "chosen", by hand with gold or scores of these questions;
    "known", chosen or fitted on other questions while scores on these were known. `variants` : the
    number of compared variants, None if unknown. `sets` : the reported sets that were accessible.
    `training` : sets that are never reported.
    """

    system: str
    what: str
    kind: Literal["fitted", "chosen", "known"]
    variants: int | None
    sets: tuple[str, ...] = ()
    training: tuple[str, ...] = ()


@dataclass(frozen=True)
class DesignAliases:
    """The parameter names of an original design and the names in this package; see `ALIASES`.

    As a decorator it gives a class or function the attribute `refusal`, by which `require_parameters`
    and registries answer the design's names with this package's.

    `rows` : (names of the design, joined by ", "; name in this package; note or "").
    """

    design: str
    rows: tuple[tuple[str, str, str], ...]

    def refusal(self, name: str) -> str:
        """The error message for a parameter name of the design; "" for any other name."""
        for design_names, parameter, note in self.rows:
            if _snake(name) in map(_snake, design_names.split(", ")):
                explained = f"{parameter} ({note})" if note else parameter
                return f"{name!r} is a word of the {self.design} design. Here: {explained}."
        return ""

    def __call__(self, builder: Builder) -> Builder:
        """The class (a `Component`) or function (a `checked` one) with the refusal."""
        builder.refusal = self.refusal  # type: ignore[attr-defined]
        return builder


def _snake(word: str) -> str:
    """The last part of a parameter's name in snake case: "graphExpansion.maxHops" -> "max_hops"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", word.rpartition(".")[2]).lower()


def _checking_queries(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method of queries (and k) with a check of its arguments, which cuts long queries.

    The notes record a cut. An empty batch returns [] without a call.
    """

    @wraps(method)
    def guarded(
        self: Retriever, queries: Sequence[Query], *k: int, **named_k: int
    ) -> Any:
        require_queries(queries)
        for value in (*k, *named_k.values()):
            require_k(value)
        if not queries:
            return []
        if all(len(query.text) <= MAX_CHARACTERS for query in queries):
            return method(self, queries, *k, **named_k)
        cut_queries = [
            replace(query, text=query.text[:MAX_CHARACTERS]) for query in queries
        ]
        results = method(self, cut_queries, *k, **named_k)
        # `prepare` returns None; `check_retriever` reports a wrong number of results.
        if results is None or len(results) != len(queries):
            return results
        return list(map(_with_cut_noted, results, queries))

    return guarded


def require_queries(queries: object) -> None:
    """Raise TypeError unless `queries` is a list of `Query`."""
    if isinstance(queries, str) or not isinstance(queries, Sequence):
        raise TypeError(
            f"queries must be a list of Query, not {called(queries)}. Write [Query('q', 'Who?')]."
        )
    for position, query in enumerate(queries):
        if not isinstance(query, Query):
            example = f"write Query('q{position}', 'Who?')"
            raise TypeError(
                f"queries[{position}] must be a Query, not {called(query)}: {example}."
            )


def _with_cut_noted(result: Ranking | Trace, query: Query) -> Ranking | Trace:
    """The ranking or trace of a query, with a note if the query was cut."""
    if len(query.text) <= MAX_CHARACTERS:
        return result
    if isinstance(result, Trace):
        return replace(
            result, ranking=cast("Ranking", _with_cut_noted(result.ranking, query))
        )
    query_cut = f"to {MAX_CHARACTERS:,} of {len(query.text):,} characters"
    return replace(result, notes=replace(result.notes, query_cut=query_cut))


class Component:
    """A dataclass whose parameters are checked when it is made."""

    def __new__(cls, *arguments: object, **parameters: object) -> Self:  # noqa: ARG004 - the constructor reads them
        """Refuse an unknown parameter with the name that was probably meant."""
        require_parameters(cls, parameters)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        check(self)


class Retriever(Component, ABC):
    """A strategy that finds passages for queries.

    The contract: a batch equals its queries one by one; the hits for a smaller `k` are a prefix of
    those for a larger `k`; every query gets a ranking, even the empty string; a query with candidates
    gets no other passages; the first 10,000 characters of a query are read.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in ("retrieve_batch", "trace_batch", "prepare"):
            if name in vars(cls):
                setattr(cls, name, _checking_queries(vars(cls)[name]))

    @abstractmethod
    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One ranking of at most `k` hits for each query, in the order of the queries.

        TypeError: `queries` is no sequence of `Query`, or `k` no whole number. ValueError: `k` is
        below 1.
        """

    def retrieve(self, query: str | Query, k: int = 10) -> Ranking:
        """The ranking of one query: a batch of one."""
        if isinstance(query, str):
            query = Query(id="q", text=query)
        return self.retrieve_batch([query], k)[0]

    def prepare(self, queries: Sequence[Query]) -> None:
        """Build the shared parts and encode these queries, so that timings measure retrieval."""
        self.retrieve_batch(queries[:1], 1)

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """The rankings of `retrieve_batch`, with their `steps` if the system records them."""
        rankings = self.retrieve_batch(queries, max(k, self.trace_depth))
        return [
            Trace(ranking.top(k), self.steps(query, ranking))
            for query, ranking in zip(queries, rankings, strict=True)
        ]

    @property
    def trace_depth(self) -> int:
        """The number of hits that a trace reads, if the last step is a limit beyond k."""
        return 1

    def steps(self, query: Query, ranking: Ranking) -> tuple[Step, ...]:
        """The steps that led to the first `max(k, trace_depth)` hits of a query."""
        return ()

    def __rshift__(self, stage: Any) -> Pipeline:
        if isinstance(stage, Stage):
            if isinstance(self, Pipeline):
                return Pipeline(self.retriever, (*self.stages, stage))
            return Pipeline(self, (stage,))
        raise TypeError(
            f"{called(stage)} is no Stage; >> takes one, such as Rerank(kb, reranker=...). fuse(a, b) joins retrievers."
        )


class Stage(Component, ABC):
    """A strategy that changes rankings: it reranks, expands, filters or re-orders them."""

    @property
    @abstractmethod
    def depth(self) -> int:
        """The number of hits that the stage reads from each ranking, whatever `k` is."""

    @property
    def encodes(self) -> bool:
        """Whether `apply` encodes texts, which `Pipeline.prepare` then does in advance."""
        return False

    expands = False
    """Whether `apply` searches from the input hits as seeds."""

    @abstractmethod
    def apply(
        self, queries: Sequence[Query], rankings: Sequence[Ranking]
    ) -> list[Ranking]:
        """A new ranking for each query; the input rankings have at most `depth` hits."""

    def trace(self, queries: Sequence[Query], traces: Sequence[Trace]) -> list[Trace]:
        """The traces after this stage, which reads the first `depth` hits."""
        rankings = self.apply(
            queries, [trace.ranking.top(self.depth) for trace in traces]
        )
        name = type(self).__name__
        return [
            trace.then(name, self.depth, ranking)
            for trace, ranking in zip(traces, rankings, strict=True)
        ]

    def __rrshift__(self, first: object) -> Pipeline:
        example = f"Dense(kb) >> {type(self).__name__}(...)"
        raise TypeError(
            f"{called(first)} is no Retriever; a pipeline begins with one: {example}."
        )


@dataclass(frozen=True)
class Pipeline(Retriever):
    """A retriever and the stages that follow it; written `retriever >> stage >> stage`."""

    retriever: Retriever
    stages: tuple[Stage, ...]

    def __repr__(self) -> str:
        return " >> ".join([repr(self.retriever), *map(repr, self.stages)])

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """The output of the last stage; each stage reads the first `depth` hits before it."""
        return self.finish(
            queries, self.before.retrieve_batch(queries, self.stages[-1].depth), k
        )

    @property
    def before(self) -> Retriever:
        """All but the last stage."""
        if len(self.stages) == 1:
            return self.retriever
        return Pipeline(self.retriever, self.stages[:-1])

    def finish(
        self, queries: Sequence[Query], rankings: Sequence[Ranking], k: int
    ) -> list[Ranking]:
        """The output of the last stage for rankings of `before`, perhaps from an earlier run."""
        last = self.stages[-1]
        inputs = [ranking.top(last.depth) for ranking in rankings]
        return [ranking.top(k) for ranking in last.apply(queries, inputs)]

    def prepare(self, queries: Sequence[Query]) -> None:
        """Prepare the retriever and every stage, with all queries if a stage encodes texts."""
        self.retriever.prepare(queries)
        if any(stage.encodes for stage in self.stages):
            self.retrieve_batch(queries, 1)
        super().prepare(queries)

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """The traces of the retriever and every stage, for the rankings of `retrieve_batch`."""
        traces = self.retriever.trace_batch(queries, max(k, self.stages[0].depth))
        for stage in self.stages:
            traces = stage.trace(queries, traces)
        return [Trace(trace.ranking.top(k), trace.steps) for trace in traces]
