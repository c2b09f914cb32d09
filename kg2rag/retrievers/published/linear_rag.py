"""Query -> passages by LinearRAG: entities activated through sentences that fit the query, then PageRank. No LLM.

Theirs [1], and every default as the released code is run (commit 0c7e416c of run.py): the graph of entities, sentences
and passages without relations, semantic bridging with its threshold, the restart weights, the walk. Ours:

- Entities are those of the mention table; the paper runs spaCy's recogniser. A page mentions its title in every
  sentence and once as a whole; entities are counted by sentence, not by substring.
- A query's names are the entities it spells out, with activation 1, and its other capitalised and quoted phrases, each
  linked to the entity of the nearest name with their cosine. The paper takes the nearest for all.
- An entity keeps the greatest activation that reaches it, and the iteration that brought it. The released code adds up
  in the restart and keeps the last in the passages' bonus, which depends on the order of a set.
- Passages that follow each other are not joined. Candidates restrict sentences, entities and the walk.

[1] Zhuang et al., "LinearRAG: Linear Graph Retrieval Augmented Generation on Large-scale Corpora", arXiv 2510.10114.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kg2rag.extraction.mentions.table import mention_sentences
from kg2rag.knowledge import DenseIndex, KnowledgeBase
from kg2rag.knowledge.graph.csr import Incidence, incidence, ranges
from kg2rag.knowledge.graph.pagerank import NodeWeights, WalkGraph, walks
from kg2rag.knowledge.indexes.dense import cosines as all_cosines
from kg2rag.retrievers.dense import LatePaths, WalkOrDense, by_columns, min_max, nearest_names
from kg2rag.retrievers.linking.linkers import phrases_beside
from kg2rag.types import FloatArray, IntArray, Matrix, Notes, Query, Ranking, Step, Triple, step, top_with_ties
from kg2rag.types.parameters import Count, Damping, Threshold, Weight

COLOUR = "#0072B2"  # in plots
MAX_NAMES = 20  # of a query that spell no entity; the first


@dataclass(frozen=True, eq=False)
class TriGraph:
    """Entities are codes of the mention table, sentences as `mention_sentences` lists them, passages corpus rows.

    In the walk node i is the passage at row i, node n_passages + e is entity e.

    Attributes
    ----------
    sentences : entity -> sentences that mention it; entities : the inverse; sentence_rows : (n_sentences,) passages.
    occurrences : entity -> passages; a count is one for each sentence that mentions it, and one for a title.
    """

    sentences: Incidence
    entities: Incidence
    sentence_rows: IntArray
    occurrences: Incidence
    n_passages: int

    @cached_property
    def walk(self) -> WalkGraph:
        """Passages and entities; an edge weighs the entity's share of all occurrences in the passage [1]."""
        met, n = self.occurrences, self.n_passages
        shares = met.counts / np.bincount(met.others, weights=met.counts, minlength=n)[met.others]
        nodes = n + met.owners.astype(np.int64)
        return WalkGraph.undirected(met.others.astype(np.int64), nodes, shares, n + len(met.indptr) - 1)

    def entities_in(self, rows: IntArray) -> IntArray:
        """The entities of some passages, ascending."""
        return np.unique(self.occurrences.owners[np.isin(self.occurrences.others, rows)].astype(np.int64))


def tri_graph(kb: KnowledgeBase) -> TriGraph:
    """The entities, sentences and passages of a knowledge base; only from the corpus, whatever the graph."""

    def built() -> TriGraph:
        table, (mentioned, texts) = kb.mentions, mention_sentences(kb.mentions, kb.corpus)
        rows = np.zeros(len(texts), dtype=np.int64)
        rows[mentioned] = table.row
        # every sentence of a title's pages mentions the title
        own, pages = ranges(*(np.searchsorted(rows, table.page_row, side=side) for side in ("left", "right")))

        def met(keys: NDArray[np.int32], others: NDArray[np.integer]) -> Incidence:
            return incidence(np.append(table.key, keys), others, np.ones(len(others), dtype=np.int64), len(table.keys))

        sentences = met(table.page_key[pages], np.append(mentioned, own))
        occurrences = met(table.page_key, np.append(table.row, table.page_row))
        return TriGraph(sentences, sentences.transposed(len(texts)), rows, occurrences, len(kb.corpus))

    return kb.cached("tri_graph", built)


