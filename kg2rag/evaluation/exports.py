"""Our rankings -> a ranx run, a DataFrame; a qrels file -> a DataFrame. `Comparison.save` writes both as TREC files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from kg2rag.retrievers.adapters import trec
from kg2rag.types import Ranking

if TYPE_CHECKING:
    import ranx


def to_frame(rankings: Sequence[Ranking]) -> pd.DataFrame:
    """One row per hit: query_id, passage_id, rank (from 1), score, stage; a query without hits has none."""
    rows = [
        (ranking.query_id, hit.passage_id, at, hit.score, hit.stage)
        for ranking in rankings
        for at, hit in enumerate(ranking, start=1)
    ]
    return pd.DataFrame(rows, columns=["query_id", "passage_id", "rank", "score", "stage"])


def qrels_frame(path: Path | str) -> pd.DataFrame:
    """A TREC qrels file as the `qrels` that `kg2rag.from_frames` takes: query_id, passage_id, grade."""
    rows = [(q, id_, grade) for q, judged in trec.load_qrels(Path(path)).items() for id_, grade in judged.items()]
    return pd.DataFrame(rows, columns=["query_id", "passage_id", "grade"])


def to_ranx(rankings: Sequence[Ranking], name: str) -> ranx.Run:
    """A run whose scores are 1/rank: ranx (0.3.21) reorders long ties, and this order has none.

    Raises ValueError: no ranking has a hit; ranx cannot represent such a run.
    """
    import ranx

    if not any(len(ranking) for ranking in rankings):
        raise ValueError(f"run {name!r}: no query has a hit, which ranx cannot represent.")
    run = {
        ranking.query_id: {id_: 1.0 / at for at, id_ in enumerate(ranking.passage_ids, start=1)} for ranking in rankings
    }
    return ranx.Run(run, name=name)
