"""A trial -> what is wrong with a retriever: with its rankings one by one, and with how it behaves from call to call.

A promise is a function that yields sentences, under the name by which it can be excused.
"""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.dense import Dense
from kg2rag.testing.trial import Trial, difference, named
from kg2rag.testing.worlds import is_ordinary
from kg2rag.types import Hit, Query, Ranking, canonical_order, for_stage
from kg2rag.types.explanation import terms_of

Promise = Callable[[Trial], Iterator[str]]
IN_EVERY_WORLD: dict[str, Promise] = {}
IN_THE_FIRST: dict[str, Promise] = {}
"""Promises of the class, whatever the world."""
NEEDED = ("answers every query", "known passages")
"""Where one of these is broken, the others of that world are not tried."""
SHALLOW = 7


def promised(name: str, where: dict[str, Promise] = IN_EVERY_WORLD) -> Callable[[Promise], Promise]:
    """Add a promise under a name."""

    def add(check: Promise) -> Promise:
        where[name] = check
        return check

    return add


def of_each(name: str) -> Callable[[Callable[[Trial, Query, Ranking], Iterator[str]]], None]:
    """Add the promise that a check finds nothing wrong with any ranking; a sentence begins with the query."""

    def add(check: Callable[[Trial, Query, Ranking], Iterator[str]]) -> None:
        def promise(trial: Trial) -> Iterator[str]:
            for query, ranking in zip(trial.queries, trial.rankings, strict=False):
                yield from (f"{named(query)}: {sentence}" for sentence in check(trial, query, ranking))

        IN_EVERY_WORLD[name] = promise

    return add


@promised("answers every query")
def answers(trial: Trial) -> Iterator[str]:
    """Every query gets a ranking under its id, in the order of the queries; none, and an empty list, is fine."""
    try:
        given = [ranking.query_id for ranking in trial.rankings]
    except Exception as error:  # noqa: BLE001 (whatever a user's class raises is the finding)
        yield f"{_culprit(trial)}: {type(error).__name__}: {error}"
        return
    counts = f"{len(given)} rankings for {len(trial.queries)} queries"
    for at, query in enumerate(trial.queries):
        if given[at : at + 1] != [query.id]:
            instead = f"the ranking of {given[at]!r}" if at < len(given) else "no ranking"
            yield f"{named(query)}: {instead} at its place, of {counts}"
    if len(given) > len(trial.queries):
        yield counts
    if (none := trial.system.retrieve_batch([], trial.k)) != []:
        yield f"no queries: expected [], got {none!r}"


def _culprit(trial: Trial) -> str:
    """The first query that fails alone, or the batch."""
    for query in trial.queries:
        try:
            trial.system.retrieve_batch([query], trial.k)
        except Exception:  # noqa: BLE001
            return named(query)
    return f"the batch of {len(trial.queries)} queries"


@of_each("at most k hits")
def _(trial: Trial, _: Query, ranking: Ranking) -> Iterator[str]:
    if len(ranking) > trial.k:
        yield f"{len(ranking)} hits at k = {trial.k}"


@of_each("known passages")
def _(trial: Trial, _: Query, ranking: Ranking) -> Iterator[str]:
    known = ranking.ids if trial.kb is None else trial.kb.corpus.ids
    unknown = [row for row in ranking.rows.tolist() if not 0 <= row < len(known)]
    if unknown:
        yield f"a hit at row {unknown[0]}, but the corpus has {len(known)} passages"
    elif ranking.passage_ids != [known[row] for row in ranking.rows.tolist()]:
        yield "the hits' ids are not those of the corpus; hand `kb.corpus.ids` to `Ranking.of`"
    elif len(np.unique(ranking.rows)) < len(ranking):
        yield f"a passage is a hit twice, of {ranking.passage_ids}"


@of_each("finite scores")
def _(_: Trial, __: Query, ranking: Ranking) -> Iterator[str]:
    for at in np.flatnonzero(~np.isfinite(ranking.scores)).tolist():
        yield f"the score of {ranking.passage_ids[at]!r} is {ranking.scores[at]}"


