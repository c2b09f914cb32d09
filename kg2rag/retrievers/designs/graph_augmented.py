"""A ranking -> the same hits and a few more, re-scored by how near the graph puts them to the query's entities.

The graph-augmented design (graph score, 0.7 / 0.3 and 4 passages are its defaults). It is additive:
no hit is dropped. Ours: the graph score counts the mentions in the passage that it scores; a
passage that several entities reach counts by its best one; equal graph scores are ordered by
cosine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge import KnowledgeBase, graph_score
from kg2rag.knowledge.graph.csr import gather, run_starts
from kg2rag.knowledge.graph.neighbourhood import Hops, Neighbourhood
from kg2rag.knowledge.graph.paths import TriplePaths
from kg2rag.retrievers import linking
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.contract import DesignAliases, Pipeline, Stage, Tuned
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.fusion import FusionNotes, fuse, min_max
from kg2rag.retrievers.linking.linkers import Link, Linker, linked_entities
from kg2rag.retrievers.neighbour_passages import LinksEntities, components
from kg2rag.types import (
    FloatArray,
    IntArray,
    Matrix,
    Notes,
    Query,
    Ranking,
    Trace,
    first_of,
    sources,
    step,
)
from kg2rag.types.parameters import Count, Natural, ParameterError, Share, Weight, checked
from kg2rag.types.rankings import number, top_with_ties

COLOUR = "#009E73"  # in plots
_SETS = ("musique-100", "hotpotqa-300", "2wiki-1000", "2wiki-kg-500")
_TRAINING = ("musique (without musique-100)", "hotpotqa", "2wiki")
TUNING = (
    Tuned("graph_augmented", "depth = 10 and mentions = passage", "known", 10, _SETS, _TRAINING),
    Tuned("graph_augmented", "min_cosine = 0.55 of its linker", "chosen", None, (), _TRAINING),
)
ALIASES = DesignAliases(
    "graph-augmented",
    (
        ("maxHops, graphExpansion.maxHops", "hops", "1 to 3"),
        ("maxChunks, maxGraphChunks", "max_chunks", "passages that only the graph found"),
        ("alpha", "alpha", ""),
        ("beta, weight, graphWeight", "beta", ""),
        ("vectorWeight, textWeight", "dense_share", "of dense; that of BM25 is the rest"),
        ("useGraph, enabled", "use_graph", ""),
        ("topK", "depth", "hits that are merged and re-scored"),
        ("relTypes", "KnowledgeGraph.neighbours", "its relation_types"),
        ("relationshipWeight", "Triple.strength", "in (0, 10]"),
        ("entityMentionCount", "Hit.score_parts", '"mentions", those in the passage'),
        ("minScore, limit", "linker", '"ngram+embedding"; "embedding(0.6, limit=5)" sets others'),
    ),
)

# of the cosine: it orders passages of equal graph score, and is above the rounding of scores
TIE = 1e-4
LEAST_BEST_SIMILARITY = 0.1  # the best of ten similarities is above it
WALK_FORMULAS = {"pagerank", "walk"}  # formulas of scores that are shares of a walk's mass
ROUNDING = 1e-5  # by so much may a cosine of unit vectors in single precision be above 1


class RelatedPassages(NamedTuple):
    """The passages that name an entity around those of a query, each by the one that gives it its best score.

    Of equal scores the first entity counts. `rows`, (n,), ascend. Of that entity, (n,) each:
    `numbers`, its number among those of all `neighbourhoods`; in `parts` the graph score ("graph"),
    "strength", "hop" and "mentions", as the score counts them.
    """

    neighbourhoods: tuple[Neighbourhood, ...]
    rows: IntArray
    numbers: IntArray
    parts: dict[str, FloatArray]

    def of(self, rows: IntArray) -> dict[str, FloatArray]:
        """The parts of some passages; NaN of one that is not reached, and the graph score 0."""
        is_reached = np.isin(rows, self.rows)
        positions = np.searchsorted(self.rows, rows[is_reached])
        parts = {}
        for name, values in self.parts.items():
            parts[name] = np.full(len(rows), 0.0 if name == "graph" else np.nan)
            parts[name][is_reached] = values[positions]
        return parts

    def numbers_of(self, rows: IntArray) -> dict[int, int]:
        """Row -> the number of its entity, of those rows that are reached."""
        is_wanted = np.isin(self.rows, rows)
        return dict(
            zip(self.rows[is_wanted].tolist(), self.numbers[is_wanted].tolist(), strict=True)
        )

    def path(self, number: int) -> tuple[int, ...]:
        """The triples that led to the entity of that number."""
        starts = np.cumsum([0, *(len(around.entities) for around in self.neighbourhoods)])
        position = int(np.searchsorted(starts, number, side="right")) - 1
        return self.neighbourhoods[position].neighbour(number - int(starts[position])).path


@dataclass(frozen=True)
class GraphAugmentNotes(Notes):
    """How many passages the graph added; whether the scores given were min-max scaled."""

    graph_results: int = 0
    scaled: bool | None = None


@ALIASES
@dataclass(frozen=True)
class GraphAugment(LinksEntities, Stage):
    """combined = alpha · score + beta · graph score, of scores in [0, 1].

    Scores that are no similarities are min-max scaled within the hits read, which the notes record:
    those outside [-1, 1], such as BM25's, those whose best is below 0.1, and those of a rank fusion
    or of PageRank.

    Parameters
    ----------
    hops : how far related entities may be, 1 to 3; the graph score halves with each.
    max_chunks : passages that only the graph found, at most.
    alpha : weight of the text score, 0.7 in the design.
    beta : weight of the graph score, 0.3 in the design.
    use_graph : False returns the ranking as it came.
    depth : hits read; all of them are kept.
    linker : finds the query's entities, as such or by name: `retrievers.linking.LINKERS`.
    """

    kb: KnowledgeBase = field(repr=False)
    hops: Hops = 1
    max_chunks: Natural = 4
    alpha: Weight = 0.7
    beta: Weight = 0.3
    use_graph: bool = True
    depth: Count = 10
    linker: str | Linker = linking.DESIGN

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.alpha or self.beta):
            raise ParameterError("alpha and beta must not both be 0: every score would be.")

    def apply(self, queries: Sequence[Query], rankings: Sequence[Ranking]) -> list[Ranking]:
        """Link the batch, then augment each ranking."""
        if not self.use_graph:
            return [_without_entities(ranking) for ranking in rankings]
        links = self.entity_linker.link_batch(queries)
        vectors, masks = self.kb.encode_queries(queries), self.kb.candidates(queries)
        return list(map(self._augment, rankings, links, vectors, masks))

    def _augment(
        self, ranking: Ranking, links: Sequence[Link], vector: Matrix, mask: IntArray | None
    ) -> Ranking:
        related = self._related([link.entity for link in links], mask)
        added, cosines = self._added(related, ranking.rows, vector)
        is_scaled = _needs_scaling(ranking)
        text_scores = min_max(ranking.scores) if is_scaled else ranking.scores
        hybrid = {"hybrid": text_scores, **related.of(ranking.rows)}
        graph = {"hybrid": np.zeros(len(added)), **related.of(added)}
        groups = {
            "hybrid": (ranking.rows, self._combined(hybrid), {**ranking.score_parts, **hybrid}),
            "graph": (
                added,
                self._combined(graph) + TIE * cosines,
                {**graph, "graph cosine": cosines},
            ),
        }
        notes = GraphAugmentNotes(
            f"{number(self.alpha)} · hybrid + {number(self.beta)} · graph + {number(TIE)} · graph cosine",
            {"hybrid": " and ".join(dict.fromkeys(sources(ranking).values())), "graph": "graph"},
            warning=""
            if links
            else "no entity of the graph was recognised: the graph adds nothing",
            entities=linked_entities(self.kb, links),
            inputs=(ranking.notes,),
            graph_results=len(added),
            scaled=is_scaled or None,
        )
        numbers = related.numbers_of(np.concatenate([ranking.rows, added]))
        paths = first_of(TriplePaths(self.kb.graph, numbers, related.path), ranking.paths)
        return Ranking.from_groups(ranking.query_id, groups, ranking.ids, paths, notes)

    def _combined(self, parts: Mapping[str, FloatArray]) -> FloatArray:
        return self.alpha * parts["hybrid"] + self.beta * parts["graph"]

    def _added(
        self, related: RelatedPassages, hybrid: IntArray, vector: Matrix
    ) -> tuple[IntArray, FloatArray]:
        """The passages that only the graph found, at most `max_chunks`, by score, cosine and row; and their cosines."""
        new = np.flatnonzero((related.parts["graph"] > 0) & ~np.isin(related.rows, hybrid))
        if not (self.max_chunks and len(new)):
            return np.empty(0, dtype=np.int64), np.empty(0)
        new = new[top_with_ties(related.parts["graph"][new], self.max_chunks)]
        rows, scores = related.rows[new], related.parts["graph"][new]
        cosines = self.kb.dense.cosines(vector, rows)
        order = np.lexsort((rows, -cosines, -scores))[: self.max_chunks]
        return rows[order], cosines[order]

    def _related(self, entities: Sequence[int], mask: IntArray | None = None) -> RelatedPassages:
        """Each entity is expanded on its own, so that one entity of the query may lead to another's passages."""
        graph = self.kb.graph
        neighbourhoods = [graph.neighbourhood([entity], hops=self.hops) for entity in entities]
        near = _joined([around.entities for around in neighbourhoods]).astype(np.int64)
        mentions, numbers = gather(graph.mentions.indptr, near)
        if mask is not None:
            is_candidate = np.isin(graph.mentions.others[mentions], mask)
            mentions, numbers = mentions[is_candidate], numbers[is_candidate]
        rows = graph.mentions.others[mentions].astype(np.int64)
        parts: dict[str, NDArray[Any]] = {
            "strength": _joined([around.weights for around in neighbourhoods])[numbers],
            "hop": _joined([around.hops for around in neighbourhoods])[numbers],
            "mentions": graph.mentions.counts[mentions],
        }
        scores = graph_score(parts["strength"], parts["hop"], parts["mentions"])
        order = np.lexsort((-scores, rows))  # stable: of equal scores the first
        best = order[run_starts(rows[order])]
        best_parts = {
            name: values[best].astype(np.float64)
            for name, values in {"graph": scores, **parts}.items()
        }
        return RelatedPassages(tuple(neighbourhoods), rows[best], numbers[best], best_parts)

    def trace(self, queries: Sequence[Query], traces: Sequence[Trace]) -> list[Trace]:
        """Which passages the query's entities lead to, within the hops, and within `max_chunks`; hits pass all."""
        if not self.use_graph:
            return super().trace(queries, traces)
        rankings = self.apply(queries, [trace.ranking.top(self.depth) for trace in traces])
        return list(map(self._trace, rankings, self.entity_linker.link_batch(queries)))

    def _trace(self, ranking: Ranking, links: Sequence[Link]) -> Trace:
        unread = f"not among the first {self.depth} hits, and "
        entities = [link.entity for link in links]
        linked = components(self.kb).rows_with(entities)
        why = (
            "no entity of the query leads to it"
            if entities
            else "no entity of the graph was recognised"
        )
        related = self._related(entities).rows
        steps = (
            step("linked", "entity not linked", unread + why, linked, ranking.rows),
            step(
                "expanded",
                "not expanded",
                f"{unread}beyond hops = {self.hops}",
                related,
                ranking.rows,
            ),
            step(
                "added",
                "pruned",
                f"{unread}below the {self.max_chunks} that the graph may add",
                ranking.rows,
            ),
        )
        return Trace(ranking, steps)


