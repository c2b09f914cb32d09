"""Input of the released KG2RAG, and its treatment of titles, trees and strings.

A name is *mentioned* by shared character n-grams, which is generous: they run across words, and a
name shorter than one n-gram once its punctuation is gone counts as mentioned by every question.
Expansion walks titles, not triples: an end of a triple that is letter for letter a title of the
pool leads to all passages of that title.

The released code walks networkx's containers, some of them sets. The order here is that of
insertion everywhere, which the released code has where no hash interferes. Facts are numbered in
the order of the passages.
"""

from __future__ import annotations

import string
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd

from kg2rag.knowledge import DenseIndex, KnowledgeBase
from kg2rag.knowledge.graph.paths import spanning_trees
from kg2rag.types import FloatArray, Triple

SEPARATOR = ": "  # between title and text for the encoder and the reranker
GRAM = 3  # characters of an n-gram
SMOOTHING = 0.01
THRESHOLD = 0.90
# The weight of an edge between mentioned names: 0 in the released code, after facts of weight 0.
QUERY_WEIGHT = -1e-300
Edge = tuple[str, str]


@lru_cache(maxsize=1024)
def _grams(text: str, n: int) -> frozenset[str]:
    letters = "".join(
        token for token in text.lower().split() if token not in string.punctuation
    )
    return frozenset(
        letters[start : start + n] for start in range(len(letters) - n + 1)
    )


def mentions(question: str, name: str) -> bool:
    """Whether nine tenths of the name's n-grams are in the question.

    >>> mentions("Who directed Ed Wood?", "Ed Wood")
    True
    """
    n = min(GRAM, len(name), len(question))
    if n == 0:
        return False
    grams = _grams(name, n)
    return (len(grams & _grams(question, n)) + SMOOTHING) / (
        len(grams) + SMOOTHING
    ) >= THRESHOLD


def mentioned_names(
    question: str, titles: Iterable[str], triples: Sequence[Triple]
) -> list[str]:
    """The titles and ends of triples that the question mentions, with derived names.

    One pass in order: if a relation and one end are mentioned, so is the other end from there on.
    As in the released code, what the question mentions is tested without the blanks around it, and
    what follows is looked up with them.
    """
    is_mentioned = partial(mentions, question)
    ends = [end.strip() for triple in triples for end in (triple.head, triple.tail)]
    names = dict.fromkeys(filter(is_mentioned, [*titles, *ends]))
    relations = set(
        filter(is_mentioned, {triple.relation.strip() for triple in triples})
    )
    for triple in triples:
        pair = dict.fromkeys((triple.head, triple.tail))
        if triple.relation in relations and names.keys() & pair.keys():
            names |= pair
    return list(names)


class TitlePool(NamedTuple):
    """Title -> the rows that a question may return; titles and triples of all passages by row."""

    rows_of: Mapping[str, Sequence[int]]
    titles: Sequence[str]
    stated: Sequence[Sequence[Triple]]

    def named(self, row: int) -> list[str]:
        """The titles of the pool that a passage's triples name, with repetitions."""
        return [
            end
            for triple in self.stated[row]
            for end in (triple.head, triple.tail)
            if end in self.rows_of
        ]


def pool_of(kb: KnowledgeBase, candidates: Sequence[str] | None) -> TitlePool:
    """The pool of a question's candidates, in their order, or of the whole corpus."""

    def pool(rows: Iterable[int]) -> TitlePool:
        rows_of: dict[str, list[int]] = {}
        for row in rows:
            rows_of.setdefault(kb.corpus.titles[row], []).append(row)
        return TitlePool(rows_of, kb.corpus.titles, stated_triples(kb))

    if candidates is None:
        return kb.cached("title pool", lambda: pool(range(len(kb.corpus))))
    return pool(kb.corpus.row(id_) for id_ in dict.fromkeys(candidates))


