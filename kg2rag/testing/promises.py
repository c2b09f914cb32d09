"""A trial -> what is wrong with a retriever: with its rankings one by one, and from call to call."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.dense import Dense
from kg2rag.testing.trial import Trial, difference, named
from kg2rag.testing.worlds import is_ordinary
from kg2rag.types import Hit, Query, Ranking, canonical_order, for_stage
from kg2rag.types.explanation import terms_of

Promise = Callable[[Trial], Iterator[str]]
OF_RANKINGS = (
    *("answers every query", "known passages", "at most k hits", "finite scores", "canonical order", "candidates"),
    *("finds something", "stages and paths", "formula"),
)
"""Where one of the first two is broken, the others of that world are not tried."""
SHALLOW = 7


def of_ranking(trial: Trial, query: Query, ranking: Ranking) -> Iterator[tuple[str, str]]:
    """The promises that a ranking breaks by itself, each with what is wrong."""
    rows, scores = ranking.rows.tolist(), ranking.scores
    known = ranking.ids if trial.kb is None else trial.kb.corpus.ids
    if unknown := [row for row in rows if not 0 <= row < len(known)]:
        yield "known passages", f"a hit at row {unknown[0]}, but the corpus has {len(known)} passages"
        return
    if (ids := ranking.passage_ids) != [known[row] for row in rows]:
        yield "known passages", "the hits' ids are not the corpus's; hand `kb.corpus.ids` to `Ranking.from_scores`"
    if len(set(rows)) < len(rows):
        yield "known passages", f"a passage is a hit twice, of {ids}"
    if len(rows) > trial.k:
        yield "at most k hits", f"{len(rows)} hits at k = {trial.k}"
    if is_ordinary(query) and not ids:
        yield "finds something", "it is made of the corpus's words and has no hit"
    for at in np.flatnonzero(~np.isfinite(scores)).tolist():
        yield "finite scores", f"the score of {ids[at]!r} is {scores[at]}"
    order = canonical_order(ranking.rows, scores)
    for at in np.flatnonzero(order != np.arange(len(rows))).tolist():
        here, other = (f"{ids[one]} ({float(scores[one])!r})" for one in (at, order[at]))
        yield "canonical order", f"{here} is hit {at + 1}, where {other} belongs; order hits with `Ranking.from_scores`"
    for hit in ranking:
        yield from _of_hit(trial, query, ranking, hit)


def _of_hit(trial: Trial, query: Query, ranking: Ranking, hit: Hit) -> Iterator[tuple[str, str]]:
    if query.candidates is not None and hit.passage_id not in query.candidates:
        yield "candidates", f"{hit.passage_id!r} is none of its {len(query.candidates)} candidates"
    if not hit.stage:
        yield "stages and paths", f"{hit.passage_id} names no stage; give `Ranking.from_scores` stages=(…,)"
    if trial.ids and not trial.ids.issuperset(triple.passage_id for triple in hit.path if triple.passage_id):
        yield "stages and paths", f"the path of {hit.passage_id} cites a passage that the corpus lacks"
    if ranking.notes.formula:
        told = f"{hit.passage_id}: {for_stage(ranking.notes.formula, hit.stage)!r}"
        try:
            score = worked_out(ranking, hit)
        except Exception as error:  # noqa: BLE001
            yield "formula", f"{told} cannot be worked out: {error}"
        else:
            if not np.isclose(score, hit.score, rtol=1e-6, atol=1e-12):
                yield ("formula", f"{told} gives {score!r}, and the score is {hit.score!r} of {dict(hit.score_parts)}")


def worked_out(ranking: Ranking, hit: Hit) -> float:
    """What the formula of the hit's stage gives: the sum of the terms whose parts the hit has; else ValueError."""
    import pandas as pd

    parts = {name: f"({float(value)!r})" for name, value in hit.score_parts.items()}
    terms = [term for term in terms_of(ranking, hit.stage) or () if parts.keys() >= set(term[1::2])]
    if not terms:
        raise ValueError(f"no term can be worked out from {dict(hit.score_parts)}")
    written = ("".join(parts[one] if at % 2 else one for at, one in enumerate(term)) for term in terms)
    return float(pd.eval(" + ".join(written).replace("·", "*"), engine="python"))  # type: ignore[arg-type]


def answers(trial: Trial) -> Iterator[str]:
    """Every query gets a ranking under its id, in the order of the queries; none, and an empty list, is fine."""
    given = [ranking.query_id for ranking in trial.rankings]
    counts = f"{len(given)} rankings for {len(trial.queries)} queries"
    for at, query in enumerate(trial.queries):
        if given[at : at + 1] != [query.id]:
            instead = f"the ranking of {given[at]!r}" if at < len(given) else "no ranking"
            yield f"{named(query)}: {instead} at its place, of {counts}"
    if len(given) > len(trial.queries):
        yield counts
    if (none := trial.system.retrieve_batch([], trial.k)) != []:
        yield f"no queries: expected [], got {none!r}"


