"""Entities and relations that name the chunks of another tool's export -> an `Extraction` over our passages.

A chunk is a passage where their ids are equal, else where their texts are (with or without the title, whitespace
apart). Else it holds the passages whose whole text it contains; else it is part of those whose text contains it. What
matches nothing is counted, and an export of which nothing matches is an error.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import isfinite, log1p
from pathlib import Path
from typing import NamedTuple, TypeVar

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.text.normalisation import normalise
from kg2rag.text.records import DataError
from kg2rag.types import Corpus, Triple

DEFAULT_STRENGTH = 5.0
LEAST = 0.1  # the strength of a relation whose weight is 0 or below


class Relation(NamedTuple):
    """A relation between two entities; `weight` is as the export has it, None where it has none."""

    head: str
    name: str
    tail: str
    weight: float | None
    chunks: tuple[str, ...]
    description: str = ""


def extraction_of(
    entities: Iterable[tuple[Entity, Sequence[str]]],
    relations: Sequence[Relation],
    chunks: ChunkMap,
    notes: Counter[str],
) -> Extraction:
    """Entities with their chunks, and relations, as triples and mentions of passages.

    A relation becomes one triple for each passage that states it. Weights are sums over all its statements, without an
    upper bound, so a strength is 10 · ln(1 + weight) / ln(1 + the greatest weight).
    """
    described: list[Entity] = []
    mentions: list[Mention] = []
    for entity, named_in in entities:
        described.append(entity)
        passages = chunks.passages(named_in, [entity.name], "entities", notes)
        notes["entities of no known passage"] += not passages
        mentions += (Mention(entity.name, passage) for passage in passages)
    triples: list[Triple] = []
    greatest = max((one.weight for one in relations if one.weight is not None and isfinite(one.weight)), default=0.0)
    for head, name, tail, weight, stated_in, about in relations:
        if weight is None or not isfinite(weight):
            strength, lack = DEFAULT_STRENGTH, "without a weight"
        elif weight <= 0:
            strength, lack = LEAST, "of weight 0 or below"
        else:
            strength, lack = max(LEAST, round(10 * log1p(weight) / log1p(greatest), 3)), ""
        notes[f"relations {lack}, of strength {strength:g}"] += bool(lack)
        passages = chunks.passages(stated_in, [head, tail], "relations", notes)
        notes["relations of no known passage, kept without one"] += not passages
        fact = head, name or "related to", tail
        triples += (Triple(*fact, passage, strength, description=about) for passage in passages or [""])
    return Extraction(tuple(triples), tuple(mentions), tuple(described), notes)


class ChunkMap:
    """Where the chunks of an export are in the corpus; `rows` maps ids to rows, ascending, none where it lacks one.

    `chunks` maps ids to texts; `notes` counts how their passages were found. DataError where no chunk has any.
    """

    def __init__(self, chunks: Mapping[str, str], corpus: Corpus, file: Path, notes: Counter[str]) -> None:
        self.corpus = corpus
        given = {id_: " ".join(text.split()) for id_, text in chunks.items()}
        texts, contents = (
            {row: " ".join(text.split()) for row, text in enumerate(column)}
            for column in (corpus.table["text"].to_pylist(), corpus.contents)
        )
        by_text: defaultdict[str, dict[int, None]] = defaultdict(dict)
        for row in texts:
            by_text[texts[row]][row] = by_text[contents[row]][row] = None
        known = {id_: [row] for row, id_ in enumerate(corpus.ids)}
        equal = {id_: known.get(id_) or list(by_text.get(text, ())) for id_, text in given.items()}
        rows = {id_: found for id_, found in equal.items() if found}
        notes["chunks that are passages"] = len(rows)
        for how in ("hold", "are part of"):
            left = {id_: text for id_, text in given.items() if id_ not in rows}
            pairs = _contained(left, contents) if how != "hold" else ((id_, at) for at, id_ in _contained(texts, left))
            more: defaultdict[str, list[int]] = defaultdict(list)
            for id_, row in pairs:
                more[id_].append(row)
            notes[f"chunks that {how} passages"] = len(more)
            rows |= more
        if not rows:
            first = next((f" (first: {id_!r}, {text[:60]!r})" for id_, text in chunks.items()), "")
            raise DataError(
                f"{file}: none of {len(chunks)} chunks is a passage of the corpus, holds one or is part of one{first}. "
                "Load the corpus that the export was made from."
            )
        notes["chunks outside the corpus"] = len(chunks) - len(rows)
        notes["passages in no chunk"] = len(corpus) - len({row for found in rows.values() for row in found})
        self.rows = {id_: sorted(rows.get(id_, ())) for id_ in chunks}

    def passages(self, chunks: Iterable[str], names: Sequence[str], kind: str, notes: Counter[str]) -> list[str]:
        """The ids of the passages that these chunks are, by row; empty where none is known.

        Of a chunk that holds several passages, those count that have the most of `names` in them, and all of them where
        none contains a name. `notes` counts such cases, and chunks that the export lacks, as "`kind` …".
        """
        found: set[int] = set()
        for chunk in chunks:
            if chunk not in self.rows:
                notes[f"{kind} of chunks whose text the export lacks"] += 1
                continue
            rows = self.rows[chunk]
            named = [sum(f" {normalise(name)} " in self._folded[row] for name in names) for row in rows]
            most = max(named, default=0)
            unnamed = len(rows) > 1 and not most
            notes[f"{kind} given to every passage of their chunk, none of which has the names"] += unnamed
            found.update(row for row, count in zip(rows, named, strict=True) if count == most)
        return [self.corpus.ids[row] for row in sorted(found)]

    @cached_property
    def _folded(self) -> list[str]:
        return [f" {normalise(contents)} " for contents in self.corpus.contents]


Needle = TypeVar("Needle")
Hay = TypeVar("Hay")

# Containment is looked for by these words of the shorter text: its first may be cut in two by a tokeniser, and so may
# its last. Shorter texts are contained in others by chance; they match whole or not at all.
_KEY = slice(1, 6)


def _contained(needles: Mapping[Needle, str], hay: Mapping[Hay, str]) -> Iterator[tuple[Needle, Hay]]:
    """The pairs of which the second text contains the first; linear in the length of the texts."""
    by_key: defaultdict[tuple[str, ...], list[Needle]] = defaultdict(list)
    length = _KEY.stop - _KEY.start
    for id_, text in needles.items():
        words = text.split(" ", _KEY.stop + 1)
        if len(words) > _KEY.stop:
            by_key[tuple(words[_KEY])].append(id_)
    for place, text in hay.items():
        words = text.split(" ")
        keys = dict.fromkeys(tuple(words[start : start + length]) for start in range(len(words) - length + 1))
        for key in keys:
            yield from ((id_, place) for id_ in by_key.get(key, ()) if needles[id_] in text)
