"""A trial -> the promises that a retriever breaks in its rankings, and from call to call."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.contract import Retriever
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.system_parts import is_component, parts
from kg2rag.testing.trial import Trial, describe_query, difference
from kg2rag.testing.worlds import is_ordinary
from kg2rag.types import FloatArray, Hit, Query, Ranking, canonical_order, for_stage
from kg2rag.types.explanation import terms_of

Promise = Callable[[Trial], Iterator[str]]
OF_RANKINGS = (
    "answers every query",
    "known passages",
    "at most k hits",
    "finite scores",
    "canonical order",
    "candidates",
    "finds something",
    "stages and paths",
    "formula",
)
"""If one of the first two is broken, the others of that world are not checked."""
SHALLOW = 7  # a depth below the usual k


def ranking_violations(
    trial: Trial, query: Query, ranking: Ranking
) -> Iterator[tuple[str, str]]:
    """The (promise, violation) of each promise that a single ranking breaks."""
    ids = ranking.ids if trial.kb is None else trial.kb.corpus.ids
    outside = [row for row in ranking.rows.tolist() if not 0 <= row < len(ids)]
    if outside:
        yield (
            "known passages",
            f"a hit at row {outside[0]}, but the corpus has {len(ids)} passages",
        )
        return
    yield from _row_violations(ranking, ids)
    if len(ranking) > trial.k:
        yield "at most k hits", f"{len(ranking)} hits at k = {trial.k}"
    if is_ordinary(query) and not len(ranking):
        yield "finds something", "it is made of the corpus's words and has no hit"
    yield from _order_violations(ranking)
    for hit in ranking:
        yield from _hit_violations(trial, query, hit)
    if ranking.notes.formula:
        yield from _formula_violations(ranking)


def _row_violations(ranking: Ranking, ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Hits with other ids than the corpus, and repeated hits."""
    rows = ranking.rows.tolist()
    if ranking.passage_ids != [ids[row] for row in rows]:
        remedy = "pass `kb.corpus.ids` to `Ranking.from_scores`"
        yield (
            "known passages",
            f"the ids of the hits are not those of the corpus; {remedy}",
        )
    if len(set(rows)) < len(rows):
        yield "known passages", f"a passage is a hit twice, of {ranking.passage_ids}"


def _order_violations(ranking: Ranking) -> Iterator[tuple[str, str]]:
    """Scores that are not finite, and hits that are not in canonical order."""
    ids, scores = ranking.passage_ids, ranking.scores
    for i in np.flatnonzero(~np.isfinite(scores)).tolist():
        yield "finite scores", f"the score of {ids[i]!r} is {scores[i]}"
    order = canonical_order(ranking.rows, scores)
    for i in np.flatnonzero(order != np.arange(len(ids))).tolist():
        expected = f"{ids[order[i]]} ({float(scores[order[i]])!r})"
        hit = f"{ids[i]} ({float(scores[i])!r}) is hit {i + 1} in place of {expected}"
        yield "canonical order", f"{hit}; order hits with `Ranking.from_scores`"


def _hit_violations(trial: Trial, query: Query, hit: Hit) -> Iterator[tuple[str, str]]:
    """A hit that is no candidate, has no stage, or has a path over unknown passages."""
    if query.candidates is not None and hit.passage_id not in query.candidates:
        yield (
            "candidates",
            f"{hit.passage_id!r} is none of its {len(query.candidates)} candidates",
        )
    promise = "stages and paths"
    if not hit.stage:
        yield (
            promise,
            f"{hit.passage_id} has no stage; pass stages=(…,) to `Ranking.from_scores`",
        )
    cited = {triple.passage_id for triple in hit.path if triple.passage_id}
    if trial.ids and not trial.ids.issuperset(cited):
        yield (
            promise,
            f"the path of {hit.passage_id} cites a passage that the corpus lacks",
        )


def _formula_violations(ranking: Ranking) -> Iterator[tuple[str, str]]:
    """Hits whose score is not the result of the formula in the notes."""
    try:
        scores = scores_by_formula(ranking)
    except Exception as error:  # noqa: BLE001
        yield "formula", f"{ranking.notes.formula!r} cannot be worked out: {error}"
        return
    for i in np.flatnonzero(
        ~np.isclose(scores, ranking.scores, rtol=1e-6, atol=1e-12)
    ).tolist():
        hit = ranking[i]
        formula = f"{hit.passage_id}: {for_stage(ranking.notes.formula, hit.stage)!r}"
        score = f"the score is {hit.score!r} with the parts {dict(hit.score_parts)}"
        yield "formula", f"{formula} gives {scores[i]}, but {score}"