@of_each("canonical order")
def _(_: Trial, __: Query, ranking: Ranking) -> Iterator[str]:
    order = canonical_order(ranking.rows, ranking.scores)
    for at in np.flatnonzero(order != np.arange(len(ranking))).tolist():
        before, belongs = ranking.hit(at + 1), ranking.hit(int(order[at]) + 1)
        yield (
            f"{before.passage_id} ({before.score!r}) is hit {at + 1}, where {belongs.passage_id} ({belongs.score!r}) "
            "belongs; order hits with `Ranking.of`"
        )


@of_each("candidates")
def _(_: Trial, query: Query, ranking: Ranking) -> Iterator[str]:
    if query.candidates is not None:
        for id_ in [id_ for id_ in ranking.passage_ids if id_ not in query.candidates]:
            yield f"{id_!r} is none of its {len(query.candidates)} candidates"


@promised("a batch equals its queries")
def batches(trial: Trial) -> Iterator[str]:
    """A batch equals its queries one by one, in any order."""
    alone = [trial.system.retrieve_batch([query], trial.k)[0] for query in trial.queries]
    yield from _differences(trial, alone, "in a batch and alone")
    turned = trial.system.retrieve_batch(trial.queries[::-1], trial.k)[::-1]
    yield from _differences(trial, turned, "in a batch and in a batch of another order")


@promised("a smaller k is a prefix")
def prefixes(trial: Trial) -> Iterator[str]:
    """The hits at a smaller `k` are a prefix of those at a larger one: internal depths are parameters, never `k`."""
    for k in (1, SHALLOW, 10 * max(trial.k, 1000)):
        small, large = sorted((k, trial.k))
        found = trial.system.retrieve_batch(trial.queries, k)
        for query, own, other in zip(trial.queries, trial.rankings, found, strict=True):
            shallow, deep = (other, own) if k < trial.k else (own, other)
            if wrong := difference(shallow, deep.top(small), notes=False):
                yield f"{named(query)}, at k = {small} and k = {large}: {wrong}"


@promised("a trace is a retrieval")
def tracing(trial: Trial) -> Iterator[str]:
    """The rankings of a trace are those of a retrieval."""
    traced = [trace.ranking for trace in trial.system.trace_batch(trial.queries, trial.k)]
    yield from _differences(trial, traced, "in `retrieve_batch` and in `trace_batch`")


@of_each("stages and paths")
def _(trial: Trial, _: Query, ranking: Ranking) -> Iterator[str]:
    for hit in ranking:
        if not hit.stage:
            yield f"{hit.passage_id} names no stage; give `Ranking.of` stages=(…,)"
        if trial.ids and not trial.ids.issuperset(triple.passage_id for triple in hit.path if triple.passage_id):
            yield f"the path of {hit.passage_id} cites a passage that the corpus lacks"


@of_each("formula")
def _(_: Trial, __: Query, ranking: Ranking) -> Iterator[str]:
    for hit in ranking if ranking.notes.formula else ():
        formula = for_stage(ranking.notes.formula, hit.stage)
        try:
            score = worked_out(ranking, hit)
        except Exception as error:  # noqa: BLE001
            yield f"{hit.passage_id}: the formula {formula!r} cannot be worked out: {error}"
            return
        if not np.isclose(score, hit.score, rtol=1e-6, atol=1e-12):
            yield (
                f"{formula!r} gives {score!r} for {hit.passage_id}, whose score is {hit.score!r} and whose parts are "
                f"{dict(hit.score_parts)}"
            )


def worked_out(ranking: Ranking, hit: Hit) -> float:
    """What the formula of the hit's stage gives: the sum of the terms whose parts the hit has; else ValueError."""
    import pandas as pd

    parts = {name: f"({float(value)!r})" for name, value in hit.score_parts.items()}
    terms = [term for term in terms_of(ranking, hit.stage) or () if parts.keys() >= set(term[1::2])]
    if not terms:
        raise ValueError(f"no term can be worked out from {dict(hit.score_parts)}")
    written = ("".join(parts[one] if at % 2 else one for at, one in enumerate(term)) for term in terms)
    return float(pd.eval(" + ".join(written).replace("·", "*"), engine="python"))  # type: ignore[arg-type]


@of_each("finds something")
def _(_: Trial, query: Query, ranking: Ranking) -> Iterator[str]:
    if is_ordinary(query) and not len(ranking):
        yield "it is made of the corpus's words and has no hit"


