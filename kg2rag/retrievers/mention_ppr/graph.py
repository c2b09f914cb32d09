"""A mention table -> the graph that `mention_ppr` walks: passages and names, joined by the sentences that name them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kg2rag.extraction.mentions.table import MentionTable, mention_sentences
from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.csr import gather, offsets, owners, run_starts
from kg2rag.types import Corpus, FloatArray, IntArray, Triple

LINK, BACKWARD, NAME = 0, 1, 2  # kinds of edges


@dataclass(frozen=True)
class MentionGraph:
    """Directed and weighted, in CSR form: nodes 0 .. n_passages - 1 are passages, the rest the table's names.

    Attributes
    ----------
    indptr, targets, weights : (n_nodes + 1,), (n_edges,), (n_edges,).
    kinds : (n_edges,) LINK a title link, BACKWARD one walked backward, NAME between a passage and a name.
    sentence_ptr, sentences : the sentences of edge e are `sentences[sentence_ptr[e]:sentence_ptr[e + 1]]`, rows of
        `texts`; `texts` are "title: sentence", each once.
    """

    n_passages: int
    indptr: IntArray
    targets: IntArray
    weights: FloatArray
    kinds: NDArray[np.int8]
    sentence_ptr: IntArray
    sentences: IntArray
    texts: list[str]
    masks_edges: ClassVar[bool] = False
    """Whether a query's candidates decide which edges may be walked, as they do which passages."""

    @property
    def n_nodes(self) -> int:
        """Passages and names."""
        return len(self.indptr) - 1

    @cached_property
    def sources(self) -> IntArray:
        """(n_edges,) the node each edge leaves."""
        return owners(self.indptr)

    def fact(self, edge: int) -> Triple | None:  # noqa: ARG002
        """The triple of a knowledge graph behind an edge; here None, see `mention_facts`."""
        return None

    def weights_within(self, mask: IntArray | None) -> FloatArray:  # noqa: ARG002
        """(n_edges,) the weights for a query that may see the passages of `mask` alone; here the same for every one."""
        return self.weights

    def distances(self, starts: IntArray, allowed: NDArray[np.bool_]) -> IntArray:
        """(n_nodes,) edges from the nearest of some nodes, over allowed ones; -1 where no way leads there."""
        away = np.full(self.n_nodes, -1, dtype=np.int64)
        frontier, far = np.unique(starts[allowed[starts]]), 0
        while len(frontier):
            away[frontier], far = far, far + 1
            at_frontier = np.zeros(self.n_nodes, dtype=bool)
            at_frontier[frontier] = True
            targets = np.unique(self.targets[at_frontier[self.sources]])
            frontier = targets[(away[targets] < 0) & allowed[targets]]
        return away


def build(
    table: MentionTable, corpus: Corpus, *, backward: float, name_weight: float, max_mentions: int
) -> MentionGraph:
    """The graph of a corpus.

    Parameters
    ----------
    backward : weight of walking a title link against its direction, relative to walking along it.
    name_weight : weight of an edge between a passage and a name, times ln(1 + N / df).
    max_mentions : titles named in more passages give no link.
    """
    n, keys, frequency, pages = len(corpus), table.key, table.document_frequency, table.pages
    sentences, texts = mention_sentences(table, corpus)
    # A mention of a title leads to each of its pages but itself, and back; one of another name to that name.
    titles = np.flatnonzero(((pages > 0) & (frequency <= max_mentions))[keys])
    found, which = gather(offsets(table.page_key, len(table.keys)), keys[titles])
    linking, page = titles[which], table.page_row[found]
    linking, page = linking[page != table.row[linking]], page[page != table.row[linking]]
    share = 1.0 / pages[keys[linking]]
    naming = np.flatnonzero(pages[keys] == 0)
    name = n + keys[naming].astype(np.int64) - table.n_titles
    value = name_weight * np.log1p(n / frequency[keys[naming]])
    source = np.concatenate([table.row[linking], page, table.row[naming], name]).astype(np.int64)
    target = np.concatenate([page, table.row[linking], name, table.row[naming]]).astype(np.int64)
    weight = np.concatenate([share, backward * share, value, value])
    kind = np.repeat(np.array([LINK, BACKWARD, NAME], np.int8), [len(linking), len(linking), 2 * len(naming)])
    sentence = sentences[np.concatenate([linking, linking, naming, naming])]
    # In CSR the edges of one kind between two nodes are one edge with several sentences.
    order = np.lexsort((sentence, kind, target, source))
    source, target, kind, weight = source[order], target[order], kind[order], weight[order]
    starts = np.flatnonzero(run_starts(source, target, kind))
    return MentionGraph(
        n,
        offsets(source[starts], n + len(table.keys) - table.n_titles),
        target[starts],
        np.maximum.reduceat(weight, starts) if len(starts) else weight,
        kind[starts],
        np.append(starts, len(order)),
        sentence[order].astype(np.int64),
        texts,
    )


def mention_graph(kb: KnowledgeBase, backward: float, name_weight: float, max_mentions: int) -> MentionGraph:
    """The graph of a knowledge base's mentions, one for each setting of its weights."""
    return kb.part(
        ("mention_graph", backward, name_weight, max_mentions),
        lambda: build(kb.mentions, kb.corpus, backward=backward, name_weight=name_weight, max_mentions=max_mentions),
    )
