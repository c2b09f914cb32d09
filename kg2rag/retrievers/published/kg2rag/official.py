"""Query -> Ranking as in the released KG2RAG, with a switch for every departure from the paper.

The steps follow the code of Zhu et al., "Knowledge Graph-Guided RAG", NAACL 2025, at commit 7d626c77;
it is written anew. Ours: insertion order instead of hash order; the score 1 / place, since the code
orders passages without scores. A sentence without text is "title: " in the code and no passage here.
The triples are the LLM's output with preambles and blank parts, on which the trees depend.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Literal, NamedTuple

import numpy as np

from kg2rag.knowledge import KnowledgeBase, Workload
from kg2rag.knowledge.graph.paths import Surroundings, surroundings
from kg2rag.retrievers.dense import VectorRetriever
from kg2rag.retrievers.published.kg2rag import released
from kg2rag.retrievers.published.kg2rag.released import (
    TitlePool,
    dense_over,
    joined_texts,
)
from kg2rag.retrievers.published.kg2rag.trees import (
    UNCHOSEN,
    TreeChoice,
    TreeNotes,
    rank_selected,
    select_passages,
    triplets,
)
from kg2rag.retrievers.rerankers import (
    DEFAULT_RERANKER,
    BiEncoder,
    Reranker,
    named,
    score_batches,
)
from kg2rag.text.registry import ParameterError, unknown
from kg2rag.types import (
    Count,
    FloatArray,
    IntArray,
    Matrix,
    Notes,
    Query,
    Ranking,
    Step,
    Triple,
    step,
)

COLOUR = "#E69F00"  # in plots
NO_TRIPLE = "no triple among the passages: ordered by"
# The selected rows in order, each with its choice; and a warning.
Selection = tuple[dict[int, TreeChoice], str]


class QueryPlan(NamedTuple):
    """The state of a query before the reranker scores.

    `nodes`: corpus row -> score, the `n_seeds` seeds first, then appended passages, each by score.
    `facts`, `rows`: the triples of the graph and the passage of each. `trees`: their facts;
    `texts`: what the reranker reads of them.
    """

    nodes: dict[int, float]
    n_seeds: int
    facts: list[Triple]
    rows: list[int]
    trees: list[list[int]]
    texts: list[str]
    mentioned: list[str]


@dataclass(frozen=True)
class OfficialNotes(TreeNotes):
    """Notes of the trees, the number of appended passages, and the mentioned entities."""

    expanded: int = 0
    mentioned: tuple[str, ...] = ()


DEPARTURES = (
    "expansion",
    "expanded_score",
    "query_edges",
    "edge_order",
    "rerank_on",
    "overflow",
    "refill",
    "order",
)
"""The departures of the released code from the paper that affect rankings; see `KG2RAGOfficial`."""


@dataclass(frozen=True)
class KG2RAGOfficial(VectorRetriever):
    """KG2RAG as released: title expansion, spanning trees, rerank, and selection of passages.

    Over the authors' sub-graphs (`subkgs(FILE)`), sentences and `mode="hotpotqa"` it equals their code
    up to the order of Python's sets. Over any other graph it is their method on other triples, and
    `remark` records it.

    A hit has the stage "seed" or "expand"; its path are the facts of it that trees kept; its parts
    are `node`, the score by which the code lists passages, and if a tree chose it, its rank from 1
    (`tree`) and score (`reranker`).

    Each departure from the paper can be undone by its name in `paper`. Under "all" it chooses as
    `Expand >> Organise`. By the paper, or by our reading if it is silent [ours]:

    - expansion: breadth-first over the triples. The code follows triple ends that are exactly a passage's title, and
      takes all passages of that title.
    - expanded_score: an expanded passage weighs its own cosine, not a smoothed mean of seed scores.
    - query_edges: the entities that the question seems to mention are not joined by edges of weight 0.
    - edge_order: a tree is walked depth-first from its heaviest edge, not in the order of its vertices; a self-loop of
      its own is no tree.
    - rerank_on: the reranker reads triplets, not the passages' text, each as often as it owns edges of the tree.
    - overflow: a tree that does not fit is cut [ours]; the code stops there.
    - refill: free places are taken by passages that own no triple, by cosine [ours]. In the code, with fewer than half
      of the places taken, by those at the positions that the reranker's order of the *other* passages names.
    - order: passages as the trees gave them, not by similarity, seeds first, and those of one title together.

    Parameters
    ----------
    mode : "musique", passages are paragraphs, and tree strings hold triples beside the text; "hotpotqa", passages are
        sentences, grouped by title in sentence order, and strings are only text.
    seeds, context : passages sought by similarity, and returned at most.
    hops : of the paper's expansion only.
    reranker : an object or a name, "bi-encoder" or a cross-encoder's; theirs is BAAI/bge-reranker-large.
    max_characters : longer tree strings are cut, for rerankers read their beginning; None for all of it.
    expansion, organisation : False for the paper's ablations, as in `kg2rag`; the order is then that of the nodes.
    paper : the departures that are undone, joined by "+", such as "expansion+order"; "all" of them.
    """

    kb: KnowledgeBase = field(repr=False)
    mode: Literal["hotpotqa", "musique"] = "musique"
    seeds: Count = 10
    context: Count = 10
    hops: Count = 1
    reranker: str | Reranker = DEFAULT_RERANKER
    max_characters: Count | None = 8000
    expansion: bool = True
    organisation: bool = True
    paper: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in sorted(self.undone.difference(DEPARTURES)):
            raise ParameterError(unknown("departure", name, DEPARTURES))
        _ = self.scorer

    @cached_property
    def undone(self) -> frozenset[str]:
        """The departures that are undone."""
        if self.paper == "all":
            return frozenset(DEPARTURES)
        return frozenset(filter(None, self.paper.split("+")))

    @cached_property
    def scorer(self) -> Reranker:
        """The reranker itself."""
        if isinstance(self.reranker, str):
            return named(self.reranker, self.kb)
        return self.reranker

    @property
    def remark(self) -> str:
        """A note for tables if the triples are not those of the released code; else ""."""
        if self.kb.extraction.raw is not None:
            return ""
        # Only the class: its repr may name folders.
        source = type(self.kb.source).__name__
        return f"triples are those of {source}, not the sub-graphs that the released KG2RAG reads"

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the queries, and the tree strings if a bi-encoder reads them."""
        super().prepare(queries)
        if isinstance(self.scorer, BiEncoder):
            self.retrieve_batch(queries, 1)

    def workloads(self, queries: Sequence[Query]) -> list[Workload]:
        """The passages with title and text joined as in the released code."""
        return [self.kb.workload("passages", self.kb.corpus.joined(released.SEPARATOR))]

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """The rankings of a batch, whose trees are scored in one call."""
        plans = self.plan(queries)
        if self.organisation:
            pairs = [
                [(query.text, text) for text in plan.texts]
                for query, plan in zip(queries, plans, strict=True)
            ]
            selections = list(
                map(self.select, queries, plans, score_batches(self.scorer, pairs))
            )
        else:
            selections = [
                (dict.fromkeys(plan.nodes, UNCHOSEN), "not organised") for plan in plans
            ]
        columns = zip(queries, plans, selections, strict=True)
        return [self._ranking(*column, k) for column in columns]

    def plan(self, queries: Sequence[Query]) -> list[QueryPlan]:
        """The plans of some queries: seeds, appended passages, graph, trees and their texts."""
        vectors, candidates = (
            self.kb.encode_queries(queries),
            self.kb.candidates(queries),
        )
        nearest = dense_over(self.kb).search(vectors, self.seeds, candidates)
        return list(map(self._plan, queries, vectors, candidates, nearest))

    def _plan(
        self,
        query: Query,
        vector: Matrix,
        candidate_rows: IntArray | None,
        nearest: tuple[IntArray, FloatArray],
    ) -> QueryPlan:
        seed_rows, cosines = nearest
        seeds = dict(zip(seed_rows.tolist(), cosines.tolist(), strict=True))
        pool = released.pool_of(self.kb, query.candidates)
        around = self._surroundings(seeds, candidate_rows)
        appended = self._appended(seeds, pool, around, vector)
        nodes = {**seeds, **dict(sorted(appended.items(), key=lambda node: -node[1]))}
        facts = self._facts(nodes, pool, around)
        rows = [self.kb.corpus.row(fact.passage_id) for fact in facts]
        mentioned: list[str] = []
        # Only the titles of these passages count.
        if "query_edges" not in self.undone:
            mentioned = released.mentioned_names(
                query.text, [pool.titles[row] for row in nodes], facts
            )
        trees = self._trees(facts, np.array([nodes[row] for row in rows]), mentioned)
        texts = self._texts(trees, facts, rows, pool)
        return QueryPlan(nodes, len(seeds), facts, rows, trees, texts, mentioned)

    def _surroundings(
        self, seeds: Collection[int], candidate_rows: IntArray | None
    ) -> Surroundings | None:
        """The triples around the seeds, breadth-first; None if titles are followed, or none."""
        if not self.expansion or "expansion" not in self.undone:
            return None
        return surroundings(
            self.kb.graph,
            np.array(list(seeds), dtype=np.int64),
            self.hops,
            candidate_rows,
        )

    def _appended(
        self,
        seeds: Mapping[int, float],
        pool: TitlePool,
        around: Surroundings | None,
        vector: Matrix,
    ) -> dict[int, float]:
        """The appended passages with their scores."""
        if not self.expansion:
            return {}
        title_of, title_scores = released.title_walk(seeds, pool)
        if around is not None:
            rows = np.unique(self.kb.graph.triples.passages[around.triples]).tolist()
            title_of = {row: pool.titles[row] for row in rows if row not in seeds}
        if "expanded_score" in self.undone:
            cosines = dense_over(self.kb).cosines(
                vector, np.array(list(title_of), dtype=np.int64)
            )
            return dict(zip(title_of, cosines.tolist(), strict=True))
        return {row: title_scores.smoothed(title) for row, title in title_of.items()}

    def _facts(
        self, nodes: Mapping[int, float], pool: TitlePool, around: Surroundings | None
    ) -> list[Triple]:
        """The triples among the passages, by passage in the order of the nodes.

        If that order is only by similarity, as the paper has it, equal scores are ordered by corpus
        position.
        """
        if around is None:
            facts = [triple for row in nodes for triple in pool.stated[row]]
        else:
            facts = [self.kb.graph.triple(index) for index in around.triples.tolist()]
        rows = list(nodes)
        if "edge_order" in self.undone:
            rows.sort(key=lambda row: (-nodes[row], row))
        place = {self.kb.corpus.ids[row]: number for number, row in enumerate(rows)}
        return sorted(facts, key=lambda fact: place[fact.passage_id])

    def _trees(
        self, facts: Sequence[Triple], weights: FloatArray, mentioned: Sequence[str]
    ) -> list[list[int]]:
        """The facts of each spanning tree."""
        edges = [(fact.head.strip(), fact.tail.strip()) for fact in facts]
        if "edge_order" in self.undone:
            return released.depth_first_trees(edges, weights, mentioned)
        return released.iteration_trees(edges, weights, mentioned)

    def _texts(
        self,
        trees: Sequence[Sequence[int]],
        facts: Sequence[Triple],
        rows: Sequence[int],
        pool: TitlePool,
    ) -> list[str]:
        """The text of each tree for the reranker."""
        if "rerank_on" in self.undone:
            return [
                triplets([facts[i] for i in tree], self.max_characters)
                for tree in trees
            ]
        stated = pool.stated if self.mode == "musique" else None
        texts = joined_texts(self.kb)
        return [
            released.tree_text(
                [rows[i] for i in tree], texts, stated, self.max_characters
            )
            for tree in trees
        ]

    def select(self, query: Query, plan: QueryPlan, scores: FloatArray) -> Selection:
        """The passages of a query, at most `context`, by the scores of its trees."""
        trees = [[(i, plan.rows[i]) for i in tree] for tree in plan.trees]
        chosen = select_passages(
            trees, scores, self.context, whole="overflow" not in self.undone
        )
        fill, note = self._fill(query, plan, chosen)
        rows = list(dict.fromkeys([*chosen, *fill]))[: self.context]
        is_reranked = not trees and "refill" not in self.undone
        if "order" not in self.undone and not is_reranked:
            rows = [row for row in plan.nodes if row in rows]
        return {row: chosen.get(row, UNCHOSEN) for row in rows}, note

    def _fill(
        self, query: Query, plan: QueryPlan, chosen: Collection[int]
    ) -> tuple[list[int], str]:
        """The passages for the free places, and the warning about them."""
        if "refill" in self.undone:
            warning = "" if plan.trees else f"{NO_TRIPLE} similarity"
            return self._without_triples(plan), warning
        if not plan.trees:
            return self._reranked(query, plan, chosen), f"{NO_TRIPLE} the reranker"
        if len(chosen) >= self.context // 2 or len(chosen) == len(plan.nodes):
            return [], ""
        note = "the trees did not fill the context: the reranker added the others"
        return self._reranked(query, plan, chosen), note

    def _without_triples(self, plan: QueryPlan) -> list[int]:
        """The passages that state no triple between two entities, by score."""
        linking = {
            row
            for row, fact in zip(plan.rows, plan.facts, strict=True)
            if fact.head != fact.tail
        }
        return sorted(
            plan.nodes.keys() - linking, key=lambda row: (-plan.nodes[row], row)
        )

    def _reranked(
        self, query: Query, plan: QueryPlan, chosen: Collection[int]
    ) -> list[int]:
        """The passages at the reranker's positions of the unselected ones, as released."""
        nodes = list(plan.nodes)
        texts = joined_texts(self.kb)
        pairs = [(query.text, texts[row]) for row in nodes if row not in chosen]
        best = np.argsort(-score_batches(self.scorer, [pairs])[0], kind="stable")[
            : self.context
        ]
        # Positions among the unselected passages index the list of all passages, as in their code.
        return [nodes[position] for position in best.tolist()]

    def _ranking(
        self, query: Query, plan: QueryPlan, selection: Selection, k: int
    ) -> Ranking:
        chosen, note = selection
        rows = list(chosen)
        if "order" not in self.undone:
            rows = self._by_title(rows)
        paths: dict[int, tuple[Triple, ...]] = dict.fromkeys(rows, ())
        for tree in plan.trees:
            for i in tree:
                if plan.rows[i] in paths:
                    paths[plan.rows[i]] += (plan.facts[i],)
        notes = OfficialNotes(
            warning=note,
            expanded=len(plan.nodes) - plan.n_seeds,
            trees=len(plan.trees),
            filled=sum(choice is UNCHOSEN for choice in chosen.values()),
            mentioned=tuple(plan.mentioned),
        )
        nodes = self._nodes(query, plan)
        return rank_selected(
            nodes, {row: chosen[row] for row in rows}, paths, notes
        ).top(k)

    def _by_title(self, rows: Sequence[int]) -> list[int]:
        """The rows grouped by title in order of appearance; sentences of a title by position."""
        corpus = self.kb.corpus
        rows_of: dict[str, list[int]] = {}
        for row in rows:
            rows_of.setdefault(corpus.titles[row], []).append(row)
        if self.mode == "hotpotqa":
            for group in rows_of.values():
                group.sort(key=lambda row: corpus[row].position)
        return list(chain.from_iterable(rows_of.values()))

    def _nodes(self, query: Query, plan: QueryPlan) -> Ranking:
        """The seeds and appended passages with the scores by which the code lists them."""
        scores = np.array(list(plan.nodes.values()))
        return Ranking.from_scores(
            query.id,
            list(plan.nodes),
            scores,
            self.kb.corpus.ids,
            stages=("seed", "expand"),
            stage_codes=(np.arange(len(scores)) >= plan.n_seeds).astype(np.int8),
            score_parts={"node": scores},
            notes=Notes(source={"seed": "dense", "expand": "graph"}),
        )

    @property
    def trace_depth(self) -> int:
        """The size of the context, the last limit."""
        return self.context

    def steps(self, query: Query, ranking: Ranking) -> tuple[Step, ...]:
        """The steps: a seed or appended, in a tree, selected."""
        (plan,) = self.plan([query])
        led = "title that was followed"
        if not self.expansion or "expansion" in self.undone:
            led = f"triple within hops = {self.hops}"
        away = f"none of the {self.seeds} seeds, and no {led} brought it"
        treeless = "in no spanning tree, and no free place was filled with it"
        passed_over = f"its tree is none of those that filled the {self.context} places"
        in_trees = [plan.rows[fact] for tree in plan.trees for fact in tree]
        return (
            step(
                "seeded or appended",
                "not expanded",
                away,
                list(plan.nodes),
                ranking.rows,
            ),
            step("in a tree", "pruned", treeless, in_trees, ranking.rows),
            step("chosen", "pruned", passed_over, ranking.rows),
        )
