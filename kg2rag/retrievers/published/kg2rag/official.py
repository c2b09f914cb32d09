"""Query -> Ranking as the released KG2RAG would choose it, with every departure from the paper as a switch.

Follows the code of Zhu et al., "Knowledge Graph-Guided RAG", NAACL 2025, at commit 7d626c77, written anew. Theirs: the
steps. Ours: insertion order where theirs is that of a hash; 1 / place as score, for the code orders and does not score.
A sentence without text is none of our passages, and theirs has it as "title: ". The triples are those that the LLM
wrote, preambles and blank parts included: the trees follow from these letters.
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
from kg2rag.retrievers.published.kg2rag import released
from kg2rag.retrievers.published.kg2rag.paper import UNCHOSEN, TreeChoice, TreeNotes, placed, taken, triplets
from kg2rag.retrievers.published.kg2rag.released import TitlePool, dense_over, joined_texts
from kg2rag.retrievers.rerankers import DEFAULT_RERANKER, BiEncoder, Reranker, named, score_batches
from kg2rag.text.registry import ParameterError, unknown
from kg2rag.types import Count, FloatArray, IntArray, Matrix, Notes, Query, Ranking, Step, Triple, step

COLOUR = "#E69F00"  # in plots
Selection = tuple[dict[int, TreeChoice], str]  # the rows chosen, in order, and what chose each; and what deviated


class QueryPlan(NamedTuple):
    """What is known of a query before the reranker scores.

    `nodes`: corpus row -> score, the `n_seeds` seeds first, then appended passages, each by score. `facts`, `rows`: the
    triples of the graph and the passage of each. `trees`: their facts; `texts`: what the reranker reads of them.
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


DEPARTURES = ("expansion", "expanded_score", "query_edges", "edge_order", "rerank_on", "overflow", "refill", "order")
"""Of the released code from the paper, as far as they can affect a ranking; see `KG2RAGOfficial`."""


