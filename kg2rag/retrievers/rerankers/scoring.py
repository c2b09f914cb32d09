"""(query, text) pairs -> how well each text fits its query: what a reranker is, the call that checks it, two of them.

A `Reranker` is one of two: a `PairReranker`'s score depends on the pair alone, a `ListReranker` compares the texts of a
query with one another. `BiEncoder` compares the vectors of both texts, `CrossEncoder` reads both at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from kg2rag.compute.encoder import well_formed
from kg2rag.knowledge import KnowledgeBase
from kg2rag.types import Count, FloatArray, IntArray, Query, component

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder as Network


class PairReranker(Protocol):
    """Anything that scores pairs."""

    def scores(self, pairs: Sequence[tuple[str, str]]) -> FloatArray:
        """(n_pairs,) finite scores of (query, text), higher for a better fit; comparable within one query."""
        ...


@runtime_checkable
class ListReranker(Protocol):
    """Anything that scores the texts of a query together; each query's scores depend on its own texts alone."""

    def score_lists(self, lists: Sequence[Sequence[tuple[str, str]]]) -> list[FloatArray]:
        """(n_pairs,) finite scores for each query's (query, text) pairs, which come best first as retrieved."""
        ...


Reranker = PairReranker | ListReranker


def score_batches(reranker: Reranker, pairs: Sequence[Sequence[tuple[str, str]]]) -> list[FloatArray]:
    """The scores of each query's pairs, by one call of the reranker.

    ValueError: the reranker returned another number of scores, or one that is not finite.
    """
    every = [pair for group in pairs for pair in group]
    ends = np.cumsum([len(group) for group in pairs])
    if isinstance(reranker, ListReranker):
        lists = reranker.score_lists(pairs)
        wrong = [i for i, (found, group) in enumerate(zip(lists, pairs, strict=True)) if len(found) != len(group)]
        if wrong:
            given, wanted = len(lists[wrong[0]]), len(pairs[wrong[0]])
            raise ValueError(f"{reranker!r} returned {given} scores for a list of {wanted} pairs.")
        scores = np.concatenate([np.empty(0), *lists])
    else:
        scores = np.asarray(reranker.scores(every), dtype=np.float64)
    if scores.shape != (len(every),):
        raise ValueError(f"{reranker!r} returned scores of shape {scores.shape} for {len(every)} pairs.")
    if not np.isfinite(scores).all():
        query, text = every[int(np.argmin(np.isfinite(scores)))]
        raise ValueError(f"{reranker!r}: the score of {text[:60]!r} for {query[:60]!r} is not finite.")
    return np.split(scores, ends[:-1]) if pairs else []


@dataclass(frozen=True)
class BiEncoder:
    """The cosine of the query's vector with the text's; a text is encoded once, a passage with its corpus."""

    kb: KnowledgeBase = field(repr=False)

    def scores(self, pairs: Sequence[tuple[str, str]]) -> FloatArray:
        """Cosines, in [-1, 1]."""
        if not pairs:
            return np.empty(0)
        queries = self.kb.encode_queries([Query("", query) for query, _ in pairs]).astype(np.float64)
        texts = self.kb.encode_once([text for _, text in pairs]).astype(np.float64)
        cosines: FloatArray = np.einsum("ij,ij->i", queries, texts)
        return cosines

    def passage_scores(self, queries: Sequence[Query], rows: Sequence[IntArray]) -> list[FloatArray]:
        """For each query the cosines of some of the corpus's passages."""
        vectors = self.kb.encode_queries(queries).astype(np.float64)
        passages = [self.kb.vectors[chosen].astype(np.float64) for chosen in rows]
        return [
            np.einsum("ij,ij->i", np.broadcast_to(vector, own.shape), own)
            for vector, own in zip(vectors, passages, strict=True)
        ]


@component
class CrossEncoder:
    """A sentence-transformers cross-encoder.

    Parameters
    ----------
    model : a hub name, such as "BAAI/bge-reranker-large", or a local folder. It must have one output.
    revision : a hub commit.
    max_tokens : longer pairs are cut; None takes the model's own limit.
    device : "cpu", or a torch device such as "cuda".
    batch_size : pairs scored at once. At 1 a pair is never padded to its neighbours' length, so that its score has
        always the same bits; more is quicker on a GPU and moves scores in the last digits.
    """

    model: str
    revision: str | None = None
    max_tokens: Count | None = None
    device: str = "cpu"
    batch_size: Count = 1

    def scores(self, pairs: Sequence[tuple[str, str]]) -> FloatArray:
        """The model's output, through its own activation; equal pairs are scored once.

        ValueError: the model has several outputs, as a classifier has.
        """
        if not pairs:
            return np.empty(0)
        pairs = [(well_formed(query), well_formed(text)) for query, text in pairs]
        distinct = list(dict.fromkeys(pairs))
        found = self._network.predict(distinct, batch_size=self.batch_size, show_progress_bar=False)
        by_pair = dict(zip(distinct, np.asarray(found, dtype=np.float64).tolist(), strict=True))
        return np.array([by_pair[pair] for pair in pairs])

    @cached_property
    def _network(self) -> Network:
        from sentence_transformers import CrossEncoder as Network
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        network = Network(self.model, revision=self.revision, device=self.device, max_length=self.max_tokens)
        if network.num_labels != 1:
            raise ValueError(f"{self.model} has {network.num_labels} outputs; a reranker has one. Is it a classifier?")
        return network

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_network"}