def prefixes(trial: Trial) -> Iterator[str]:
    """The hits at a smaller `k` are a prefix of those at a larger one: internal depths are parameters, never `k`."""
    for k in (1, SHALLOW, 10 * max(trial.k, 1000)):
        small, large = sorted((k, trial.k))
        found = trial.system.retrieve_batch(trial.queries, k)
        for query, own, other in zip(trial.queries, trial.rankings, found, strict=True):
            shallow, deep = (other, own) if k < trial.k else (own, other)
            if wrong := difference(shallow, deep.top(small), notes=False):
                yield f"{named(query)}, at k = {small} and k = {large}: {wrong}"


def no_silent_fallback(trial: Trial) -> Iterator[str]:
    """A ranking that is another strategy's for some queries, without a part of its own, says so in its notes."""
    for yardstick in () if trial.kb is None else (Dense(trial.kb), BM25(trial.kb)):
        theirs = yardstick.retrieve_batch(trial.queries, trial.k)
        rows = list(zip(trial.queries, trial.rankings, theirs, strict=True))
        judged = [row for row in rows if len(row[1]) > 1 and row[0].candidates is None]
        same = [
            (query, own)
            for query, own, other in judged
            if (own.passage_ids, own.scores.tolist()) == (other.passage_ids, other.scores.tolist())
            and set(own.score_parts) <= set(other.score_parts)
        ]
        for query, own in same if len(same) < len(judged) else ():  # else it is that strategy
            if not own.notes.display_fields():
                yield f"{named(query)}: the ranking is {type(yardstick).__name__}'s, without a word of it in the notes"


def bounds_of_k(trial: Trial) -> Iterator[str]:
    """A `k` below 1 is refused with a ValueError."""
    for k in (0, -1):
        try:
            trial.system.retrieve_batch(trial.queries[:1], k)
        except ValueError:
            continue
        yield f"k = {k} is accepted"


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


def equal_to(*others: tuple[str, Callable[[Trial], Sequence[Ranking]]]) -> Promise:
    """The promise that other ways to retrieve give the same rankings, each with what it is, in words."""

    def promise(trial: Trial) -> Iterator[str]:
        for when, retrieve in others:
            for query, one, other in zip(trial.queries, trial.rankings, retrieve(trial), strict=True):
                if wrong := difference(one, other):
                    yield f"{named(query)}, {when}: {wrong}"

    return promise


def _prepared(trial: Trial) -> list[Ranking]:
    trial.system.prepare([])
    trial.system.prepare(trial.queries)
    return trial.system.retrieve_batch(trial.queries, trial.k)


IN_EVERY_WORLD: Mapping[str, Promise] = {
    "a batch equals its queries": equal_to(
        ("in a batch and alone", lambda trial: [trial.system.retrieve_batch([q], trial.k)[0] for q in trial.queries]),
        ("in another order", lambda trial: trial.system.retrieve_batch(trial.queries[::-1], trial.k)[::-1]),
    ),
    "a smaller k is a prefix": prefixes,
    "a trace is a retrieval": equal_to(
        (
            "in `retrieve_batch` and in `trace_batch`",
            lambda trial: [trace.ranking for trace in trial.system.trace_batch(trial.queries, trial.k)],
        )
    ),
    "no silent fall-back": no_silent_fallback,
}
IN_THE_FIRST: Mapping[str, Promise] = {
    "k is checked": bounds_of_k,
    "preparing changes nothing": equal_to(("before and after `prepare`", _prepared)),
    "pickling": equal_to(
        (
            "before and after pickling",
            lambda trial: pickle.loads(pickle.dumps(trial.system)).retrieve_batch(trial.queries, trial.k),  # noqa: S301
        )
    ),
    "configuration": configuration,
}
"""Of the class, whatever the world."""


def broken(trial: Trial, promises: Mapping[str, Promise]) -> Iterator[tuple[str, str]]:
    """The promises that a system breaks in a world, each with what is wrong first."""
    if wrong := _first(answers, trial):
        yield "answers every query", wrong
        return
    found = dict[str, str]()
    for query, ranking in zip(trial.queries, trial.rankings, strict=True):
        try:
            for promise, sentence in of_ranking(trial, query, ranking):
                found.setdefault(promise, f"{named(query)}: {sentence}")
        except Exception as error:  # noqa: BLE001 (a ranking may hold anything)
            found.setdefault("answers every query", f"{named(query)}: {type(error).__name__}: {error}")
    yield from found.items()
    for promise, check in promises.items() if "known passages" not in found else ():
        if wrong := _first(check, trial):
            yield promise, wrong


def _first(check: Promise, trial: Trial) -> str:
    try:
        return next(check(trial), "")
    except Exception as error:  # noqa: BLE001 (whatever a user's class raises is the finding)
        return f"{type(error).__name__}: {error}"
