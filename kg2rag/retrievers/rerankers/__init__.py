"""(query, text) pairs -> scores, and a ranking -> its first hits by such scores.

A `PairReranker`'s score depends only on the pair; a `ListReranker` compares the texts of a query.
To add a reranker, write a file here and a line in `RERANKERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from kg2rag.compute.embedder import well_formed
from kg2rag.knowledge import KnowledgeBase, Workload
from kg2rag.retrievers.contract import Stage
from kg2rag.text.registry import Registry
from kg2rag.types import Count, FloatArray, Query, Ranking, component, rescored

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder as Network

Pairs = Sequence[tuple[str, str]]


@runtime_checkable
class PairReranker(Protocol):
    """Anything that scores pairs."""

    def scores(self, pairs: Pairs) -> FloatArray:
        """(n_pairs,) finite scores of (query, text) pairs; higher is better, within one query."""


@runtime_checkable
class ListReranker(Protocol):
    """Anything that scores the texts of a query together, independent of other queries."""

    def score_lists(self, lists: Sequence[Pairs]) -> list[FloatArray]:
        """(n_pairs,) finite scores of each query's (query, text) pairs, which are best first."""


Reranker = PairReranker | ListReranker


def score_batches(reranker: Reranker, pairs: Sequence[Pairs]) -> list[FloatArray]:
    """The scores of each query's pairs, by one call.

    ValueError: a wrong number of scores, or one that is not finite.
    """
    scores = _scores_of_lists(reranker, pairs)
    shapes = [values.shape for values in scores]
    expected = [(len(query_pairs),) for query_pairs in pairs]
    if shapes != expected:
        raise ValueError(
            f"{reranker!r} returned scores of shapes {shapes} for lists of {expected} pairs."
        )
    for (query, text), score in zip(
        chain.from_iterable(pairs), chain.from_iterable(scores), strict=True
    ):
        if not np.isfinite(score):
            raise ValueError(
                f"{reranker!r}: the score of {text[:60]!r} for {query[:60]!r} is not finite."
            )
    return scores


def _scores_of_lists(reranker: Reranker, pairs: Sequence[Pairs]) -> list[FloatArray]:
    if isinstance(reranker, ListReranker):
        return [
            np.asarray(values, dtype=np.float64)
            for values in reranker.score_lists(pairs)
        ]
    if not pairs:
        return []
    scores = np.asarray(
        reranker.scores(list(chain.from_iterable(pairs))), dtype=np.float64
    )
    return np.split(scores, np.cumsum(list(map(len, pairs)))[:-1])


@dataclass(frozen=True)
class FunctionReranker:
    """A function that scores (query, text), or with `of_pairs` a list of such pairs."""

    function: Callable[..., Any] = field(repr=False)
    of_pairs: bool = False
    name: str = ""

    def scores(self, pairs: Pairs) -> FloatArray:
        """The scores of the function."""
        if self.of_pairs:
            return np.asarray(self.function(list(pairs)), dtype=np.float64)
        return np.array(
            [self.function(query, text) for query, text in pairs], dtype=np.float64
        )


@dataclass(frozen=True)
class BiEncoder:
    """The cosine, in [-1, 1], of the query's vector with the text's."""

    kb: KnowledgeBase = field(repr=False)

    def scores(self, pairs: Pairs) -> FloatArray:
        """The cosines of the pairs; each text is encoded once."""
        if not pairs:
            return np.empty(0)
        queries = self.kb.encode_queries([Query("", query) for query, _ in pairs])
        texts = self.kb.encode_once([text for _, text in pairs])
        cosines: FloatArray = np.einsum("ij,ij->i", queries.astype(np.float64), texts)
        return cosines


@component
class CrossEncoder:
    """A sentence-transformers cross-encoder; pairs longer than the model reads are cut.

    Parameters
    ----------
    model : a hub name, such as "BAAI/bge-reranker-large", or a local folder. It must have one output.
    device : "cpu", or a torch device such as "cuda".
    batch_size : pairs scored at once. At 1 a pair is never padded to its neighbours' length, so that its score has
        always the same bits; more is quicker on a GPU and moves scores in the last digits.
    """

    model: str
    device: str = "cpu"
    batch_size: Count = 1

    def scores(self, pairs: Pairs) -> FloatArray:
        """The model's output through its activation; ValueError: the model has several outputs."""
        if not pairs:
            return np.empty(0)
        readable = [(well_formed(query), well_formed(text)) for query, text in pairs]
        scores = self._network.predict(
            readable, batch_size=self.batch_size, show_progress_bar=False
        )
        return np.asarray(scores, dtype=np.float64)

    @cached_property
    def _network(self) -> Network:
        from sentence_transformers import CrossEncoder as Network
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        network = Network(self.model, device=self.device)
        if network.num_labels != 1:
            raise ValueError(
                f"{self.model} has {network.num_labels} outputs; a reranker has one. Is it a classifier?"
            )
        return network

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value for name, value in self.__dict__.items() if name != "_network"
        }


