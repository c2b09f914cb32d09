"""What the released KG2RAG does with titles, trees and strings, as functions of plain values.

A name is *mentioned* by shared character n-grams, which is generous: they run over the name without its blanks, so
across words, and a name shorter than one n-gram once its punctuation is gone counts as mentioned by every question. Its
expansion walks titles, not triples: an end of a triple that is letter for letter a title of the pool leads to all
passages of that title, whose score is a smoothed mean of the scores of the seeds that led there.

The released code walks networkx's containers, some of them sets. The order here is that of insertion everywhere, which
the released code has where no hash interferes. Facts are numbered in the order of the passages.
"""

from __future__ import annotations

import string
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from kg2rag.knowledge.graph.forest import spanning_forest, spanning_trees
from kg2rag.types import FloatArray, IntArray, Triple

GRAM = 3  # characters of an n-gram
SMOOTHING = 0.01
THRESHOLD = 0.90
QUERY_EDGE = -1
Edge = tuple[str, str]


def grams(text: str, n: int) -> frozenset[str]:
    """The n-grams of a text without its blanks and its tokens of punctuation."""
    joined = "".join(token for token in text.lower().split() if token not in string.punctuation)
    return frozenset(joined[start : start + n] for start in range(len(joined) - n + 1))


class QuestionText:
    """A question, and whether names whose n-grams are all gone count as mentioned."""

    def __init__(self, text: str, *, short_spans_match: bool = True) -> None:
        self.short_spans_match = short_spans_match
        self._grams = [grams(text, n) for n in range(min(GRAM, len(text)) + 1)]

    def mentions(self, name: str) -> bool:
        """Whether nine tenths of the name's n-grams are in the question.

        >>> QuestionText("Who directed Ed Wood?").mentions("Ed Wood")
        True
        """
        n = min(len(self._grams) - 1, len(name))
        if n == 0:
            return False
        own = grams(name, n)
        if not own:
            return self.short_spans_match
        return (len(own & self._grams[n]) + SMOOTHING) / (len(own) + SMOOTHING) >= THRESHOLD


def mentioned_names(question: QuestionText, titles: Sequence[str], triples: Sequence[Triple]) -> list[str]:
    """The titles given, the ends of triples that the question mentions, and what follows from those.

    One pass in order: where a relation and one end are mentioned, so is the other end from there on. As in the released
    code, what the question mentions is tested without the blanks around it, and what follows is looked up with them.
    """
    found = dict.fromkeys(titles)
    ends = dict.fromkeys(end.strip() for triple in triples for end in (triple.head, triple.tail))
    found.update(dict.fromkeys(end for end in ends if end not in found and question.mentions(end)))
    relations = {label for label in {triple.relation.strip() for triple in triples} if question.mentions(label)}
    for triple in triples:
        if triple.relation in relations and (triple.head in found or triple.tail in found):
            found.update(dict.fromkeys((triple.head, triple.tail)))
    return list(found)


class Tally(defaultdict[str, list[float]]):
    """Title -> the scores that came to it: one for each seed, and one for each mention."""

    def __init__(self) -> None:
        super().__init__(list)

    def mean(self, title: str) -> float:
        """Of a title that came up."""
        return sum(self[title]) / len(self[title])

    def smoothed(self, title: str, average: float) -> float:
        """The mean with `average` counted in once; `average` itself for a title that never came up."""
        return (sum(self.get(title, ())) + average) / (len(self.get(title, ())) + 1)


@dataclass(frozen=True)
class TitlePool:
    """The passages that a question may be answered from.

    `rows_of` : title -> its passages, in order. `titles` and `stated` : by row, of the whole corpus.
    """

    rows_of: Mapping[str, Sequence[int]]
    titles: Sequence[str]
    stated: Sequence[Sequence[Triple]]

    def named(self, row: int) -> Iterator[str]:
        """The titles of the pool that a passage's triples name, as often as they do."""
        for triple in self.stated[row]:
            for end in (triple.head, triple.tail):
                if end in self.rows_of:
                    yield end


