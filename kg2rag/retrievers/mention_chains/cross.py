"""A ranking of `mention_chains` -> its first hits by a sum of their score and the logit of a trained cross-encoder.

The cross-encoder reads (question and the beginning of the passage that a hit continues, hit). Its weights are in the
store, under a key that says what they were trained on; `kg2rag fit mention_chains+cross` makes them, and writes the
file of coefficients that this stage reads. Ours; the pair of a chain so far and a candidate is that of [1].

[1] Zhang et al., "End-to-End Beam Retrieval for Multi-Hop Question Answering", NAACL 2024.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import isfinite
from pathlib import Path

import numpy as np

from kg2rag.compute import Store
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.contract import Stage
from kg2rag.retrievers.mention_chains.paths import ChainPaths
from kg2rag.retrievers.mention_chains.ranker import KINDS, Linear
from kg2rag.retrievers.rerankers.scoring import CrossEncoder, score_batches
from kg2rag.types import Corpus, Count, FloatArray, ParameterError, Query, Ranking, rescored

FORMAT = 1
STAGE = "cross_encoder"  # of the store
PARTS = ("chains score", "cross")
MAX_TOKENS = 128
CONTEXT_WORDS = 24
"""How much of the passage before is read: its title and first words."""


@dataclass(frozen=True)
class CrossWeights:
    """A file that `kg2rag fit mention_chains+cross` wrote.

    Attributes
    ----------
    recipe : what the weights were trained on and how; their key in the store.
    orders : for each kind of question, score = chains · `PARTS[0]` + cross · `PARTS[1]`.
    """

    name: str
    recipe: Mapping[str, object]
    orders: Mapping[str, Linear]

    def folder(self, store: Store) -> Path:
        """The model's folder in the store; ValueError, with the command that makes it, where there is none."""
        if (found := store.find(STAGE, self.recipe)) is not None:
            return found
        sets = self.recipe.get("files")
        names = dict.fromkeys(str(each).partition("/")[0] for each in (sets if isinstance(sets, Mapping) else ()))
        data = " ".join(f"--data {name}=FOLDER" for name in names)
        raise ParameterError(
            f"weights {self.name!r}: the cross-encoder's weights are not in {store.root}. Train them: "
            f"kg2rag fit mention_chains+cross {data} --out FILE, with --leave-out as it was; then set weights=FILE."
        )


def read_weights(name: str) -> CrossWeights:
    """What a file says; ParameterError where there is no such file, or it is not as `kg2rag fit` writes it."""
    path = Path(name).expanduser()
    if not path.is_file():
        raise ParameterError(
            f"weights must be a file written by `kg2rag fit mention_chains+cross`, not {name!r}; none comes with the "
            "package."
        )
    return _read(str(path), path.stat().st_mtime_ns)


@lru_cache(maxsize=32)
def _read(name: str, modified: int) -> CrossWeights:  # noqa: ARG001 (a file that is written again is another)
    try:
        record = tomllib.loads(Path(name).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"weights {name!r}: not TOML: {error}") from None
    if record.get("format") != FORMAT or not isinstance(record.get("recipe"), dict):
        raise ParameterError(f"weights {name!r}: not a file of format {FORMAT} with a [recipe]. Fit it anew.")
    order = record.get("order")
    return CrossWeights(name, record["recipe"], {kind: _linear(order, kind, name) for kind in KINDS})


def _linear(orders: object, kind: str, file: str) -> Linear:
    given = orders.get(kind) if isinstance(orders, Mapping) else None
    values = [given.get(key) for key in ("chains", "cross")] if isinstance(given, Mapping) else []
    numbers = [float(value) for value in values if isinstance(value, int | float) and isfinite(value)]
    if len(numbers) != len(PARTS):
        raise ParameterError(f"weights {file!r}: [order.{kind}] must have finite numbers `chains` and `cross`.")
    return Linear(dict(zip(PARTS, numbers, strict=True)))


