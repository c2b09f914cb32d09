"""Query -> dense, sparse, pattern and graph rankings, fused with weights chosen for that query.

The dynamic hybrid design: weighted reciprocal rank fusion over an analysis of the query, or with the
weights that the caller gives. Ours: a side of weight 0 is not run for a query; `graph` chooses which of our graph
strategies is the fourth side, and `members` may be any retrievers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.contract import Retriever, Tuned
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.dynamic_hybrid import analysers
from kg2rag.retrievers.dynamic_hybrid.analysers import ANALYSERS, SIDES, Analyser, FixedAnalyser, QueryAnalysis
from kg2rag.retrievers.expansion_queries import ExpansionQueries
from kg2rag.retrievers.fusion import RRF_CONSTANT, fuse_rankings
from kg2rag.retrievers.graph_augmented import graph_augmented
from kg2rag.retrievers.mention_chains.chains import DEFAULT, ChainsNotes, read_coefficients
from kg2rag.retrievers.mention_chains.retriever import MentionChains
from kg2rag.retrievers.mention_ppr.retriever import MentionPPR
from kg2rag.retrievers.pattern import Pattern
from kg2rag.types import Count, Notes, ParameterError, Query, Ranking, Weight, check, one_of, sources

NAME = "dynamic_hybrid"
TUNING = (
    Tuned(NAME, "the rules that tell kinds of query apart", "chosen", ("musique-100", "cosqa-500")),
    Tuned(NAME, "all that mention_ppr, its graph side, has", "chosen", ("musique-100", "hotpotqa-300", "2wiki-1000")),
)
GRAPH_SIDES: Mapping[str, Callable[[KnowledgeBase], Retriever]] = {
    "expansion_queries": ExpansionQueries,
    "graph_augmented": graph_augmented,
    "mention_chains": MentionChains,
    "mention_ppr": MentionPPR,
}


@dataclass(frozen=True)
class HybridNotes(Notes):
    """What the analyser took the query for, the weight of each side, and why."""

    query_type: str = ""
    weights: Mapping[str, float] = field(default_factory=dict)
    reasoning: str = ""


@dataclass(frozen=True)
class DynamicHybrid(Retriever):
    """Four kinds of retrieval, weighed per query; the graph side is `mention_ppr` unless `graph` names another.

    The notes say what each query was taken for (`HybridNotes`); a hit's parts are what each side contributed
    to its score, its rank and score there; its stage is the side that contributed most.

    Parameters
    ----------
    analyser : "rules", "fixed" (equal weights), "learned(FILE)", "llm(MODEL@BASE_URL)", or any object with
        `analyse(queries)`. After a `+` follows what analyses queries of which a model says nothing usable.
    graph : the fourth side, one of `GRAPH_SIDES`. The first two of these search the knowledge graph given, as the
        design does; `mention_ppr` and `mention_chains` walk from passage to passage by the names in them, whatever
        that graph is. `mention_chains` says how far chains are to be trusted.
    depth : hits read from each side, whatever `k` is.
    constant : of the reciprocal rank fusion.
    coefficients : of `mention_chains` as the fourth side, see `MentionChains`; no other side reads them.
    weights : of the sides for every query, in their order or by name, at least 0, their sum 1; no query is analysed.
    members : four retrievers in place of dense retrieval, BM25, `pattern` and `graph`, in the order of `SIDES`.
    """

    kb: KnowledgeBase = field(repr=False)
    analyser: str | Analyser = "rules"
    graph: Annotated[str, one_of(GRAPH_SIDES)] = "mention_ppr"
    depth: Count = 100
    constant: Weight = RRF_CONSTANT
    coefficients: str = DEFAULT
    weights: Sequence[float] | Mapping[str, float] | None = None
    members: tuple[Retriever, ...] = ()

    def __post_init__(self) -> None:
        if self.weights is not None:
            if self.analyser != "rules":
                raise ParameterError(f"weights leave nothing to analyse: leave out the analyser {self.analyser!r}.")
            object.__setattr__(self, "weights", FixedAnalyser(self.weights).weights)
        check(self)
        if isinstance(self.analyser, str):
            ANALYSERS.build(self.analyser, self.kb.store, None)
        if len(self.members) not in (0, len(SIDES)):
            raise ParameterError(
                f"{len(self.members)} sides are given; there must be {len(SIDES)}: one each for {', '.join(SIDES)}. "
                "To leave one out, give it a weight of 0."
            )
        read_coefficients(self.coefficients)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Analyse the batch, run each side on the queries that weigh it, fuse."""
        analyses = self.analyse(queries)
        found: list[dict[str, Ranking]] = [{} for _ in queries]
        for side, retriever in self.sides().items():
            weighed = [i for i, analysis in enumerate(analyses) if analysis.weights[side] > 0]
            rankings = retriever.retrieve_batch([queries[i] for i in weighed], self.depth)
            for i, ranking in zip(weighed, rankings, strict=True):
                found[i][side] = _named(ranking, side)
        return [self._fused(*each, k) for each in zip(found, analyses, strict=True)]

    def _fused(self, sides: Mapping[str, Ranking], analysis: QueryAnalysis, k: int) -> Ranking:
        chosen = reconsidered(analysis, sides.get("graph"))
        fused = blend(sides, chosen.weights, k, self.constant)
        notes = HybridNotes(
            fused.notes.formula,
            fused.notes.source,
            warning=chosen.warning,
            inputs=fused.notes.inputs,
            query_type=chosen.query_type,
            weights=dict(chosen.weights),
            reasoning=chosen.reasoning,
        )
        return replace(fused, notes=notes)

    def prepare(self, queries: Sequence[Query]) -> None:
        """Prepare every side and load the vocabulary."""
        if queries:
            for retriever in self.sides().values():
                retriever.prepare(queries)
            self.analyse(queries)  # a language model answers here, and the store keeps it

    def analyse(self, queries: Sequence[Query]) -> list[QueryAnalysis]:
        """Type and weights of each query."""
        analyser = self.analyser if self.weights is None else FixedAnalyser(self.weights)
        if isinstance(analyser, str):
            analyser = ANALYSERS.build(analyser, self.kb.store, self.kb.trigram)
        return analyser.analyse(queries)

    def sides(self) -> dict[str, Retriever]:
        """The four retrievers, by side."""
        graph = GRAPH_SIDES[self.graph](self.kb)
        if isinstance(graph, MentionChains):
            graph = replace(graph, coefficients=self.coefficients)
        members = self.members or (Dense(self.kb), BM25(self.kb), Pattern(self.kb), graph)
        return dict(zip(SIDES, members, strict=True))


def blend(sides: Mapping[str, Ranking], weights: Mapping[str, float], k: int, constant: float) -> Ranking:
    """Weighted reciprocal rank fusion of one query's sides; one of weight 0 adds nothing, not even its hits."""
    counted = [side for side in SIDES if weights[side] > 0]
    return fuse_rankings([sides[side] for side in counted], [weights[side] for side in counted], k, constant=constant)


def reconsidered(analysis: QueryAnalysis, graph: Ranking | None) -> QueryAnalysis:
    """The analysis once `mention_chains` has searched: a question that names nothing may still ask for a chain.

    Another side's ranking changes nothing.
    """
    notes = graph.notes.find(ChainsNotes) if graph is not None else None
    if notes is None or not analysis.names_nothing or (notes.trust or 0.0) < 0.5:
        return analysis
    return analysers.analysis_of(analysers.NAMES_IN_PROSE, "names nothing, but the passages found name one another")


def _named(ranking: Ranking, side: str) -> Ranking:
    """A ranking whose first stage is named by its side, as two sides may use one component; its sources are kept."""
    stages = (side, *ranking.stages[1:])
    source = dict(zip(stages, sources(ranking).values(), strict=True))
    return replace(ranking, stages=stages, notes=replace(ranking.notes, source=source))
