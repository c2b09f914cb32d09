"""A ranking -> its hits and a few more, rescored by graph distance to the query's entities.

The graph-augmented design (graph score, 0.7 / 0.3 and 4 passages are its defaults). It is additive:
no hit is dropped. Ours: the graph score counts the mentions in the scored passage; a passage that
several entities reach has its best score; ties of graph scores are ordered by cosine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge import KnowledgeBase, graph_score
from kg2rag.knowledge.graph.csr import gather, run_starts
from kg2rag.knowledge.graph.neighbourhood import Hops, Neighbourhood
from kg2rag.retrievers import linking
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.contract import DesignAliases, Pipeline, Stage, TuningRecord
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.fusion import FusionNotes, fuse, min_max
from kg2rag.retrievers.linking.linkers import (
    Link,
    Linker,
    linked_entities,
    unlinked_names,
)
from kg2rag.retrievers.neighbour_passages import LinksEntities, components
from kg2rag.types import (
    Count,
    FloatArray,
    IntArray,
    LazyPaths,
    Matrix,
    Natural,
    Notes,
    ParameterError,
    Query,
    Ranking,
    Share,
    Trace,
    Triple,
    Weight,
    checked,
    first_of,
    number,
    sources,
    step,
    top_with_ties,
)

COLOUR = "#009E73"  # in plots
_SETS = ("musique-100", "hotpotqa-300", "2wiki-1000", "2wiki-kg-500")
_TRAINING = ("musique (without musique-100)", "hotpotqa", "2wiki")
TUNING = (
    TuningRecord(
        "graph_augmented",
        "depth = 10 and mentions = passage",
        "known",
        10,
        _SETS,
        _TRAINING,
    ),
    TuningRecord(
        "graph_augmented",
        "min_cosine = 0.55 of its linker",
        "chosen",
        None,
        (),
        _TRAINING,
    ),
)
ALIASES = DesignAliases(
    "graph-augmented",
    (
        ("maxHops, graphExpansion.maxHops", "hops", "1 to 3"),
        (
            "maxChunks, maxGraphChunks",
            "max_chunks",
            "passages that only the graph found",
        ),
        ("alpha", "alpha", ""),
        ("beta, weight, graphWeight", "beta", ""),
        (
            "vectorWeight, textWeight",
            "dense_share",
            "of dense; that of BM25 is the rest",
        ),
        ("useGraph, enabled", "use_graph", ""),
        ("topK", "depth", "hits that are merged and re-scored"),
        ("relTypes", "KnowledgeGraph.neighbours", "its relation_types"),
        ("relationshipWeight", "Triple.strength", "in (0, 10]"),
        ("entityMentionCount", "Hit.score_parts", '"mentions", those in the passage'),
        (
            "minScore, limit",
            "linker",
            '"ngram+embedding"; "embedding(0.6, limit=5)" sets others',
        ),
    ),
)

# The weight of the cosine, which orders passages with equal graph scores; above the rounding of scores.
TIE = 1e-4
LEAST_BEST_SIMILARITY = 0.1  # the best of ten similarities exceeds it
# Formulas of scores that are shares of a walk's mass.
WALK_FORMULAS = {
    "pagerank",
    "walk",
}
ROUNDING = 1e-5  # the maximum excess of a single-precision cosine over 1


class RelatedPassages(NamedTuple):
    """The passages that name an entity near one of the query's, each with its best graph score.

    Attributes
    ----------
    neighbourhoods : the neighbourhood of each entity of the query.
    rows : (n,) corpus rows, ascending.
    numbers : (n,) the index of the entity that gives the best score among the entities of all neighbourhoods,
        joined; of several with that score, the first.
    parts : the graph score "graph" and its arguments "strength", "hop" and "mentions", (n,) each.
    """

    neighbourhoods: tuple[Neighbourhood, ...]
    rows: IntArray
    numbers: IntArray
    parts: dict[str, FloatArray]

    def of(self, rows: IntArray) -> dict[str, FloatArray]:
        """The `parts` of some passages; the graph score of other passages is 0, their other parts NaN."""
        is_related = np.isin(rows, self.rows)
        indices = np.searchsorted(self.rows, rows[is_related])
        parts = {}
        for name, values in self.parts.items():
            parts[name] = np.full(len(rows), 0.0 if name == "graph" else np.nan)
            parts[name][is_related] = values[indices]
        return parts

    def path(self, row: int) -> tuple[int, ...]:
        """The indices of the triples that lead to the entity of a passage; () for other passages."""
        if row not in self.rows:
            return ()
        number = int(self.numbers[np.searchsorted(self.rows, row)])
        for neighbourhood in self.neighbourhoods:
            if number < len(neighbourhood.entities):
                break
            number -= len(neighbourhood.entities)
        return neighbourhood.neighbour(number).path


@dataclass(frozen=True)
class GraphAugmentNotes(Notes):
    """Notes: the number of passages that the graph added, and whether the scores were scaled."""

    graph_results: int = 0
    scaled: bool | None = None


@ALIASES
@dataclass(frozen=True)
class GraphAugment(LinksEntities, Stage):
    """combined = alpha · score + beta · graph score, of scores in [0, 1].

    Scores that are not similarities are min-max scaled within the hits read, and the notes record it:
    scores outside [-1, 1], such as BM25's, scores with a maximum below 0.1, and those of a rank fusion
    or of PageRank.

    Parameters
    ----------
    hops : the maximum distance of related entities, 1 to 3; the graph score halves with each hop.
    max_chunks : the maximum of passages that only the graph found.
    alpha : weight of the text score, 0.7 in the design.
    beta : weight of the graph score, 0.3 in the design.
    use_graph : False returns the input ranking.
    depth : the number of hits read; all of them are kept.
    linker : finds the query's entities, an object or a name of `retrievers.linking.LINKERS`.
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
            raise ParameterError(
                "alpha and beta are both 0: every score would be 0. Raise one."
            )

    def apply(
        self, queries: Sequence[Query], rankings: Sequence[Ranking]
    ) -> list[Ranking]:
        """Link the batch, then augment each ranking."""
        if not self.use_graph:
            return [_without_entities(ranking) for ranking in rankings]
        links = self.entity_linker.link_batch(queries)
        vectors, candidates = (
            self.kb.encode_queries(queries),
            self.kb.candidates(queries),
        )
        return list(map(self._augment, queries, rankings, links, vectors, candidates))

    def _augment(
        self,
        query: Query,
        ranking: Ranking,
        links: Sequence[Link],
        vector: Matrix,
        candidate_rows: IntArray | None,
    ) -> Ranking:
        """The ranking with combined scores, and the passages that the graph adds."""
        related = self._related([link.entity for link in links], candidate_rows)
        added, cosines = self._new_passages(related, ranking.rows, vector)
        is_scaled = _needs_scaling(ranking)
        text_scores = min_max(ranking.scores) if is_scaled else ranking.scores
        hybrid = {"hybrid": text_scores, **related.of(ranking.rows)}
        graph = {"hybrid": np.zeros(len(added)), **related.of(added)}
        graph_scores = self._combined(graph) + TIE * cosines
        groups = {
            "hybrid": (
                ranking.rows,
                self._combined(hybrid),
                {**ranking.score_parts, **hybrid},
            ),
            "graph": (added, graph_scores, {**graph, "graph cosine": cosines}),
        }
        warning = (
            ""
            if links
            else "no entity of the graph was recognised: the graph adds nothing"
        )
        notes = GraphAugmentNotes(
            f"{number(self.alpha)} · hybrid + {number(self.beta)} · graph + {number(TIE)} · graph cosine",
            {
                "hybrid": " and ".join(dict.fromkeys(sources(ranking).values())),
                "graph": "graph",
            },
            warning=warning,
            entities=linked_entities(self.kb, links),
            unlinked=unlinked_names(query, links),
            inputs=(ranking.notes,),
            graph_results=len(added),
            scaled=is_scaled or None,
        )
        hits = np.append(ranking.rows, added)

        def path_of(row: int) -> Iterable[Triple]:
            triples = related.path(row) if row in hits else ()
            return map(self.kb.graph.triple, triples)

        paths = first_of(LazyPaths(path_of), ranking.paths)
        return Ranking.from_groups(ranking.query_id, groups, ranking.ids, paths, notes)

    def _combined(self, parts: Mapping[str, FloatArray]) -> FloatArray:
        """(n_passages,) the weighted sum of text score and graph score."""
        return self.alpha * parts["hybrid"] + self.beta * parts["graph"]

    def _new_passages(
        self, related: RelatedPassages, hybrid: IntArray, vector: Matrix
    ) -> tuple[IntArray, FloatArray]:
        """The rows and cosines of at most `max_chunks` passages that only the graph found.

        They are ordered by graph score, cosine and row. `hybrid` : the rows of the hits. `vector` : (dim,)
        that of the query.
        """
        graph_scores = related.parts["graph"]
        new = np.flatnonzero((graph_scores > 0) & ~np.isin(related.rows, hybrid))
        if not (self.max_chunks and len(new)):
            return np.empty(0, dtype=np.int64), np.empty(0)
        new = new[top_with_ties(graph_scores[new], self.max_chunks)]
        rows = related.rows[new]
        scores = graph_scores[new]
        cosines = self.kb.dense.cosines(vector, rows)
        order = np.lexsort((rows, -cosines, -scores))[: self.max_chunks]
        return rows[order], cosines[order]

    def _related(
        self, entities: Sequence[int], candidate_rows: IntArray | None = None
    ) -> RelatedPassages:
        """The passages that name some entities or their neighbours.

        The entities have separate neighbourhoods, so that one entity of the query may lead to the
        passages of another.
        """
        graph = self.kb.graph
        neighbourhoods = [
            graph.neighbourhood([entity], hops=self.hops) for entity in entities
        ]
        near = _joined([around.entities for around in neighbourhoods]).astype(np.int64)
        mentions, numbers = gather(graph.mentions.indptr, near)
        if candidate_rows is not None:
            is_candidate = np.isin(graph.mentions.others[mentions], candidate_rows)
            mentions, numbers = mentions[is_candidate], numbers[is_candidate]
        rows = graph.mentions.others[mentions].astype(np.int64)
        parts: dict[str, NDArray[Any]] = {
            "strength": _joined([around.weights for around in neighbourhoods])[numbers],
            "hop": _joined([around.hops for around in neighbourhoods])[numbers],
            "mentions": graph.mentions.counts[mentions],
        }
        scores = graph_score(parts["strength"], parts["hop"], parts["mentions"])
        # The best entity of each row: sorted by row, then by score; equal scores keep their order.
        order = np.lexsort((-scores, rows))
        best = order[run_starts(rows[order])]
        parts["graph"] = scores
        best_parts = {
            name: values[best].astype(np.float64) for name, values in parts.items()
        }
        return RelatedPassages(
            tuple(neighbourhoods), rows[best], numbers[best], best_parts
        )

    def trace(self, queries: Sequence[Query], traces: Sequence[Trace]) -> list[Trace]:
        """The traces; an entity of the query leads to the passage, within the hops, within `max_chunks`.

        Hits of the input pass all steps.
        """
        if not self.use_graph:
            return super().trace(queries, traces)
        rankings = self.apply(
            queries, [trace.ranking.top(self.depth) for trace in traces]
        )
        return list(map(self._trace, rankings, self.entity_linker.link_batch(queries)))

    def _trace(self, ranking: Ranking, links: Sequence[Link]) -> Trace:
        unread = f"not among the first {self.depth} hits, and "
        entities = [link.entity for link in links]
        linked = components(self.kb).rows_with(entities)
        unlinked = f"{unread}no entity of the graph was recognised"
        if entities:
            unlinked = f"{unread}no entity of the query leads to it"
        far = f"{unread}beyond hops = {self.hops}"
        cut = f"{unread}below the {self.max_chunks} that the graph may add"
        related = self._related(entities).rows
        steps = (
            step("linked", "entity not linked", unlinked, linked, ranking.rows),
            step("expanded", "not expanded", far, related, ranking.rows),
            step("added", "pruned", cut, ranking.rows),
        )
        return Trace(ranking, steps)


