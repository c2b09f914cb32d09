"""Passages -> triples between titles and names that occur together more often than by chance.

Entities and aliases are those of `mentions`. A window is a sentence that names something; the
passage's own title is in each of its windows, since these are about it. With n windows, n_x with x
and n_xy with both,

    npmi = ln(n · n_xy / (n_x · n_y)) / ln(n / n_xy)      in [-1, 1], 0 where x and y are independent [1]
    strength = 10 · npmi · n_xy / (n_xy + 1)              in (0, 10)

The discount, after [2], counters the bias of PMI to rare pairs: a pair in one window has a strength
of at most 5. Pairs that are no more frequent than by chance are left out. The bounds on hubs are ours.

[1] Bouma, "Normalized (Pointwise) Mutual Information in Collocation Extraction", GSCL 2009.
[2] Pantel and Lin, "Discovering Word Senses from Text", KDD 2002.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import log

from kg2rag.extraction import Extraction, Mention
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.text.normalisation import normalise, without_brackets
from kg2rag.types import Corpus, Triple

# The maximum of pairs per entity. A pair must be among the strongest of both its ends.
MAX_PARTNERS = 50
# The maximum of entities per window. Of more, the rarest are read: the pairs of a long list of names
# mean little, and their number is quadratic.
MAX_ENTITIES = 20

RELATION = "co-occurs with"
Pair = tuple[str, str]


@dataclass(frozen=True)
class Cooccurrence:
    """The pairs of entities in one sentence as triples, one per passage with such a sentence.

    The mentions record in which sentence each of the two is.
    """

    @property
    def fingerprint(self) -> str:
        """The name of the source."""
        return "cooccurrence"

    def extract(self, corpus: Corpus) -> Extraction:
        """The triples of the associated pairs, with the entities and mentions of `Mentions`.

        `notes` counts the pairs that are left out, as no more frequent than chance or beyond bounds.
        """
        extraction = Mentions(terms=False).extract(corpus)
        notes = Counter(extraction.notes)
        windows = _windows(extraction.mentions)
        n_windows_of = Counter(chain.from_iterable(windows.values()))
        notes[f"windows with more than {MAX_ENTITIES} entities, the rarest joined"] = (
            sum(len(entities) > MAX_ENTITIES for entities in windows.values())
        )
        # Pair -> passage -> windows.
        passages_of: defaultdict[Pair, Counter[str]] = defaultdict(Counter)
        for (passage, _), entities in windows.items():
            for pair in _pairs(list(entities), n_windows_of):
                passages_of[pair][passage] += 1
        together = {pair: passages.total() for pair, passages in passages_of.items()}
        strengths = strengths_of(together, n_windows_of, len(windows))
        strongest = _strongest_pairs(strengths)
        notes["pairs no more frequent than chance left out"] = len(together) - len(
            strengths
        )
        notes[f"pairs beyond the {MAX_PARTNERS} strongest of an end left out"] = len(
            strengths
        ) - len(strongest)
        triples = [
            Triple(first, RELATION, second, passage, strength)
            for (first, second), strength in strengths.items()
            if (first, second) in strongest
            for passage in passages_of[first, second]
        ]
        return Extraction(
            tuple(triples), extraction.mentions, extraction.entities, notes
        )


def _windows(mentions: Sequence[Mention]) -> dict[tuple[str, int], dict[str, None]]:
    """(passage, sentence) -> the entities of this window, the title of the passage first."""
    titles = {
        mention.passage_id: mention.entity
        for mention in mentions
        if mention.sentence < 0
    }
    windows: dict[tuple[str, int], dict[str, None]] = {}
    for mention in mentions:
        if mention.sentence < 0:
            continue
        window = windows.setdefault((mention.passage_id, mention.sentence), {})
        if not window and mention.passage_id in titles:
            window[titles[mention.passage_id]] = None
        window[mention.entity] = None
    return windows


def _pairs(entities: Sequence[str], n_windows_of: Mapping[str, int]) -> Iterator[Pair]:
    """The pairs of the rarest entities of a window, each in alphabetical order.

    Two pages that one name may mean ("Rebecca") are no pair.
    """
    order = sorted(
        range(len(entities)), key=lambda index: (n_windows_of[entities[index]], index)
    )
    rarest = [entities[index] for index in sorted(order[:MAX_ENTITIES])]
    names_and_keys = [(name, normalise(without_brackets(name))) for name in rarest]
    for (first, first_key), (second, second_key) in combinations(names_and_keys, 2):
        if first_key != second_key:
            yield (first, second) if first <= second else (second, first)


def _strongest_pairs(strengths: Mapping[Pair, float]) -> set[Pair]:
    """The pairs that are among the strongest of both their ends."""
    n_pairs_of: Counter[str] = Counter()
    strongest: set[Pair] = set()
    for pair in sorted(strengths, key=strengths.__getitem__, reverse=True):
        n_pairs_of.update(pair)
        if all(n_pairs_of[end] <= MAX_PARTNERS for end in pair):
            strongest.add(pair)
    return strongest


def strengths_of(
    together: Mapping[Pair, int], n_windows_of: Mapping[str, int], n_windows: int
) -> dict[Pair, float]:
    """Pair -> strength, to three decimals, for pairs that are more frequent than by chance.

    `together` has the number of windows with both ends of a pair; the module gives the formula.
    """
    strengths: dict[Pair, float] = {}
    for (first, second), count in together.items():
        surprise = log(n_windows * count / (n_windows_of[first] * n_windows_of[second]))
        # Both in every window: their association is undefined.
        npmi = surprise / log(n_windows / count) if count < n_windows else 1.0
        strength = round(10 * npmi * count / (count + 1), 3)
        if strength > 0:
            strengths[first, second] = strength
    return strengths
