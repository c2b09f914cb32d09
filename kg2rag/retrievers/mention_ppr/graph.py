"""A mention table -> the graph that `mention_ppr` walks: passages and names, joined by the sentences that name them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kg2rag.compute.files import mapped
from kg2rag.extraction.mentions.sentences import mention_sentences, sentence_places
from kg2rag.extraction.mentions.table import VERSION as RULES
from kg2rag.extraction.mentions.table import MentionTable
from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.csr import Codes, Offsets, frozen, gather, offsets, owners, run_starts
from kg2rag.knowledge.graph.walks import WalkGraph
from kg2rag.types import Corpus, FloatArray, IntArray, Triple

VERSION = 1  # raise it when the edges or the files change, so that stored ones are rebuilt
LINK, BACKWARD, NAME = 0, 1, 2  # kinds of edges


@dataclass(frozen=True)
class MentionGraph:
    """Directed and weighted, in CSR form: nodes 0 .. n_passages - 1 are passages, the rest the table's names.

    Attributes
    ----------
    indptr, targets, weights : (n_nodes + 1,), (n_edges,), (n_edges,).
    kinds : (n_edges,) LINK a title link, BACKWARD one walked backward, NAME between a passage and a name.
    sentence_ptr, sentences : the sentences of edge e are `sentences[sentence_ptr[e]:sentence_ptr[e + 1]]`, rows of
        `texts`; `texts` are "title: sentence", each once, made when they are read.
    """

    n_passages: int
    indptr: Offsets
    targets: Codes
    weights: FloatArray
    kinds: NDArray[np.int8]
    sentence_ptr: Offsets
    sentences: Codes
    texts: Sequence[str]
    masks_edges: ClassVar[bool] = False
    """Whether a query's candidates decide which edges may be walked, as they do which passages."""

    @property
    def n_nodes(self) -> int:
        """Passages and names."""
        return len(self.indptr) - 1

    @cached_property
    def walked(self) -> WalkGraph:
        """The same graph for compiled walks; passages are what is ranked."""
        return WalkGraph(
            self.indptr, self.targets, self.weights, self.sentence_ptr, self.sentences, n_ranked=self.n_passages
        )

    def sources_of(self, edges: IntArray) -> IntArray:
        """The nodes that some edges leave."""
        return np.searchsorted(self.indptr, edges, side="right") - 1

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
            targets = np.unique(self.targets[gather(self.indptr, frontier)[0]]).astype(np.int64)
            frontier = targets[(away[targets] < 0) & allowed[targets]]
        return away


@dataclass(frozen=True)
class MentionEdges:
    """The edges of a mention graph, whatever they weigh; arrays as in `MentionGraph`, in the smallest types that fit.

    `values` are the weights for a `backward` and a `name_weight` of 1.
    """

    n_passages: int
    indptr: Offsets
    targets: Codes
    values: FloatArray
    kinds: NDArray[np.int8]
    sentence_ptr: Offsets
    sentences: Codes

    @classmethod
    def of(cls, table: MentionTable, n_passages: int, max_mentions: int) -> MentionEdges:
        """The edges of a corpus; titles named in more than `max_mentions` passages give no link."""
        n, keys, frequency, pages = n_passages, table.key, table.document_frequency, table.pages
        sentences = sentence_places(table)
        # A mention of a title leads to each of its pages but itself, and back; one of another name to that name.
        titles = np.flatnonzero(((pages > 0) & (frequency <= max_mentions))[keys])
        found, which = gather(offsets(table.page_key, len(table.keys)), keys[titles])
        linking, page = titles[which], table.page_row[found]
        linking, page = linking[page != table.row[linking]], page[page != table.row[linking]]
        naming = np.flatnonzero(pages[keys] == 0)
        name = n + keys[naming].astype(np.int64) - table.n_titles
        source = np.concatenate([table.row[linking], page, table.row[naming], name]).astype(np.int64)
        target = np.concatenate([page, table.row[linking], name, table.row[naming]]).astype(np.int64)
        share, rarity = 1.0 / pages[keys[linking]], np.log1p(n / frequency[keys[naming]])
        value = np.concatenate([share, share, rarity, rarity])
        kind = np.repeat(np.array([LINK, BACKWARD, NAME], np.int8), [len(linking), len(linking), 2 * len(naming)])
        sentence = sentences[np.concatenate([linking, linking, naming, naming])]
        # In CSR the edges of one kind between two nodes are one edge with several sentences.
        order = np.lexsort((kind.astype(np.int64) << 32 | sentence, source << 32 | target))
        source, target, kind, value = source[order], target[order], kind[order], value[order]
        starts = np.flatnonzero(run_starts(source, target, kind))
        return cls(
            n,
            frozen(offsets(source[starts], n + len(table.keys) - table.n_titles)),
            frozen(target[starts].astype(np.int32)),
            frozen(np.maximum.reduceat(value, starts) if len(starts) else value),
            frozen(kind[starts]),
            frozen(np.append(starts, len(order))),
            frozen(sentence[order].astype(np.int32)),
        )

    def weighing(self, backward: float, name_weight: float, texts: Sequence[str]) -> MentionGraph:
        """The graph under some weights, see `build`; `texts` are those that the sentences are places of."""
        factors = np.array([1.0, backward, name_weight])  # by kind
        weights = frozen(factors[self.kinds] * self.values)
        arrays = self.kinds, self.sentence_ptr, self.sentences
        return MentionGraph(self.n_passages, self.indptr, self.targets, weights, *arrays, texts)

    def save(self, folder: Path) -> None:
        """Write the arrays, a file each."""
        for field in fields(self)[1:]:
            np.save(folder / f"{field.name}.npy", getattr(self, field.name))

    @classmethod
    def load(cls, folder: Path, n_passages: int) -> MentionEdges:
        """Open what `save` wrote, memory-mapped."""
        return cls(n_passages, *(mapped(folder / f"{field.name}.npy") for field in fields(cls)[1:]))


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
    edges = MentionEdges.of(table, len(corpus), max_mentions)
    return edges.weighing(backward, name_weight, mention_sentences(table, corpus)[1])


def mention_graph(kb: KnowledgeBase, backward: float, name_weight: float, max_mentions: int) -> MentionGraph:
    """The graph of a knowledge base's mentions, one for each setting of its weights."""
    return kb.cached(
        ("mention_graph", backward, name_weight, max_mentions),
        lambda: _edges(kb, max_mentions).weighing(backward, name_weight, mention_sentences(kb.mentions, kb.corpus)[1]),
    )


def _edges(kb: KnowledgeBase, max_mentions: int) -> MentionEdges:
    """The edges of a knowledge base, from the store unless its mentions are shuffled."""
    size = len(kb.corpus)
    if kb.mention_table is not None:
        return kb.cached(("mention_edges", max_mentions), lambda: MentionEdges.of(kb.mentions, size, max_mentions))
    key = {"corpus": kb.corpus.fingerprint, "rules": [RULES, VERSION], "max_mentions": max_mentions}
    path = kb.store.entry(
        "mention-edges", key, lambda folder: MentionEdges.of(kb.mentions, size, max_mentions).save(folder)
    )
    return kb.cached(("mention_edges", max_mentions), lambda: MentionEdges.load(path, size))
