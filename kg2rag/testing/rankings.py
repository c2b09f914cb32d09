"""A trial -> what is wrong with its rankings, one by one; each promise a function that yields sentences."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache

import numpy as np

from kg2rag.testing.trial import Trial, named
from kg2rag.testing.worlds import is_ordinary
from kg2rag.types import Hit, Query, Ranking, canonical_order, for_stage

Promise = Callable[[Trial], Iterator[str]]


def of_each(check: Callable[[Trial, Query, Ranking], Iterator[str]]) -> Promise:
    """The promise that `check` finds nothing wrong with any ranking; a sentence begins with the query."""

    def promise(trial: Trial) -> Iterator[str]:
        for query, ranking in zip(trial.queries, trial.rankings, strict=False):
            yield from (f"{named(query)}: {sentence}" for sentence in check(trial, query, ranking))

    return promise


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


@of_each
def at_most_k(trial: Trial, _: Query, ranking: Ranking) -> Iterator[str]:
    """No ranking has more than `k` hits."""
    if len(ranking) > trial.k:
        yield f"{len(ranking)} hits at k = {trial.k}"


@of_each
def known_passages(trial: Trial, _: Query, ranking: Ranking) -> Iterator[str]:
    """Hits are passages of the corpus, each once."""
    known = ranking.ids if trial.kb is None else trial.kb.corpus.ids
    unknown = [row for row in ranking.rows.tolist() if not 0 <= row < len(known)]
    if unknown:
        yield f"a hit at row {unknown[0]}, but the corpus has {len(known)} passages"
    elif ranking.passage_ids != [known[row] for row in ranking.rows.tolist()]:
        yield "the hits' ids are not those of the corpus; hand `kb.corpus.ids` to `Ranking.of`"
    elif len(np.unique(ranking.rows)) < len(ranking):
        yield f"a passage is a hit twice, of {ranking.passage_ids}"


@of_each
def finite_scores(_: Trial, __: Query, ranking: Ranking) -> Iterator[str]:
    """Scores are numbers."""
    for at in np.flatnonzero(~np.isfinite(ranking.scores)).tolist():
        yield f"the score of {ranking.passage_ids[at]!r} is {ranking.scores[at]}"


@of_each
def in_canonical_order(_: Trial, __: Query, ranking: Ranking) -> Iterator[str]:
    """Hits are ordered by falling score, those that tie by corpus position."""
    order = canonical_order(ranking.rows, ranking.scores)
    for at in np.flatnonzero(order != np.arange(len(ranking))).tolist():
        before, belongs = ranking.hit(at + 1), ranking.hit(int(order[at]) + 1)
        yield (
            f"{before.passage_id} ({before.score!r}) is hit {at + 1}, where {belongs.passage_id} ({belongs.score!r}) "
            "belongs; order hits with `Ranking.of`"
        )


@of_each
def candidates(_: Trial, query: Query, ranking: Ranking) -> Iterator[str]:
    """A query with candidates gets none but these."""
    if query.candidates is not None:
        for id_ in [id_ for id_ in ranking.passage_ids if id_ not in query.candidates]:
            yield f"{id_!r} is none of its {len(query.candidates)} candidates"


@of_each
def stages(trial: Trial, _: Query, ranking: Ranking) -> Iterator[str]:
    """Every hit names the stage that found it; its path cites passages of the corpus."""
    for hit in ranking:
        if not hit.stage:
            yield f"{hit.passage_id} names no stage; give `Ranking.of` stages=(…,)"
        if trial.ids and not trial.ids.issuperset(triple.passage_id for triple in hit.path if triple.passage_id):
            yield f"the path of {hit.passage_id} cites a passage that the corpus lacks"


@of_each
def formulas(_: Trial, __: Query, ranking: Ranking) -> Iterator[str]:
    """Where a ranking tells a formula (`types.notes`), it gives the score of each hit from the hit's parts."""
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


@of_each
def finds_something(_: Trial, query: Query, ranking: Ranking) -> Iterator[str]:
    """Questions in words of the corpus have hits: a failure raises and is never an empty ranking."""
    if is_ordinary(query) and not len(ranking):
        yield "it is made of the corpus's words and has no hit"


OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def worked_out(ranking: Ranking, hit: Hit) -> float:
    """The sum of the terms whose parts the hit has; KeyError where the ranking has no formula for the hit's stage."""
    given = ranking.notes.formula
    formula = given[hit.stage] if isinstance(given, Mapping) else given
    names = tuple(sorted(ranking.score_parts))
    values = {f"part{at}": hit.score_parts[name] for at, name in enumerate(names) if name in hit.score_parts}
    terms = [term for term, needs in _terms(str(formula), names) if needs <= values.keys()]
    if not terms:
        raise ValueError(f"no term of {formula!r} can be worked out from {dict(hit.score_parts)}")
    return sum(_value(term, values) for term in terms)


@cache
def _terms(formula: str, names: tuple[str, ...]) -> list[tuple[ast.expr, set[str]]]:
    """The terms of a formula and the parts that each needs; SyntaxError or ValueError where it is no arithmetic."""
    longest = sorted(range(len(names)), key=lambda at: -len(names[at]))
    found = re.compile("|".join(rf"(?<![\w.])(?:{re.escape(names[at])})(?!\w)" for at in longest))
    text = found.sub(lambda match: f"part{names.index(match.group())}", formula) if names else formula
    terms = _summands(ast.parse(text.replace("·", "*"), mode="eval").body)
    return [(term, {node.id for node in ast.walk(term) if isinstance(node, ast.Name)}) for term in terms]


def _summands(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_summands(node.left), *_summands(node.right)]
    return [node]


def _value(node: ast.expr, values: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            return values[name]
        case ast.BinOp(left, sign, right):
            return float(OPERATORS[type(sign)](_value(left, values), _value(right, values)))
    raise ValueError(f"{ast.unparse(node)} is no arithmetic.")
