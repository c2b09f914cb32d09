"""How a strategy records the arithmetic of its scores: a formula and a source in the ranking's metadata.

`arithmetic` writes both: a formula and a source ("dense", "bm25", "graph", ...), each one text for all hits or a
mapping from stage to text. A formula holds numbers, names of score parts, + - · / and parentheses. It is a sum; a term
that names a part which the hit lacks is left out. Every hit's score can thus be recomputed from its parts:

>>> import numpy as np
>>> from kg2rag.types.rankings import rank
>>> parts = {"cosine": np.array([0.9, 0.4]), "strength": np.array([np.nan, 7.0])}
>>> found = {"stages": ("vector", "graph"), "stage_codes": np.array([0, 1]), "score_parts": parts}
>>> sums = arithmetic({"vector": "cosine", "graph": "cosine · strength / 10"}, {"vector": "dense", "graph": "graph"})
>>> ranking = rank("q", np.array([0, 1]), np.array([0.9, 0.28]), ["fastapi", "starlette"], k=5, **found, metadata=sums)
>>> print(ranking.explain(), end="")
 1  fastapi  0.9  vector, from dense
    = 0.9 (cosine)
 2  starlette  0.28  graph
    = 0.4 (cosine) · 7 (strength) / 10

Of a fusion's "1 / (60 + dense rank) + 1 / (60 + bm25 rank)", a hit that only BM25 found shows the second term. Parts
that no term names (the restart weights of a PageRank, say) are shown beside the sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

FORMULA = "score"
"""The key of `Ranking.metadata` for the formula of the scores."""
SOURCE = "source"
"""The key of `Ranking.metadata` for where the hits were searched."""
PerStage = str | Mapping[str, str]  # one text for all hits, or stage -> text


def arithmetic(formula: PerStage, source: PerStage) -> dict[str, object]:
    """The two metadata entries that explain a ranking's scores; see above."""
    return {FORMULA: formula, SOURCE: source}


class _Described(Protocol):
    @property
    def stages(self) -> Sequence[str]: ...
    @property
    def metadata(self) -> Mapping[str, object]: ...


def sources(ranking: _Described) -> dict[str, str]:
    """Stage -> where its hits were searched; the stage's own name where the ranking does not record it."""
    recorded = ranking.metadata.get(SOURCE)
    return {stage: for_stage(recorded, stage) or stage for stage in ranking.stages}


def number(value: float) -> str:
    """A number as a formula writes it: eight digits, enough to recompute a score to a millionth."""
    return f"{value:.8g}"


INNER = ("subgraph",)
"""Metadata keys for codes that one stage leaves for the next; not shown to a reader."""


def for_stage(recorded: object, stage: str) -> str | None:
    """The text of a stage: its own, or the one for all."""
    text = recorded.get(stage) if isinstance(recorded, Mapping) else recorded
    return None if text is None else str(text)
