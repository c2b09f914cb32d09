"""Query -> Ranking as the released KG2RAG would choose it, with every departure from the paper as a switch.

Follows the code of Zhu et al., "Knowledge Graph-Guided RAG", NAACL 2025, at commit 7d626c77, written anew. Theirs:
the steps and the defaults of the switches. Ours: insertion order where theirs is that of a hash; 1 / place as score,
for the code orders and does not score. A sentence without text is none of our passages, and theirs has it as "title: ".

Theirs are the published sub-graphs as the LLM wrote them, preambles and blank parts included, for their trees follow
from these letters: `subkgs` keeps them beside the triples of the graph, and a HotpotQA corpus of sentences keeps the
blanks around each, which are in the strings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow.compute as pc

from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.paths import surroundings
from kg2rag.retrievers.contract import Retriever
from kg2rag.retrievers.kg2rag import released
from kg2rag.retrievers.kg2rag.organise import TreeChoice, taken
from kg2rag.retrievers.kg2rag.released import QueryPlan, TitlePool, TitleWalk, dense_over, joined_texts
from kg2rag.retrievers.rerankers import DEFAULT_RERANKER, BiEncoder, Reranker, named, score_batches
from kg2rag.types import Count, FloatArray, IntArray, Matrix, Notes, Query, Ranking, Trace, Triple, step

COLOUR = "#E69F00"  # in plots
UNCHOSEN = TreeChoice(-1, math.nan, math.nan, -1)  # of a passage that no tree gave
TREES = {"iteration": released.iteration_trees, "depth_first": released.depth_first_trees}


class Selection(NamedTuple):
    """The rows chosen, in order; what chose them, where a tree did; and what deviated."""

    rows: list[int]
    chosen_by: dict[int, TreeChoice]
    note: str


@dataclass(frozen=True)
class OfficialNotes(Notes):
    """Passages appended, trees, hits that trees gave, and the entities taken as mentioned by the question."""

    expanded: int = 0
    trees: int = 0
    from_trees: int = 0
    mentioned: tuple[str, ...] = ()


def _switch(code: object, paper: object) -> Any:
    return field(default=code, metadata={"paper": paper})


@dataclass(frozen=True)
class KG2RAGOfficial(Retriever):
    """KG2RAG as released: title expansion, spanning trees, rerank, and its own way of choosing passages.

    Over its authors' sub-graphs (`subkgs(FILE)`), with `mode="hotpotqa"` and a corpus of sentences, it is their code up
    to the order of Python's sets. Over any other graph it is their method on other triples, and `remark` says so.

    A hit has the stage "seed" or "expand"; its path are the facts of it that its tree kept; its parts are `node`, the
    score by which the code lists passages, `tree` (rank of the tree that chose it, from 1) and `reranker` (the tree's
    score), the last two only where a tree chose it.

    From `triples` on the parameters are the departures from the paper. The defaults are the code's; `PAPER` has the
    paper's, or our reading where it is silent [ours], and with these it equals `Expand >> Organise`. What cannot affect
    a ranking, such as errors turned into empty answers, has no switch.

    Parameters
    ----------
    mode : "musique", passages are paragraphs, and tree strings hold triples beside the text; "hotpotqa", passages are
        sentences, grouped by title in sentence order, and strings are text alone.
    seeds, context : passages sought by similarity, and returned at most; 10 and 10 in the code.
    hops : of graph expansion; the code has no such parameter.
    reranker : an object or a name, "bi-encoder" or a cross-encoder's; theirs is BAAI/bge-reranker-large.
    max_characters : longer tree strings are cut, for rerankers read their beginning; None for all of it.
    organisation : False returns all seeds and appended passages in the order listed, the paper's ablation.
    triples : "raw", letter for letter as the source's file has them; "clean", as the graph has them.
    expansion : "titles", follow triple ends that are exactly a passage's title and take all passages of that title;
        "graph", breadth-first over the triples; "none".
    expanded_score : an expanded passage weighs a "smoothed" mean of seed scores, or its own "cosine".
    all_seed_titles : titles of seeds bring their other passages too, not only the best and the repeated ones [ours].
    titles_without_triples : a title of which no passage has a triple may be reached [ours].
    entities : two ends are one vertex where their "spelling" is equal, or where they are one entity of the "graph".
    query_edges : all entities that the question seems to mention are joined by edges of weight 0.
    short_spans_match : a name that loses all of its character n-grams counts as mentioned; only with `query_edges`.
    self_loops : an entity of its own with a self-loop is a tree.
    edge_order : edges of a tree in the "iteration" order of its vertices, or "depth_first" from the heaviest.
    rerank_on : the reranker reads the passages' "text", or the "triplets".
    repeat_passages : that text has a passage as often as it owns edges of the tree.
    overflow : at a tree that does not fit, "stop"; "cut" it [ours]; or "skip" it.
    refill : with fewer than half of the places taken, add passages at the positions that the reranker's order of the
        *other* passages names ("misaligned"), or those passages ("aligned"). "unlinked": whenever places are free, the
        passages that own no triple, by cosine [ours]. "none".
    order : passages by "similarity", seeds before expanded ones; or as the "trees" gave them.
    group_titles : the passages of one title are grouped, as in the prompt of the code.
    separator : stands between title and text in what is encoded and reranked; the paper's is every other system's.
    """

    kb: KnowledgeBase = field(repr=False)
    mode: Literal["hotpotqa", "musique"] = "musique"
    seeds: Count = 10
    context: Count = 10
    hops: Count = 1
    reranker: str | Reranker = DEFAULT_RERANKER
    max_characters: Count | None = 8000
    organisation: bool = True
    triples: Literal["raw", "clean"] = _switch("raw", "clean")
    expansion: Literal["titles", "graph", "none"] = _switch("titles", "graph")
    expanded_score: Literal["smoothed", "cosine"] = _switch("smoothed", "cosine")
    all_seed_titles: bool = _switch(False, True)
    titles_without_triples: bool = _switch(False, True)
    entities: Literal["spelling", "graph"] = _switch("spelling", "graph")
    query_edges: bool = _switch(True, False)
    short_spans_match: bool = _switch(True, False)
    self_loops: bool = _switch(True, False)
    edge_order: Literal["iteration", "depth_first"] = _switch("iteration", "depth_first")
    rerank_on: Literal["text", "triplets"] = _switch("text", "triplets")
    repeat_passages: bool = _switch(True, False)
    overflow: Literal["stop", "cut", "skip"] = _switch("stop", "cut")
    refill: Literal["misaligned", "aligned", "unlinked", "none"] = _switch("misaligned", "unlinked")
    order: Literal["similarity", "trees"] = _switch("similarity", "trees")
    group_titles: bool = _switch(True, False)
    separator: str = _switch(": ", "\n")

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.scorer

    @cached_property
    def scorer(self) -> Reranker:
        """The reranker itself."""
        return named(self.reranker, self.kb) if isinstance(self.reranker, str) else self.reranker

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """All trees of the batch are scored in one call; then the passages that some queries still lack."""
        if not queries:
            return []
        plans = self.plan(queries)
        if self.organisation:
            pairs = [[(query.text, text) for text in plan.texts] for query, plan in zip(queries, plans, strict=True)]
            chosen = self.select(queries, plans, score_batches(self.scorer, pairs))
        else:
            chosen = [Selection(list(plan.nodes), {}, "not organised") for plan in plans]
        return [self._ranking(*parts, k) for parts in zip(queries, plans, chosen, strict=True)]

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the queries and, where a bi-encoder will read them, the tree strings."""
        if queries:
            self.kb.encode_queries(queries)
            self.retrieve_batch(queries if isinstance(self.scorer, BiEncoder) else queries[:1], 1)

    @property
    def remark(self) -> str:
        """What of its input is not what the released code reads, for tables; empty where nothing is, or by choice."""
        raw, released = "raw sub-graphs, as released, but", "where the released KG2RAG has"
        if self.triples == "clean":
            return ""
        if self.kb.extraction.raw is None:  # the source's class alone: its repr may name folders
            source = type(self.kb.source).__name__
            return f"triples are those of {source}, not the sub-graphs that the released KG2RAG reads"
        if not pc.any(pc.greater(self.kb.corpus.table["position"], 0)).as_py():
            return f"{raw} over paragraphs, {released} sentences"
        return "" if self.mode == "hotpotqa" else f"{raw} mode='musique', {released} mode='hotpotqa'"

    def plan(self, queries: Sequence[Query]) -> list[QueryPlan]:
        """Everything up to the reranker: seeds, appended passages, graph, trees and their strings."""
        vectors, masks = self.kb.encode_queries(queries), self.kb.candidates(queries)
        found = dense_over(self.kb, self.separator).search(vectors, self.seeds, masks)
        return [self._plan(*parts) for parts in zip(queries, vectors, masks, found, strict=True)]

    def _plan(
        self, query: Query, vector: Matrix, mask: IntArray | None, found: tuple[IntArray, FloatArray]
    ) -> QueryPlan:
        seeds = dict(zip(*(each.tolist() for each in found), strict=True))
        pool = released.pool_of(self.kb, query.candidates, self.triples)
        appended, facts = self._expanded(seeds, pool, vector, mask)
        nodes = {**seeds, **dict(sorted(appended.items(), key=lambda node: -node[1]))}
        if facts is None:
            facts = [triple for row in nodes for triple in pool.stated[row]]
        # By passage in the order of the nodes; where order is by similarity alone, equal scores by corpus position.
        depth_first = self.edge_order == "depth_first"
        listed = sorted(nodes, key=lambda row: (-nodes[row], row)) if depth_first else nodes
        place = {self.kb.corpus.ids[row]: i for i, row in enumerate(listed)}
        facts = sorted(facts, key=lambda fact: place[fact.passage_id])
        mentioned: list[str] = []
        if self.query_edges:  # by the titles of these passages, not of all that the question may be about
            titles = [pool.titles[row] for row in nodes]
            mentioned = released.mentioned_names(query.text, titles, facts, short=self.short_spans_match)
        rows = [self.kb.corpus.row(fact.passage_id) for fact in facts]
        edges = [(self._vertex(fact.head.strip()), self._vertex(fact.tail.strip())) for fact in facts]
        names, weights = list(dict.fromkeys(map(self._vertex, mentioned))), np.array([nodes[row] for row in rows])
        trees = TREES[self.edge_order](edges, weights, names, self_loops=self.self_loops)
        texts = [self._string(tree, facts, rows, pool) for tree in trees]
        return QueryPlan(nodes, len(seeds), facts, rows, trees, texts, mentioned)

    def _expanded(
        self, seeds: dict[int, float], pool: TitlePool, vector: Matrix, mask: IntArray | None
    ) -> tuple[dict[int, float], list[Triple] | None]:
        """The appended passages with their scores, and the triples among all if not simply theirs."""
        graph, walk = self.kb.graph, TitleWalk(seeds, pool)
        brought, facts = dict[int, str](), None
        if self.expansion == "titles":
            brought = walk.appended(without_triples=self.titles_without_triples, all_own=self.all_seed_titles)
        elif self.expansion == "graph":
            around = surroundings(graph, np.array(list(seeds), dtype=np.int64), self.hops, mask)
            facts = [graph.triple(index) for index in around.triples.tolist()]
            reached = np.unique(graph.triples.passages[around.triples]).tolist()
            brought = {row: pool.titles[row] for row in reached if row not in seeds}
        if self.expanded_score == "smoothed":
            return {row: walk.score(title) for row, title in brought.items()}, facts
        fresh = np.array(list(brought), dtype=np.int64)
        cosines = dense_over(self.kb, self.separator).cosines(vector, fresh)
        return dict(zip(brought, cosines.tolist(), strict=True)), facts

    def _vertex(self, name: str) -> str:
        code = self.kb.graph.find(name) if self.entities == "graph" else None
        return name if code is None else self.kb.graph.names[code]

    def _string(self, tree: list[int], facts: list[Triple], rows: list[int], pool: TitlePool) -> str:
        if self.rerank_on == "triplets":
            written = [f"<{facts[i].head}, {facts[i].relation}, {facts[i].tail}>" for i in tree]
            return " ".join(written)[: self.max_characters]
        owners = [rows[i] for i in tree]
        owners = owners if self.repeat_passages else list(dict.fromkeys(owners))
        texts = joined_texts(self.kb, self.separator)
        return released.tree_text(owners, texts, pool.stated, facts=self.mode == "musique", limit=self.max_characters)

    def select(
        self, queries: Sequence[Query], plans: Sequence[QueryPlan], scores: Sequence[FloatArray]
    ) -> list[Selection]:
        """The passages of each query, at most `context`, by the scores of its trees."""
        trees = [[[(i, plan.rows[i]) for i in tree] for tree in plan.trees] for plan in plans]
        chosen = [taken(*each, self.context, self.overflow) for each in zip(trees, scores, strict=True)]
        lacking = [self._lacking(*each) for each in zip(plans, chosen, strict=True)]
        texts = joined_texts(self.kb, self.separator)
        pairs = [[(query.text, texts[row]) for row in rows] for query, rows in zip(queries, lacking, strict=True)]
        again = [np.argsort(-found, kind="stable")[: self.context] for found in score_batches(self.scorer, pairs)]
        return [self._completed(*each) for each in zip(plans, chosen, lacking, again, strict=True)]

    def _lacking(self, plan: QueryPlan, chosen: Mapping[int, object]) -> list[int]:
        """The passages that are reranked one by one: all where there is no tree, the rest where trees gave too few."""
        too_few = len(chosen) < self.context // 2 and self.refill in ("misaligned", "aligned")
        wanted = too_few if plan.trees else self.refill != "unlinked"
        return [row for row in plan.nodes if row not in chosen] if wanted else []

    def _completed(
        self, plan: QueryPlan, chosen: dict[int, TreeChoice], lacking: list[int], best: IntArray
    ) -> Selection:
        nodes, by_cosine = list(plan.nodes), self.refill == "unlinked"
        if not plan.trees and not by_cosine:
            note = "no triple among the passages: ordered by the reranker"
            return Selection([lacking[at] for at in best.tolist()], {}, note)
        # The released code looks the positions of the rest up in the list of all.
        source = nodes if self.refill == "misaligned" else lacking
        fill = [source[at] for at in best.tolist()]
        if by_cosine:  # passages that own no triple between two entities
            linking = {row for row, fact in zip(plan.rows, plan.facts, strict=True) if fact.head != fact.tail}
            fill = sorted(plan.nodes.keys() - linking, key=lambda row: (-plan.nodes[row], row))
        rows = list(dict.fromkeys([*chosen, *fill]))[: self.context]
        if self.order == "similarity":
            rows = [row for row in nodes if row in rows]
        note = "the trees did not fill the context: the reranker added the others" if lacking else ""
        return Selection(rows, chosen, note if plan.trees else "no triple among the passages: ordered by similarity")

    def _ranking(self, query: Query, plan: QueryPlan, selection: Selection, k: int) -> Ranking:
        rows, seeds = self._grouped(selection.rows), list(plan.nodes)[: plan.n_seeds]
        by = [selection.chosen_by.get(row, UNCHOSEN) for row in rows]
        paths: dict[int, tuple[Triple, ...]] = dict.fromkeys(rows, ())
        for i in (fact for tree in plan.trees for fact in tree):
            if plan.rows[i] in paths:
                paths[plan.rows[i]] += (plan.facts[i],)
        places = np.arange(1, len(rows) + 1, dtype=np.float64)
        return Ranking.of(
            query.id,
            np.array(rows, dtype=np.int64),
            1.0 / places,
            self.kb.corpus.ids,
            stages=("seed", "expand"),
            stage_codes=np.array([row not in seeds for row in rows], dtype=np.int8),
            score_parts={
                "place": places,
                "node": np.array([plan.nodes[row] for row in rows]),
                "tree": np.array([choice.rank for choice in by]),
                "reranker": np.array([choice.score for choice in by]),
            },
            paths=paths,
            notes=OfficialNotes(
                "1 / place",
                {"seed": "dense", "expand": "graph"},
                warning=selection.note,
                expanded=len(plan.nodes) - plan.n_seeds,
                trees=len(plan.trees),
                from_trees=len(selection.chosen_by),
                mentioned=tuple(plan.mentioned),
            ),
        ).top(k)

    def _grouped(self, rows: list[int]) -> list[int]:
        """By title in order of first appearance; sentences of one title by their number."""
        if not self.group_titles:
            return rows
        corpus, first = self.kb.corpus, dict[str, int]()
        for row in rows:
            first.setdefault(corpus.titles[row], len(first))
        sentences = self.mode == "hotpotqa"
        return sorted(rows, key=lambda row: (first[corpus.titles[row]], corpus[row].position if sentences else 0))

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """Which passages were seeds or appended, which of them a tree holds, and which were chosen."""
        led = "title that was followed" if self.expansion == "titles" else f"triple within hops = {self.hops}"
        away = f"none of the {self.seeds} seeds, and no {led} brought it"
        treeless = "in no spanning tree, and no free place was filled with it"
        passed_over = f"its tree is none of those that filled the {self.context} places"
        traces, rankings = [], self.retrieve_batch(queries, self.context)
        for plan, ranking in zip(self.plan(queries), rankings, strict=True):
            in_trees = [plan.rows[fact] for tree in plan.trees for fact in tree]
            steps = (
                step("seeded or appended", "not expanded", away, list(plan.nodes), ranking.rows),
                step("in a tree", "pruned", treeless, in_trees, ranking.rows),
                step("chosen", "pruned", passed_over, ranking.rows),
            )
            traces.append(Trace(ranking.top(k), steps))
        return traces


PAPER: Mapping[str, Any] = {
    each.name: each.metadata["paper"] for each in fields(KG2RAGOfficial) if "paper" in each.metadata
}
"""The value of every switch by the paper."""
