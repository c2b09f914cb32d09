"""Query -> passages by personalised PageRank from the phrases that its names stand for: the first HippoRAG.

Theirs [1], Sec. 2: each name of the query is linked to the one phrase nearest by embedding; the walk starts there with
weight 1 / (passages that have the phrase), the node specificity; it follows facts and synonyms, and a passage scores
the sum over its phrases. Ours: the names are the query's quoted and capitalised phrases, or if it has none, the names
of the graph that it spells out (the paper asks an LLM), or what a linker finds; a phrase counts once in a passage,
however often stated there.

[1] Gutiérrez et al., "HippoRAG: Neurobiologically Inspired Long-Term Memory for Large Language Models", NeurIPS 2024.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers import linking
from kg2rag.retrievers.hipporag import memory
from kg2rag.retrievers.hipporag.walk import Linked, PhraseWalk
from kg2rag.retrievers.linking.linkers import Linker, NGramLinker, linked_by, phrases
from kg2rag.types import Count, Damping, FloatArray, IntArray, Notes, Query, Ranking, Threshold, Trace, step

COLOUR = "#CC79A7"  # in plots


@dataclass(frozen=True)
class NameNotes(Notes):
    """Notes of a walk from names.

    Attributes
    ----------
    names : each name of the query, the phrase nearest to it, and their cosine.
    restart : phrase -> its weight where the walk starts.
    linked_by : the linker that found the names; None without one.
    """

    names: tuple[tuple[str, str, float], ...] | None = None
    restart: Mapping[str, float] | None = None
    linked_by: str | None = None


@dataclass(frozen=True)
class HippoRAG(PhraseWalk):
    """PageRank over phrases from the query's names; the dense ranking, as the notes say, for a query without any.

    Parameters
    ----------
    damping : probability of following an edge rather than restarting, in (0, 1).
    synonym_threshold : least cosine of two phrases that are joined as synonyms, in (0, 1].
    max_names : the first so many names of a query are linked.
    linker : finds the names, which are then those of the entities, as such or by name: `retrievers.linking.LINKERS`.
        None takes the query's own phrases.
    """

    kb: KnowledgeBase = field(repr=False)
    damping: Damping = 0.5
    synonym_threshold: Threshold = 0.8
    max_names: Count = 20
    linker: str | Linker | None = None
    passages = False
    unlinked = "the query names nothing"

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._linker  # refuses a name that is not known before any work

    @cached_property
    def _linker(self) -> Linker | None:
        return None if self.linker is None else linking.of(self.linker, self.kb)

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the names of the queries too."""
        self.link(queries)
        super().prepare(queries)

    def link(self, queries: Sequence[Query]) -> list[Linked]:
        """The phrases nearest to the names of each query, in the query's order, by specificity."""
        table, kb = memory.phrases(self.kb), self.kb
        named = self._names(queries) if table.phrases else [([], "") for _ in queries]
        asked = [Query("", name) for names, _ in named for name in names]
        if not asked:
            return [self._linked([], by) for _, by in named]
        scopes = [
            scope
            for rows, (names, _) in zip(kb.candidates(queries), named, strict=True)
            for scope in [None if rows is None else table.phrases_in(rows)] * len(names)
        ]
        nearest = iter(memory.phrase_vectors(kb).search(kb.encode_queries(asked), 1, scopes))
        matches = [([(name, *next(nearest)) for name in names], by) for names, by in named]
        return [
            self._linked([(name, int(rows[0]), float(cosines[0])) for name, rows, cosines in found if len(rows)], by)
            for found, by in matches
        ]

    def _linked(self, found: Sequence[tuple[str, int, float]], by: str) -> Linked:
        """From names, the phrase nearest to each, and their cosine; and the linker that found the names."""
        table = memory.phrases(self.kb)
        starts = np.array(list(dict.fromkeys(phrase for _, phrase, _ in found)), dtype=np.int64)
        weights = table.specificity[starts]
        notes = NameNotes(
            "pagerank",
            "graph",
            names=tuple((name, table.phrases[phrase], cosine) for name, phrase, cosine in found),
            restart=dict(zip(map(table.phrases.__getitem__, starts.tolist()), weights.tolist(), strict=True)),
            linked_by=by if self.linker else None,
        )
        return Linked(starts, weights, notes)

    def _names(self, queries: Sequence[Query]) -> list[tuple[list[str], str]]:
        """The names of each query, and what found them.

        Without a linker quoted and capitalised phrases; of a query without any, the graph's names that it spells out.
        """
        if self._linker is not None:
            found = self._linker.link_batch(queries)
            written = self.kb.graph.names
            return [
                (list(dict.fromkeys(written[link.entity] for link in links))[: self.max_names], linked_by(links))
                for links in found
            ]
        spelled = NGramLinker(self.kb, limit=self.max_names).link_batch(queries)
        names = []
        for query, links in zip(queries, spelled, strict=True):
            spans = phrases(query.text) or sorted(link.span for link in links)
            names.append((list(dict.fromkeys(query.text[slice(*span)] for span in spans))[: self.max_names], ""))
        return names

    def walk(self, queries: Sequence[Query], links: Sequence[Linked], k: int) -> list[Ranking]:
        """Start at each phrase with its specificity."""
        restarts = np.zeros((len(queries), self.graph.n_nodes))
        for restart, link in zip(restarts, links, strict=True):
            restart[link.phrases] = link.weights
        masks = self.kb.candidates(queries)
        walked = self.graph.pagerank(restarts, masks, self.damping, passages=False)
        return [self._summed(query, k, *given) for query, *given in zip(queries, links, masks, walked, strict=True)]

    def _summed(self, query: Query, k: int, link: Linked, mask: IntArray | None, walked: FloatArray) -> Ranking:
        """Passages by the sum over their phrases; those whose phrases the walk does not reach are no hits."""
        table = memory.phrases(self.kb)
        members = table.passages
        mass = walked[members.owners]
        sums = np.bincount(members.others, weights=mass, minlength=table.n_passages).astype(np.float64)
        reached = np.bincount(members.others[mass > 0], minlength=table.n_passages).astype(np.float64)
        rows = np.flatnonzero(sums > 0)
        rows = rows if mask is None else np.intersect1d(rows, mask)
        return self.ranking(query, k, link, mask, rows, pagerank=sums, phrases=reached)

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """Which passages the phrases of the query's names lead to, and which the walk reached."""
        why = "the walk did not reach it"
        return [
            Trace(trace.ranking, (*trace.steps, step("walked", "not expanded", why, trace.ranking.rows)))
            for trace in super().trace_batch(queries, k)
        ]
