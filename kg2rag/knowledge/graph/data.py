"""`KnowledgeGraph`: the triples and mentions of a corpus as arrays, with sizes and lookup.

Functions over a graph in other modules are also its methods; those modules import it only for type
checkers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kg2rag.extraction import Extraction
from kg2rag.knowledge.graph.csr import Codes, Incidence, Offsets, offsets
from kg2rag.knowledge.graph.graph_io import read, save, to_networkx
from kg2rag.knowledge.graph.neighbourhood import ego, induced, neighbourhood, neighbours
from kg2rag.knowledge.graph.perturbation import perturbed
from kg2rag.knowledge.graph.report import describe, report
from kg2rag.knowledge.graph.resolution import resolve
from kg2rag.knowledge.graph.tables import Adjacency, TripleTable, collect
from kg2rag.text.initials import spellings_of_initials
from kg2rag.text.normalisation import entity_key, normalise, unstroked
from kg2rag.types import Corpus, IntArray, Triple


@dataclass(frozen=True, eq=False, repr=False)
class KnowledgeGraph:
    """Entities, the triples between them, and the passages that name them; immutable.

    Graphs with equal contents are equal.

    Entities, triples and passages are numbered from 0: an entity by first appearance (its *code*),
    a triple in the order given, a passage by its row in the corpus. Make one with `build` or
    `load`. No method changes the graph: those that derive a graph return another.

    Attributes
    ----------
    names, types, descriptions, aliases : (n_entities,) the first spelling of each entity, and the source's type,
        description and aliases; "" and () if it has none.
    relations : the distinct relations, in order of appearance.
    triple_descriptions : "", for no description, then the distinct descriptions, in order of appearance.
    triples : the triples as columns.
    mentions : entity -> corpus rows, with counts. Every mention and both ends of every triple count once.
    passage_ids : the corpus's ids, by row; shared, never copied.
    notes : the numbers of cleaned, merged and dropped items, by cause.
    """

    names: tuple[str, ...]
    types: tuple[str, ...]
    descriptions: tuple[str, ...]
    aliases: tuple[tuple[str, ...], ...]
    relations: tuple[str, ...]
    triples: TripleTable
    mentions: Incidence
    passage_ids: Sequence[str]
    triple_descriptions: tuple[str, ...] = ("",)
    notes: Mapping[str, int] = field(default_factory=dict)
    # A cache: strategies read the same few triples repeatedly.
    _written: dict[int, Triple] = field(init=False, default_factory=dict)

    neighbours = neighbours
    neighbourhood = neighbourhood
    ego = ego
    subgraph = induced
    describe = describe
    report = report
    resolve = resolve
    perturb = perturbed
    to_networkx = to_networkx
    save = save

    @classmethod
    def build(cls, extraction: Extraction, corpus: Corpus) -> KnowledgeGraph:
        """The graph of an extraction from a corpus; an empty extraction makes an empty graph.

        Exact duplicates (head, relation, tail and passage) become one triple with the greatest
        strength and confidence among them and the first description, counted in `notes`.
        ValueError: a triple or mention names a passage that the corpus lacks, or an entity without
        a name.
        """
        return cls(passage_ids=corpus.ids, **collect(extraction, corpus))

    @classmethod
    def load(cls, directory: Path | str, corpus: Corpus) -> KnowledgeGraph:
        """Read what `save` wrote, over the corpus that the graph was built on.

        FileNotFoundError: the directory lacks one of the files. DataError: one is damaged, has
        other columns, or names an entity that `entities.parquet` lacks, or a passage that the
        corpus lacks.
        """
        return cls(passage_ids=corpus.ids, **read(Path(directory), corpus))

    @property
    def n_entities(self) -> int:
        """The number of entities, in triples or not."""
        return len(self.names)

    @property
    def n_relations(self) -> int:
        """The number of distinct relations."""
        return len(self.relations)

    @property
    def n_triples(self) -> int:
        """The number of triples."""
        return len(self.triples)

    @property
    def n_mentions(self) -> int:
        """The number of pairs of an entity and a passage that names it."""
        return len(self.mentions.others)

    @property
    def n_passages(self) -> int:
        """The number of passages of the corpus, named or not."""
        return len(self.passage_ids)

    def __repr__(self) -> str:
        return (
            f"KnowledgeGraph({self.n_entities:,} entities, {self.n_relations:,} relations, {self.n_triples:,} triples, "
            f"{self.n_mentions:,} mentions, {self.n_passages:,} passages)"
        )

    @cached_property
    def code_of(self) -> dict[str, int]:
        """Key -> entity code, for names, aliases, and both in other spellings.

        Those are without strokes ("Lodz" for "Łódź"), and with other blanks between initials ("JRR
        Tolkien" for "J.R.R. Tolkien").

        If several entities have one key, names come before aliases, and the first entity counts.
        """
        codes = {entity_key(name): code for code, name in enumerate(self.names)}
        for code, aliases in enumerate(self.aliases):
            for alias in aliases:
                codes.setdefault(entity_key(alias), code)
        for key, code in list(codes.items()):
            codes.setdefault(unstroked(key), code)
        for code, spellings in enumerate(zip(self.names, self.aliases, strict=True)):
            name, aliases = spellings
            for spelling in (name, *aliases):
                for key in spellings_of_initials(spelling):
                    codes.setdefault(key, code)
        return codes

    def find(self, name: str) -> int | None:
        """The code of an entity by its name, else by an alias, in any spelling; None if unknown.

        An alias that several entities claim belongs to the first of them.
        """
        return self.code_of.get(entity_key(name))

    def entity(self, name: str) -> int:
        """The code of an entity, as `find`; KeyError suggests the nearest names."""
        code = self.find(name)
        if code is not None:
            return code
        from rapidfuzz import process

        nearest = [
            match[0]
            for match in process.extract(name, self.names, processor=normalise, limit=3)
        ]
        raise KeyError(
            f"Unknown entity {name!r}. The nearest are {', '.join(map(repr, nearest)) or 'none: it is empty'}."
        )

    def relations_among(self, names: Iterable[str]) -> NDArray[np.bool_]:
        """Whether each relation has one of these names, in any spelling, (n_relations,).

        ValueError: the graph lacks one.
        """
        keys = [entity_key(relation) for relation in self.relations]
        name_of = {entity_key(name): name for name in names}
        for key, name in name_of.items():
            if key not in keys:
                known_keys = (
                    ", ".join(map(repr, sorted(set(keys) - {""})[:10])) or "none at all"
                )
                raise ValueError(
                    f"The graph has no relation {name!r}. Known, of {len(keys)}: {known_keys}."
                )
        return np.array([key in name_of for key in keys], dtype=bool)

    def triple(self, index: int) -> Triple:
        """The triple at `index`, with names instead of codes; its passage may be ""."""
        if index not in self._written:
            table = self.triples
            passage = int(table.passages[index])
            self._written[index] = Triple(
                head=self.names[table.heads[index]],
                relation=self.relations[table.relations[index]],
                tail=self.names[table.tails[index]],
                passage_id=self.passage_ids[passage] if passage >= 0 else "",
                # Through text: the shortest decimal of a float32, so that 0.9 remains 0.9.
                strength=float(str(table.strengths[index])),
                confidence=float(str(table.confidences[index])),
                description=self.triple_descriptions[table.descriptions[index]],
            )
        return self._written[index]

    def triple_texts(self) -> list[str]:
        """The triples as "head relation tail: description", for encoders."""
        table = self.triples
        columns = (table.heads, table.relations, table.tails, table.descriptions)
        texts = []
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for head, relation, tail, number in rows:
            text = f"{self.names[head]} {self.relations[relation]} {self.names[tail]}"
            description = self.triple_descriptions[number]
            texts.append(f"{text}: {description}" if description else text)
        return texts

    @cached_property
    def adjacency(self) -> Adjacency:
        """The triples as an adjacency of entities, in both directions."""
        return Adjacency.of(self.triples, self.n_entities)

    @cached_property
    def mentioned(self) -> Incidence:
        """Corpus row -> entities, with counts: `mentions` transposed."""
        return self.mentions.transposed(self.n_passages)

    @cached_property
    def stated(self) -> tuple[Offsets, Codes]:
        """Corpus row -> the triples that the passage states, as (indptr, triples)."""
        stating = np.flatnonzero(self.triples.passages >= 0)
        rows = self.triples.passages[stating]
        triples = stating[np.argsort(rows, kind="stable")].astype(np.int32)
        return offsets(rows, self.n_passages), triples

    @cached_property
    def mention_counts(self) -> IntArray:
        """The number of mentions of each entity in the corpus, (n_entities,)."""
        totals = np.bincount(
            self.mentions.owners,
            weights=self.mentions.counts,
            minlength=self.n_entities,
        )
        return totals.astype(np.int64)

    @cached_property
    def degrees(self) -> IntArray:
        """The number of triples of each entity, (n_entities,)."""
        return np.diff(self.adjacency.indptr)

    @cached_property
    def entity_types(self) -> tuple[str, ...]:
        """The distinct types of the entities, sorted, without ""."""
        return tuple(sorted(set(self.types) - {""}))

    @cached_property
    def fingerprint(self) -> str:
        """The sha256 of everything but the notes; graphs are equal if their fingerprints are."""
        digest = hashlib.sha256()
        for texts in (
            self.names,
            self.types,
            self.descriptions,
            self.aliases,
            self.relations,
            tuple(self.passage_ids),
        ):
            digest.update(repr(texts).encode())
        table, mentions = self.triples, self.mentions
        codes = (
            table.heads,
            table.relations,
            table.tails,
            table.passages,
            mentions.others,
            mentions.counts,
        )
        for array in (*codes, table.strengths, table.confidences, mentions.indptr):
            digest.update(array.tobytes())
        # Graphs without descriptions keep their former fingerprint.
        if table.descriptions.any():
            descriptions = [
                self.triple_descriptions[code] for code in table.descriptions.tolist()
            ]
            digest.update(repr(descriptions).encode())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KnowledgeGraph):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)
