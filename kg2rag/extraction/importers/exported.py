"""Entities and relations that name the chunks of another tool's export -> an `Extraction` over our passages.

A chunk is a passage where their ids are equal, else where their texts are (with or without the title, whitespace
apart). Else it holds the passages whose whole text it contains; else it is part of those whose text contains it. What
matches nothing is counted, and an export of which nothing matches is an error.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, log1p
from pathlib import Path
from typing import TypeVar

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.text.normalisation import normalise
from kg2rag.text.records import DataError
from kg2rag.types import Corpus, Triple

DEFAULT_STRENGTH = 5.0
LEAST = 0.1  # the strength of a relation whose weight is 0 or below
UNNAMED = "related to"
NO_PASSAGE = "relations of no known passage, kept without one"


@dataclass(frozen=True)
class Relation:
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
        mentions.extend(Mention(entity.name, passage) for passage in passages)
    triples: list[Triple] = []
    for relation, strength in zip(relations, _strengths(relations, notes), strict=True):
        passages = chunks.passages(relation.chunks, [relation.head, relation.tail], "relations", notes)
        notes[NO_PASSAGE] += not passages
        said = relation.name or UNNAMED, relation.description
        triples += [
            Triple(relation.head, said[0], relation.tail, passage, strength, description=said[1])
            for passage in passages or [""]
        ]
    counted = {cause: count for cause, count in notes.items() if count}
    return Extraction(tuple(triples), tuple(mentions), tuple(described), counted)


def _strengths(relations: Sequence[Relation], notes: Counter[str]) -> list[float]:
    greatest = max((r.weight for r in relations if r.weight is not None and isfinite(r.weight)), default=0.0)
    strengths = []
    for weight in (relation.weight for relation in relations):
        if weight is None or not isfinite(weight):
            notes[f"relations without a weight, of strength {DEFAULT_STRENGTH:g}"] += 1
            strengths.append(DEFAULT_STRENGTH)
        elif weight <= 0:
            notes[f"relations of weight 0 or below, of strength {LEAST:g}"] += 1
            strengths.append(LEAST)
        else:
            strengths.append(max(LEAST, round(10 * log1p(weight) / log1p(greatest), 3)))
    return strengths


Needle = TypeVar("Needle")
Hay = TypeVar("Hay")

# Containment is looked for by these words of the shorter text: its first may be cut in two by a tokeniser, and so may
# its last. Shorter texts are contained in others by chance; they match whole or not at all.
_KEY = slice(1, 6)


@dataclass(frozen=True)
class ChunkMap:
    """Chunk id -> the rows of its passages, ascending; none where the corpus lacks it. `match_chunks` builds one."""

    rows: Mapping[str, Sequence[int]]
    corpus: Corpus

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
            notes[f"{kind} given to every passage of their chunk, none of which has the names"] += (
                len(rows) > 1 and not most
            )
            found.update(row for row, count in zip(rows, named, strict=True) if count == most)
        return [self.corpus.ids[row] for row in sorted(found)]

    @cached_property
    def _folded(self) -> list[str]:
        return [f" {normalise(contents)} " for contents in self.corpus.contents]


def match_chunks(
    chunks: Mapping[str, str], corpus: Corpus, file: Path, notes: Counter[str], *, partial: bool
) -> ChunkMap:
    """Find the passages of each chunk; `chunks` maps ids to texts, `notes` counts how they were found.

    Raises
    ------
    ValueError : no chunk matches, or one does not and `partial` is False.
    """
    rows = _equal(chunks, corpus)
    notes["chunks that are passages"] = len(rows)
    open_ = {id_: _plain(text) for id_, text in chunks.items() if id_ not in rows}
    texts = list(map(_plain, corpus.table["text"].to_pylist()))
    holding: defaultdict[str, list[int]] = defaultdict(list)
    for row, id_ in _contained(dict(enumerate(texts)), open_):
        holding[id_].append(row)
    notes["chunks that hold passages"] = len(holding)
    rest = {id_: text for id_, text in open_.items() if id_ not in holding}
    parts: defaultdict[str, list[int]] = defaultdict(list)
    for id_, row in _contained(rest, dict(enumerate(map(_plain, corpus.contents)))):
        parts[id_].append(row)
    notes["chunks that are part of passages"] = len(parts)
    rows |= holding | parts
    unknown = [id_ for id_ in chunks if id_ not in rows]
    if not rows or (unknown and not partial):
        advice = ", or allow it with partial=True." if rows else "."
        first = f" (first: {unknown[0]!r}, {chunks[unknown[0]][:60]!r})" if unknown else ""
        raise DataError(
            f"{file}: {len(unknown)} of {len(chunks)} chunks are no passage of the corpus, hold none and are part of "
            f"none{first}. Load the corpus that the export was made from{advice}"
        )
    notes["chunks outside the corpus"] = len(unknown)
    notes["passages in no chunk"] = len(corpus) - len({row for known in rows.values() for row in known})
    return ChunkMap({id_: sorted(rows.get(id_, ())) for id_ in chunks}, corpus)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _equal(chunks: Mapping[str, str], corpus: Corpus) -> dict[str, list[int]]:
    """The chunks that are passages: by id, else by text; a text of several passages matches them all."""
    by_text: defaultdict[str, list[int]] = defaultdict(list)
    for row, (text, contents) in enumerate(zip(corpus.table["text"].to_pylist(), corpus.contents, strict=True)):
        for form in dict.fromkeys((_plain(text), _plain(contents))):
            by_text[form].append(row)
    ids = frozenset(corpus.ids)
    found: dict[str, list[int]] = {}
    for id_, text in chunks.items():
        if id_ in ids:
            found[id_] = [corpus.row(id_)]
        elif rows := by_text.get(_plain(text)):
            found[id_] = rows
    return found


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