def by_titles(
    seeds: Sequence[tuple[int, float]], pool: TitlePool, *, without_triples: bool = False, all_own: bool = False
) -> list[tuple[int, str]]:
    """The passages to append and the title that brought each, in the order in which the titles came up.

    Parameters
    ----------
    seeds : (row, score), best first.
    without_triples : whether a title may be reached of which no passage has a triple.
    all_own : whether every title of a seed brings its other passages, not only the best and the repeated ones.
    """
    seeded = {row for row, _ in seeds}
    return [
        (row, title)
        for title in _related(seeds, pool, all_own=all_own)
        if without_triples or any(pool.stated[row] for row in pool.rows_of[title])
        for row in pool.rows_of[title]
        if row not in seeded
    ]


def tally(seeds: Sequence[tuple[int, float]], pool: TitlePool) -> Tally:
    """The scores of the titles of the seeds, of the titles that their triples name, and of those one title further."""
    scores = Tally()
    own = {pool.titles[row] for row, _ in seeds}
    for row, score in seeds:
        scores[pool.titles[row]].append(score)
    for row, score in seeds:
        for title in pool.named(row):
            if title not in own:
                scores[title].append(score)
    near = _near(seeds, pool)
    for title, source in _further(seeds, pool, near):
        scores[title].append(scores.mean(source))
    return scores


def _near(seeds: Sequence[tuple[int, float]], pool: TitlePool) -> dict[str, None]:
    """The titles that seeds' triples name, then the seeds' own."""
    own = dict.fromkeys(pool.titles[row] for row, _ in seeds)
    named = dict.fromkeys(title for row, _ in seeds for title in pool.named(row) if title not in own)
    return {**named, **own}


def _further(
    seeds: Sequence[tuple[int, float]], pool: TitlePool, near: Mapping[str, None]
) -> Iterator[tuple[str, str]]:
    """(title, the near title whose other passages name it), as often as they do."""
    seeded = {row for row, _ in seeds}
    for source in near:
        for row in pool.rows_of.get(source, ()):
            if row not in seeded:
                yield from ((title, source) for title in pool.named(row) if title not in near)


