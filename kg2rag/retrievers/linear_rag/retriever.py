"""Query -> passages by LinearRAG: entities activated through sentences that fit the query, then PageRank. No LLM.

Theirs [1], and every default as the released code is run (commit 0c7e416c of run.py): semantic bridging with its
threshold, the restart weights of entities and passages, the walk. Ours:

- Entities are those of the mention table; the paper runs spaCy's recogniser over corpus and query.
- A query's names are the entities it spells out, with activation 1, and its other capitalised and quoted phrases, each
  linked to the entity of the nearest name with their cosine. The paper takes the nearest for all. A linker may take the
  place of the first; it finds entities of the graph, which are looked up among the mentions by name.
- An entity keeps the greatest activation that reaches it, and the iteration that brought it. The released code adds up
  in the restart and keeps the last in the passages' bonus, which depends on the order of a set.
- A sentence is encoded with its title, and its entities are counted by sentence, not by substring.
- Candidates restrict sentences, entities and the walk; a query that names nothing gets the dense ranking, as theirs.

[1] Zhuang et al., "LinearRAG: Linear Graph Retrieval Augmented Generation on Large-scale Corpora", arXiv 2510.10114.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from kg2rag.knowledge import DenseIndex, KnowledgeBase
from kg2rag.knowledge.graph.paths import Components
from kg2rag.retrievers import linking
from kg2rag.retrievers.dense import VectorRetriever, walk_or_dense
from kg2rag.retrievers.linear_rag.graph import Activation, BridgedPaths, name_vectors, sentence_vectors, tri_graph
from kg2rag.retrievers.linking.linkers import Linker, phrases_beside
from kg2rag.text.normalisation import normalise
from kg2rag.types import (
    Count,
    Damping,
    FloatArray,
    IntArray,
    Matrix,
    Natural,
    Notes,
    Query,
    Ranking,
    Threshold,
    Trace,
    Weight,
    step,
    top_with_ties,
)

COLOUR = "#0072B2"  # in plots

Columns = Mapping[str, FloatArray]  # named numbers of every passage, (n_passages,) each


@dataclass(frozen=True)
class ActivationNotes(Notes):
    """Notes of a walk from entities: `activated` has each one's name, activation, and the iteration that brought it."""

    activated: tuple[tuple[str, float, int], ...] | None = None


