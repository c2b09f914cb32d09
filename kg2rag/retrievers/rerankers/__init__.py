"""(query, text) pairs -> how well each text fits its query, and a ranking -> its first hits in that order.

A `PairReranker`'s score depends only on the pair, a `ListReranker` compares the texts of a query with one another. To
add one: a file here, and a line in `RERANKERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from kg2rag.compute.embedder import well_formed
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.contract import Pipeline, Retriever, Stage
from kg2rag.text.registry import Registry
from kg2rag.types import Count, FloatArray, Query, Ranking, called, component, rescored

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder as Network

Pairs = Sequence[tuple[str, str]]


@runtime_checkable
class PairReranker(Protocol):
    """Anything that scores pairs."""

    def scores(self, pairs: Pairs) -> FloatArray:
        """(n_pairs,) finite scores of (query, text), higher for a better fit; comparable within one query."""


@runtime_checkable
class ListReranker(Protocol):
    """Anything that scores the texts of a query together; each query's scores depend only on its texts."""

    def score_lists(self, lists: Sequence[Pairs]) -> list[FloatArray]:
        """(n_pairs,) finite scores for each query's (query, text) pairs, which come best first as retrieved."""


Reranker = PairReranker | ListReranker


def score_batches(reranker: Reranker, pairs: Sequence[Pairs]) -> list[FloatArray]:
    """The scores of each query's pairs, by one call. ValueError: another number of them, or one that is not finite."""
    if isinstance(reranker, ListReranker):
        found = [np.asarray(own, dtype=np.float64) for own in reranker.score_lists(pairs)]
    else:
        scores = np.asarray(reranker.scores([pair for own in pairs for pair in own]), dtype=np.float64)
        found = np.split(scores, np.cumsum(list(map(len, pairs)))[:-1]) if pairs else []
    given, wanted = [own.shape for own in found], [(len(own),) for own in pairs]
    if given != wanted:
        raise ValueError(f"{reranker!r} returned scores of shapes {given} for lists of {wanted} pairs.")
    for own, values in zip(pairs, found, strict=True):
        for at in np.flatnonzero(~np.isfinite(values)).tolist():
            raise ValueError(f"{reranker!r}: the score of {own[at][1][:60]!r} for {own[at][0][:60]!r} is not finite.")
    return found


class Following:
    """A reranker that may follow a retriever: `retriever >> reranker` is `retriever >> Rerank(kb, reranker)`."""

    def __rrshift__(self, before: Retriever) -> Pipeline:
        inside: list[Any] = [before]
        for one in inside:  # which grows
            if isinstance(one, KnowledgeBase):
                return before >> Rerank(one, self)  # type: ignore[arg-type]
            members = [getattr(one, each.name) for each in fields(one)] if is_dataclass(one) else []
            inside += one if isinstance(one, tuple) else members
        raise TypeError(f"{called(before)} has no knowledge base. Write retriever >> Rerank(kb, reranker=...).")


@dataclass(frozen=True)
class FunctionReranker(Following):
    """A function that scores (query, text), or with `of_pairs` a list of such pairs."""

    function: Callable[..., Any] = field(repr=False)
    of_pairs: bool = False
    name: str = ""

    def scores(self, pairs: Pairs) -> FloatArray:
        """What the function says of the pairs."""
        found = self.function(list(pairs)) if self.of_pairs else [self.function(*pair) for pair in pairs]
        return np.asarray(found, dtype=np.float64)


@dataclass(frozen=True)
class BiEncoder(Following):
    """The cosine, in [-1, 1], of the query's vector with the text's; a passage's is that of its corpus."""

    kb: KnowledgeBase = field(repr=False)

    def scores(self, pairs: Pairs) -> FloatArray:
        """A text is encoded once."""
        if not pairs:
            return np.empty(0)
        queries = self.kb.encode_queries([Query("", query) for query, _ in pairs]).astype(np.float64)
        cosines: FloatArray = np.einsum("ij,ij->i", queries, self.kb.encode_once([text for _, text in pairs]))
        return cosines


@component
class CrossEncoder(Following):
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
        """The model's output, through its own activation. ValueError: it has several, as a classifier has."""
        read = [(well_formed(query), well_formed(text)) for query, text in pairs]
        found = self._network.predict(read, batch_size=self.batch_size, show_progress_bar=False) if read else ()
        return np.asarray(found, dtype=np.float64)

    @cached_property
    def _network(self) -> Network:
        from sentence_transformers import CrossEncoder as Network
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        network = Network(self.model, device=self.device)
        if network.num_labels != 1:
            raise ValueError(f"{self.model} has {network.num_labels} outputs; a reranker has one. Is it a classifier?")
        return network

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_network"}


DEFAULT_RERANKER = "bi-encoder"  # offline: the vectors of the knowledge base's own embedder
RERANKERS: Registry[Reranker] = Registry(
    "reranker",
    {DEFAULT_RERANKER: BiEncoder, "llm(MODEL@BASE_URL)": "kg2rag.llm.reranker:named"},
    group="kg2rag.rerankers",
    context=1,
)


def named(name: str, kb: KnowledgeBase) -> Reranker:
    """A reranker of `RERANKERS`, else the cross-encoder of a folder or a hub name, such as BAAI/bge-reranker-large."""
    is_model = name not in RERANKERS and "(" not in name and ("/" in name or Path(name).is_dir())
    return CrossEncoder(name) if is_model else RERANKERS.build(name, kb)


class RerankingStage(Stage):
    """A stage that scores texts with a reranker, the default one where `reranker` is None; see `Rerank`."""

    kb: KnowledgeBase
    reranker: Any

    def __post_init__(self) -> None:
        given = named(self.reranker, self.kb) if isinstance(self.reranker, str) else self.reranker
        function = getattr(given, "predict", given)
        if callable(function) and not (isinstance(given, type | PairReranker | ListReranker)):
            given = FunctionReranker(function, function is not given, getattr(function, "__qualname__", ""))
        object.__setattr__(self, "reranker", given)
        super().__post_init__()

    @property
    def encodes(self) -> bool:
        """The bi-encoder's texts can be encoded beforehand."""
        return isinstance(self.scorer, BiEncoder)

    @property
    def scorer(self) -> Reranker:
        """The reranker that scores."""
        return BiEncoder(self.kb) if self.reranker is None else self.reranker


@dataclass(frozen=True)
class Rerank(RerankingStage):
    """Scores (query, title and text) of each hit, which keeps its stage and path.

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

    def apply(self, queries: Sequence[Query], rankings: Sequence[Ranking]) -> list[Ranking]:
        """All pairs of the batch in one call; passages that the scorer's corpus has are not encoded as texts."""
        scorer, corpus = self.scorer, self.kb.corpus
        if isinstance(scorer, BiEncoder) and scorer.kb.corpus.fingerprint == corpus.fingerprint:
            columns = zip(scorer.kb.encode_queries(queries), rankings, strict=True)
            found = [scorer.kb.dense.cosines(vector, ranking.rows) for vector, ranking in columns]
        else:
            hits = zip([query.text for query in queries], rankings, strict=True)
            texts = [(asked, [corpus.contents[row] for row in ranking.rows.tolist()]) for asked, ranking in hits]
            found = score_batches(scorer, [[(asked, text) for text in own] for asked, own in texts])

        def ordered(one: Ranking, scores: FloatArray) -> Ranking:
            parts = {"retriever": one.scores, "reranker": scores}
            return rescored(one, one.rows, scores, max(len(one), 1), formula="reranker", score_parts=parts)

        return list(map(ordered, rankings, found))
