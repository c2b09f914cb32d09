"""A question -> the names it seems to mention; seeds -> further passages, by the titles that their triples name.

The released KG2RAG's two tests. A name is mentioned by shared character n-grams, which is generous: they run over the
name without its blanks, so across words, and a name that is shorter than one n-gram once its punctuation is gone
counts as mentioned by every question. Its expansion walks titles, not triples: an end of a triple that is letter for
letter a title of the pool leads to all passages of that title. Their score is a smoothed mean of the scores of the
seeds that led there.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from kg2rag.retrievers.kg2rag.official.switches import Switches
from kg2rag.types import Triple

LONGEST = 3  # characters of an n-gram
SMOOTHING = 0.01
THRESHOLD = 0.90


@lru_cache(maxsize=200_000)
def grams(text: str, n: int) -> frozenset[str]:
    """The n-grams of a text without its blanks and its tokens of punctuation."""
    joined = "".join(token for token in text.lower().split() if token not in string.punctuation)
    return frozenset(joined[start : start + n] for start in range(len(joined) - n + 1))


@dataclass(frozen=True)
class QuestionText:
    """A question, and whether names whose n-grams are all gone count as mentioned."""

    text: str
    short_spans_match: bool = True

    def mentions(self, name: str) -> bool:
        """Whether nine tenths of the name's n-grams are in the question.

        >>> QuestionText("Who directed Ed Wood?").mentions("Ed Wood")
        True
        """
        n = min(LONGEST, len(name), len(self.text))
        if n == 0:
            return False
        own = grams(name, n)
        if not own:
            return self.short_spans_match
        return (len(own & grams(self.text, n)) + SMOOTHING) / (len(own) + SMOOTHING) >= THRESHOLD


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


@dataclass
class Tally:
    """How much score came to each title, and how often."""

    total: dict[str, float] = field(default_factory=dict)
    count: dict[str, int] = field(default_factory=dict)

    def add(self, title: str, score: float) -> None:
        """One more seed, or one more mention, of a title."""
        self.total[title] = self.total.get(title, 0.0) + score
        self.count[title] = self.count.get(title, 0) + 1

    def mean(self, title: str) -> float:
        """Of a title that has been added."""
        return self.total[title] / self.count[title]

    def smoothed(self, title: str, average: float) -> float:
        """The mean with `average` counted in once; `average` itself for a title that never came up."""
        return (self.total.get(title, 0.0) + average) / (self.count.get(title, 0) + 1)


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


def by_titles(seeds: Sequence[tuple[int, float]], pool: TitlePool, switches: Switches) -> list[tuple[int, str]]:
    """The passages to append and the title that brought each, in the order in which the titles came up.

    `seeds`: (row, score), best first.
    """
    seeded = {row for row, _ in seeds}
    return [
        (row, title)
        for title in _related(seeds, pool, switches)
        if switches.titles_without_triples or any(pool.stated[row] for row in pool.rows_of[title])
        for row in pool.rows_of[title]
        if row not in seeded
    ]


def tally(seeds: Sequence[tuple[int, float]], pool: TitlePool) -> Tally:
    """The scores of the titles of the seeds, of the titles that their triples name, and of those one title further."""
    scores = Tally()
    own = {pool.titles[row] for row, _ in seeds}
    for row, score in seeds:
        scores.add(pool.titles[row], score)
    for row, score in seeds:
        for title in pool.named(row):
            if title not in own:
                scores.add(title, score)
    near = _near(seeds, pool)
    for title, source in _further(seeds, pool, near):
        scores.add(title, scores.mean(source))
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


def _related(seeds: Sequence[tuple[int, float]], pool: TitlePool, switches: Switches) -> dict[str, None]:
    """The titles whose passages are taken: all that were reached, but of the seeds' own only the outstanding ones."""
    near = _near(seeds, pool)
    related = {**near, **dict.fromkeys(title for title, _ in _further(seeds, pool, near))}
    if switches.all_seed_titles:
        return related
    own = [pool.titles[row] for row, _ in seeds]
    repeated = {title for rank, title in enumerate(own[: len(own) // 2]) if title in own[:rank]}
    means = Tally()
    for row, score in seeds:
        means.add(pool.titles[row], score)
    outstanding = repeated.union(sorted(means.total, key=lambda title: -means.mean(title))[:2])
    return {title: None for title in related if title in outstanding or title not in means.total}
