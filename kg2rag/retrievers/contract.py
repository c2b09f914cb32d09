"""Query -> Ranking: the two kinds of strategy, `Retriever` and `Stage`, and `>>`, which joins them.

Everything else in this room is a frozen dataclass that implements one of these; its constructor
arguments are its configuration, and its `repr` is the line a report prints.
`kg2rag.testing.check_retriever` tests the promises.
"""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Literal, NamedTuple, Self, TypeVar, cast

from kg2rag.text.suggestions import require_parameters
from kg2rag.types import ParameterError, Query, Ranking, Step, Trace, called, check, require_k

Builder = TypeVar("Builder")
# of a query that are read: an encoder reads a few hundred words, some searches take more
MAX_CHARACTERS = 10_000


class Tuned(NamedTuple):
    """Numbers of a system that were chosen by looking at questions; a strategy's file lists such as `TUNING`.

    `kind` : "fitted" by a program on gold; "chosen" by hand, with gold or scores of these questions known; "known":
    chosen or fitted on other questions, while scores on these were known. `variants` : how many were compared, this one
    included; None if nobody counted. `sets` : reported sets that were in view. `training` : never reported on.
    """

    system: str
    what: str
    kind: Literal["fitted", "chosen", "known"]
    variants: int | None
    sets: tuple[str, ...] = ()
    training: tuple[str, ...] = ()


@dataclass(frozen=True)
class DesignAliases:
    """Parameter names of the original design: its word, ours, and a note; a strategy's file has `ALIASES`.

    Decorates a class or function: a design's word for one of its parameters is refused, and ours
    named.
    """

    design: str
    rows: tuple[tuple[str, str, str], ...]

    def refusal(self, name: str, parameters: Collection[str]) -> str:
        """What to say of a name that is the design's for another parameter; "" for any other name."""
        if name in parameters:
            return ""
        for theirs, ours, note in self.rows:
            if _snake(name) in map(_snake, theirs.split(", ")):
                explained = f"{ours} ({note})" if note else ours
                return f"{name!r} is a word of the {self.design} design. Here: {explained}."
        return ""

    def __call__(self, builder: Builder) -> Builder:
        """The class, a `Component`, or the function, which refuses the design's words."""
        target: Any = builder
        target.refusal = self.refusal
        if isinstance(target, type):
            return builder

        @wraps(target)
        def call(*context: Any, **settings: Any) -> Any:
            _require_parameters(target, settings)
            return target(*context, **settings)

        return cast("Builder", call)


def _require_parameters(builder: Any, names: Collection[str]) -> None:
    """ParameterError for a design's word, TypeError for another name that is no parameter; both say which was meant."""
    parameters = inspect.signature(builder).parameters
    for name in names:
        refusal = builder.refusal(name, parameters)
        if refusal:
            raise ParameterError(refusal)
    require_parameters(builder, names)


def _snake(word: str) -> str:
    """The last part of a parameter's name: "graphExpansion.maxHops" -> "max_hops"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", word.rpartition(".")[2]).lower()


def _guarded(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of one query or more (and k) with its arguments checked and its queries cut, which the notes record.

    No queries have no result, and nothing is prepared for them.
    """

    @wraps(method)
    def guarded(self: Retriever, queries: Sequence[Query], *k: int, **named_k: int) -> Any:
        require_queries(queries)
        for value in (*k, *named_k.values()):
            require_k(value)
        if not queries:
            return []
        if all(len(query.text) <= MAX_CHARACTERS for query in queries):
            return method(self, queries, *k, **named_k)
        results = method(
            self,
            [replace(query, text=query.text[:MAX_CHARACTERS]) for query in queries],
            *k,
            **named_k,
        )
        if results is None or len(results) != len(queries):
            # `prepare` has none; a wrong number of them is reported by the contract's check
            return results
        return list(map(_with_cut_noted, results, queries))

    return guarded


def require_queries(queries: object) -> None:
    """TypeError: something else than a list of `Query`; it is named."""
    if isinstance(queries, str) or not isinstance(queries, Sequence):
        raise TypeError(
            f"queries must be a list of Query, not {called(queries)}. Write [Query('q', 'Who?')]."
        )
    for position, query in enumerate(queries):
        if not isinstance(query, Query):
            example = f"write Query('q{position}', 'Who?')"
            raise TypeError(f"queries[{position}] must be a Query, not {called(query)}: {example}.")


def _with_cut_noted(result: Ranking | Trace, query: Query) -> Ranking | Trace:
    """The ranking or trace of a query, whose notes record that the query was cut."""
    if len(query.text) <= MAX_CHARACTERS:
        return result
    if isinstance(result, Trace):
        return replace(result, ranking=cast("Ranking", _with_cut_noted(result.ranking, query)))
    query_cut = f"to {MAX_CHARACTERS:,} of {len(query.text):,} characters"
    return replace(result, notes=replace(result.notes, query_cut=query_cut))


