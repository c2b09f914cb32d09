"""A ranking -> some of its hits under new scores, with what it recorded: what all stages share.

Each hit keeps its stage, source, path and score parts; the query keeps its notes.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

import numpy as np

from kg2rag.types.arrays import FloatArray, IntArray
from kg2rag.types.formulas import FORMULA
from kg2rag.types.paths import Paths, first_of
from kg2rag.types.rankings import Ranking, rank


def rescored(
    ranking: Ranking,
    rows: IntArray,
    scores: FloatArray,
    k: int,
    *,
    formula: str,
    score_parts: Mapping[str, FloatArray],
    paths: Paths | None = None,
    notes: Mapping[str, object] | None = None,
) -> Ranking:
    """Some hits of a ranking, the best `k` first by their new scores.

    Parameters
    ----------
    rows, scores : (n,) each; rows of the ranking's hits, each once.
    formula : of the new scores. score_parts : (n,) each; replace parts of the same name.
    paths : replace those of the same rows. notes : added to the metadata, see `with_notes`.
    """
    order = np.argsort(ranking.rows)
    at = order[np.searchsorted(ranking.rows, rows, sorter=order)]
    return rank(
        ranking.query_id,
        rows,
        scores,
        ranking.ids,
        k,
        stages=ranking.stages,
        stage_codes=None if ranking.stage_codes is None else ranking.stage_codes[at],
        score_parts={**{name: column[at] for name, column in ranking.score_parts.items()}, **score_parts},
        paths=ranking.paths if paths is None else first_of(paths, ranking.paths),
        metadata={**with_notes(ranking, notes or {}), FORMULA: formula},
    )


def widened(ranking: Ranking, n: int) -> dict[str, FloatArray]:
    """The ranking's score parts with room for `n` more hits, NaN there."""
    return {name: np.concatenate([column, np.full(n, np.nan)]) for name, column in ranking.score_parts.items()}


def with_notes(ranking: Ranking, notes: Mapping[str, object]) -> dict[str, object]:
    """The ranking's metadata and a stage's notes; a note whose name is taken is numbered: "trees 2"."""
    metadata = dict(ranking.metadata)
    for name, value in notes.items():
        free = next(each for at in count(1) if (each := name if at == 1 else f"{name} {at}") not in metadata)
        metadata[free] = value
    return metadata
