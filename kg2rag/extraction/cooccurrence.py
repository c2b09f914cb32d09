"""Passages -> triples between the titles and names that occur together, by how surprising that is. No language model.

Entities and aliases are those of `mentions`. A window is a sentence that names something; the passage's own title is in
each of its windows, since these are about it. With n windows, n_x with x and n_xy with both,

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
from dataclasses import dataclass
from itertools import combinations
from math import log

from kg2rag.extraction import Extraction
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.text.normalisation import normalise, without_brackets
from kg2rag.types import Corpus, Triple

VERSION = 2  # raise it when the rules change, so that stored graphs are rebuilt
PARTNERS = 50  # of an entity; a pair stays where it is among the strongest of both its ends, of equal ones the first
ENTITIES = 20  # of a window with more, the rarest are joined: lists of names mean little, and pairs are quadratic

RELATION = "co-occurs with"
Pair = tuple[str, str]


@dataclass(frozen=True)
class Cooccurrence:
    """Entities in one sentence, joined by "co-occurs with"; one triple for each passage with such a sentence.

    The mentions record in which sentence each of the two is.
    """

    @property
    def fingerprint(self) -> str:
        """The versions of the rules."""
        return f"cooccurrence-{VERSION}, {Mentions(terms=False).fingerprint}"

    def extract(self, corpus: Corpus) -> Extraction:
        """Triples of every pair that is kept; entities and mentions as `Mentions` finds them.

        `notes` counts the pairs that chance or the bounds left out.
        """
        named = Mentions(terms=False).extract(corpus)
        titles = {mention.passage_id: [mention.entity] for mention in named.mentions if mention.sentence < 0}
        windows: dict[tuple[str, int], dict[str, None]] = {}
        for mention in named.mentions:
            if mention.sentence >= 0:
                own = dict.fromkeys(titles.get(mention.passage_id, ()))
                windows.setdefault((mention.passage_id, mention.sentence), own)[mention.entity] = None
        notes, holding = Counter(named.notes), Counter(entity for entities in windows.values() for entity in entities)
        where: defaultdict[Pair, dict[str, int]] = defaultdict(Counter)
        for (passage, _), entities in windows.items():
            notes[f"windows with more than {ENTITIES} entities, the rarest joined"] += len(entities) > ENTITIES
            for pair in _pairs(list(entities), holding):
                where[pair][passage] += 1
        times = {pair: sum(passages.values()) for pair, passages in where.items()}
        strengths = strengths_of(times, holding, len(windows))
        notes["pairs no more frequent than chance left out"] = len(where) - len(strengths)
        strongest: Counter[str] = Counter()
        kept: set[Pair] = set()
        for pair in sorted(strengths, key=strengths.__getitem__, reverse=True):
            strongest.update(pair)
            if all(strongest[end] <= PARTNERS for end in pair):
                kept.add(pair)
        notes[f"pairs beyond the {PARTNERS} strongest of an end left out"] = len(strengths) - len(kept)
        triples = tuple(
            Triple(head, RELATION, tail, passage, strength)
            for (head, tail), strength in strengths.items()
            if (head, tail) in kept
            for passage in where[head, tail]
        )
        return Extraction(triples, named.mentions, named.entities, notes)


def _pairs(entities: Sequence[str], holding: Mapping[str, int]) -> Iterator[Pair]:
    """The pairs of a window; two pages that one name may mean ("Rebecca") are none."""
    rarest = sorted(range(len(entities)), key=lambda place: (holding[entities[place]], place))[:ENTITIES]
    named = [(entities[place], normalise(without_brackets(entities[place]))) for place in sorted(rarest)]
    for (first, one), (second, other) in combinations(named, 2):
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