DEFAULT_RERANKER = "bi-encoder"  # offline: the vectors of the knowledge base's embedder
RERANKERS: Registry[Reranker] = Registry(
    "reranker",
    {
        DEFAULT_RERANKER: BiEncoder,
        "llm(MODEL@BASE_URL)": "kg2rag.llm.reranker:named",
    },
    group="kg2rag.rerankers",
    context=1,
)


def named(name: str, kb: KnowledgeBase) -> Reranker:
    """A reranker of `RERANKERS`, else the cross-encoder of a folder or a hub name."""
    is_model = (
        name not in RERANKERS
        and "(" not in name
        and ("/" in name or Path(name).is_dir())
    )
    if is_model:
        return CrossEncoder(name)
    return RERANKERS.build(name, kb)


class RerankingStage(Stage):
    """A stage that scores texts with a reranker, by default with a bi-encoder; see `Rerank`."""

    kb: KnowledgeBase
    reranker: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "reranker", _as_reranker(self.reranker, self.kb))
        super().__post_init__()

    @property
    def encodes(self) -> bool:
        """Whether the reranker is a bi-encoder, whose texts are encoded in advance."""
        return isinstance(self.scorer, BiEncoder)

    @property
    def scorer(self) -> Reranker:
        """The reranker, or the bi-encoder if none is given."""
        return BiEncoder(self.kb) if self.reranker is None else self.reranker


def _as_reranker(reranker: Any, kb: KnowledgeBase) -> Any:
    """The reranker of a name, a function, or an object with `predict`; other values unchanged."""
    if isinstance(reranker, str):
        return named(reranker, kb)
    function = getattr(reranker, "predict", reranker)
    if isinstance(reranker, type | PairReranker | ListReranker) or not callable(
        function
    ):
        return reranker
    return FunctionReranker(
        function, function is not reranker, getattr(function, "__qualname__", "")
    )


@dataclass(frozen=True)
class Rerank(RerankingStage):
    """A stage that scores (query, title and text) of each hit, which keeps its stage and path.

    Its parts are the score it came with, `retriever`, and the reranker's, which is its new score.

    Parameters
    ----------
    reranker : None for the default, a bi-encoder by the knowledge base's embedder; a `Reranker` or its name; a function
        of (query, text); an object with `predict(pairs)`, as sentence-transformers has.
    depth : hits read, and so at most returned.
    """

    kb: KnowledgeBase = field(repr=False)
    reranker: Reranker | Callable[..., Any] | str | None = None
    depth: Count = 100

    def workloads(self, queries: Sequence[Query]) -> list[Workload]:
        """The passages for a bi-encoder, the pairs of question and hit for a cross-encoder."""
        scorer, contents = self.scorer, self.kb.corpus.contents
        if isinstance(scorer, BiEncoder):
            return [scorer.kb.workload("passages", contents)]
        if not isinstance(scorer, CrossEncoder):
            return []
        pairs = [
            (query.text, content)
            for query in queries
            for content in contents[: self.depth]
        ]
        return [Workload("pairs to rerank", pairs, scorer.scores)]

    def apply(
        self, queries: Sequence[Query], rankings: Sequence[Ranking]
    ) -> list[Ranking]:
        """The reranked hits; all pairs of the batch are scored in one call."""
        scores = self._scores(queries, rankings)
        reranked = []
        for ranking, values in zip(rankings, scores, strict=True):
            parts = {"retriever": ranking.scores, "reranker": values}
            size = max(len(ranking), 1)
            reranked.append(
                rescored(
                    ranking,
                    ranking.rows,
                    values,
                    size,
                    formula="reranker",
                    score_parts=parts,
                )
            )
        return reranked

    def _scores(
        self, queries: Sequence[Query], rankings: Sequence[Ranking]
    ) -> list[FloatArray]:
        scorer, corpus = self.scorer, self.kb.corpus
        if (
            isinstance(scorer, BiEncoder)
            and scorer.kb.corpus.fingerprint == corpus.fingerprint
        ):
            vectors = scorer.kb.encode_queries(queries)
            rows = [ranking.rows for ranking in rankings]
            return list(map(scorer.kb.dense.cosines, vectors, rows))
        pairs = []
        for query, ranking in zip(queries, rankings, strict=True):
            pairs.append(
                [(query.text, corpus.contents[row]) for row in ranking.rows.tolist()]
            )
        return score_batches(scorer, pairs)
