"""Rankings and their questions -> an error where they cannot be judged, and why."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kg2rag.types import QADataset, Query, Ranking, called


def check_rankings(
    rankings: Sequence[Ranking],
    data: QADataset,
    *,
    queries: Sequence[Query] | None = None,
    k: int | None = None,
    name: str = "",
) -> None:
    """Refuse rankings that cannot be judged; of some `queries`, or of all questions.

    Raises
    ------
    TypeError : something is no `Ranking`.
    ValueError : a question has no ranking, or one in another place; a ranking is longer than `k`, has rows or ids that
        the corpus lacks, a passage twice, or rising scores.
    """
    run = f"run {name!r}" if name else "this run"
    for ranking in rankings:
        if not isinstance(ranking, Ranking):
            raise TypeError(
                f"{run} contains {called(ranking)} where a Ranking is needed; see kg2rag.types.rankings.rank."
            )
    wanted = [one.id for one in (data.questions if queries is None else queries)]
    given = [ranking.query_id for ranking in rankings]
    if given != wanted:
        lacking = [id_ for id_ in wanted if id_ not in set(given)]
        if lacking:
            raise ValueError(
                f"{run} lacks {len(lacking)} of {len(wanted)} queries (first: {lacking[0]!r}). "
                "Every query needs a ranking, if an empty one."
            )
        raise ValueError(f"{run} has {len(given)} rankings for {len(wanted)} queries, or not in their order.")
    for ranking in rankings:
        _check_hits(f"{run}, query {ranking.query_id!r}", ranking, data, k)


def _check_hits(where: str, ranking: Ranking, data: QADataset, k: int | None) -> None:
    rows, ids = ranking.rows, data.corpus.ids
    if k is not None and len(rows) > k:
        raise ValueError(f"{where}: {len(rows)} hits where at most {k} were requested.")
    if len(rows) and not (rows.min() >= 0 and rows.max() < len(ids)):
        raise ValueError(f"{where}: a hit at row {rows.max()}, but the corpus has {len(ids)} passages.")
    if ranking.ids is not ids and ranking.passage_ids != [ids[row] for row in rows.tolist()]:
        raise ValueError(
            f"{where}: its passage ids are not those of {data.name}'s corpus. Was it built on another corpus?"
        )
    if len(np.unique(rows)) != len(rows):
        raise ValueError(f"{where}: a passage is ranked twice. Build rankings with kg2rag.types.rankings.rank.")
    if not (np.isfinite(ranking.scores).all() and (np.diff(ranking.scores) <= 0).all()):
        raise ValueError(
            f"{where}: scores must be finite and must not rise. Build rankings with kg2rag.types.rankings.rank."
        )


def check_candidates(rankings: Sequence[Ranking], queries: Sequence[Query], name: str) -> None:
    """Refuse hits that are not among their query's candidates (setting "distractor")."""
    for ranking, query in zip(rankings, queries, strict=True):
        if query.candidates is not None:
            strangers = sorted(set(ranking.passage_ids) - set(query.candidates))
            if strangers:
                raise ValueError(
                    f"run {name!r}, query {query.id!r}: {strangers[0]!r} is not among its {len(query.candidates)} "
                    "candidates (setting 'distractor'). A system must honour Query.candidates."
                )
