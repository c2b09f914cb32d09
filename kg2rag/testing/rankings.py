"""A trial -> what is wrong with its rankings, one by one; each promise a function that yields sentences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kg2rag.testing.trial import Trial, named
from kg2rag.testing.working_out import worked_out
from kg2rag.testing.worlds import is_ordinary
from kg2rag.types.formulas import FORMULA, for_stage
from kg2rag.types.passages import Query
from kg2rag.types.rankings import Ranking


def answers(trial: Trial) -> Iterator[str]:
    """Every query gets a ranking under its id, in the order of the queries; none, and an empty list, is fine."""
    try:
        found = trial.rankings
    except Exception as error:  # noqa: BLE001 (whatever a user's class raises is the finding)
        yield f"{_culprit(trial)}: {type(error).__name__}: {error}"
        return
    wanted = [query.id for query in trial.queries]
    given = [ranking.query_id for ranking in found]
    for at, query in enumerate(trial.queries):
        if at >= len(given) or given[at] != query.id:
            instead = f"the ranking of {given[at]!r}" if at < len(given) else "no ranking"
            yield f"{named(query)}: {instead} at its place, of {len(given)} rankings for {len(wanted)} queries"
    if len(given) > len(wanted):
        yield f"{len(given)} rankings for {len(wanted)} queries"
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


def at_most_k(trial: Trial) -> Iterator[str]:
    """No ranking has more than `k` hits."""
    for query, ranking in each(trial):
        if len(ranking) > trial.k:
            yield f"{named(query)}: {len(ranking)} hits at k = {trial.k}"


def known_passages(trial: Trial) -> Iterator[str]:
    """Hits are passages of the corpus, each once."""
    ids = trial.kb.corpus.ids if trial.kb is not None else None
    for query, ranking in each(trial):
        known = ids if ids is not None else ranking.ids
        unknown = [row for row in ranking.rows.tolist() if not 0 <= row < len(known)]
        if unknown:
            yield f"{named(query)}: a hit at row {unknown[0]}, but the corpus has {len(known)} passages"
        elif ids is not None and ranking.passage_ids != [ids[row] for row in ranking.rows.tolist()]:
            yield f"{named(query)}: the hits' ids are not those of the corpus; hand `kb.corpus.ids` to `rank`"
        elif len(np.unique(ranking.rows)) < len(ranking):
            yield f"{named(query)}: a passage is a hit twice, of {ranking.passage_ids}"


def finite_scores(trial: Trial) -> Iterator[str]:
    """Scores are numbers."""
    for query, ranking in each(trial):
        for row, score in zip(ranking.rows.tolist(), ranking.scores.tolist(), strict=True):
            if not np.isfinite(score):
                yield f"{named(query)}: the score of {ranking.ids[row]!r} is {score}"


def canonical_order(trial: Trial) -> Iterator[str]:
    """Hits are ordered by falling score, equal scores by corpus position."""
    for query, ranking in each(trial):
        order = np.lexsort((ranking.rows, -ranking.scores))
        wrong = np.flatnonzero(order != np.arange(len(ranking)))
        if len(wrong):
            at = int(wrong[0])
            before = ranking.hit(at + 1)
            belongs = ranking.hit(int(order[at]) + 1)
            yield (
                f"{named(query)}: {before.passage_id} ({before.score!r}) is hit {at + 1}, where "
                f"{belongs.passage_id} ({belongs.score!r}) belongs; order hits with `rank`"
            )


def candidates(trial: Trial) -> Iterator[str]:
    """A query with candidates gets none but these."""
    for query, ranking in each(trial):
        if query.candidates is not None:
            others = [id_ for id_ in ranking.passage_ids if id_ not in query.candidates]
            if others:
                yield f"{named(query)}: {others[0]!r} is none of its {len(query.candidates)} candidates"


def stages(trial: Trial) -> Iterator[str]:
    """Every hit names the stage that found it; its path cites passages of the corpus."""
    known = None if trial.kb is None else {*trial.kb.corpus.ids}
    for query, ranking in each(trial):
        for hit in ranking:
            if not hit.stage:
                yield f"{named(query)}: {hit.passage_id} names no stage; give `rank` stages=(…,)"
            cited = [triple.passage_id for triple in hit.path if triple.passage_id]
            if known is not None and not known.issuperset(cited):
                yield f"{named(query)}: the path of {hit.passage_id} cites a passage that the corpus lacks"


def formulas(trial: Trial) -> Iterator[str]:
    """Where a ranking tells a formula (`types.formulas`), it gives the score of each hit from the hit's parts."""
    for query, ranking in each(trial):
        if FORMULA not in ranking.metadata:
            continue
        for hit in ranking:
            formula = for_stage(ranking.metadata[FORMULA], hit.stage)
            try:
                score = worked_out(ranking, hit)
            except Exception as error:  # noqa: BLE001
                yield f"{named(query)}: {hit.passage_id}: the formula {formula!r} cannot be worked out: {error}"
                return
            if not np.isclose(score, hit.score, rtol=1e-6, atol=1e-12):
                yield (
                    f"{named(query)}: {formula!r} gives {score!r} for {hit.passage_id}, whose score is {hit.score!r} "
                    f"and whose parts are {dict(hit.score_parts)}"
                )


def finds_something(trial: Trial) -> Iterator[str]:
    """Questions in words of the corpus have hits: a failure raises and is never an empty ranking."""
    for query, ranking in each(trial):
        if is_ordinary(query) and not len(ranking):
            yield f"{named(query)} is made of the corpus's words and has no hit"


def each(trial: Trial) -> Iterator[tuple[Query, Ranking]]:
    """The queries and their rankings."""
    return zip(trial.queries, trial.rankings, strict=False)