@dataclass(frozen=True)
class KG2RAGOfficial(VectorRetriever):
    """KG2RAG as released: title expansion, spanning trees, rerank, and its own way of choosing passages.

    Over its authors' sub-graphs (`subkgs(FILE)`), sentences and `mode="hotpotqa"` it is their code up to the order of
    Python's sets. Over any other graph it is their method on other triples, and `remark` records it.

    A hit has the stage "seed" or "expand"; its path are the facts of it that trees kept; its parts are `node`, the
    score by which the code lists passages, and where a tree chose it, its rank from 1 (`tree`) and score (`reranker`).

    Each departure from the paper can be undone by its name in `paper`. Under "all" it chooses as `Expand >> Organise`.
    By the paper, or our reading where it is silent [ours]:

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
        return frozenset(DEPARTURES if self.paper == "all" else filter(None, self.paper.split("+")))

    @cached_property
    def scorer(self) -> Reranker:
        """The reranker itself."""
        return named(self.reranker, self.kb) if isinstance(self.reranker, str) else self.reranker

    @property
    def remark(self) -> str:
        """That its triples are not what the released code reads, for tables; empty where they are."""
        source = type(self.kb.source).__name__  # only the class: its repr may name folders
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
        return list(map(self._plan, queries, vectors, masks, found))

    def _plan(self, query: Query, vector: Matrix, mask: IntArray | None, top: tuple[IntArray, FloatArray]) -> QueryPlan:
        seeds = dict(zip(*(each.tolist() for each in top), strict=True))
        pool, corpus = released.pool_of(self.kb, query.candidates), self.kb.corpus
        appended, facts = self._expanded(seeds, pool, vector, mask)
        nodes = {**seeds, **dict(sorted(appended.items(), key=lambda node: -node[1]))}
        # By passage in the order of the nodes; if the order is only by similarity, equal scores by corpus position.
        depth_first = "edge_order" in self.undone
        listed = sorted(nodes, key=lambda row: (-nodes[row], row)) if depth_first else nodes
        place = {corpus.ids[row]: i for i, row in enumerate(listed)}
        facts = [triple for row in nodes for triple in pool.stated[row]] if facts is None else facts
        facts.sort(key=lambda fact: place[fact.passage_id])
        rows, mentioned = [corpus.row(fact.passage_id) for fact in facts], list[str]()
        if "query_edges" not in self.undone:  # by these passages' titles, not by all that the question may be about
            mentioned = released.mentioned_names(query.text, [pool.titles[row] for row in nodes], facts)
        edges = [(fact.head.strip(), fact.tail.strip()) for fact in facts]
        grown = released.depth_first_trees if depth_first else released.iteration_trees
        trees = grown(edges, np.array([nodes[row] for row in rows]), mentioned)
        if "rerank_on" in self.undone:
            texts = [triplets([facts[i] for i in tree], self.max_characters) for tree in trees]
        else:
            stated, joined = pool.stated if self.mode == "musique" else None, joined_texts(self.kb)
            read = [[rows[i] for i in tree] for tree in trees]
            texts = [released.tree_text(own, joined, stated, self.max_characters) for own in read]
        return QueryPlan(nodes, len(seeds), facts, rows, trees, texts, mentioned)

    def _expanded(
        self, seeds: dict[int, float], pool: TitlePool, vector: Matrix, mask: IntArray | None
    ) -> tuple[dict[int, float], list[Triple] | None]:
        """The appended passages with their scores, and the triples among all if not simply theirs."""
        graph, facts = self.kb.graph, None
        brought, score = released.title_walk(seeds, pool)
        if not self.expansion:
            brought = {}
        elif "expansion" in self.undone:
            around = surroundings(graph, np.array(list(seeds), dtype=np.int64), self.hops, mask)
            facts = [graph.triple(index) for index in around.triples.tolist()]
            reached = np.unique(graph.triples.passages[around.triples]).tolist()
            brought = {row: pool.titles[row] for row in reached if row not in seeds}
        if "expanded_score" not in self.undone:
            return {row: score(title) for row, title in brought.items()}, facts
        cosines = dense_over(self.kb).cosines(vector, np.array(list(brought), dtype=np.int64))
        return dict(zip(brought, cosines.tolist(), strict=True)), facts

    def select(self, query: Query, plan: QueryPlan, scores: FloatArray) -> Selection:
        """The passages of a query, at most `context`, by the scores of its trees."""
        trees = [[(i, plan.rows[i]) for i in tree] for tree in plan.trees]
        nodes, by_cosine = list(plan.nodes), "refill" in self.undone
        chosen = taken(trees, scores, self.context, whole="overflow" not in self.undone)
        if by_cosine:
            linking = {row for row, fact in zip(plan.rows, plan.facts, strict=True) if fact.head != fact.tail}
            fill = sorted(plan.nodes.keys() - linking, key=lambda row: (-plan.nodes[row], row))
        else:  # all are reranked one by one where there is no tree, the rest where trees gave too few
            too_few = len(chosen) < self.context // 2 or not trees
            rest = [row for row in nodes if row not in chosen] if too_few else []
            pairs = [(query.text, joined_texts(self.kb)[row]) for row in rest]
            best = np.argsort(-score_batches(self.scorer, [pairs])[0], kind="stable")[: self.context].tolist()
            # The released code looks the positions of the rest up in the list of all.
            fill = [(nodes if trees else rest)[at] for at in best]
        rows = list(dict.fromkeys([*chosen, *fill]))[: self.context]
        if "order" not in self.undone and (trees or by_cosine):
            rows = [row for row in nodes if row in rows]
        note = "the trees did not fill the context: the reranker added the others" if fill and not by_cosine else ""
        if not trees:
            note = f"no triple among the passages: ordered by {'similarity' if by_cosine else 'the reranker'}"
        return {row: chosen.get(row, UNCHOSEN) for row in rows}, note

    def _ranking(self, query: Query, plan: QueryPlan, selection: Selection, k: int) -> Ranking:
        (chosen, note), corpus = selection, self.kb.corpus
        rows, sentences = list(chosen), self.mode == "hotpotqa"
        if "order" not in self.undone:  # by title in order of first appearance; sentences of one title by their number
            first = {title: at for at, title in enumerate(dict.fromkeys(corpus.titles[row] for row in rows))}
            rows.sort(key=lambda row: (first[corpus.titles[row]], corpus[row].position if sentences else 0))
        paths: dict[int, tuple[Triple, ...]] = dict.fromkeys(rows, ())
        for i in (fact for tree in plan.trees for fact in tree):
            if plan.rows[i] in paths:
                paths[plan.rows[i]] += (plan.facts[i],)
        nodes, scores = np.array(list(plan.nodes), dtype=np.int64), np.array(list(plan.nodes.values()))
        parts = {"seed": slice(plan.n_seeds), "expand": slice(plan.n_seeds, None)}
        groups = {stage: (nodes[at], scores[at], {"node": scores[at]}) for stage, at in parts.items()}
        notes = Notes(source={"seed": "dense", "expand": "graph"})
        listed = Ranking.from_groups(query.id, groups, corpus.ids, {}, notes)
        filled, added = sum(choice is UNCHOSEN for choice in chosen.values()), len(nodes) - plan.n_seeds
        seen = tuple(plan.mentioned)
        said = OfficialNotes(warning=note, expanded=added, trees=len(plan.trees), filled=filled, mentioned=seen)
        return placed(listed, {row: chosen[row] for row in rows}, paths, said).top(k)

    @property
    def most(self) -> int:
        """The context is the last limit."""
        return self.context

    def steps(self, query: Query, ranking: Ranking) -> tuple[Step, ...]:
        """Which passages were seeds or appended, which of them a tree holds, and which were chosen."""
        (plan,), by_triples = self.plan([query]), not self.expansion or "expansion" in self.undone
        led = f"triple within hops = {self.hops}" if by_triples else "title that was followed"
        away = f"none of the {self.seeds} seeds, and no {led} brought it"
        treeless = "in no spanning tree, and no free place was filled with it"
        passed_over = f"its tree is none of those that filled the {self.context} places"
        in_trees = [plan.rows[fact] for tree in plan.trees for fact in tree]
        return (
            step("seeded or appended", "not expanded", away, list(plan.nodes), ranking.rows),
            step("in a tree", "pruned", treeless, in_trees, ranking.rows),
            step("chosen", "pruned", passed_over, ranking.rows),
        )