def scores_by_formula(ranking: Ranking) -> FloatArray:
    """The scores of hits by the formula of their stage, (n_hits,).

    A term whose parts a hit lacks is left out of its sum; the score is NaN if it lacks all.
    """
    import pandas as pd

    columns = {
        f"part{i}": column for i, column in enumerate(ranking.score_parts.values())
    }
    symbols = dict(zip(ranking.score_parts, columns, strict=True))
    codes = (
        np.zeros(len(ranking), np.int8)
        if ranking.stage_codes is None
        else ranking.stage_codes
    )
    scores = np.full(len(ranking), np.nan)
    for code in np.unique(codes).tolist():
        for term in terms_of(ranking, ranking.stages[code]):
            expression = "".join(symbols.get(piece, piece) for piece in term).replace(
                "·", "*"
            )
            result = pd.eval(expression, engine="python", local_dict=columns)
            values = np.broadcast_to(np.asarray(result, dtype=np.float64), scores.shape)
            has_term = (codes == code) & ~np.isnan(values)
            scores[has_term] = np.nan_to_num(scores[has_term]) + values[has_term]
    return scores


def missing_answers(trial: Trial) -> Iterator[str]:
    """Queries without a ranking under their id in their order; or a result for no queries."""
    ids = [ranking.query_id for ranking in trial.rankings]
    counts = f"{len(ids)} rankings for {len(trial.queries)} queries"
    for query, query_id in zip_longest(trial.queries, ids):
        if query is None:
            yield counts
        elif query_id != query.id:
            yield f"{describe_query(query)}: the ranking of {query_id!r} at its place, of {counts}"
    empty = trial.system.retrieve_batch([], trial.k)
    if empty != []:
        yield f"no queries: expected [], got {empty!r}"


def prefix_violations(trial: Trial) -> Iterator[str]:
    """Queries whose hits at a smaller `k` are no prefix of those at a larger one."""
    for k in (1, SHALLOW, 10 * max(trial.k, 1000)):
        small, large = sorted((k, trial.k))
        rankings = trial.system.retrieve_batch(trial.queries, k)
        for query, ranking, other in zip(
            trial.queries, trial.rankings, rankings, strict=True
        ):
            fault = difference(ranking.top(small), other.top(small), notes=False)
            if fault:
                yield f"{describe_query(query)}, at k = {small} and k = {large}: {fault}"


def silent_fallbacks(trial: Trial) -> Iterator[str]:
    """Rankings that equal those of `Dense` or `BM25` without a report in their notes."""
    if trial.kb is None:
        return
    for fallback in (Dense(trial.kb), BM25(trial.kb)):
        for query, ranking in _copies(trial, fallback):
            if not ranking.notes.display_fields():
                name = type(fallback).__name__
                yield f"{describe_query(query)}: the ranking is that of {name}, and its notes do not report it"


def _copies(trial: Trial, fallback: Retriever) -> list[tuple[Query, Ranking]]:
    """The queries whose rankings equal those of another strategy, with these rankings.

    [] if all rankings do, because the system then is that strategy. Rankings of fewer than two hits
    and of queries with candidates, which agree by chance, do not count.
    """
    compared = []
    fallback_rankings = fallback.retrieve_batch(trial.queries, trial.k)
    for query, ranking, fallback_ranking in zip(
        trial.queries, trial.rankings, fallback_rankings, strict=True
    ):
        if query.candidates is None and len(ranking) > 1:
            compared.append((query, ranking, _is_copy(ranking, fallback_ranking)))
    copies = [(query, ranking) for query, ranking, is_copy in compared if is_copy]
    return copies if len(copies) < len(compared) else []


def _is_copy(ranking: Ranking, other: Ranking) -> bool:
    """Whether a ranking has the hits and scores of another one, and no further parts of a score."""
    if ranking.passage_ids != other.passage_ids:
        return False
    if ranking.scores.tolist() != other.scores.tolist():
        return False
    return set(ranking.score_parts) <= set(other.score_parts)


def faults_of_invalid_k(trial: Trial) -> Iterator[str]:
    """The values of `k` below 1 that are not refused with a ValueError."""
    for k in (0, -1):
        try:
            trial.system.retrieve_batch(trial.queries[:1], k)
        except ValueError:
            continue
        yield f"k = {k} is accepted"


def configuration_faults(trial: Trial) -> Iterator[str]:
    """Components that are no frozen dataclasses, do not equal their copies, or hide parameters."""
    system = trial.system
    for part in parts(system):
        if is_component(part) and not isinstance(part, KnowledgeBase):
            yield from _component_faults(part)
    if not dataclasses.is_dataclass(system):
        yield f"{type(system).__name__} is no dataclass: its parameters cannot be read"
    else:
        copy = dataclasses.replace(system)
        if copy != system or hash(copy) != hash(system):
            yield "a copy by dataclasses.replace does not equal it"
    if "KnowledgeBase" in repr(system):
        yield "the repr shows the knowledge base: declare kb = field(repr=False)"