def _joined(arrays: Sequence[NDArray[Any]]) -> FloatArray:
    """The concatenation of arrays; an empty array for none."""
    return np.concatenate([np.empty(0), *arrays])


def _without_entities(ranking: Ranking) -> Ranking:
    """The ranking with a note that no entity was linked, so that contexts omit the graph."""
    if ranking.notes.linked is not None:
        return ranking
    return replace(ranking, notes=replace(ranking.notes, entities=()))


def _needs_scaling(ranking: Ranking) -> bool:
    """Whether the scores of a ranking are no similarities.

    Similarities are within [-1, 1], with a maximum of at least `LEAST_BEST_SIMILARITY`; reciprocal ranks
    and shares of walks are none.
    """
    greatest = np.abs(ranking.scores).max(initial=0)
    if not greatest:
        return False
    notes = ranking.notes
    if isinstance(notes, FusionNotes):
        return bool(greatest > 1 + ROUNDING) or notes.method == "rrf"
    formulas = (
        [notes.formula] if isinstance(notes.formula, str) else notes.formula.values()
    )
    is_outside = greatest > 1 + ROUNDING or greatest < LEAST_BEST_SIMILARITY
    return bool(is_outside or not WALK_FORMULAS.isdisjoint(formulas))


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
    """A weighted sum of min-max scaled dense and BM25 scores, then `GraphAugment`.

    `dense_share` is the weight of dense, in [0, 1]; 1 - dense_share is that of BM25. The others are
    parameters of `GraphAugment`.
    """
    weights = (dense_share, round(1 - dense_share, 12))
    merged = fuse(Dense(kb), BM25(kb), weights=weights, method="sum", depth=depth)
    return merged >> GraphAugment(
        kb, hops, max_chunks, alpha, beta, use_graph, depth, linker
    )