@dataclass(frozen=True)
class LinearRAG(VectorRetriever):
    """Semantic bridging from the query's entities, then PageRank over entities and passages.

    Parameters
    ----------
    max_iterations : iterations of bridging, the query's own entities being the first.
    iteration_threshold : least activation, of an entity that is bridged from and of one that is bridged to.
    top_k_sentence : sentences followed from an entity, those most similar to the query; each is followed once.
    passage_ratio : weight of the min-max scaled cosine against ln(1 + bonus) in a passage's restart; the bonus is the
        sum of activation · ln(1 + occurrences) / iteration over the passage's activated entities.
    passage_node_weight : weight of all passages' restart against the entities' activations.
    damping : probability of following an edge rather than restarting, in (0, 1).
    max_names : the first so many phrases that spell no entity are linked by embedding.
    linker : finds entities in place of those that the query spells out, with its confidence as their activation, as
        such or by name: `retrievers.linking.LINKERS`. An entity of the graph that the mentions lack is left out.
    """

    kb: KnowledgeBase = field(repr=False)
    max_iterations: Count = 3
    iteration_threshold: Threshold = 0.4
    top_k_sentence: Count = 3
    passage_ratio: Weight = 2.0
    passage_node_weight: Weight = 0.05
    damping: Damping = 0.5
    max_names: Natural = 20
    linker: str | Linker | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._linker  # refuses a name that is not known before any work

    @cached_property
    def _linker(self) -> Linker | None:
        return None if self.linker is None else linking.of(self.linker, self.kb)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One walk a query, in blocks."""
        without = "the query names no entity" if self.kb.mentions.keys else "the corpus mentions no entity"
        return walk_or_dense(self.kb, queries, k, link=self.link, walk=self._walk, without=without)

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the queries, their phrases, the sentences and the names; build the graph."""
        if queries:
            self.link(queries)
            _ = tri_graph(self.kb).walk.flows, sentence_vectors(self.kb)
        super().prepare(queries)

    def link(self, queries: Sequence[Query]) -> list[dict[int, float]]:
        """The entities that each query names and their activations, in (0, 1], in the query's order."""
        table, kb = self.kb.mentions, self.kb
        scopes = [None if rows is None else tri_graph(kb).entities_in(rows) for rows in kb.candidates(queries)]
        found_by, spans = self._spelt(queries)
        named = [
            {key: sure for key, sure in found.items() if scope is None or key in scope}
            for found, scope in zip(found_by, scopes, strict=True)
        ]
        others: list[tuple[int, str]] = []
        for i, (query, known) in enumerate(zip(queries, spans, strict=True)):
            others += [(i, name) for name in dict.fromkeys(phrases_beside(query.text, known))][: self.max_names]
        if not others or not table.keys:
            return named
        vectors = kb.encode_queries([Query("", name) for _, name in others])
        found = name_vectors(kb).search(vectors, 1, [scopes[i] for i, _ in others])
        for (i, _), (keys, cosines) in zip(others, found, strict=True):
            if len(keys) and cosines[0] > 0:
                key, cosine = int(keys[0]), min(float(cosines[0]), 1.0)
                named[i][key] = max(named[i].get(key, 0.0), cosine)
        return named

    def _spelt(self, queries: Sequence[Query]) -> tuple[list[dict[int, float]], list[list[tuple[int, int]]]]:
        """Of each query the entities that it names and how sure that is, and where it does."""
        table = self.kb.mentions
        if self._linker is None:
            found = [dict.fromkeys(table.named_in(query.text), 1.0) for query in queries]
            return found, [[span for _, span in table.lexicon.find(query.text, capitals=False)] for query in queries]
        links = self._linker.link_batch(queries)
        coded = [[(self._code(link.entity), link) for link in each] for each in links]
        known = [{code: link.confidence for code, link in each if code is not None} for each in coded]
        return known, [[link.span for code, link in each if code is not None] for each in coded]

    def _code(self, entity: int) -> int | None:
        """The mention table's code of an entity of the graph, by its name or an alias; None where it has none."""
        codes = self.kb.cached("mention codes", lambda: {key: code for code, key in enumerate(self.kb.mentions.keys)})
        written = (self.kb.graph.names[entity], *self.kb.graph.aliases[entity])
        return next((codes[key] for key in map(normalise, written) if key in codes), None)

    def activate(
        self, seeds: Mapping[int, float], query: Matrix, sentences: DenseIndex, mask: IntArray | None
    ) -> dict[int, Activation]:
        """Semantic bridging: entity -> activation · cosine of a sentence -> the entities of that sentence.

        `query`: (dim,). `sentences`: `graph.sentence_vectors`. `mask`: the passages whose sentences may be followed;
        None for all.
        """
        graph = tri_graph(self.kb)
        rows = graph.sentence_rows
        open_ = np.ones(len(rows), dtype=bool) if mask is None else np.isin(rows, mask)
        active = {entity: Activation(score, 1) for entity, score in seeds.items()}
        current = list(active)
        for iteration in range(2, self.max_iterations + 1):
            reached: dict[int, Activation] = {}
            for entity in current:
                score = active[entity].score
                if score < self.iteration_threshold:
                    continue
                near = graph.sentences.of(entity)[0]
                near = near[open_[near]]
                fits = sentences.cosines(query, near.astype(np.int64))
                for at in np.lexsort((near, -fits))[: self.top_k_sentence].tolist():
                    # float32 cosines of equal texts may exceed 1: the entity would then activate itself, for ever
                    sentence, passed = int(near[at]), score * min(float(fits[at]), 1.0)
                    open_[sentence] = False
                    if passed < self.iteration_threshold:
                        continue
                    for other in graph.entities.of(sentence)[0].tolist():
                        if passed > max(entry.get(other, _NONE).score for entry in (active, reached)):
                            reached[other] = Activation(passed, iteration, entity, sentence)
            active.update(reached)
            current = list(reached)
        return active

    def _walk(self, queries: Sequence[Query], seeds: Sequence[Mapping[int, float]], k: int) -> list[Ranking]:
        from kg2rag.knowledge.indexes.dense import cosines as all_cosines

        kb, masks = self.kb, self.kb.candidates(queries)
        vectors, sentences = kb.encode_queries(queries), sentence_vectors(kb)
        columns = zip(seeds, vectors, masks, strict=True)
        active = [self.activate(named, vector, sentences, mask) for named, vector, mask in columns]
        cosines = all_cosines(vectors, kb.vectors)
        bonuses = np.stack([self._bonus(found) for found in active])
        restarts = np.stack(list(map(self._restart, active, bonuses, cosines, masks)))
        walked = tri_graph(kb).pagerank(restarts, masks, self.damping)
        parts = {"pagerank": walked, "restart": restarts, "cosine": cosines, "bonus": bonuses}
        return [
            self._ranking(
                query, k, active[i], {name: part[i][: len(kb.corpus)] for name, part in parts.items()}, masks[i]
            )
            for i, query in enumerate(queries)
        ]

    def _bonus(self, active: Mapping[int, Activation]) -> FloatArray:
        """(n_passages,) sum over a passage's activated entities of activation · ln(1 + occurrences) / iteration."""
        bonus = np.zeros(len(self.kb.corpus))
        for entity, found in active.items():
            rows, counts = tri_graph(self.kb).occurrences.of(entity)
            bonus[rows] += found.score * np.log1p(counts) / found.iteration
        return bonus

    def _restart(
        self, active: Mapping[int, Activation], bonus: FloatArray, cosines: FloatArray, mask: IntArray | None
    ) -> FloatArray:
        """(n_nodes,) where the walk of a query starts, scaled to sum 1."""
        graph = tri_graph(self.kb)
        restart = np.zeros(graph.n_nodes)
        rows = np.arange(graph.n_passages) if mask is None else mask
        spread = np.ptp(cosines[rows])
        scaled = (cosines[rows] - cosines[rows].min()) / spread if spread > 0 else np.ones(len(rows))
        restart[rows] = self.passage_node_weight * (self.passage_ratio * scaled + np.log1p(bonus[rows]))
        for entity, found in active.items():
            restart[graph.n_passages + entity] = found.score
        share: FloatArray = restart / restart.sum()
        return share

    def _ranking(
        self, query: Query, k: int, active: Mapping[int, Activation], columns: Columns, mask: IntArray | None
    ) -> Ranking:
        walked, names = columns["pagerank"], self.kb.mentions.names
        rows = top_with_ties(walked, k) if mask is None else mask
        activated = tuple((names[entity], found.score, found.iteration) for entity, found in active.items())
        return Ranking.of(
            query.id,
            rows,
            walked[rows],
            self.kb.corpus.ids,
            stages=("pagerank",),
            score_parts={name: column[rows] for name, column in columns.items()},
            paths=BridgedPaths(self.kb, active, rows),
            notes=ActivationNotes("pagerank", "graph", activated=activated),
        ).top(k)

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """Which passages the query's entities lead to, and which hold an activated one; all are ranked."""
        kb, graph = self.kb, tri_graph(self.kb)
        met = graph.occurrences.owners, graph.occurrences.others
        ends = met[0] + graph.n_passages, met[1]
        joined = Components.of(ends, graph.n_nodes, (ends[0], met[1]))
        sentences, traces = sentence_vectors(kb), []
        linked, vectors, masks = self.link(queries), kb.encode_queries(queries), kb.candidates(queries)
        rankings = self.retrieve_batch(queries, k)
        for ranking, seeds, vector, mask in zip(rankings, linked, vectors, masks, strict=True):
            active = self.activate(seeds, vector, sentences, mask)
            named = joined.rows_with(graph.n_passages + entity for entity in seeds)
            activated = np.flatnonzero(self._bonus(active))
            steps = (
                step("linked", "entity not linked", "no entity of the query leads to it", named),
                step("activated", "not expanded", "it holds no entity that the bridging activated", activated),
            )
            traces.append(Trace(ranking, steps))
        return traces


_NONE = Activation(-1.0, 0)