def stated_triples(kb: KnowledgeBase) -> list[list[Triple]]:
    """(n_passages,) the raw triples of each passage, in the source's order.

    ValueError: the source has only cleaned triples.
    """

    def stated() -> list[list[Triple]]:
        extraction = kb.extraction
        was_cleaned = any(cause.startswith("cleaned: ") for cause in extraction.notes)
        if extraction.raw is None and was_cleaned:
            raise ValueError(
                f"{kb.source!r} holds triples that were cleaned, and not the raw ones, which the released KG2RAG works "
                "on. Build the knowledge base over the file itself: subkgs(FILE)."
            )
        triples = extraction.triples if extraction.raw is None else extraction.raw
        by_row: list[list[Triple]] = [[] for _ in kb.corpus.ids]
        for triple in triples:
            if triple.passage_id:
                by_row[kb.corpus.row(triple.passage_id)].append(triple)
        return by_row

    return kb.cached("stated triples", stated)


def dense_over(kb: KnowledgeBase) -> DenseIndex:
    """`kb.dense` with `SEPARATOR` between title and text, without blanks at the ends."""
    return kb.cached(
        "dense, released", lambda: DenseIndex(kb.encode(kb.corpus.joined(SEPARATOR)))
    )


def joined_texts(kb: KnowledgeBase) -> list[str]:
    """The title and text of every passage for the reranker, with the source's blanks."""
    return kb.cached("joined texts", lambda: kb.corpus.joined(SEPARATOR, exact=True))


class TitleScores:
    """The scores of each title on a walk: those of its seeds, and one per mention."""

    def __init__(self, seeds: Mapping[int, float], titles: Sequence[str]) -> None:
        self._seed_scores = list(seeds.values())
        self._scores: dict[str, list[float]] = {}
        self.add((titles[row], score) for row, score in seeds.items())

    def add(self, scored_titles: Iterable[tuple[str, float]]) -> None:
        """Add further scores of titles."""
        for title, score in scored_titles:
            self._scores.setdefault(title, []).append(score)

    def mean(self, title: str) -> float:
        """The mean score of a title."""
        return _mean(self._scores[title])

    def smoothed(self, title: str) -> float:
        """The mean of a title's scores and the mean of all seeds."""
        return _mean([*self._scores.get(title, ()), _mean(self._seed_scores)])


def title_walk(
    seeds: Mapping[int, float], pool: TitlePool
) -> tuple[dict[int, str], TitleScores]:
    """The passages to append for some seeds, with their titles; and the scores of the titles.

    The walk leads from seeds, row -> score, best first, to the titles that their triples name, and
    then to the titles that all these passages name.

    Returns the passages to append, in the order in which titles came up, with the title that
    brought each; and the scores of the titles. A seed's title brings its other passages if it is
    one of the two best or repeated in the first half of the seeds; a title without a triple brings
    none.
    """
    seed_titles = [pool.titles[row] for row in seeds]
    scores = TitleScores(seeds, pool.titles)
    bringing = _bringing_seed_titles(seed_titles, scores)
    named_by_seeds = [
        (title, score)
        for row, score in seeds.items()
        for title in pool.named(row)
        if title not in seed_titles
    ]
    scores.add(named_by_seeds)
    near = dict.fromkeys([*dict(named_by_seeds), *seed_titles])
    named_by_near = [
        (title, scores.mean(source))
        for source in near
        for title in _named_beside_seeds(source, seeds, pool)
        if title not in near
    ]
    scores.add(named_by_near)
    not_bringing = set(seed_titles) - bringing
    following = [title for title in near if title not in not_bringing]
    titles = [*following, *dict(named_by_near)]
    return _unseeded_passages(titles, seeds, pool), scores


