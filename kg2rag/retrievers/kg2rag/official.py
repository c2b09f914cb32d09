"""Query -> Ranking as the released KG2RAG would choose it, with every departure from the paper as a switch.

Follows the code of Zhu et al., "Knowledge Graph-Guided RAG", NAACL 2025, at commit 7d626c77, written anew. Theirs:
the steps and the defaults of the switches. Ours: insertion order where theirs is that of a hash; 1 / place as score,
for the code orders and does not score. A sentence without text is none of our passages, and theirs has it as "title: ".
The triples are those that the LLM wrote, preambles and blank parts included: the trees follow from these letters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.paths import surroundings
from kg2rag.retrievers.dense import VectorRetriever
from kg2rag.retrievers.kg2rag import released
from kg2rag.retrievers.kg2rag.paper import UNCHOSEN, TreeChoice, TreeNotes, placed, taken, unlinked
from kg2rag.retrievers.kg2rag.released import TitlePool, TitleWalk, dense_over, joined_texts
from kg2rag.retrievers.rerankers import DEFAULT_RERANKER, BiEncoder, Reranker, named, score_batches
from kg2rag.text.registry import ParameterError, unknown
from kg2rag.types import Count, FloatArray, IntArray, Matrix, Notes, Query, Ranking, Step, Triple, step

COLOUR = "#E69F00"  # in plots
Selection = tuple[dict[int, TreeChoice], str]  # the rows chosen, in order, and what chose each; and what deviated


class QueryPlan(NamedTuple):
    """What is known of a query before the reranker scores.

    `nodes`: corpus row -> score, the `n_seeds` seeds first, then appended passages, each by score. `facts`, `rows`: the
    triples of the graph and the passage of each. `trees`: the facts of each; `texts`: what the reranker reads of it.
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
    """Beside the trees, how many passages were appended, and the entities taken as mentioned by the question."""

    expanded: int = 0
    mentioned: tuple[str, ...] = ()


DEPARTURES = (
    *("expansion", "expanded_score", "all_seed_titles", "titles_without_triples", "query_edges", "short_spans_match"),
    *("edge_order", "rerank_on", "repeat_passages", "overflow", "refill", "order", "group_titles"),
)
"""Of the released code from the paper, as far as they can affect a ranking; see `KG2RAGOfficial`."""


