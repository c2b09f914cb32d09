"""Query -> dense, BM25, pattern and `mention_ppr` rankings, fused with weights per query.

The design: weighted reciprocal rank fusion, with weights from an analysis of the query or from the
caller. Ours: the graph side is `mention_ppr`, a walk over mentions, whatever the graph
(`graph=graph_augmented` searches the graph, as in the design); a side with weight 0 is not run, and
any system may be a side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from kg2rag.knowledge import KnowledgeBase, Workload
from kg2rag.retrievers import systems
from kg2rag.retrievers.contract import DesignAliases, Retriever, TuningRecord
from kg2rag.retrievers.designs.dynamic_hybrid.analysers import (
    ANALYSERS,
    SIDES,
    Analyser,
    FixedAnalyser,
    QueryAnalysis,
)
from kg2rag.retrievers.fusion import RRF_CONSTANT, fuse_rankings
from kg2rag.retrievers.system_parts import workloads
from kg2rag.text.registry import split
from kg2rag.types import (
    Count,
    Notes,
    ParameterError,
    Query,
    Ranking,
    Weight,
    check,
    refused,
    sources,
)

NAME = "dynamic_hybrid"
COLOUR = "#8C6BB1"  # in plots
TUNING = (
    TuningRecord(
        NAME,
        "the rules that tell kinds of query apart",
        "chosen",
        None,
        ("musique-100", "cosqa-500"),
    ),
    TuningRecord(
        NAME,
        "all of mention_ppr, its graph side",
        "chosen",
        61,
        ("musique-100", "hotpotqa-300", "2wiki-1000"),
    ),
)
ALIASES = DesignAliases(
    "dynamic hybrid",
    (
        (
            "dense, sparse, pattern",
            "weights",
            "by these names; `sides` names other systems for them",
        ),
        (
            "analyzeQuery, analyzer, llm",
            "analyser",
            '"rules", "llm(MODEL@BASE_URL)", "learned(FILE)", and chains of them',
        ),
        ("k", "constant", "of the reciprocal rank fusion"),
        (
            "graphSearch",
            "graph",
            '"graph_augmented" searches the graph given, as the design does',
        ),
        ("search", "DynamicHybrid.retrieve", "with `weights` for one query"),
        ("query_type, reasoning", "HybridNotes", "its fields of these names"),
    ),
)


@dataclass(frozen=True)
class HybridNotes(Notes):
    """Notes of the analysis: the type of the query, the weight of each side, and the reason."""

    query_type: str = ""
    weights: Mapping[str, float] = field(default_factory=dict)
    reasoning: str = ""


@ALIASES
@dataclass(frozen=True)
class DynamicHybrid(Retriever):
    """Four kinds of retrieval, weighted per query; the graph side is `mention_ppr` by default.

    The notes have the analysis (`HybridNotes`). The parts of a hit are each side's contribution to its
    score, and its rank and score there; its stage is the side with the largest contribution.

    Parameters
    ----------
    analyser : "rules", "fixed" (equal weights), "learned(FILE)", "llm(MODEL@BASE_URL)", or any object with
        `analyse(queries)`. After a `+` follows the analyser of queries for which a model gives no usable reply.
    graph : the fourth side, a system by name. `graph_augmented` and `expansion_queries` search the graph of the
        knowledge base, as in the design; `mention_ppr` and `mention_chains` walk by the names in passages.
    depth : the number of hits read from each side, whatever `k` is.
    constant : the constant of the reciprocal rank fusion.
    weights : fixed weights of the sides, in their order or by name, at least 0, with sum 1; no query is analysed.
    sides : the dense, sparse and pattern side, systems by name: "dense+bm25(k1=1.2)+pattern".
    """

    kb: KnowledgeBase = field(repr=False)
    analyser: str | Analyser = "rules"
    graph: str = "mention_ppr"
    depth: Count = 100
    constant: Weight = RRF_CONSTANT
    weights: Sequence[float] | Mapping[str, float] | None = None
    sides: str = "dense+bm25+pattern"

    def __post_init__(self) -> None:
        if self.weights is not None:
            if self.analyser != "rules":
                raise ParameterError(
                    f"weights leave nothing to analyse: leave out the analyser {self.analyser!r}."
                )
            object.__setattr__(self, "weights", FixedAnalyser(self.weights).weights)
        check(self)
        if isinstance(self.analyser, str):
            ANALYSERS.build(self.analyser, self.kb.store, None)
        _ = self.members

    @cached_property
    def members(self) -> dict[str, Retriever]:
        """The four retrievers, by side."""
        names = [*split(self.sides, "+"), self.graph]
        if len(names) != len(SIDES):
            raise refused(
                "sides",
                self.sides,
                "three systems joined by '+', such as dense+bm25+pattern",
            )
        return {
            side: systems.build(name, self.kb)
            for side, name in zip(SIDES, names, strict=True)
        }

    def workloads(self, queries: Sequence[Query]) -> list[Workload]:
        """The workloads of all sides."""
        return workloads(list(self.members.values()), queries)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Analyse the batch, run each side for the queries with a positive weight, and fuse."""
        analyses = self.analyse(queries)
        rankings_of: list[dict[str, Ranking]] = [{} for _ in queries]
        for side, retriever in self.members.items():
            indices = [
                i for i, analysis in enumerate(analyses) if analysis.weights[side] > 0
            ]
            rankings = retriever.retrieve_batch(
                [queries[i] for i in indices], self.depth
            )
            for i, ranking in zip(indices, rankings, strict=True):
                rankings_of[i][side] = _as_side(ranking, side)
        return [
            self._fuse(rankings, analysis, k)
            for rankings, analysis in zip(rankings_of, analyses, strict=True)
        ]

    def _fuse(
        self, rankings: Mapping[str, Ranking], analysis: QueryAnalysis, k: int
    ) -> Ranking:
        """The fusion of the sides of one query, with the analysis in its notes."""
        fused = blend(rankings, analysis.weights, k, self.constant)
        notes = HybridNotes(
            fused.notes.formula,
            fused.notes.source,
            warning=analysis.warning,
            inputs=fused.notes.inputs,
            query_type=analysis.query_type,
            weights=dict(analysis.weights),
            reasoning=analysis.reasoning,
        )
        return replace(fused, notes=notes)

    def retrieve(
        self,
        query: str | Query,
        k: int = 10,
        weights: Sequence[float] | Mapping[str, float] | None = None,
    ) -> Ranking:
        """The ranking of one query; `weights` of the sides replace the analyser's."""
        if weights is None:
            return super().retrieve(query, k)
        return replace(self, analyser="rules", weights=weights).retrieve(query, k)

    def prepare(self, queries: Sequence[Query]) -> None:
        """Prepare every side and load the vocabulary."""
        for retriever in self.members.values():
            retriever.prepare(queries)
        self.analyse(queries)  # the store keeps the replies of a language model

    def analyse(self, queries: Sequence[Query]) -> list[QueryAnalysis]:
        """The analysis of each query."""
        analyser = (
            self.analyser if self.weights is None else FixedAnalyser(self.weights)
        )
        if isinstance(analyser, str):
            analyser = ANALYSERS.build(analyser, self.kb.store, self.kb.trigram)
        return analyser.analyse(queries)


def _as_side(ranking: Ranking, side: str) -> Ranking:
    """The ranking with its first stage named after its side; its sources are kept.

    Thus two sides that use one component have different stages.
    """
    stages = (side, *ranking.stages[1:])
    source = dict(zip(stages, sources(ranking).values(), strict=True))
    return replace(ranking, stages=stages, notes=replace(ranking.notes, source=source))


def blend(
    sides: Mapping[str, Ranking], weights: Mapping[str, float], k: int, constant: float
) -> Ranking:
    """Weighted reciprocal rank fusion of one query's sides, without those of weight 0."""
    counted = [side for side in SIDES if weights[side] > 0]
    return fuse_rankings(
        [sides[side] for side in counted],
        [weights[side] for side in counted],
        k,
        constant=constant,
    )