def _bringing_seed_titles(seed_titles: Sequence[str], scores: TitleScores) -> set[str]:
    """The two seed titles with the highest means, and titles repeated in the first half."""
    first_half = seed_titles[: len(seed_titles) // 2]
    repeated = {
        title for rank, title in enumerate(first_half) if title in first_half[:rank]
    }
    best = sorted(dict.fromkeys(seed_titles), key=lambda title: -scores.mean(title))[:2]
    return repeated.union(best)


def _named_beside_seeds(
    title: str, seeds: Collection[int], pool: TitlePool
) -> list[str]:
    """The titles that a title's passages name, without its seeds."""
    titles = []
    for row in pool.rows_of[title]:
        if row not in seeds:
            titles += pool.named(row)
    return titles


def _unseeded_passages(
    titles: Iterable[str], seeds: Collection[int], pool: TitlePool
) -> dict[int, str]:
    """Row -> title of the passages that are no seeds, for titles with a triple."""
    title_of: dict[int, str] = {}
    for title in titles:
        rows = pool.rows_of[title]
        if any(pool.stated[row] for row in rows):
            title_of.update((row, title) for row in rows if row not in seeds)
    return title_of


def _mean(scores: Sequence[float]) -> float:
    return sum(scores) / len(scores)


def iteration_trees(
    edges: Sequence[Edge], weights: FloatArray, mentioned: Sequence[str]
) -> list[list[int]]:
    """The facts of each component's maximum spanning tree in networkx's order, largest first.

    `edges`, `weights`: (n_facts,) of the facts. `mentioned`: vertices that edges of weight 0 join,
    pair by pair; they may be new. Such an edge is in no list. A vertex without another edge is the
    tree of its heaviest self-loop.
    """
    import networkx as nx

    graph = nx.MultiGraph()
    for fact, (edge, weight) in enumerate(zip(edges, weights.tolist(), strict=True)):
        graph.add_edge(*edge, weight=weight, fact=fact)
    graph.add_edges_from(_query_edges(edges, weights, mentioned), weight=QUERY_WEIGHT)
    components = sorted(nx.connected_components(graph), key=len, reverse=True)
    trees: list[list[int]] = [[] for _ in components]
    tree_of = {
        vertex: tree
        for component, tree in zip(components, trees, strict=True)
        for vertex in component
    }
    for vertex, _, fact in nx.maximum_spanning_tree(graph).edges(data="fact"):
        if fact is not None:
            tree_of[vertex].append(fact)
    for component, tree in zip(components, trees, strict=True):
        if len(component) == 1:
            (vertex,) = component
            heaviest_loop = max(
                graph[vertex][vertex].values(), key=lambda loop: loop["weight"]
            )
            tree.append(heaviest_loop["fact"])
    return trees


def depth_first_trees(
    edges: Sequence[Edge], weights: FloatArray, mentioned: Sequence[str]
) -> list[list[int]]:
    """As `iteration_trees`, but depth-first from the heaviest fact, heaviest tree first.

    Equal weights are ordered by fact number; a self-loop is no tree.
    """
    between = _query_edges(edges, weights, mentioned)
    order = np.argsort(
        -np.append(weights, np.full(len(between), QUERY_WEIGHT)), kind="stable"
    )
    joined = np.array([*edges, *between], dtype=object).reshape(-1, 2)[order]
    ends = pd.factorize(joined.ravel())[0].reshape(-1, 2)
    facts = [order[tree.edges] for tree in spanning_trees(ends[:, 0], ends[:, 1])]
    return [tree[tree < len(edges)].tolist() for tree in facts]


def _query_edges(
    edges: Sequence[Edge], weights: FloatArray, mentioned: Sequence[str]
) -> list[Edge]:
    # Every fact is preferred to these edges, so that a chain of them is as good as all pairs.
    if (weights >= 0).all():
        return list(pairwise(mentioned))
    linked = set(map(frozenset, edges))  # a pair that a fact links has no other edge
    return [
        pair for pair in combinations(mentioned, 2) if frozenset(pair) not in linked
    ]


def tree_text(
    rows: Sequence[int],
    texts: Sequence[str],
    stated: Sequence[Sequence[Triple]] | None,
    limit: int | None,
) -> str:
    """The concatenated passages of a tree, as the reranker reads them.

    `stated`: by row; after every passage come the first three triples of it and of all before it.
    None for no triples. `limit`: characters, None for all. Strings grow with the square of the
    tree, and rerankers read the beginning.
    """
    text = ""
    relational = ""
    for row in rows:
        text += texts[row]
        if stated is not None:
            relational += ", ".join(
                f"{fact.head} has/is {fact.relation} {fact.tail}"
                for fact in stated[row][:3]
            )
            if relational:
                text += f" Relational facts: {relational}."
        if limit is not None and len(text) > limit:
            return text[:limit]
    return text
