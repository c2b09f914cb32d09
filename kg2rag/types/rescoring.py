"""A ranking -> its hits under new scores, or with others beside them: what the stages have in common.

Nothing that the ranking said is lost: a hit keeps its stage, source, path and parts, the query its notes.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

import numpy as np

from kg2rag.types.arrays import FloatArray, IntArray
from kg2rag.types.formulas import FORMULA
from kg2rag.types.passages import Triple
from kg2rag.types.rankings import Ranking, rank


def rescored(
    ranking: Ranking,
    rows: IntArray,
    scores: FloatArray,
    k: int,
    *,
    formula: str,
    score_parts: Mapping[str, FloatArray],
    paths: Mapping[int, tuple[Triple, ...]] | None = None,
    said: Mapping[str, object] | None = None,
) -> Ranking:
    """Some hits of a ranking, best `k` first by their new scores.

    Parameters
    ----------
    rows, scores : (n,) each; rows that the ranking holds, each once.
    formula : of the new scores. score_parts : (n,) each, put over those that the hits have.
    paths : put over those that the ranking has. said : added to what it says, see `also`.
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
        paths={**ranking.paths, **(paths or {})},
        metadata={**also(ranking, said or {}), FORMULA: formula},
    )


def widened(ranking: Ranking, n: int) -> dict[str, FloatArray]:
    """The ranking's parts, with room for `n` hits more, which have none of them."""
    return {name: np.concatenate([column, np.full(n, np.nan)]) for name, column in ranking.score_parts.items()}


def also(ranking: Ranking, said: Mapping[str, object]) -> dict[str, object]:
    """What a ranking says of the query, and what a stage says too; where both use one word, the stage's is numbered."""
    metadata = dict(ranking.metadata)
    for word, value in said.items():
        free = next(name for at in count(1) if (name := word if at == 1 else f"{word} {at}") not in metadata)
        metadata[free] = value
    return metadata