def paired(question: str, corpus: Corpus, row: int, source: int | None) -> tuple[str, str]:
    """What the cross-encoder reads: question and beginning of the passage before, and the passage."""
    before = "" if source is None else " ".join(corpus.contents[source].split()[:CONTEXT_WORDS])
    return f"{question} {before}".rstrip(), corpus.contents[row]


def pairs_of(question: str, corpus: Corpus, ranking: Ranking, most: int) -> list[tuple[str, str]]:
    """The pairs of the first `most` hits; each after the passage that it continues, where the ranking knows one."""
    sources = ranking.paths.sources if isinstance(ranking.paths, ChainPaths) else {}
    return [paired(question, corpus, row, sources.get(row)) for row in ranking.rows[:most].tolist()]


def network_of(folder: Path) -> CrossEncoder:
    """The network of the store's folder: a pair alone in its batch and one thread a pair, so that bits stay."""
    return CrossEncoder(str(folder), max_tokens=MAX_TOKENS)


@dataclass(frozen=True)
class CrossOrder(Stage):
    """Orders the first hits of `mention_chains` by chains · their score + cross · logit; the others stay below them.

    The ranking of a question that names nothing, over passages that name no other, stays as it is: by cosine.
    Metadata add `pairs cut`: how many of the pairs were longer than the `MAX_TOKENS` that are read.

    Parameters
    ----------
    weights : a file that `kg2rag fit mention_chains+cross` wrote, whose weights are in the store.
    scored : hits that the cross-encoder reads.
    depth : hits read, and so at most returned.
    """

    kb: KnowledgeBase = field(repr=False)
    weights: str = ""
    scored: Count = 12
    depth: Count = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        self._network()

    def _network(self) -> CrossEncoder:
        folder = read_weights(self.weights).folder(self.kb.store)
        return self.kb.cached((STAGE, folder), lambda: network_of(folder))

    def apply(self, queries: Sequence[Query], rankings: Sequence[Ranking]) -> list[Ranking]:
        """All pairs of the batch in one call.

        ValueError: a ranking is not of `mention_chains`, whose kind of question chooses the coefficients.
        """
        network, corpus = self._network(), self.kb.corpus
        pairs = [
            pairs_of(query.text, corpus, ranking, self.scored) if self._order(ranking) else []
            for query, ranking in zip(queries, rankings, strict=True)
        ]
        cut = [int((network.lengths(each) > MAX_TOKENS).sum()) for each in pairs]
        return [
            self._ordered(ranking, logits, longer) if len(logits) else ranking
            for ranking, logits, longer in zip(rankings, score_batches(network, pairs), cut, strict=True)
        ]

    def _order(self, ranking: Ranking) -> Linear | None:
        """The sum for the kind of question; None where there is nothing to order, or the kind is `UNLINKED`."""
        kind = ranking.metadata.get("question")
        if len(ranking) and kind is None:
            raise ValueError(
                f"query {ranking.query_id!r}: not a ranking of mention_chains, whose `question` is needed."
            )
        return read_weights(self.weights).orders.get(str(kind))

    def _ordered(self, ranking: Ranking, logits: FloatArray, cut: int) -> Ranking:
        order = read_weights(self.weights).orders[str(ranking.metadata["question"])]
        n, below = len(logits), np.arange(1.0, len(ranking) - len(logits) + 1)
        signals = dict(zip(PARTS, (ranking.scores[:n], logits), strict=True))
        scores = order(signals)
        least = np.full(len(below), scores.min())
        return rescored(
            ranking,
            ranking.rows,
            np.concatenate([scores, least - below]),
            len(ranking),
            formula=f"{order.formula} + (least scored - places below)",
            score_parts={
                **{name: np.concatenate([column, np.full(len(below), np.nan)]) for name, column in signals.items()},
                "least scored": np.concatenate([np.full(n, np.nan), least]),
                "places below": np.concatenate([np.full(n, np.nan), below]),
            },
            notes={"pairs cut": cut},
        )
