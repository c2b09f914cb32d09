"""`check_retriever` catches retrievers that were broken on purpose, each with the promise that it breaks."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

import numpy as np
import pytest

from kg2rag import BM25, Dense
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.contract import Retriever, Stage
from kg2rag.testing import ContractError, check_retriever
from kg2rag.types import Notes, Query, Ranking, Trace, at_least, between, check

NOTHING = Notes()


@dataclass(frozen=True)
class Sound(Retriever):
    """Shared words, at least `least`; what the mutants below break."""

    kb: KnowledgeBase = field(repr=False)
    least: int = 1

    def __post_init__(self) -> None:
        check(self, least=between(1, 3))

    def scores(self, query: Query) -> np.ndarray:
        words = set(query.text.lower().split())
        return np.array(
            [
                float(len(words & own))
                for own in self.kb.cached("words of passages", self.words)
            ]
        )

    def words(self) -> list[set[str]]:
        return [set(text.lower().split()) for text in self.kb.corpus.contents]

    def one(self, query: Query, rows: np.ndarray, k: int) -> Ranking:
        scores = self.scores(query)
        rows = rows[scores[rows] >= self.least]
        parts = {"shared": scores[rows]}
        ids, told = self.kb.corpus.ids, Notes("shared", "words")
        return Ranking.from_scores(
            query.id,
            rows,
            scores[rows],
            ids,
            stages=("words",),
            score_parts=parts,
            notes=told,
        ).top(k)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        every = np.arange(len(self.kb.corpus))
        masks = self.kb.candidates(queries)
        return [
            self.one(query, every if rows is None else rows, k)
            for query, rows in zip(queries, masks, strict=True)
        ]


def each(change: Callable[[Sound, Ranking], Ranking]) -> type[Sound]:
    """`Sound` with every ranking changed."""
    return batch(
        lambda self, queries, k: [
            change(self, one) for one in Sound.retrieve_batch(self, queries, k)
        ]
    )


def batch(
    retrieve: Callable[[Sound, Sequence[Query], int], list[Ranking]],
) -> type[Sound]:
    """`Sound` with another way to retrieve a batch."""
    return type("Mutant", (Sound,), {"retrieve_batch": retrieve})


def taken(ranking: Ranking, rows: object, notes: Notes = NOTHING) -> Ranking:
    """Some hits of a ranking, in that order, without what it says of them."""
    return replace(
        ranking,
        rows=ranking.rows[rows],
        scores=ranking.scores[rows],
        score_parts={},
        notes=notes,
    )


def scaled_by_the_best_of_the_batch(
    self: Sound, queries: Sequence[Query], k: int
) -> list[Ranking]:
    found = Sound.retrieve_batch(self, queries, k)
    best = max((one.scores.max(initial=1.0) for one in found), default=1.0)
    return [replace(one, scores=one.scores / best, notes=NOTHING) for one in found]


def ties_from_the_end(self: Sound, queries: Sequence[Query], k: int) -> list[Ranking]:
    found = Sound.retrieve_batch(self, queries, len(self.kb.corpus))
    return [taken(one, np.lexsort((-one.rows, -one.scores))[:k]) for one in found]


def by_chance_the_second_time(
    self: Sound, queries: Sequence[Query], k: int
) -> list[Ranking]:
    noise = random.random()
    return [
        replace(one, scores=one.scores + noise, notes=NOTHING)
        for one in Sound.retrieve_batch(self, queries, k)
    ]


def failures_as_empty_rankings(
    self: Sound, queries: Sequence[Query], k: int
) -> list[Ranking]:
    empty = np.empty(0)
    return [
        Ranking.from_scores(query.id, empty.astype(int), empty, self.kb.corpus.ids).top(
            k
        )
        for query in queries
    ]


def dense_where_few_share_a_word(
    self: Sound, queries: Sequence[Query], k: int
) -> list[Ranking]:
    own = Sound.retrieve_batch(self, queries, max(k, 10))
    dense = Dense(self.kb).retrieve_batch(queries, k)
    return [
        one.top(k) if len(one) >= 10 else other
        for one, other in zip(own, dense, strict=True)
    ]


def without_a_mask(self: Sound, queries: Sequence[Query], k: int) -> list[Ranking]:
    return Sound.retrieve_batch(
        self, [replace(query, candidates=None) for query in queries], k
    )


class NoEmpty(Sound):
    """Leaves out queries without a word."""

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        return super().retrieve_batch(
            [query for query in queries if query.text.strip()], k
        )


class OtherTrace(Sound):
    """Traces another retrieval than it returns."""

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        return [Trace(each) for each in BM25(self.kb).retrieve_batch(queries, k)]


class NeedsTitles(Sound):
    """Takes the first word of every title."""

    def scores(self, query: Query) -> np.ndarray:
        return np.array(
            [
                float(title.split()[0].lower() in query.text.lower())
                for title in self.kb.corpus.titles
            ]
        )


class Unnamed(Sound):
    """Names no stage."""

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        return [
            replace(each, stages=("",), notes=Notes())
            for each in super().retrieve_batch(queries, k)
        ]


@dataclass(frozen=True)
class Ignores(Sound):
    """Has a parameter that it does not use."""

    weight: float = 0.5

    def __post_init__(self) -> None:
        check(self, least=between(1, 3), weight=between(0, 1))


@dataclass(frozen=True)
class Unchecked(Sound):
    """Accepts a threshold that nothing can reach."""

    share: float = 0.1

    def __post_init__(self) -> None:
        check(self, least=between(1, 3))

    def scores(self, query: Query) -> np.ndarray:
        found = super().scores(query)
        return np.where(found >= self.share * 3, found, 0.0)


@dataclass(frozen=True)
class FailsLate(Sound):
    """Notices an impossible depth only when it retrieves."""

    depth: int = 30

    def __post_init__(self) -> None:
        check(self, least=between(1, 3))

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        return [
            each.top(min(self.depth, k))
            for each in super().retrieve_batch(queries, max(self.depth, k))
        ]


@dataclass(frozen=True)
class Untyped(Sound):
    """Checks no type."""

    def __post_init__(self) -> None:
        if not (isinstance(self.least, str) or 1 <= self.least <= 3):
            raise ValueError(f"least must be between 1 and 3, not {self.least}.")

    def one(self, query: Query, rows: np.ndarray, k: int) -> Ranking:
        return Sound(self.kb, int(self.least)).one(query, rows, k)


@dataclass(frozen=True)
class Hidden(Sound):
    """Keeps a parameter out of its repr."""

    strict: bool = field(default=False, repr=False)


@dataclass(frozen=True)
class Locked(Sound):
    """Holds what cannot be pickled."""

    lock: object = field(default_factory=Lock, repr=False, compare=False)


@dataclass(frozen=True)
class FirstTen(Stage):
    """Says that it reads `depth` hits and reads ten."""

    depth: int = 50

    def __post_init__(self) -> None:
        check(self, depth=at_least(1))

    def apply(
        self, queries: Sequence[Query], rankings: Sequence[Ranking]
    ) -> list[Ranking]:
        return [ranking.top(10) for ranking in rankings]


def first_ten(kb: KnowledgeBase) -> Retriever:
    return Sound(kb) >> FirstTen()


def test_a_sound_retriever_is_accepted() -> None:
    check_retriever(Sound, other_process=False)


@pytest.mark.parametrize(
    ("mutant", "promise", "words"),
    [
        (
            each(lambda _, one: taken(one, slice(len(one) // 2, None))),
            "a smaller k is a prefix",
            "at k = 1 and k = 20",
        ),
        (
            batch(scaled_by_the_best_of_the_batch),
            "a batch equals its queries",
            "by itself: hit 1,",
        ),
        (
            NoEmpty,
            "answers every query",
            "query 'empty' (''): the ranking of 'stop words' at its place",
        ),
        (
            batch(lambda self, queries, k: Sound.retrieve_batch(self, queries, k + 1)),
            "at most k hits",
            "21 hits at k = 20",
        ),
        (
            each(
                lambda self, one: replace(
                    one, rows=one.rows + len(self.kb.corpus) - 5, notes=NOTHING
                )
            ),
            "known passages",
            "but the corpus has 300 passages",
        ),
        (batch(without_a_mask), "candidates", "is none of its 10 candidates"),
        (
            each(
                lambda _, one: replace(
                    one,
                    scores=np.where(one.rows == 5, np.nan, one.scores),
                    notes=NOTHING,
                )
            ),
            "finite scores",
            "the score of 'p5' is nan",
        ),
        (
            batch(ties_from_the_end),
            "canonical order",
            "order hits with `Ranking.from_scores`",
        ),
        (
            each(lambda _, one: replace(one, notes=Notes("2 · shared", "words"))),
            "formula",
            "'2 · shared' gives",
        ),
        (
            batch(by_chance_the_second_time),
            "preparing changes nothing",
            "before and after `prepare`: hit 1,",
        ),
        (
            OtherTrace,
            "a trace is a retrieval",
            "in `retrieve_batch` and in `trace_batch`",
        ),
        (
            batch(failures_as_empty_rankings),
            "finds something",
            "is made of the corpus's words and has no hit",
        ),
        (
            batch(dense_where_few_share_a_word),
            "no silent fall-back",
            "the ranking is that of Dense",
        ),
        (NeedsTitles, "answers every query", "on passages without titles, IndexError"),
        (Unnamed, "stages and paths", "has no stage"),
        (Ignores, "parameter weight", "weight is ignored: with 0.25, 1.0,"),
        (
            Unchecked,
            "parameter share",
            "share = 1000000.0 is accepted and no query has a hit",
        ),
        (
            FailsLate,
            "parameter depth",
            "depth = -1 is accepted and fails later with ParameterError: k must be",
        ),
        (Untyped, "parameter least", "least = 'no number' is accepted; call `check`"),
        (Hidden, "configuration", "Hidden.strict is not in the repr"),
        (Locked, "pickling", "TypeError: cannot pickle '_thread.lock' object"),
        (
            first_ten,
            "parameter depth",
            "depth = 100 gives the same rankings of all 300 passages as depth = 50",
        ),
    ],
)
def test_a_broken_retriever_is_caught(
    mutant: Callable[..., Retriever], promise: str, words: str
) -> None:
    with pytest.raises(ContractError) as caught:
        check_retriever(mutant, other_process=False)
    assert words in caught.value.broken[promise]
    assert f"\n- {promise}: " in str(caught.value)


def test_a_retriever_is_checked_with_queries_of_ones_own_and_not_without_any(
    kb: KnowledgeBase,
) -> None:
    asked = [Query("1", "Which river did Anna Abbott know?"), Query("2", "")]
    check_retriever(Sound(kb), asked, other_process=False)
    with pytest.raises(
        ContractError, match=r"NoEmpty .*1 .*\n- answers every query: query '2'"
    ):
        check_retriever(NoEmpty(kb), asked, other_process=False)
    with pytest.raises(ValueError, match="queries"):
        check_retriever(Sound(kb))


def test_an_excused_promise_is_no_failure_and_a_needless_excuse_is() -> None:
    check_retriever(
        Unnamed, excused={"stages and paths": "a test of excuses"}, other_process=False
    )
    with pytest.raises(ContractError, match=r"- formula: .*for no reason"):
        check_retriever(
            Sound, excused={"formula": "for no reason"}, other_process=False
        )
    with pytest.raises(ValueError, match=r"'formulas'.*'formula'"):
        check_retriever(Sound, excused={"formulas": "misspelt"}, other_process=False)
