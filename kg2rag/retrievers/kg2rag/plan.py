"""Queries -> everything of the released KG2RAG up to the reranker: seeds, appended passages, graph, trees, strings.

Passages are kept as the released code keeps them: joined to titles its way, with their triples. `official` lists what
is theirs and what is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple

import numpy as np

from kg2rag.knowledge import DenseIndex, KnowledgeBase
from kg2rag.knowledge.graph.paths import surroundings
from kg2rag.retrievers.contract import Retriever
from kg2rag.retrievers.kg2rag.released import (
    QuestionText,
    TitlePool,
    by_titles,
    depth_first_trees,
    iteration_trees,
    mentioned_names,
    tally,
    tree_text,
)
from kg2rag.types import IntArray, Matrix, Query, Triple, check


def _switch(code: object, paper: object) -> Any:
    return field(default=code, metadata={"paper": paper})


@dataclass(frozen=True)
class Switches:
    """Where the released KG2RAG departs from its paper: the code's value, which is the default, and the paper's.

    Departures that cannot affect a ranking (dead code, a reranker loaded anew for every question, errors turned into
    empty answers) have no switch. Where the paper is silent, its preset has our reading, marked [ours].

    Parameters
    ----------
    triples : "raw", letter for letter as the source's file has them; "clean", as the graph has them. They differ where
        a source cleans, as that of the published sub-graphs does; the paper's graph is that of every other strategy.
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
    separator : stands between title and text in what is encoded and reranked; the paper's preset has what every other
        system encodes.
    """

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
        check(self)

    @classmethod
    def paper(cls) -> Switches:
        """The paper where it is defined, our reading where it is silent; equals `Expand >> Organise`."""
        return cls(**{each.name: each.metadata["paper"] for each in fields(cls)})


def dense_over(kb: KnowledgeBase, separator: str) -> DenseIndex:
    """`kb.dense` with other characters than a line break between the title and the text that are encoded.

    Blanks at the ends of a text, which tokenizers of encoders drop, are not encoded, so that its vector is shared.
    """
    if separator == "\n":
        return kb.dense
    return kb.cached(("dense", separator), lambda: DenseIndex(kb.encode(kb.corpus.joined(separator))))


def joined_texts(kb: KnowledgeBase, separator: str) -> list[str]:
    """Title and text of every passage, as the reranker reads them: with all blanks that the source has."""
    return kb.cached(("joined", separator), lambda: kb.corpus.joined(separator, exact=True))


def pool_of(kb: KnowledgeBase, rows: Sequence[int], triples: str) -> TitlePool:
    """The pool of some passages, in order."""
    rows_of: dict[str, list[int]] = {}
    for row in rows:
        rows_of.setdefault(kb.corpus.titles[row], []).append(row)
    return TitlePool(rows_of, kb.corpus.titles, stated_triples(kb, triples))


def stated_triples(kb: KnowledgeBase, triples: str = "raw") -> list[list[Triple]]:
    """(n_passages,) the triples that each passage states, in the source's own spelling and order.

    Where `triples` is "raw", letter for letter those of the source's file, if it cleans them for the graph.

    Raises
    ------
    ValueError : raw triples are wanted of a source that has cleaned ones alone.
    """

    def stated() -> list[list[Triple]]:
        extraction = kb.extraction
        if triples == "raw" and extraction.raw is None:
            _refuse_cleaned(kb)
        found: list[list[Triple]] = [[] for _ in kb.corpus.ids]
        for triple in extraction.raw if triples == "raw" and extraction.raw is not None else extraction.triples:
            if triple.passage_id:
                found[kb.corpus.row(triple.passage_id)].append(triple)
        return found

    return kb.cached(("stated_triples", triples), stated)


def _refuse_cleaned(kb: KnowledgeBase) -> None:
    cleaned = [cause for cause in kb.extraction.notes if "cleaned: " in cause]
    if cleaned:
        raise ValueError(
            f"{kb.source!r} holds triples that were cleaned ({cleaned[0]}: {kb.extraction.notes[cleaned[0]]:,}, ...), "
            "and not the raw ones, which the released KG2RAG works on. Build the knowledge base over the file itself "
            "(subkgs(FILE), or subkgs(FILE, raw=true)), or ask for the clean triples: triples='clean'."
        )


class QueryPlan(NamedTuple):
    """What is known of a query before the reranker scores.

    Attributes
    ----------
    nodes : corpus row -> score, seeds first, then appended passages, each by score. The first `n_seeds` are seeds.
    facts : the triples of the graph, `rows` the passage of each.
    trees : the facts of each tree, and `texts` what the reranker reads of it.
    """

    nodes: dict[int, float]
    n_seeds: int
    facts: list[Triple]
    rows: list[int]
    trees: list[list[int]]
    texts: list[str]
    mentioned: list[str]


class Planned(Retriever):
    """The first half of `KG2RAGOfficial`, whose parameters these are."""

    kb: KnowledgeBase
    switches: Switches
    mode: str
    seeds: int
    hops: int
    max_characters: int | None

    def plan(self, queries: Sequence[Query]) -> list[QueryPlan]:
        """Everything up to the reranker: seeds, appended passages, graph, trees and their strings."""
        index = dense_over(self.kb, self.switches.separator)
        vectors = self.kb.encode_queries(queries)
        masks = self.kb.candidates(queries)
        found = index.search(vectors, self.seeds, masks)
        plans = []
        for query, vector, mask, (rows, scores) in zip(queries, vectors, masks, found, strict=True):
            seeds = list(zip(rows.tolist(), scores.tolist(), strict=True))
            plans.append(self._plan(query, vector, mask, seeds))
        return plans

    def _plan(self, query: Query, vector: Matrix, mask: IntArray | None, seeds: list[tuple[int, float]]) -> QueryPlan:
        pool = self._pool(query)
        appended, facts = self._expand(seeds, pool, vector, mask)
        nodes = {**dict(seeds), **dict(sorted(appended, key=lambda node: -node[1]))}
        if facts is None:
            facts = [triple for row in nodes for triple in pool.stated[row]]
        # By passage in the order of the nodes; where order is by similarity alone, equal scores by corpus position.
        depth_first = self.switches.edge_order == "depth_first"
        listed = sorted(nodes, key=lambda row: (-nodes[row], row)) if depth_first else nodes
        place = {self.kb.corpus.ids[row]: i for i, row in enumerate(listed)}
        facts = sorted(facts, key=lambda fact: place[fact.passage_id])
        mentioned: list[str] = []
        if self.switches.query_edges:
            question = QuestionText(query.text, short_spans_match=self.switches.short_spans_match)
            # The released code asks for the titles of these passages, not for all that the question may be about.
            own = dict.fromkeys(pool.titles[row] for row in nodes)
            mentioned = mentioned_names(question, [title for title in own if question.mentions(title)], facts)
        rows = [self.kb.corpus.row(fact.passage_id) for fact in facts]
        trees = self._trees(facts, np.array([nodes[row] for row in rows]), mentioned)
        texts = [self._string(tree, facts, rows, pool) for tree in trees]
        return QueryPlan(nodes, len(seeds), facts, rows, trees, texts, mentioned)

    def _pool(self, query: Query) -> TitlePool:
        corpus, triples = self.kb.corpus, self.switches.triples
        if query.candidates is None:
            return self.kb.cached(("title_pool", triples), lambda: pool_of(self.kb, range(len(corpus)), triples))
        return pool_of(self.kb, [corpus.row(id_) for id_ in dict.fromkeys(query.candidates)], triples)

    def _expand(
        self, seeds: list[tuple[int, float]], pool: TitlePool, vector: Matrix, mask: IntArray | None
    ) -> tuple[list[tuple[int, float]], list[Triple] | None]:
        """The appended passages with their scores, and the triples among all if not simply theirs."""
        switches, graph, facts = self.switches, self.kb.graph, None
        if switches.expansion == "titles":
            without, every = switches.titles_without_triples, switches.all_seed_titles
            brought = by_titles(seeds, pool, without_triples=without, all_own=every)
        elif switches.expansion == "graph":
            around = surroundings(graph, np.array([row for row, _ in seeds], dtype=np.int64), self.hops, mask)
            facts = [graph.triple(index) for index in around.triples.tolist()]
            rows = np.setdiff1d(graph.triples.passages[around.triples], [row for row, _ in seeds]).tolist()
            brought = [(row, pool.titles[row]) for row in rows]
        else:
            brought = []
        if not brought:
            return [], facts
        if switches.expanded_score == "cosine":
            index = dense_over(self.kb, switches.separator)
            cosines = index.cosines(vector, np.array([row for row, _ in brought], dtype=np.int64)).tolist()
            return [(row, cosine) for (row, _), cosine in zip(brought, cosines, strict=True)], facts
        average = sum(score for _, score in seeds) / len(seeds)
        scores = tally(seeds, pool)
        return [(row, scores.smoothed(title, average)) for row, title in brought], facts

    def _trees(self, facts: list[Triple], weights: np.ndarray, mentioned: list[str]) -> list[list[int]]:
        edges = [(self._vertex(fact.head.strip()), self._vertex(fact.tail.strip())) for fact in facts]
        names = list(dict.fromkeys(map(self._vertex, mentioned)))
        if self.switches.edge_order == "iteration":
            return iteration_trees(edges, weights, names, self_loops=self.switches.self_loops)
        walks = depth_first_trees(edges, weights, names)
        if self.switches.self_loops:
            linked = {vertex for u, v in edges if u != v for vertex in (u, v)}.union(names if len(names) > 1 else ())
            order = np.lexsort((np.arange(len(edges)), -weights)).tolist()
            loops = {edges[i][0]: i for i in reversed(order) if edges[i][0] not in linked}
            walks += [[i] for i in sorted(loops.values(), key=order.index)]
        return walks

    def _vertex(self, name: str) -> str:
        if self.switches.entities == "spelling":
            return name
        code = self.kb.graph.find(name)
        return name if code is None else self.kb.graph.names[code]

    def _string(self, tree: list[int], facts: list[Triple], rows: list[int], pool: TitlePool) -> str:
        if self.switches.rerank_on == "triplets":
            written = [f"<{facts[i].head}, {facts[i].relation}, {facts[i].tail}>" for i in tree]
            return " ".join(written)[: self.max_characters]
        owners = [rows[i] for i in tree]
        if not self.switches.repeat_passages:
            owners = list(dict.fromkeys(owners))
        with_facts = self.mode == "musique"
        texts = joined_texts(self.kb, self.switches.separator)
        return tree_text(owners, texts, pool.stated, facts=with_facts, limit=self.max_characters)