@dataclass(frozen=True)
class KG2RAGOfficial(VectorRetriever):
    """KG2RAG as released: title expansion, spanning trees, rerank, and its own way of choosing passages.

    Over its authors' sub-graphs (`subkgs(FILE)`), with `mode="hotpotqa"` and a corpus of sentences, it is their code up
    to the order of Python's sets. Over any other graph it is their method on other triples, and `remark` says so.

    A hit has the stage "seed" or "expand"; its path are the facts of it that its tree kept; its parts are `node`, the
    score by which the code lists passages, `tree` (rank of the tree that chose it, from 1) and `reranker` (the tree's
    score), the last two only where a tree chose it.

    Each departure from the paper can be undone by its name in `paper`. Under "all" it chooses as `Expand >> Organise`.
    By the paper, or our reading where it is silent [ours]:

    - expansion: breadth-first over the triples. The code follows triple ends that are exactly a passage's title, and
      takes all passages of that title; `all_seed_titles` [ours]: those of every seed's title too, not only of the best
      and the repeated ones; `titles_without_triples` [ours]: also of a title of which no passage has a triple.
    - expanded_score: an expanded passage weighs its own cosine, not a smoothed mean of seed scores.
    - query_edges: the entities that the question seems to mention are not joined by edges of weight 0.
      `short_spans_match` [ours]: a name that loses all of its character n-grams does not count as mentioned.
    - edge_order: a tree is walked depth-first from its heaviest edge, not in the order of its vertices; a self-loop of
      its own is no tree.
    - rerank_on: the reranker reads triplets, not the passages' text; `repeat_passages`: or each passage once, not as
      often as it owns edges of the tree.
    - overflow: a tree that does not fit is cut [ours]; the code stops there.
    - refill: free places are taken by passages that own no triple, by cosine [ours]. In the code, with fewer than half
      of the places taken, by those at the positions that the reranker's order of the *other* passages names.
    - order: passages as the trees gave them, not by similarity, seeds before expanded ones.
    - group_titles: the passages of one title are not grouped, as in the prompt of the code.

    Parameters
    ----------
    mode : "musique", passages are paragraphs, and tree strings hold triples beside the text; "hotpotqa", passages are
        sentences, grouped by title in sentence order, and strings are text alone.
    seeds, context : passages sought by similarity, and returned at most; 10 and 10 in the code.
    hops : of the paper's expansion; the code has no such parameter.
    reranker : an object or a name, "bi-encoder" or a cross-encoder's; theirs is BAAI/bge-reranker-large.
    max_characters : longer tree strings are cut, for rerankers read their beginning; None for all of it.
    expansion, organisation : False for the paper's ablations: the seeds alone are organised; or all seeds and appended
        passages are returned in the order listed.
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
        return frozenset(DEPARTURES if self.paper == "all" else filter(None, self.paper.split("+")))

    @cached_property
    def scorer(self) -> Reranker:
        """The reranker itself."""
        return named(self.reranker, self.kb) if isinstance(self.reranker, str) else self.reranker

    @property
    def remark(self) -> str:
        """That its triples are not what the released code reads, for tables; empty where they are."""
        source = type(self.kb.source).__name__  # the class alone: its repr may name folders
        other = f"triples are those of {source}, not the sub-graphs that the released KG2RAG reads"
        return other if self.kb.extraction.raw is None else ""

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the queries and, where a bi-encoder will read them, the tree strings."""
        super().prepare(queries)
        if isinstance(self.scorer, BiEncoder):
            self.retrieve_batch(queries, 1)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """All trees of the batch are scored in one call."""
        if not queries:
            return []
        plans = self.plan(queries)
        if self.organisation:
            pairs = [[(query.text, text) for text in plan.texts] for query, plan in zip(queries, plans, strict=True)]
            chosen = list(map(self.select, queries, plans, score_batches(self.scorer, pairs)))
        else:
            chosen = [(dict.fromkeys(plan.nodes, UNCHOSEN), "not organised") for plan in plans]
        return [self._ranking(*parts, k) for parts in zip(queries, plans, chosen, strict=True)]

    def plan(self, queries: Sequence[Query]) -> list[QueryPlan]:
        """Everything up to the reranker: seeds, appended passages, graph, trees and their strings."""
        vectors, masks = self.kb.encode_queries(queries), self.kb.candidates(queries)
        found = dense_over(self.kb).search(vectors, self.seeds, masks)
        return [self._plan(*parts) for parts in zip(queries, vectors, masks, found, strict=True)]

    def _plan(
        self, query: Query, vector: Matrix, mask: IntArray | None, found: tuple[IntArray, FloatArray]
    ) -> QueryPlan:
        seeds = dict(zip(*(each.tolist() for each in found), strict=True))
        pool = released.pool_of(self.kb, query.candidates)
        appended, facts = self._expanded(seeds, pool, vector, mask)
        nodes = {**seeds, **dict(sorted(appended.items(), key=lambda node: -node[1]))}
        if facts is None:
            facts = [triple for row in nodes for triple in pool.stated[row]]
        # By passage in the order of the nodes; where order is by similarity alone, equal scores by corpus position.
        depth_first = "edge_order" in self.undone
        listed = sorted(nodes, key=lambda row: (-nodes[row], row)) if depth_first else nodes
        place = {self.kb.corpus.ids[row]: i for i, row in enumerate(listed)}
        facts = sorted(facts, key=lambda fact: place[fact.passage_id])
        mentioned, short = list[str](), "short_spans_match" not in self.undone
        if "query_edges" not in self.undone:  # by these passages' titles, not by all that the question may be about
            mentioned = released.mentioned_names(query.text, [pool.titles[row] for row in nodes], facts, short=short)
        rows = [self.kb.corpus.row(fact.passage_id) for fact in facts]
        edges = [(fact.head.strip(), fact.tail.strip()) for fact in facts]
        trees = (released.depth_first_trees if depth_first else released.iteration_trees)(
            edges, np.array([nodes[row] for row in rows]), mentioned
        )
        texts = [self._string([facts[i] for i in tree], [rows[i] for i in tree], pool) for tree in trees]
        return QueryPlan(nodes, len(seeds), facts, rows, trees, texts, mentioned)

    def _expanded(
        self, seeds: dict[int, float], pool: TitlePool, vector: Matrix, mask: IntArray | None
    ) -> tuple[dict[int, float], list[Triple] | None]:
        """The appended passages with their scores, and the triples among all if not simply theirs."""
        graph, walk = self.kb.graph, TitleWalk(seeds, pool)
        brought, facts = dict[int, str](), None
        if self.expansion and "expansion" not in self.undone:
            switches = ("titles_without_triples", "all_seed_titles")
            brought = walk.appended(*(switch in self.undone for switch in switches))
        elif self.expansion:
            around = surroundings(graph, np.array(list(seeds), dtype=np.int64), self.hops, mask)
            facts = [graph.triple(index) for index in around.triples.tolist()]
            reached = np.unique(graph.triples.passages[around.triples]).tolist()
            brought = {row: pool.titles[row] for row in reached if row not in seeds}
        if "expanded_score" not in self.undone:
            return {row: walk.score(title) for row, title in brought.items()}, facts
        cosines = dense_over(self.kb).cosines(vector, np.array(list(brought), dtype=np.int64))
        return dict(zip(brought, cosines.tolist(), strict=True)), facts

    def _string(self, facts: list[Triple], owners: list[int], pool: TitlePool) -> str:
        if "rerank_on" in self.undone:
            return " ".join(f"<{one.head}, {one.relation}, {one.tail}>" for one in facts)[: self.max_characters]
        owners = list(dict.fromkeys(owners)) if "repeat_passages" in self.undone else owners
        told = {"facts": self.mode == "musique", "limit": self.max_characters}
        return released.tree_text(owners, joined_texts(self.kb), pool.stated, **told)  # type: ignore[arg-type]

    def select(self, query: Query, plan: QueryPlan, scores: FloatArray) -> Selection:
        """The passages of a query, at most `context`, by the scores of its trees."""
        trees = [[(i, plan.rows[i]) for i in tree] for tree in plan.trees]
        nodes, by_cosine = list(plan.nodes), "refill" in self.undone
        chosen = taken(trees, scores, self.context, whole="overflow" not in self.undone)
        if by_cosine:
            linking = {row for row, fact in zip(plan.rows, plan.facts, strict=True) if fact.head != fact.tail}
            fill, ordered_by = unlinked(plan.nodes, linking), "similarity"
        else:  # all are reranked one by one where there is no tree, the rest where trees gave too few
            too_few = len(chosen) < self.context // 2 or not trees
            rest = [row for row in nodes if row not in chosen] if too_few else []
            pairs = [(query.text, joined_texts(self.kb)[row]) for row in rest]
            best = np.argsort(-score_batches(self.scorer, [pairs])[0], kind="stable")[: self.context].tolist()
            # The released code looks the positions of the rest up in the list of all.
            fill, ordered_by = [(nodes if trees else rest)[at] for at in best], "the reranker"
        rows = list(dict.fromkeys([*chosen, *fill]))[: self.context]
        if "order" not in self.undone and (trees or by_cosine):
            rows = [row for row in nodes if row in rows]
        note = "the trees did not fill the context: the reranker added the others"
        if not trees:
            note = f"no triple among the passages: ordered by {ordered_by}"
        elif by_cosine or not fill:
            note = ""
        return {row: chosen.get(row, UNCHOSEN) for row in rows}, note

    def _ranking(self, query: Query, plan: QueryPlan, selection: Selection, k: int) -> Ranking:
        (chosen, note), nodes = selection, list(plan.nodes)
        rows = self._grouped(list(chosen))
        paths: dict[int, tuple[Triple, ...]] = dict.fromkeys(rows, ())
        for i in (fact for tree in plan.trees for fact in tree):
            if plan.rows[i] in paths:
                paths[plan.rows[i]] += (plan.facts[i],)
        listed = Ranking.of(
            query.id,
            nodes,
            list(plan.nodes.values()),
            self.kb.corpus.ids,
            stages=("seed", "expand"),
            stage_codes=np.repeat([0, 1], [plan.n_seeds, len(nodes) - plan.n_seeds]),
            score_parts={"node": np.array(list(plan.nodes.values()))},
            notes=Notes(source={"seed": "dense", "expand": "graph"}),
        )
        notes = OfficialNotes(
            warning=note,
            expanded=len(nodes) - plan.n_seeds,
            trees=len(plan.trees),
            filled=sum(choice is UNCHOSEN for choice in chosen.values()),
            mentioned=tuple(plan.mentioned),
        )
        return placed(listed, {row: chosen[row] for row in rows}, paths, notes).top(k)

    def _grouped(self, rows: list[int]) -> list[int]:
        """By title in order of first appearance; sentences of one title by their number."""
        corpus, sentences = self.kb.corpus, self.mode == "hotpotqa"
        first = {title: at for at, title in enumerate(dict.fromkeys(corpus.titles[row] for row in rows))}
        if "group_titles" in self.undone:
            return rows
        return sorted(rows, key=lambda row: (first[corpus.titles[row]], corpus[row].position if sentences else 0))

    @property
    def most(self) -> int:
        """The context is the last limit."""
        return self.context

    def steps(self, query: Query, ranking: Ranking) -> tuple[Step, ...]:
        """Which passages were seeds or appended, which of them a tree holds, and which were chosen."""
        (plan,) = self.plan([query])
        by_titles = self.expansion and "expansion" not in self.undone
        led = "title that was followed" if by_titles else f"triple within hops = {self.hops}"
        away = f"none of the {self.seeds} seeds, and no {led} brought it"
        treeless = "in no spanning tree, and no free place was filled with it"
        passed_over = f"its tree is none of those that filled the {self.context} places"
        in_trees = [plan.rows[fact] for tree in plan.trees for fact in tree]
        return (
            step("seeded or appended", "not expanded", away, list(plan.nodes), ranking.rows),
            step("in a tree", "pruned", treeless, in_trees, ranking.rows),
            step("chosen", "pruned", passed_over, ranking.rows),
        )