class Component:
    """A dataclass of parameters, which are checked when it is made."""

    refusal = DesignAliases("", ()).refusal  # of no design; `ALIASES` replaces it

    def __new__(cls, *arguments: object, **parameters: object) -> Self:  # noqa: ARG004 - the constructor reads them
        """Answer an unknown parameter with the name that was meant."""
        _require_parameters(cls, parameters)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        check(self)


class Retriever(Component, ABC):
    """Finds passages for queries.

    The contract: a batch equals its queries one by one; the hits at a smaller `k` are a prefix of
    those at a larger one; every query gets a ranking, the empty string included; a query with
    candidates gets no other passages; the first 10,000 characters of a query are read.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in ("retrieve_batch", "trace_batch", "prepare"):
            if name in vars(cls):
                setattr(cls, name, _guarded(vars(cls)[name]))

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
        """Build what is shared by all queries and encode these, so that a timing measures only retrieval."""
        self.retrieve_batch(queries[:1], 1)

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """The rankings of `retrieve_batch`, with the `steps` that led to them if the system records these."""
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
        if hasattr(type(stage), "__rrshift__"):
            return NotImplemented  # it makes a stage of itself, as a reranker does
        if isinstance(stage, Retriever):
            raise TypeError(
                f"{called(stage)} is a Retriever; >> takes a Stage. fuse(a, b) joins retrievers."
            )
        raise TypeError(
            f"{called(stage)} is no Stage; >> takes one, such as Rerank(kb, reranker=...)."
        )


class Stage(Component, ABC):
    """Changes rankings: reranks, expands, filters, re-orders."""

    @property
    @abstractmethod
    def depth(self) -> int:
        """How many hits of each ranking the stage reads, whatever `k` the caller wants."""

    @property
    def encodes(self) -> bool:
        """Whether `apply` encodes texts that it finds on the way, which `Pipeline.prepare` then does beforehand."""
        return False

    expands = False
    """Whether the hits read are seeds, from which `apply` searches on."""

    @abstractmethod
    def apply(self, queries: Sequence[Query], rankings: Sequence[Ranking]) -> list[Ranking]:
        """A new ranking for each query; the rankings given have at most `depth` hits."""

    def trace(self, queries: Sequence[Query], traces: Sequence[Trace]) -> list[Trace]:
        """The traces of the steps so far, extended by what `apply` makes of their first `depth` hits."""
        rankings = self.apply(queries, [trace.ranking.top(self.depth) for trace in traces])
        name = type(self).__name__
        return [
            trace.then(name, self.depth, ranking)
            for trace, ranking in zip(traces, rankings, strict=True)
        ]

    def __rrshift__(self, first: object) -> Pipeline:
        example = f"Dense(kb) >> {type(self).__name__}(...)"
        raise TypeError(f"{called(first)} is no Retriever; a pipeline begins with one: {example}.")


@dataclass(frozen=True)
class Pipeline(Retriever):
    """A retriever and the stages that follow it; written `retriever >> stage >> stage`."""

    retriever: Retriever
    stages: tuple[Stage, ...]

    def __repr__(self) -> str:
        return " >> ".join([repr(self.retriever), *map(repr, self.stages)])

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Each stage reads the first `depth` hits of the step before it; `k` cuts the last one's output."""
        return self.finish(queries, self.before.retrieve_batch(queries, self.stages[-1].depth), k)

    @property
    def before(self) -> Retriever:
        """All but the last stage."""
        return (
            Pipeline(self.retriever, self.stages[:-1]) if len(self.stages) > 1 else self.retriever
        )

    def finish(
        self, queries: Sequence[Query], rankings: Sequence[Ranking], k: int
    ) -> list[Ranking]:
        """The last stage on the rankings of `before`, which a caller may have from an earlier run."""
        last = self.stages[-1]
        return [
            ranking.top(k)
            for ranking in last.apply(queries, [ranking.top(last.depth) for ranking in rankings])
        ]

    def prepare(self, queries: Sequence[Query]) -> None:
        """Prepare the retriever, then every stage: with one query, or with all if a stage encodes texts."""
        self.retriever.prepare(queries)
        if any(stage.encodes for stage in self.stages):
            self.retrieve_batch(queries, 1)
        super().prepare(queries)

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """What the retriever and every stage did; the rankings are those of `retrieve_batch`."""
        traces = self.retriever.trace_batch(queries, max(k, self.stages[0].depth))
        for stage in self.stages:
            traces = stage.trace(queries, traces)
        return [Trace(trace.ranking.top(k), trace.steps) for trace in traces]
