"""Query -> passages by LinearRAG: activation of entities through sentences, then PageRank.

From [1], with the defaults of the released run.py (commit 0c7e416c): the graph of entities, sentences
and passages without relations, semantic bridging with its threshold, the restart weights, the walk.
Ours:

- Entities are those of the mention table; the paper runs spaCy's recogniser. A page mentions its title in every
  sentence and once as a whole; entities are counted by sentence, not by substring.
- A query's names are the entities it spells out, with activation 1, and its other capitalised and quoted phrases, each
  linked to the entity of the nearest name with their cosine. The paper takes the nearest for all.
- An entity keeps the greatest activation that reaches it, and the iteration that brought it. The released code adds up
  in the restart and keeps the last in the passages' bonus, which depends on the order of a set.
- Passages that follow each other are not joined. Candidates restrict sentences, entities and the walk.

[1] Zhuang et al., "LinearRAG: Linear Graph Retrieval Augmented Generation on Large-scale Corpora",
arXiv 2510.10114.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kg2rag.extraction.mentions.table import mention_sentences
from kg2rag.knowledge import DenseIndex, KnowledgeBase, Workload
from kg2rag.knowledge.graph.pagerank import NodeWeights, walks
from kg2rag.knowledge.indexes.dense import cosines as all_cosines
from kg2rag.retrievers.dense import WalkOrDense, by_columns, nearest_names
from kg2rag.retrievers.fusion import min_max
from kg2rag.retrievers.linking.phrases import phrases_outside
from kg2rag.retrievers.published.tri_graph import tri_graph
from kg2rag.types import (
    Count,
    Damping,
    FloatArray,
    IntArray,
    LazyPaths,
    Matrix,
    Notes,
    Query,
    Ranking,
    Step,
    Threshold,
    Triple,
    Weight,
    step,
    top_with_ties,
)

COLOUR = "#0072B2"  # in plots
MAX_NAMES = 20  # the first phrases of a query that spell no entity


class Activation(NamedTuple):
    """The activation of an entity.

    Attributes
    ----------
    score : in (0, 1].
    iteration : the iteration of bridging that activated it, from 1.
    source, sentence : the entity and the sentence from which it was activated; -1 for an entity of the query.
    """

    score: float
    iteration: int
    source: int = -1
    sentence: int = -1


@dataclass(frozen=True)
class ActivationNotes(Notes):
    """Notes: `activated` has each entity's name, activation and iteration."""

    activated: tuple[tuple[str, float, int], ...] | None = None