class Activation(NamedTuple):
    """How an entity was reached: its score, the iteration (from 1), the entity and the sentence before; -1 for none."""

    score: float
    iteration: int
    source: int = -1
    sentence: int = -1


@dataclass(frozen=True)
class ActivationNotes(Notes):
    """`activated` has each entity's name, activation, and the iteration that brought it."""

    activated: tuple[tuple[str, float, int], ...] | None = None


@dataclass(frozen=True)
class LinearRAG(WalkOrDense[dict[int, float]]):
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
    """

    kb: KnowledgeBase = field(repr=False)
    max_iterations: Count = 3
    iteration_threshold: Threshold = 0.4
    top_k_sentence: Count = 3
    passage_ratio: Weight = 2.0
    passage_node_weight: Weight = 0.05
    damping: Damping = 0.5

    @property
    def unlinked(self) -> str:
        """No entity of the query, or of the corpus."""
        return "the query names no entity" if self.kb.mentions.keys else "the corpus mentions no entity"

    def link(self, queries: Sequence[Query]) -> list[dict[int, float]]:
        """The entities that each query names and their activations, in (0, 1], in the query's order."""
        table, kb, graph = self.kb.mentions, self.kb, tri_graph(self.kb)
        named, others = list[dict[int, float]](), []
        scopes = [None if rows is None else graph.entities_in(rows) for rows in kb.candidates(queries)]
        for query, known in zip(queries, scopes, strict=True):
            spans = [span for _, span in table.lexicon.find(query.text, capitals=False)]
            named.append({key: 1.0 for key in table.named_in(query.text) if known is None or key in known})
            others.append(list(dict.fromkeys(phrases_beside(query.text, spans)))[:MAX_NAMES] if table.keys else [])
        index = partial(kb.cached, "name_vectors", lambda: DenseIndex(kb.encode(table.names)))
        for own, found in zip(named, nearest_names(kb, index, others, scopes=scopes), strict=True):
            for _, key, cosine in (name for name in found if name[2] > 0):
                own[key] = max(own.get(key, 0.0), min(cosine, 1.0))
        return named

    def activate(self, seeds: Mapping[int, float], query: Matrix, mask: IntArray | None) -> dict[int, Activation]:
        """Semantic bridging: entity -> activation · cosine of a sentence -> the entities of that sentence.

        `query`: (dim,). `mask`: the passages whose sentences may be followed; None for all.
        """
        kb, graph = self.kb, tri_graph(self.kb)
        texts = partial(mention_sentences, kb.mentions, kb.corpus)  # those that mention something
        sentences = kb.cached("sentence_vectors", lambda: DenseIndex(kb.encode(texts()[1])))
        rows, none = graph.sentence_rows, Activation(-1.0, 0)
        open_ = np.ones(len(rows), dtype=bool) if mask is None else np.isin(rows, mask)
        active = {entity: Activation(score, 1) for entity, score in seeds.items()}
        current = tuple(active)
        for iteration in range(2, self.max_iterations + 1):
            reached: dict[int, Activation] = {}
            for entity in (one for one in current if active[one].score >= self.iteration_threshold):
                score, near = active[entity].score, graph.sentences.of(entity)[0]
                near = near[open_[near]]
                fits = sentences.cosines(query, near.astype(np.int64))
                for at in np.lexsort((near, -fits))[: self.top_k_sentence].tolist():
                    # float32 cosines of equal texts may exceed 1: the entity would then activate itself, for ever
                    sentence, passed = int(near[at]), score * min(float(fits[at]), 1.0)
                    open_[sentence] = False
                    for other in graph.entities.of(sentence)[0].tolist() if passed >= self.iteration_threshold else ():
                        if passed > max(entry.get(other, none).score for entry in (active, reached)):
                            reached[other] = Activation(passed, iteration, entity, sentence)
            active.update(reached)
            current = tuple(reached)
        return active

    def walk(self, queries: Sequence[Query], starts: Sequence[Mapping[int, float]], k: int) -> list[Ranking]:
        """Bridge, then start at the activated entities and, faintly, at every passage; all passages are ranked."""
        kb, tri, graph, n = self.kb, tri_graph(self.kb), tri_graph(self.kb).walk, len(self.kb.corpus)
        vectors, masks = kb.encode_queries(queries), kb.candidates(queries)
        cosines, active = all_cosines(vectors, kb.vectors), list(map(self.activate, starts, vectors, masks))
        bonuses, restarts, rankings = list(map(self._bonus, active)), np.zeros((len(queries), graph.n_nodes)), []
        for restart, entities, cosine, bonus, mask in zip(restarts, active, cosines, bonuses, masks, strict=True):
            rows = np.arange(n) if mask is None else mask
            near = self.passage_ratio * min_max(cosine[rows])
            restart[rows] = self.passage_node_weight * (near + np.log1p(bonus[rows]))
            restart[n + np.array(list(entities))] = [one.score for one in entities.values()]
            restart /= restart.sum()
        scopes = [None if rows is None else graph.mask(np.append(rows, n + tri.entities_in(rows))) for rows in masks]
        found = walks(graph, list(map(NodeWeights.of_dense, restarts)), self.damping, scopes=scopes)
        for i, (query, mask) in enumerate(zip(queries, masks, strict=True)):
            walked = found[i].dense(n)
            parts = {"pagerank": walked, "restart": restarts[i], "cosine": cosines[i], "bonus": bonuses[i]}
            rows = top_with_ties(walked, k) if mask is None else mask
            activated = tuple((kb.mentions.names[entity], at.score, at.iteration) for entity, at in active[i].items())
            ranked = by_columns(kb, query, rows, parts, ActivationNotes("pagerank", "graph", activated=activated), k)
            paths = LatePaths(partial(self._bridges, active[i], ranked.rows), partial(self._told, active[i]))
            rankings.append(replace(ranked, paths=paths))
        return rankings

    def _bonus(self, active: Mapping[int, Activation]) -> FloatArray:
        """(n_passages,) sum over a passage's activated entities of activation · ln(1 + occurrences) / iteration."""
        bonus = np.zeros(len(self.kb.corpus))
        for entity, found in active.items():
            rows, counts = tri_graph(self.kb).occurrences.of(entity)
            bonus[rows] += found.score * np.log1p(counts) / found.iteration
        return bonus

    def _bridges(self, active: Mapping[int, Activation], rows: IntArray) -> dict[int, tuple[int, int]]:
        bridging: dict[int, tuple[int, int]] = {}
        for entity in sorted(active, key=lambda entity: -active[entity].score):
            for row in np.intersect1d(tri_graph(self.kb).occurrences.of(entity)[0], rows).tolist():
                bridging.setdefault(row, (row, entity))
        return bridging

    def _told(self, active: Mapping[int, Activation], at: tuple[int, int]) -> tuple[Triple, ...]:
        """The sentences from an entity of the query to that of a passage, and its mention."""
        (row, entity), corpus, names = at, self.kb.corpus, self.kb.mentions.names
        steps = [Triple(corpus.titles[row] or corpus.ids[row], "mentions", names[entity], corpus.ids[row])]
        while (found := active[entity]).source >= 0:  # activations fall on the way, so it has an end
            where = corpus.ids[tri_graph(self.kb).sentence_rows[found.sentence]]
            steps.append(Triple(names[found.source], "in one sentence with", names[entity], where))
            entity = found.source
        return tuple(reversed(steps))

    def steps(self, query: Query, ranking: Ranking) -> tuple[Step, ...]:  # noqa: ARG002
        """Which passages the query's entities lead to, and which hold an activated one; all are ranked."""
        kb, graph, n = self.kb, tri_graph(self.kb), len(self.kb.corpus)
        (seeds,), (vector,), (mask,) = self.link([query]), kb.encode_queries([query]), kb.candidates([query])
        named, _ = graph.walk.reached(n + np.array(list(seeds), dtype=np.int64))
        activated = np.flatnonzero(self._bonus(self.activate(seeds, vector, mask)))
        return (
            step("linked", "entity not linked", "no entity of the query leads to it", named[named < n]),
            step("activated", "not expanded", "it holds no entity that the bridging activated", activated),
        )
