"""How a strategy says what its scores are made of: a formula and a source in the ranking's metadata.

A strategy tells the arithmetic of its scores in the ranking's metadata, written by `arithmetic`: a formula and a source
("dense", "bm25", "graph", ...), each one text for all hits or a mapping from stage to text. A formula holds numbers,
names of parts, + - · / and parentheses. It is a sum: a term that names a part which the hit lacks is left out. So
every hit's score can be worked out from its parts:

>>> import numpy as np
>>> from kg2rag.types.rankings import rank
>>> formula = {"vector": "cosine", "graph": "cosine · strength / 10"}
>>> ranking = rank(
...     "q",
...     np.array([0, 1]),
...     np.array([0.9, 0.28]),
...     ["fastapi", "starlette"],
...     k=5,
...     stages=("vector", "graph"),
...     stage_codes=np.array([0, 1]),
...     score_parts={"cosine": np.array([0.9, 0.4]), "strength": np.array([np.nan, 7.0])},
...     metadata=arithmetic(formula, {"vector": "dense", "graph": "graph"}),
... )
>>> print(ranking.explain(), end="")
 1  fastapi  0.9  vector, from dense
    = 0.9 (cosine)
 2  starlette  0.28  graph
    = 0.4 (cosine) · 7 (strength) / 10

and of a fusion, "1 / (60 + dense rank) + 1 / (60 + bm25 rank)", a hit that BM25 alone found shows the second term.
Parts that no term names (what went into a PageRank's restart, say) are shown beside the sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

FORMULA = "score"
"""The key of `Ranking.metadata` under which a strategy writes how a score is made of its parts."""
SOURCE = "source"
"""The key of `Ranking.metadata` under which a strategy writes where its hits were looked for."""
Told = str | Mapping[str, str]  # one text for all hits, or stage -> text


def arithmetic(formula: Told, source: Told) -> dict[str, object]:
    """The two entries of a ranking's metadata that explain its scores; see above."""
    return {FORMULA: formula, SOURCE: source}


class Ranked(Protocol):
    """What `sources` reads of a ranking."""

    @property
    def stages(self) -> Sequence[str]:
        """The names of the components that brought hits in."""
        ...

    @property
    def metadata(self) -> Mapping[str, object]:
        """What the strategy says about the query as a whole."""
        ...


def sources(ranking: Ranked) -> dict[str, str]:
    """Where the hits of each stage were looked for; a stage of which the ranking does not say so, by its own name."""
    told = ranking.metadata.get(SOURCE)
    return {stage: for_stage(told, stage) or stage for stage in ranking.stages}


def number(value: float) -> str:
    """A number as a formula writes it: eight digits, enough to work a score out to a millionth."""
    return f"{value:.8g}"


INNER = ("subgraph",)
"""Keys under which a stage leaves codes for the next one, which say nothing to a reader."""


def for_stage(told: object, stage: str) -> str | None:
    """What is said of a stage: by one text for all, or by its own."""
    text = told.get(stage) if isinstance(told, Mapping) else told
    return None if text is None else str(text)