@dataclass(frozen=True)
class LinearRAG(WalkOrDense[dict[int, float]]):
    """Semantic bridging from the query's entities, then PageRank over entities and passages.

    Parameters
    ----------
    max_iterations : the maximum of iterations of bridging; the first activates the entities of the query.
    iteration_threshold : the minimum score of an entity from which sentences are followed, and of one that is
        activated through a sentence.
    top_k_sentence : the number of sentences followed from an entity, those most similar to the query; a sentence is
        followed once.
    passage_ratio : the restart weight of a passage is passage_ratio · min-max scaled cosine + ln(1 + bonus); the bonus
        is the sum of score · ln(1 + occurrences) / iteration over its activated entities.
    passage_node_weight : the factor of the passages' restart weights; those of entities are their scores.
    damping : the probability of following an edge rather than restarting, in (0, 1).
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
        """The reason: the query has no entity, or the corpus has none."""
        if self.kb.mentions.keys:
            return "the query names no entity"
        return "the corpus mentions no entity"

    def workloads(self, queries: Sequence[Query]) -> list[Workload]:
        """The texts to encode: the passages, the names in them and their sentences."""
        return [
            *super().workloads(queries),
            self.kb.workload("names", self.kb.mentions.names),
            self.kb.workload("sentences", self._sentences()),
        ]

    def link(self, queries: Sequence[Query]) -> list[dict[int, float]]:
        """The entities that each query names, with activations in (0, 1], in the query's order."""
        kb = self.kb
        scopes = [
            None
            if candidate_rows is None
            else tri_graph(kb).entities_in(candidate_rows)
            for candidate_rows in kb.candidates(queries)
        ]
        activations = list(map(self._spelt_entities, queries, scopes))
        phrases = [self._unnamed_phrases(query.text) for query in queries]
        index = partial(
            kb.cached, "name_vectors", lambda: DenseIndex(kb.encode(kb.mentions.names))
        )
        names = nearest_names(kb, index, phrases, scopes)
        for activation, nearest in zip(activations, names, strict=True):
            for _, entity, cosine in nearest:
                if cosine > 0:
                    activation[entity] = max(
                        activation.get(entity, 0.0), min(cosine, 1.0)
                    )
        return activations

    def _spelt_entities(self, query: Query, scope: IntArray | None) -> dict[int, float]:
        """The entities that a query spells out, among those in `scope`, with activation 1."""
        entities = self.kb.mentions.named_in(query.text)
        return {entity: 1.0 for entity in entities if scope is None or entity in scope}

    def _unnamed_phrases(self, text: str) -> list[str]:
        """The first phrases of a query that spell no entity."""
        if not self.kb.mentions.keys:
            return []
        spans = [
            span for _, span in self.kb.mentions.lexicon.find(text, capitals=False)
        ]
        return list(dict.fromkeys(phrases_outside(text, spans)))[:MAX_NAMES]

    def activate(
        self, seeds: Mapping[int, float], query: Matrix, candidate_rows: IntArray | None
    ) -> dict[int, Activation]:
        """Entity -> its activation, by semantic bridging from the entities of a query.

        In each iteration, the entities in the sentences of active entities become active, with the score
        of the active entity times the cosine of the sentence.

        Parameters
        ----------
        seeds : entity of the query -> score.
        query : (dim,) the vector of the query.
        candidate_rows : the passages whose sentences may be followed; None for all.
        """
        graph = tri_graph(self.kb)
        unused = np.ones(len(graph.sentence_rows), dtype=bool)
        if candidate_rows is not None:
            unused = np.isin(graph.sentence_rows, candidate_rows)
        active = {entity: Activation(score, 1) for entity, score in seeds.items()}
        frontier = list(active)
        for iteration in range(2, self.max_iterations + 1):
            activated: dict[int, Activation] = {}
            for source in frontier:
                for sentence, score in self._take_sentences(
                    source, active[source].score, query, unused
                ):
                    activation = Activation(score, iteration, source, sentence)
                    for entity in graph.entities.of(sentence)[0].tolist():
                        former = activated.get(entity) or active.get(entity)
                        if former is None or score > former.score:
                            activated[entity] = activation
            active |= activated
            frontier = list(activated)
        return active

    def _take_sentences(
        self, entity: int, score: float, query: Matrix, unused: NDArray[np.bool_]
    ) -> list[tuple[int, float]]:
        """Mark the unused sentences of an entity most similar to the query as used.

        Returns those with a score of at least `iteration_threshold`, with their scores.

        Parameters
        ----------
        score : the score of the entity.
        query : (dim,) the vector of the query.
        unused : (n_sentences,) whether a sentence may be followed; modified.
        """
        if score < self.iteration_threshold:
            return []
        sentences = tri_graph(self.kb).sentences.of(entity)[0].astype(np.int64)
        sentences = sentences[unused[sentences]]
        cosines = self._sentence_vectors().cosines(query, sentences)
        best = np.lexsort((sentences, -cosines))[: self.top_k_sentence]
        unused[sentences[best]] = False
        # float32 cosines may exceed 1: an entity would then activate itself endlessly.
        scores = score * np.minimum(cosines[best].astype(np.float64), 1.0)
        is_passed = scores >= self.iteration_threshold
        passed = sentences[best][is_passed].tolist()
        return list(zip(passed, scores[is_passed].tolist(), strict=True))

    def _sentence_vectors(self) -> DenseIndex:
        """The index for cosine search over `_sentences`."""
        return self.kb.cached(
            "sentence_vectors", lambda: DenseIndex(self.kb.encode(self._sentences()))
        )

    def _sentences(self) -> list[str]:
        """The texts of the sentences that mention an entity."""
        return mention_sentences(self.kb.mentions, self.kb.corpus)[1]

    def walk(
        self, queries: Sequence[Query], starts: Sequence[Mapping[int, float]], k: int
    ) -> list[Ranking]:
        """The rankings of all passages by walks from the activated entities and all passages."""
        kb, graph = self.kb, tri_graph(self.kb)
        vectors, candidates = kb.encode_queries(queries), kb.candidates(queries)
        cosines = all_cosines(vectors, kb.vectors)
        active = list(map(self.activate, starts, vectors, candidates))
        bonuses = list(map(self._bonus, active))
        restarts = list(map(self._restart, active, cosines, bonuses, candidates))
        scopes = list(map(graph.scope, candidates))
        walked = walks(
            graph.walk,
            list(map(NodeWeights.of_dense, restarts)),
            self.damping,
            scopes=scopes,
        )
        rankings = []
        for i, (query, candidate_rows) in enumerate(
            zip(queries, candidates, strict=True)
        ):
            shares = walked[i].dense(len(kb.corpus))
            parts = {
                "pagerank": shares,
                "restart": restarts[i],
                "cosine": cosines[i],
                "bonus": bonuses[i],
            }
            rows = top_with_ties(shares, k, candidate_rows)
            rankings.append(self._ranking(query, rows, parts, active[i], k))
        return rankings

    def _restart(
        self,
        active: Mapping[int, Activation],
        cosines: FloatArray,
        bonus: FloatArray,
        candidate_rows: IntArray | None,
    ) -> FloatArray:
        """(n_nodes,) the restart distribution of a walk, of sum 1."""
        graph = tri_graph(self.kb)
        restart: FloatArray = np.zeros(graph.walk.n_nodes)
        rows = np.arange(graph.n_passages) if candidate_rows is None else candidate_rows
        similarity = self.passage_ratio * min_max(cosines[rows])
        restart[rows] = self.passage_node_weight * (similarity + np.log1p(bonus[rows]))
        restart[graph.n_passages + np.array(list(active))] = [
            activation.score for activation in active.values()
        ]
        restart /= restart.sum()
        return restart

    def _ranking(
        self,
        query: Query,
        rows: IntArray,
        parts: Mapping[str, FloatArray],
        active: Mapping[int, Activation],
        k: int,
    ) -> Ranking:
        names = self.kb.mentions.names
        activated = tuple(
            (names[entity], best.score, best.iteration)
            for entity, best in active.items()
        )
        notes = ActivationNotes("pagerank", "graph", activated=activated)
        ranking = by_columns(self.kb, query, rows, parts, notes, k)
        hits = ranking.rows
        paths = LazyPaths(lambda row: self._path(active, row) if row in hits else ())
        return replace(ranking, paths=paths)

    def _bonus(self, active: Mapping[int, Activation]) -> FloatArray:
        """(n_passages,) the sum of score · ln(1 + occurrences) / iteration over active entities."""
        bonus = np.zeros(len(self.kb.corpus))
        for entity, activation in active.items():
            rows, counts = tri_graph(self.kb).occurrences.of(entity)
            bonus[rows] += activation.score * np.log1p(counts) / activation.iteration
        return bonus

    def _path(self, active: Mapping[int, Activation], row: int) -> Sequence[Triple]:
        """The path to a passage: triples from the query's entity to its most active entity, then its mention.

        A triple of entities stands for the sentence through which the first activated the second.
        """
        graph = tri_graph(self.kb)
        present = graph.entities_in(np.array([row])).tolist()
        mentioned = [entity for entity in active if entity in present]
        if not mentioned:
            return ()
        entity = max(mentioned, key=lambda entity: active[entity].score)
        corpus, names = self.kb.corpus, self.kb.mentions.names
        steps = [
            Triple(
                corpus.titles[row] or corpus.ids[row],
                "mentions",
                names[entity],
                corpus.ids[row],
            )
        ]
        while active[entity].source >= 0:  # activations decrease, so that it ends
            source, sentence = active[entity].source, active[entity].sentence
            passage_id = corpus.ids[graph.sentence_rows[sentence]]
            steps.append(
                Triple(names[source], "in one sentence with", names[entity], passage_id)
            )
            entity = source
        return steps[::-1]

    def steps(self, query: Query, ranking: Ranking) -> tuple[Step, ...]:
        """The steps: linking to a passage's entity, and its activation."""
        graph = tri_graph(self.kb)
        (seeds,) = self.link([query])
        (vector,) = self.kb.encode_queries([query])
        (candidate_rows,) = self.kb.candidates([query])
        linked, _ = graph.walk.breadth_first(
            graph.n_passages + np.array(list(seeds), dtype=np.int64)
        )
        activated = np.flatnonzero(
            self._bonus(self.activate(seeds, vector, candidate_rows))
        )
        return (
            step(
                "linked",
                "entity not linked",
                "no entity of the query leads to it",
                linked[linked < graph.n_passages],
            ),
            step(
                "activated",
                "not expanded",
                "it holds no entity that the bridging activated",
                activated,
            ),
        )