def _joined(arrays: Sequence[NDArray[Any]]) -> FloatArray:
    """One array after another; none of no arrays."""
    return np.concatenate([np.empty(0), *arrays])


def _without_entities(ranking: Ranking) -> Ranking:
    """The ranking as it came, noting that no entity was linked, so that a context writes no block of the graph."""
    if ranking.notes.linked is not None:
        return ranking
    return replace(ranking, notes=replace(ranking.notes, entities=()))


def _needs_scaling(ranking: Ranking) -> bool:
    """Whether scores are no similarities: reciprocal ranks, shares of a walk, and numbers beyond [-1, 1]."""
    greatest = np.abs(ranking.scores).max(initial=0)
    if not greatest:
        return False
    notes = ranking.notes
    if isinstance(notes, FusionNotes):
        return bool(greatest > 1 + ROUNDING) or notes.method == "rrf"
    formulas = [notes.formula] if isinstance(notes.formula, str) else notes.formula.values()
    return bool(
        greatest > 1 + ROUNDING
        or greatest < LEAST_BEST_SIMILARITY
        or not WALK_FORMULAS.isdisjoint(formulas)
    )


@ALIASES
@checked
def graph_augmented(
    kb: KnowledgeBase,
    *,
    hops: int = 1,
    max_chunks: int = 4,
    alpha: float = 0.7,
    beta: float = 0.3,
    use_graph: bool = True,
    dense_share: Share = 0.7,
    depth: int = 10,
    linker: str | Linker = linking.DESIGN,
) -> Pipeline:
    """A min-max weighted merge of dense and BM25, re-scored and extended by the graph around the query's entities.

    `dense_share` is the weight of dense, in [0, 1], and the rest that of BM25; the others are of
    `GraphAugment`.
    """
    weights = (dense_share, round(1 - dense_share, 12))
    merged = fuse(Dense(kb), BM25(kb), weights=weights, method="sum", depth=depth)
    return merged >> GraphAugment(kb, hops, max_chunks, alpha, beta, use_graph, depth, linker)
