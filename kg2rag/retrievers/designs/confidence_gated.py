"""Query -> dense hits, joined by passages of related entities for a confident query.

The confidence-gated design: graph expansion adds noise, so only a confident query gets it. Theirs:
every default but one, the confidence, the scores and the gate. Ours:

- `min_score`: their 0.7 is for another encoder; 0.35 keeps 95 % of the gold passages among MiniLM's five best hits.
- A passage that several related entities reach is scored by the strongest; an entity's passages are ordered by cosine
  or by how often they name it. Theirs are in the order of a database, and `passage_score` is a placeholder, 1.
- Without vectors BM25 is squashed to 1 / (1 + 1 / score), which rises with the score; their 1 / (1 + score) falls. It
  also answers a query that names an entity if no passage is similar enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Literal, NamedTuple

import numpy as np

from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.neighbourhood import Hops
from kg2rag.knowledge.graph.paths import triple_paths
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.contract import DesignAliases, Retriever, TuningRecord
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.linking.linkers import (
    Link,
    Linker,
    linked_entities,
    unlinked_names,
)
from kg2rag.retrievers.neighbour_passages import (
    LinksEntities,
    Related,
    components,
    passages_naming,
    related_entities,
)
from kg2rag.types import (
    Count,
    FloatArray,
    IntArray,
    Notes,
    Paths,
    Query,
    Ranking,
    Share,
    Step,
    step,
)

COLOUR = "#009E73"  # in plots
_GOLD = "min_score = 0.35, the largest of steps of .05 that keeps 95 % of the gold"
_SETS = ("musique-100", "hotpotqa-300", "2wiki-1000", "2wiki-kg-500")
_TRAINING = ("musique (without musique-100)", "hotpotqa", "2wiki")
TUNING = (
    TuningRecord("confidence_gated", _GOLD, "chosen", 20, ("musique-100",)),
    TuningRecord(
        "confidence_gated", "passage_score = cosine", "known", 10, _SETS, _TRAINING
    ),
)
ALIASES = DesignAliases(
    "confidence-gated",
    (
        ("vector.maxResults", "depth", "text hits"),
        ("vector.minScore", "min_score", "calibrated for the default encoder"),
        ("maxHops", "hops", "1 to 3"),
        ("maxChunks", "max_chunks", "of each related entity"),
        ("minGraphScore", "min_graph_score", ""),
        ("minConfidence", "min_confidence", ""),
        ("enabled, graphExpansion.enabled, useGraph", "use_graph", ""),
        ("fullTextSearch", "vector", "False if there is no vector index"),
        (
            "vectorResults, graphResults, expansionSkipped",
            "GateNotes",
            "vector_results, graph_results, warning",
        ),
        ("entitiesRecognized", "GateNotes.entities", ""),
        ("maxTokens", "ContextFormatter.passage_tokens", "of the context"),
        ("includeRelationships, includeSources", "ContextFormatter", "always shown"),
        (
            "graphContext, source.entity, source.hops",
            "kg2rag.context(…)",
            "graph_context; a citation's entity and hops",
        ),
    ),
)


PARTS = {"vector": "cosine", "bm25": "bm25"}  # stage -> its score part
SOURCES = {"vector": "dense", "bm25": "bm25"}
FORMULAS = {"vector": "cosine", "bm25": "1 / (1 + 1 / bm25)"}


class TextHits(NamedTuple):
    """The text hits of a query, (n_hits,) each: rows, and cosines or BM25 scores.

    `stage` is "vector" or "bm25".
    """

    stage: str
    rows: IntArray
    values: FloatArray


NO_HITS = TextHits("bm25", np.empty(0, dtype=np.int64), np.empty(0))


@dataclass(frozen=True)
class GateNotes(Notes):
    """Notes of the gate: the confidence, 0.5 without a graph, and the numbers of hits.

    `vector_results` are hits of the text search, `graph_results` those of the graph.
    """

    vector_results: int = 0
    graph_results: int = 0
    confidence: float = 0.0


@ALIASES
@dataclass(frozen=True)
class ConfidenceGated(LinksEntities, Retriever):
    """Dense hits, joined by passages of related entities if `confidence` is high enough.

    The score of a graph hit is passage score · strength / 10 · confidence. The notes (`GateNotes`) have
    the confidence, the recognised entities, and as `warning` the reason for skipping the graph.

    Parameters
    ----------
    depth : the maximum of text hits.
    min_score : text hits with a smaller cosine are dropped; not applied to BM25, as in the design.
    min_confidence : below it the graph is skipped. An entity and 100 characters give 0.6 without any hit.
    min_graph_score : relations with less strength / 10 are not followed.
    max_chunks : the maximum of passages per related entity.
    hops : the maximum distance of related entities, 1 to 3; the strength of a path is its weakest.
    passage_score : the passage score of a graph hit. "cosine" with the query also chooses an entity's passages;
        "constant" is 1, as in the design, and is used without vectors.
    vector : False if there is no vector index; squashed BM25 then finds the text hits.
    use_graph : False returns only the text hits.
    linker : finds the query's entities, an object or a name of `retrievers.linking.LINKERS`: the design's capitalised
        and quoted phrases, and in a query without any, as one in lower case, every name.
    """

    kb: KnowledgeBase = field(repr=False)
    depth: Count = 5
    min_score: Share = 0.35
    min_confidence: Share = 0.5
    min_graph_score: Share = 0.3
    max_chunks: Count = 4
    hops: Hops = 1
    passage_score: Literal["constant", "cosine"] = "cosine"
    vector: bool = True
    use_graph: bool = True
    linker: str | Linker = "phrase+ngram"

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One text search for the batch, then each query's gate."""
        links: Sequence[Sequence[Link]] = [()] * len(queries)
        if self.use_graph:
            links = self.entity_linker.link_batch(queries)
        hits = self._text_hits(queries, links)
        columns = zip(queries, links, self.kb.candidates(queries), hits, strict=True)
        return [self._gate(*column).top(k) for column in columns]

    def _text_hits(
        self, queries: Sequence[Query], links: Sequence[Sequence[Link]]
    ) -> list[TextHits]:
        """The text hits of each query: dense hits, or those of BM25.

        BM25 is used without vectors, and for a query with links to which no passage is similar enough.
        """
        hits = [NO_HITS] * len(queries)
        if self.vector:
            dense = Dense(self.kb).retrieve_batch(queries, self.depth)
            for i, ranking in enumerate(dense):
                is_similar = ranking.scores >= self.min_score
                hits[i] = TextHits(
                    "vector", ranking.rows[is_similar], ranking.scores[is_similar]
                )
        without_hits = [
            i
            for i, text in enumerate(hits)
            if not len(text.rows) and (links[i] or not self.vector)
        ]
        rankings = BM25(self.kb).retrieve_batch(
            [queries[i] for i in without_hits], self.depth
        )
        for i, ranking in zip(without_hits, rankings, strict=True):
            hits[i] = TextHits("bm25", ranking.rows, ranking.scores)
        return hits

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the queries and open the indexes."""
        if self.vector:
            self.kb.encode_queries(queries)
        super().prepare(queries)

    def _gate(
        self,
        query: Query,
        links: Sequence[Link],
        candidate_rows: IntArray | None,
        text: TextHits,
    ) -> Ranking:
        text_scores = text.values if text.stage == "vector" else squashed(text.values)
        sure, skipped = self._confidence(query, links, text_scores)
        related = {} if skipped else self._reached(query, links, candidate_rows)
        for row in text.rows.tolist():
            related.pop(row, None)
        rows = np.array(list(related), dtype=np.int64)
        strength = np.array([near.strength for near in related.values()])
        passage = self._passage_scores(query, rows)
        parts = {
            "passage": passage,
            "strength": strength,
            "confidence": np.full(len(rows), sure),
        }
        groups = {
            text.stage: (text.rows, text_scores, {PARTS[text.stage]: text.values}),
            "graph": (rows, passage * strength * sure, parts),
        }
        notes = GateNotes(
            {
                text.stage: FORMULAS[text.stage],
                "graph": "passage · strength · confidence",
            },
            {text.stage: SOURCES[text.stage], "graph": "graph"},
            warning=skipped,
            entities=linked_entities(self.kb, links),
            unlinked=unlinked_names(query, links),
            vector_results=len(text.rows),
            graph_results=len(rows),
            confidence=sure,
        )
        paths: Paths = {}
        if related:  # else the graph is not read
            path_of = {row: near.path for row, near in related.items()}
            paths = triple_paths(self.kb.graph, path_of)
        return Ranking.from_groups(query.id, groups, self.kb.corpus.ids, paths, notes)

    def _confidence(
        self, query: Query, links: Sequence[Link], text_scores: FloatArray
    ) -> tuple[float, str]:
        """The confidence, and the reason for skipping the graph, "" if it is used."""
        if not self.use_graph:
            return 0.5, "use_graph is False"
        best_score = float(text_scores[0]) if len(text_scores) else 0.0
        sure = confidence(query.text, bool(links), best_score)
        if not links:
            return sure, "the query names no entity of the graph"
        if sure < self.min_confidence:
            return sure, f"confidence below {self.min_confidence:g}"
        return sure, ""

    def _reached(
        self, query: Query, links: Sequence[Link], candidate_rows: IntArray | None
    ) -> dict[int, Related]:
        """Corpus row -> the strongest related entity whose passage it is."""
        min_weight = 10 * self.min_graph_score
        related: dict[int, Related] = {}
        strength = attrgetter("strength")
        for near in related_entities(
            self.kb, links, self.hops, strength, min_weight=min_weight
        ):
            rows, counts = passages_naming(self.kb, near.entity, candidate_rows)
            if len(rows) > self.max_chunks:
                scores = (
                    self._passage_scores(query, rows) if self._reads_vectors else counts
                )
                rows = rows[np.lexsort((rows, -scores))[: self.max_chunks]]
            for row in rows.tolist():
                related.setdefault(row, near)
        return related

    @property
    def _reads_vectors(self) -> bool:
        return self.passage_score == "cosine" and self.vector

    def _passage_scores(self, query: Query, rows: IntArray) -> FloatArray:
        if not self._reads_vectors or not len(rows):
            return np.ones(len(rows))
        return self.kb.dense.cosines(self.kb.encode_queries([query])[0], rows)

    @property
    def trace_depth(self) -> int:
        """All passages, since the graph may add any number."""
        return max(len(self.kb.corpus), 1)

    def steps(self, query: Query, ranking: Ranking) -> tuple[Step, ...]:
        """The steps: linking to a passage's entity, the open gate, the limits."""
        (links,) = self.entity_linker.link_batch([query])
        (candidate_rows,) = self.kb.candidates([query])
        skipped = ranking.notes.warning
        linked = components(self.kb).rows_with(link.entity for link in links)
        related: list[int] = []
        if not skipped:
            unlimited = replace(self, max_chunks=self.trace_depth)
            related = list(unlimited._reached(query, links, candidate_rows))
        unread = f"no text hit (the first {self.depth}, of a score of {self.min_score:g}), and "
        unlinked = f"{unread}no entity of the query leads to it"
        closed = (
            f"the graph was skipped: {skipped}"
            if skipped
            else f"beyond hops = {self.hops}"
        )
        cut = f"{unread}below the {self.max_chunks} kept of each related entity"
        return (
            step("linked", "entity not linked", unlinked, linked, ranking.rows),
            step("expanded", "not expanded", unread + closed, related, ranking.rows),
            step("kept", "pruned", cut, ranking.rows),
        )


def squashed(bm25: FloatArray) -> FloatArray:
    """1 / (1 + 1 / score), in [0, 1): it preserves 0 and the order."""
    return bm25 / (1 + bm25)


def confidence(text: str, names_entity: bool, best_score: float) -> float:
    """The confidence of a query, in [0, 1], by the design's formula.

    0.3 · min(characters / 100, 1) + 0.3 · (1 if an entity is named else 0.5) + 0.4 · best text
    score

    >>> round(confidence("x" * 50, True, 0.5), 3)
    0.65
    """
    return (
        0.3 * min(len(text) / 100, 1)
        + 0.3 * (1.0 if names_entity else 0.5)
        + 0.4 * best_score
    )