@promised("no silent fall-back")
def no_silent_fallback(trial: Trial) -> Iterator[str]:
    """A ranking that is another strategy's for some queries says so, in its notes."""
    for yardstick in () if trial.kb is None else (Dense(trial.kb), BM25(trial.kb)):
        theirs = yardstick.retrieve_batch(trial.queries, trial.k)
        rows = list(zip(trial.queries, trial.rankings, theirs, strict=True))
        judged = [row for row in rows if len(row[1]) > 1 and row[0].candidates is None]
        some = [(query, own) for query, own, other in judged if _same(own, other)]
        for query, own in some if len(some) < len(judged) else ():  # else it is that strategy
            if not own.notes.said():
                whose = f"the ranking is {type(yardstick).__name__}'s"
                yield f"{named(query)}: {whose}, without a word of it in the notes"


def _same(one: Ranking, other: Ranking) -> bool:
    """Equal hits with no part of their own: a reranker's may have the scores of a plain ranking too."""
    alike = one.passage_ids == other.passage_ids and one.scores.tolist() == other.scores.tolist()
    return alike and set(one.score_parts) <= set(other.score_parts)


@promised("k is checked", IN_THE_FIRST)
def bounds_of_k(trial: Trial) -> Iterator[str]:
    """A `k` below 1 is refused with a ValueError."""
    for k in (0, -1):
        try:
            trial.system.retrieve_batch(trial.queries[:1], k)
        except ValueError:
            continue
        yield f"k = {k} is accepted"


@promised("preparing changes nothing", IN_THE_FIRST)
def preparing(trial: Trial) -> Iterator[str]:
    """Preparing, once or for no query, changes no ranking."""
    trial.system.prepare([])
    trial.system.prepare(trial.queries)
    yield from _differences(trial, trial.system.retrieve_batch(trial.queries, trial.k), "before and after `prepare`")


@promised("pickling", IN_THE_FIRST)
def pickling(trial: Trial) -> Iterator[str]:
    """A pickled system, as other processes get it, gives the same rankings."""
    try:
        again = pickle.loads(pickle.dumps(trial.system))  # noqa: S301 (our own, of a moment ago)
    except Exception as error:  # noqa: BLE001
        yield f"it cannot be pickled: {type(error).__name__}: {error}"
    else:
        yield from _differences(trial, again.retrieve_batch(trial.queries, trial.k), "before and after pickling")


@promised("configuration", IN_THE_FIRST)
def configuration(trial: Trial) -> Iterator[str]:
    """Components are dataclasses that equal their copies and whose `repr` shows every parameter, and no data."""
    system = trial.system
    for part in _components(system):
        if type(part).__dataclass_params__.frozen is False:  # type: ignore[attr-defined]
            yield f"{type(part).__name__} can be changed: declare it @dataclass(frozen=True)"
        for field in dataclasses.fields(part):  # type: ignore[arg-type]
            is_parameter = isinstance(getattr(part, field.name), bool | int | float | str | None)
            if is_parameter and not field.repr and field.default is not dataclasses.MISSING:
                yield f"{type(part).__name__}.{field.name} is not in the repr, which is part of the cache key"
    if not dataclasses.is_dataclass(system):
        yield f"{type(system).__name__} is no dataclass: its parameters cannot be read"
    elif (copy := dataclasses.replace(system)) != system or hash(copy) != hash(system):
        yield "a copy by dataclasses.replace does not equal it"
    if "KnowledgeBase" in repr(system):
        yield "the repr shows the knowledge base: declare kb = field(repr=False)"


def _components(part: object) -> Iterator[object]:
    """A system and the dataclasses that it is made of, the knowledge base left out."""
    members = part if isinstance(part, tuple) else ()
    if dataclasses.is_dataclass(part) and not isinstance(part, KnowledgeBase | type):
        yield part
        members = tuple(getattr(part, field.name) for field in dataclasses.fields(part))
    for member in members:
        yield from _components(member)


def _differences(trial: Trial, others: Sequence[Ranking], when: str) -> Iterator[str]:
    for query, one, other in zip(trial.queries, trial.rankings, others, strict=True):
        if wrong := difference(one, other):
            yield f"{named(query)}, {when}: {wrong}"