def _component_faults(component: Any) -> Iterator[str]:
    """A component that is not frozen, and its parameters that `repr` does not show."""
    name = type(component).__name__
    if type(component).__dataclass_params__.frozen is False:
        yield f"{name} can be changed: declare it @dataclass(frozen=True)"
    for field in dataclasses.fields(component):
        is_parameter = isinstance(
            getattr(component, field.name), bool | int | float | str | None
        )
        if is_parameter and not field.repr and field.default is not dataclasses.MISSING:
            yield f"{name}.{field.name} is not in the repr, which is part of the cache key"


def equality_promise(
    *ways: tuple[str, Callable[[Trial], Sequence[Ranking]]],
) -> Promise:
    """The promise that other ways to retrieve return the same rankings.

    ways : description -> function that returns the rankings of a trial in another way.
    """

    def promise(trial: Trial) -> Iterator[str]:
        for description, retrieve in ways:
            for query, ranking, other in zip(
                trial.queries, trial.rankings, retrieve(trial), strict=True
            ):
                fault = difference(ranking, other)
                if fault:
                    yield f"{describe_query(query)}, {description}: {fault}"

    return promise


def _retrieve_one_by_one(trial: Trial) -> list[Ranking]:
    """The rankings of queries in batches of one."""
    return [trial.system.retrieve_batch([query], trial.k)[0] for query in trial.queries]


def _retrieve_in_reverse(trial: Trial) -> list[Ranking]:
    """The rankings of a batch in reverse order, reversed back."""
    return trial.system.retrieve_batch(trial.queries[::-1], trial.k)[::-1]


def _retrieve_by_trace(trial: Trial) -> list[Ranking]:
    """The rankings of traces."""
    return [trace.ranking for trace in trial.system.trace_batch(trial.queries, trial.k)]


def _retrieve_after_prepare(trial: Trial) -> list[Ranking]:
    """The rankings after `prepare` was called twice."""
    trial.system.prepare([])
    trial.system.prepare(trial.queries)
    return trial.system.retrieve_batch(trial.queries, trial.k)


def _retrieve_after_pickling(trial: Trial) -> list[Ranking]:
    """The rankings of a pickled and restored system."""
    system: Retriever = pickle.loads(pickle.dumps(trial.system))  # noqa: S301 (made here)
    return system.retrieve_batch(trial.queries, trial.k)


IN_EVERY_WORLD: Mapping[str, Promise] = {
    "a batch equals its queries": equality_promise(
        ("in a batch and by itself", _retrieve_one_by_one),
        ("in another order", _retrieve_in_reverse),
    ),
    "a smaller k is a prefix": prefix_violations,
    "a trace is a retrieval": equality_promise(
        ("in `retrieve_batch` and in `trace_batch`", _retrieve_by_trace)
    ),
    "no silent fall-back": silent_fallbacks,
}
IN_THE_FIRST: Mapping[str, Promise] = {
    "k is checked": faults_of_invalid_k,
    "preparing changes nothing": equality_promise(
        ("before and after `prepare`", _retrieve_after_prepare)
    ),
    "pickling": equality_promise(
        ("before and after pickling", _retrieve_after_pickling)
    ),
    "configuration": configuration_faults,
}
"""Promises of the class, which are checked in one world."""


def broken_promises(
    trial: Trial, promises: Mapping[str, Promise]
) -> Iterator[tuple[str, str]]:
    """The (promise, first violation) of each promise that a system breaks in a world."""
    fault = _first_violation(missing_answers, trial)
    if fault:
        yield "answers every query", fault
        return
    violations = _violations_of_rankings(trial)
    yield from violations.items()
    if "known passages" in violations:
        return
    for promise, check in promises.items():
        fault = _first_violation(check, trial)
        if fault:
            yield promise, fault


def _violations_of_rankings(trial: Trial) -> dict[str, str]:
    """Promise -> its first violation by a ranking of the trial."""
    violations = dict[str, str]()
    for query, ranking in zip(trial.queries, trial.rankings, strict=True):
        try:
            for promise, sentence in ranking_violations(trial, query, ranking):
                violations.setdefault(promise, f"{describe_query(query)}: {sentence}")
        except Exception as error:  # noqa: BLE001 (a ranking may hold anything)
            sentence = f"{describe_query(query)}: {type(error).__name__}: {error}"
            violations.setdefault("answers every query", sentence)
    return violations


def _first_violation(check: Promise, trial: Trial) -> str:
    """The first violation that a check finds, or the exception that it raises; "" for none."""
    try:
        return next(check(trial), "")
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"