def _related(seeds: Sequence[tuple[int, float]], pool: TitlePool, *, all_own: bool) -> dict[str, None]:
    """The titles whose passages are taken: all that were reached, but of the seeds' own only the outstanding ones."""
    near = _near(seeds, pool)
    related = {**near, **dict.fromkeys(title for title, _ in _further(seeds, pool, near))}
    if all_own:
        return related
    own = [pool.titles[row] for row, _ in seeds]
    repeated = {title for rank, title in enumerate(own[: len(own) // 2]) if title in own[:rank]}
    means = Tally()
    for row, score in seeds:
        means[pool.titles[row]].append(score)
    outstanding = repeated.union(sorted(means, key=lambda title: -means.mean(title))[:2])
    return {title: None for title in related if title in outstanding or title not in means}


def iteration_trees(
    edges: Sequence[Edge], weights: FloatArray, mentioned: Sequence[str], *, self_loops: bool
) -> list[list[int]]:
    """The facts of each component's maximum spanning tree, the component of most vertices first.

    `edges`, `weights`: (n_facts,) the two vertices and the weight of each fact. `mentioned`: vertices that edges of
    weight 0 join, pair by pair; they may be new. Such an edge is in no list, so a list may be empty.
    """
    if not edges and len(mentioned) < 2:
        return []
    place = {vertex: i for i, vertex in enumerate(dict.fromkeys(v for edge in edges for v in edge))}
    joined = list(mentioned) if len(mentioned) > 1 else []
    for vertex in joined:
        place.setdefault(vertex, len(place))
    first: dict[Edge, int] = {}
    for i, edge in enumerate(edges):
        first.setdefault(_key(edge, place), i)

    def met(i: int) -> tuple[int, int, int]:
        """When networkx meets an edge: at its first vertex, after the older pairs there, after older parallels."""
        key = _key(edges[i], place)
        return place[key[0]], first[key], i

    order = sorted(range(len(edges)), key=lambda i: (-weights[i], *met(i)))
    facts, ends, codes = _with_query_edges(order, edges, weights, joined)
    kept = [facts[at] for at in spanning_forest(ends[:, 0], ends[:, 1]).tolist() if facts[at] != QUERY_EDGE]
    members = dict(zip(place, _components(ends)[[codes[vertex] for vertex in place]].tolist(), strict=True))
    position = {i: at for at, i in enumerate(kept)}
    trees: dict[int, list[int]] = {root: [] for root in members.values()}
    for i in sorted(kept, key=lambda i: (met(i)[0], position[i])):
        trees[members[edges[i][0]]].append(i)
    sizes = Counter(members.values())
    if self_loops:
        for root in trees:
            if sizes[root] == 1:
                trees[root] = [next(i for i in order if members[edges[i][0]] == root)]
    largest = sorted(trees, key=lambda root: -sizes[root])
    return [trees[root] for root in largest if self_loops or sizes[root] > 1]


def depth_first_trees(edges: Sequence[Edge], weights: FloatArray, mentioned: Sequence[str]) -> list[list[int]]:
    """The facts of each maximum spanning tree as a walk from its heaviest; equal weights by fact number."""
    order = np.lexsort((np.arange(len(edges)), -weights)).tolist()
    facts, ends, _ = _with_query_edges(order, edges, weights, mentioned)
    return [
        [facts[edge] for edge in tree.edges if facts[edge] != QUERY_EDGE]
        for tree in spanning_trees(ends[:, 0], ends[:, 1])
    ]


def tree_text(
    rows: Sequence[int], texts: Sequence[str], stated: Sequence[Sequence[Triple]], *, facts: bool, limit: int | None
) -> str:
    """The passages of a tree as the reranker reads them: one after the other, nothing between.

    `facts`: after every passage, the first three triples of it and of all before it. `limit`: characters; None for all.
    Strings grow with the square of the tree, and rerankers read the beginning.
    """
    text, relational = "", ""
    for row in rows:
        text += texts[row]
        if facts and stated[row]:
            relational += ", ".join(
                f"{triple.head} has/is {triple.relation} {triple.tail}" for triple in stated[row][:3]
            )
        if facts and relational:
            text += f" Relational facts: {relational}."
        if limit is not None and len(text) > limit:
            return text[:limit]
    return text


def _key(edge: Edge, place: Mapping[str, int]) -> Edge:
    return edge if place[edge[0]] <= place[edge[1]] else (edge[1], edge[0])


def _with_query_edges(
    order: Sequence[int], edges: Sequence[Edge], weights: FloatArray, mentioned: Sequence[str]
) -> tuple[list[int], IntArray, dict[str, int]]:
    """The facts, heaviest first, with the edges of weight 0 between mentioned names; the ends of each; their codes."""
    facts, ordered, between = list(order), [edges[i] for i in order], list(pairwise(mentioned))
    cut = int(np.count_nonzero(weights >= 0))  # these come before
    if cut < len(facts):  # a pair that a fact links has no other edge, which matters if the fact weighs less than 0
        linked = set(map(frozenset, edges))
        between = [pair for pair in combinations(mentioned, 2) if frozenset(pair) not in linked]
    facts[cut:cut], ordered[cut:cut] = [QUERY_EDGE] * len(between), between
    codes = {vertex: i for i, vertex in enumerate(dict.fromkeys(v for edge in ordered for v in edge))}
    return facts, np.array([(codes[u], codes[v]) for u, v in ordered], dtype=np.int64).reshape(-1, 2), codes


def _components(ends: IntArray) -> IntArray:
    """(n_vertices,) the component of each vertex."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = int(ends.max(initial=-1)) + 1
    found: IntArray = connected_components(coo_array((np.ones(len(ends)), ends.T), shape=(n, n)), directed=False)[1]
    return found
