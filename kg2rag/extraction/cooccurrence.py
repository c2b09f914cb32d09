"""Passages -> triples between the titles and names that occur together, by how surprising that is. No language model.

Entities and aliases are those of `mentions`. A window is a sentence, or a whole passage, that names something; the
passage's own title is in each of its windows, since that is what they are about. With n windows, of which n_x hold
x and n_xy hold both,

    npmi = ln(n · n_xy / (n_x · n_y)) / ln(n / n_xy)      in [-1, 1], 0 where x and y are independent [1]
    strength = 10 · npmi · n_xy / (n_xy + 1)              in (0, 10)

The discount, after [2], answers what PMI is known for: a pair that is seen once is no more than 5. Pairs no more
frequent than chance are left out. The bounds on hubs are ours.

[1] Bouma, "Normalized (Pointwise) Mutual Information in Collocation Extraction", GSCL 2009.
[2] Pantel and Lin, "Discovering Word Senses from Text", KDD 2002.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import log
from typing import Annotated, Literal

from kg2rag.extraction import Extraction
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.text.normalisation import normalise, without_brackets
from kg2rag.types import Corpus, Count, Triple, at_least, component

VERSION = 2  # raise it when the rules change, so that stored graphs are rebuilt

RELATION = "co-occurs with"
Window = Literal["sentence", "passage"]
Pair = tuple[str, str]


@component
class Cooccurrence:
    """Entities in one window, joined by "co-occurs with"; one triple for each passage with such a window.

    The mentions record in which sentence each of the two is.

    Parameters
    ----------
    max_degree : an entity keeps so many partners at most. A pair stays where it is among the strongest of both its
        ends; of equally strong pairs, those that come first in the corpus.
    max_entities : of a window with more, the rarest are joined: lists of names mean little, and pairs are quadratic.
    """

    window: Window = "sentence"
    max_degree: Count = 50
    max_entities: Annotated[int, at_least(2)] = 20

    @property
    def fingerprint(self) -> str:
        """The versions of the rules, and the parameters."""
        parameters = f"{self.window}, {self.max_degree}, {self.max_entities}"
        return f"cooccurrence-{VERSION} ({parameters}), {Mentions(terms=False).fingerprint}"

    def extract(self, corpus: Corpus) -> Extraction:
        """Triples of every pair that is kept; entities and mentions as `Mentions` finds them.

        `notes` counts the pairs that chance or the bounds left out.
        """
        named = Mentions(terms=False).extract(corpus)
        windows = self._windows(named)
        notes = Counter(named.notes)
        holding = Counter(entity for _, entities in windows for entity in entities)
        where: defaultdict[Pair, list[str]] = defaultdict(list)
        crowded = f"windows with more than {self.max_entities} entities, the rarest joined"
        for passage, entities in windows:
            notes[crowded] += len(entities) > self.max_entities
            for pair in self._pairs(entities, holding):
                where[pair].append(passage)
        strengths = strengths_of({pair: len(passages) for pair, passages in where.items()}, holding, len(windows))
        notes["pairs no more frequent than chance left out"] = len(where) - len(strengths)
        kept = _bounded(strengths, self.max_degree)
        notes[f"pairs beyond the {self.max_degree} strongest of an end left out"] = len(strengths) - len(kept)
        triples = tuple(
            Triple(head, RELATION, tail, passage, strengths[head, tail])
            for head, tail in kept
            for passage in dict.fromkeys(where[head, tail])
        )
        return Extraction(triples, named.mentions, named.entities, notes)

    def _windows(self, named: Extraction) -> list[tuple[str, list[str]]]:
        """(passage, its entities) of every window, each entity once, the passage's own title first."""
        titles = {mention.passage_id: [mention.entity] for mention in named.mentions if mention.sentence < 0}
        found: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
        for mention in named.mentions:
            if mention.sentence >= 0:
                window = mention.passage_id, mention.sentence if self.window == "sentence" else 0
                found[window].append(mention.entity)
        return [
            (passage, list(dict.fromkeys(titles.get(passage, []) + entities)))
            for (passage, _), entities in found.items()
        ]

    def _pairs(self, entities: Sequence[str], holding: Mapping[str, int]) -> Iterator[Pair]:
        """The pairs of a window; two pages that one name may mean ("Rebecca") are none."""
        if len(entities) > self.max_entities:
            rarest = sorted(range(len(entities)), key=lambda place: (holding[entities[place]], place))
            entities = [entities[place] for place in sorted(rarest[: self.max_entities])]
        names = [normalise(without_brackets(entity)) for entity in entities]
        for (first, one), (second, other) in combinations(zip(entities, names, strict=True), 2):
            if one != other:
                yield (first, second) if first <= second else (second, first)


def strengths_of(together: Mapping[Pair, int], holding: Mapping[str, int], windows: int) -> dict[Pair, float]:
    """The strength of every pair that is more frequent than chance, to three decimals; see the module's formulas."""
    strengths: dict[Pair, float] = {}
    for (first, second), count in together.items():
        surprise = log(windows * count / (holding[first] * holding[second]))
        # In every window together: no surprise is left to measure, and none to divide by.
        npmi = surprise / log(windows / count) if count < windows else 1.0
        strength = round(10 * npmi * count / (count + 1), 3)
        if strength > 0:
            strengths[first, second] = strength
    return strengths


def _bounded(strengths: Mapping[Pair, float], max_degree: int) -> list[Pair]:
    """The pairs that are among the `max_degree` strongest of both their ends, in the order given."""
    strongest: defaultdict[str, int] = defaultdict(int)
    kept: set[Pair] = set()
    for pair in sorted(strengths, key=strengths.__getitem__, reverse=True):
        within = True
        for end in pair:
            strongest[end] += 1
            within &= strongest[end] <= max_degree
        if within:
            kept.add(pair)
    return [pair for pair in strengths if pair in kept]
