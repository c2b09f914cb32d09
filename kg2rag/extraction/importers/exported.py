"""Entities and relations with chunks of another tool -> an `Extraction` over passages of the corpus.

A chunk is a passage if their ids are equal, else if their texts are (with or without the title;
whitespace is ignored). Any other chunk is aligned with the passages that share its words in order, see
`alignment`. Chunks without a passage are counted; an export with no other chunks is an error.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.extraction.importers.alignment import align
from kg2rag.extraction.importers.strengths import strengths_of
from kg2rag.text.normalisation import entity_key, normalise
from kg2rag.text.records import DataError
from kg2rag.types import Corpus, Triple


class Relation(NamedTuple):
    """A relation between two entities; `weight` is that of the export, None without one."""

    head: str
    name: str
    tail: str
    weight: float | None
    chunks: tuple[str, ...]
    description: str = ""


def extraction_of(
    entities: Sequence[tuple[Entity, Sequence[str]]],
    relations: Sequence[Relation],
    chunks: ChunkMap,
    notes: Counter[str],
) -> Extraction:
    """The extraction of entities, each with its chunks, and of relations.

    An entity gives a mention in each of its passages, a relation a triple in each; the weight of a
    relation is a sum over its statements, see `strengths`. `notes` counts entities without a name, which
    are left out with their relations, and parts without a passage.
    """
    named_entities = [
        (entity, chunk_ids) for entity, chunk_ids in entities if entity_key(entity.name)
    ]
    notes["blank entities, left out"] = len(entities) - len(named_entities)
    mentions: list[Mention] = []
    for entity, chunk_ids in named_entities:
        passages = chunks.passages(chunk_ids, [entity.name], "entities", notes)
        notes["entities of no known passage"] += not passages
        mentions += (Mention(entity.name, passage) for passage in passages)
    triples = _triples(relations, chunks, notes)
    return Extraction(
        triples, tuple(mentions), tuple(entity for entity, _ in named_entities), notes
    )


def _triples(
    relations: Sequence[Relation], chunks: ChunkMap, notes: Counter[str]
) -> tuple[Triple, ...]:
    """The triples of the relations between entities with names."""
    named_relations = [
        relation
        for relation in relations
        if entity_key(relation.head) and entity_key(relation.tail)
    ]
    notes["relations of blank entities, left out"] = len(relations) - len(
        named_relations
    )
    triples: list[Triple] = []
    strengths = strengths_of([relation.weight for relation in named_relations], notes)
    for relation, strength in zip(named_relations, strengths, strict=True):
        passages = chunks.passages(
            relation.chunks, [relation.head, relation.tail], "relations", notes
        )
        notes["relations of no known passage, kept without one"] += not passages
        fact = relation.head, relation.name or "related to", relation.tail
        triples += (
            Triple(*fact, passage, strength, description=relation.description)
            for passage in passages or [""]
        )
    return tuple(triples)


@dataclass(frozen=True)
class ChunkMap:
    """The passages of the chunks of an export; `rows` : chunk id -> corpus rows, ascending, or none."""

    corpus: Corpus
    rows: Mapping[str, Sequence[int]]

    @classmethod
    def of(
        cls, chunks: Mapping[str, str], corpus: Corpus, file: Path, notes: Counter[str]
    ) -> ChunkMap:
        """The map of the chunks of a file.

        `chunks` : id -> text. `notes` gets the numbers of chunks by the way in which their passages were
        found, and the percentage of the words of aligned chunks that passages have. DataError: no chunk has
        a passage.
        """
        rows = _equal_passages(chunks, corpus)
        notes["chunks that are passages"] = len(rows)
        other_chunks = {id_: text for id_, text in chunks.items() if id_ not in rows}
        if other_chunks:
            aligned, percent = _aligned_passages(other_chunks, corpus)
            notes["chunks laid on passages by the words that they share in order"] = (
                len(aligned)
            )
            notes["percent of the words of other chunks that passages have"] = percent
            rows |= aligned
        if not rows:
            first = next(
                (f" (first: {id_!r}, {text[:60]!r})" for id_, text in chunks.items()),
                "",
            )
            raise DataError(
                f"{file}: none of {len(chunks)} chunks shares its words with a passage of the corpus{first}. "
                "Load the corpus that the export was made from."
            )
        placed_rows = {row for chunk_rows in rows.values() for row in chunk_rows}
        notes["chunks outside the corpus"] = len(chunks) - len(rows)
        notes["passages in no chunk"] = len(corpus) - len(placed_rows)
        return cls(corpus, {id_: sorted(rows.get(id_, ())) for id_ in chunks})

    def passages(
        self,
        chunks: Iterable[str],
        names: Sequence[str],
        kind: str,
        notes: Counter[str],
    ) -> list[str]:
        """The ids of the passages of some chunks, by row.

        Of the passages of one chunk, those with the most of `names` count; all of them if none has a name.
        `notes` counts such chunks, and chunks that the export lacks, under a text that begins with `kind`.
        """
        rows: set[int] = set()
        for chunk in chunks:
            if chunk not in self.rows:
                notes[f"{kind} of chunks whose text the export lacks"] += 1
            elif len(self.rows[chunk]) < 2:
                rows.update(self.rows[chunk])
            else:
                n_names = [self._count_names(row, names) for row in self.rows[chunk]]
                notes[
                    f"{kind} given to every passage of their chunk, as none has the names"
                ] += not any(n_names)
                most = max(n_names)
                rows.update(
                    row
                    for row, count in zip(self.rows[chunk], n_names, strict=True)
                    if count == most
                )
        return [self.corpus.ids[row] for row in sorted(rows)]

    def _count_names(self, row: int, names: Sequence[str]) -> int:
        """The number of names that a passage contains, by normalised words."""
        return sum(f" {normalise(name)} " in self._folded[row] for name in names)

    @cached_property
    def _folded(self) -> list[str]:
        """The normalised contents of each passage between blanks."""
        return [f" {normalise(contents)} " for contents in self.corpus.contents]


def _equal_passages(chunks: Mapping[str, str], corpus: Corpus) -> dict[str, list[int]]:
    """Chunk id -> the rows of the passages with this id, else with its text, with or without title.

    A chunk without such a passage is left out. `chunks` : id -> text.
    """
    texts = corpus.table["text"].to_pylist()
    # The keys of the inner dictionaries are an ordered set of rows.
    rows_of_text: defaultdict[str, dict[int, None]] = defaultdict(dict)
    for row, (text, contents) in enumerate(zip(texts, corpus.contents, strict=True)):
        rows_of_text[_single_spaced(text)][row] = None
        rows_of_text[_single_spaced(contents)][row] = None
    row_of = {id_: row for row, id_ in enumerate(corpus.ids)}
    equal: dict[str, list[int]] = {}
    for id_, text in chunks.items():
        spaced = _single_spaced(text)
        if id_ in row_of:
            equal[id_] = [row_of[id_]]
        elif spaced in rows_of_text:
            equal[id_] = list(rows_of_text[spaced])
    return equal


def _single_spaced(text: str) -> str:
    """The words of a text, joined by single spaces."""
    return " ".join(text.split())


def _aligned_passages(
    chunks: Mapping[str, str], corpus: Corpus
) -> tuple[dict[str, list[int]], int]:
    """Chunk id -> the rows of the passages in it by `align`, and the percentage of placed words.

    A chunk without a passage is left out. `chunks` : id -> text.
    """
    ids = list(chunks)
    aligned = align(list(chunks.values()), corpus.table["text"].to_pylist())
    rows: defaultdict[str, list[int]] = defaultdict(list)
    for chunk, row in zip(
        aligned.chunks.tolist(), aligned.passages.tolist(), strict=True
    ):
        rows[ids[chunk]].append(row)
    return dict(rows), round(100 * aligned.n_placed / max(aligned.n_words, 1))
