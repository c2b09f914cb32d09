"""`KnowledgeGraph`: what a corpus's triples and mentions say, as arrays that every graph strategy reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kg2rag.corpus import Corpus
from kg2rag.extraction import Extraction
from kg2rag.graph.build import collect, key_of
from kg2rag.graph.neighbourhood import Labels, Neighbour, Rules, layers, walked
from kg2rag.graph.tables import Adjacency, Codes, Incidence, Offsets, TripleTable, adjacency
from kg2rag.text import normalise
from kg2rag.types import IntArray, Triple

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class KnowledgeGraph:
    """Entities, the triples between them and the passages that name them; immutable, equal where the contents are.

    Entities, triples and passages are numbered from 0: an entity by first appearance (its *code*), a triple in the
    order given, a passage by its row in the corpus. Make one with `build`, `load` or `from_networkx`.

    Attributes
    ----------
    names, types, descriptions, aliases : (n_entities,) the first spelling of each, and what the source said; "" and ()
        where it said nothing.
    relations : the distinct relations, in order of appearance.
    triples : the triples as columns.
    mentions : entity -> corpus rows, with counts. Every mention and both ends of every triple count one each.
    passage_ids : the corpus's ids, by row; shared, never copied.
    notes : what extraction and building cleaned, merged or dropped, by cause.
    """

    names: tuple[str, ...]
    types: tuple[str, ...]
    descriptions: tuple[str, ...]
    aliases: tuple[tuple[str, ...], ...]
    relations: tuple[str, ...]
    triples: TripleTable
    mentions: Incidence
    passage_ids: Sequence[str]
    notes: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def build(cls, extraction: Extraction, corpus: Corpus) -> KnowledgeGraph:
        """The graph of what an extractor found in a corpus; an empty extraction makes an empty graph.

        Exact duplicates (head, relation, tail and passage) become one triple with the greatest strength and
        confidence among them, counted in `notes`.

        Raises
        ------
        ValueError : a triple or mention names a passage that the corpus lacks, or an entity without a name.
        """
        parts = collect(extraction, corpus)
        return cls(
            names=tuple(parts.entities.names),
            types=tuple(parts.entities.types),
            descriptions=tuple(parts.entities.descriptions),
            aliases=tuple(parts.entities.aliases),
            relations=parts.relations,
            triples=parts.triples,
            mentions=parts.mentions,
            passage_ids=corpus.ids,
            notes=parts.notes,
        )

    # Sizes

    @property
    def n_entities(self) -> int:
        """How many entities there are."""
        return len(self.names)

    @property
    def n_relations(self) -> int:
        """How many distinct relations there are."""
        return len(self.relations)

    @property
    def n_triples(self) -> int:
        """How many triples there are."""
        return len(self.triples)

    @property
    def n_passages(self) -> int:
        """How many passages the corpus has, named by an entity or not."""
        return len(self.passage_ids)

    @property
    def n_mentions(self) -> int:
        """How many pairs of an entity and a passage that names it there are."""
        return len(self.mentions.others)

    def _sizes(self) -> dict[str, int]:
        kinds = ("entities", "relations", "triples", "mentions", "passages")
        return {kind: getattr(self, f"n_{kind}") for kind in kinds}

    def __repr__(self) -> str:
        return f"KnowledgeGraph({', '.join(f'{count:,} {kind}' for kind, count in self._sizes().items())})"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{kind}</th><td>{count:,}</td></tr>" for kind, count in self._sizes().items())
        notes = "".join(f"<tr><th>{escape(cause)}</th><td>{count:,}</td></tr>" for cause, count in self.notes.items())
        return f"<table><caption>KnowledgeGraph</caption>{rows}{notes}</table>"

    # Lookup

    @cached_property
    def _codes(self) -> dict[str, int]:
        codes = {key_of(name): code for code, name in enumerate(self.names)}
        for code, aliases in enumerate(self.aliases):
            for alias in aliases:
                codes.setdefault(key_of(alias), code)
        return codes

    def find(self, name: str) -> int | None:
        """The code of an entity by any spelling of its name, else by an alias; None where there is none.

        An alias that several entities claim belongs to the first of them.
        """
        return self._codes.get(key_of(name))

    def entity(self, name: str) -> int:
        """The code of an entity, as `find`; KeyError names the nearest entities."""
        if (code := self.find(name)) is not None:
            return code
        from rapidfuzz import process

        near = [match[0] for match in process.extract(name, self.names, processor=normalise, limit=3)]
        known = f"The nearest are {', '.join(map(repr, near))}." if near else "The graph is empty."
        raise KeyError(f"Unknown entity {name!r}. {known}")

    def triple(self, index: int) -> Triple:
        """The triple at `index`, with names in place of codes; its passage is "" where none states it."""
        table = self.triples
        passage = int(table.passages[index])
        return Triple(
            head=self.names[table.heads[index]],
            relation=self.relations[table.relations[index]],
            tail=self.names[table.tails[index]],
            passage_id=self.passage_ids[passage] if passage >= 0 else "",
            # By way of text: the shortest number that is this float32, so that 0.9 comes back as 0.9.
            strength=float(str(table.strengths[index])),
            confidence=float(str(table.confidences[index])),
        )

    def triples_of(self, entity: int) -> Codes:
        """The triples that the entity is an end of, ascending."""
        return np.sort(self.adjacency.triples[self.adjacency.indptr[entity] : self.adjacency.indptr[entity + 1]])

    def passages_of(self, entity: int) -> tuple[Codes, Codes]:
        """The corpus rows that name the entity, ascending, and how often each does."""
        return self.mentions.of(entity)

    def entities_of(self, row: int) -> tuple[Codes, Codes]:
        """The entities that a passage names, ascending, and how often it names each."""
        return self.mentioned.of(row)

    # Derived arrays

    @cached_property
    def adjacency(self) -> Adjacency:
        """Entity to entity, both ways."""
        return adjacency(self.triples, self.n_entities)

    @cached_property
    def mentioned(self) -> Incidence:
        """Corpus row -> entities, with counts: `mentions` the other way round."""
        return self.mentions.transposed(self.n_passages)

    @cached_property
    def stated(self) -> tuple[Offsets, Codes]:
        """Corpus row -> the triples that the passage states, as (indptr, triples): ascending within a passage."""
        from kg2rag.graph.reach import triples_by_passage

        return triples_by_passage(self.triples.passages, self.n_passages)

    @cached_property
    def mention_counts(self) -> IntArray:
        """(n_entities,) how often each entity is named in the whole corpus."""
        totals = np.zeros(self.n_entities, dtype=np.int64)
        np.add.at(totals, self.mentions.owners, self.mentions.counts)
        return totals

    @cached_property
    def degrees(self) -> IntArray:
        """(n_entities,) how many triples each entity is an end of."""
        return np.diff(self.adjacency.indptr)

    # Walking

    def neighbours(
        self,
        entities: Iterable[int],
        *,
        hops: int = 1,
        min_weight: float = 0.0,
        relation_types: Iterable[str] | None = None,
        limit: int | None = None,
        types: Iterable[str] | None = None,
    ) -> list[Neighbour]:
        """The entities within `hops` triples of the seeds, walked both ways; ordered by (hop, -weight, code).

        Every entity comes once, by its smallest hop from any seed, and the seeds themselves do not come. Its path
        lengthens the path of an entity one hop nearer by one triple. Of several, that with the greatest weight (the
        weakest strength on the path) stands, then that with the greatest sum of strengths, then that whose last
        triple came first.

        Parameters
        ----------
        entities : the seeds; repeated ones count once.
        hops : 1 to 3.
        min_weight : triples of less strength, 0 to 10, are not walked.
        relation_types : walk these relations alone; case and punctuation do not matter.
        limit : from each entity walk on to at most so many entities that no earlier hop reached, over its strongest
            triples (then the first in the graph). It bounds a hub's share, not the length of the result.
        types : reach, and so walk through, entities of these types alone; case and punctuation do not matter.

        Raises
        ------
        IndexError : no such entity. ValueError : an option out of range, or a relation or type that the graph lacks.
        """
        seeds = np.array(list(dict.fromkeys(entities)), dtype=np.int64)
        if ((seeds < 0) | (seeds >= self.n_entities)).any():
            raise IndexError(f"Entities {seeds.tolist()} are not all codes of a graph of {self.n_entities} entities.")
        allowed = None if relation_types is None else self._relation_labels.among(relation_types)
        unseen = np.ones(self.n_entities, bool) if types is None else self._type_labels.among(types)
        rules = Rules(hops, min_weight, allowed, limit)
        return walked(layers(self.adjacency, self.triples, seeds, unseen, rules), seeds)

    @cached_property
    def entity_types(self) -> tuple[str, ...]:
        """The distinct types of the entities, sorted; those without one left out."""
        return tuple(sorted(set(self.types) - {""}))

    @cached_property
    def _relation_labels(self) -> Labels:
        return Labels.of("relation", self.relations)

    @cached_property
    def _type_labels(self) -> Labels:
        return Labels.of("entity type", self.types)

    def subgraph(self, entities: Iterable[int]) -> KnowledgeGraph:
        """The graph of these entities, the triples between them and their mentions, over the same passages.

        Entities and triples keep their order and are numbered anew.
        """
        from kg2rag.graph.selection import induced

        return induced(self, entities)

    def ego(self, entity: int, *, hops: int = 1, limit: int | None = None) -> KnowledgeGraph:
        """The subgraph of an entity and its `neighbours`."""
        return self.subgraph([entity, *(near.entity for near in self.neighbours([entity], hops=hops, limit=limit))])

    # Elsewhere

    def describe(self, hubs: int = 5) -> pd.DataFrame:
        """Sizes, components, coverage and degrees; see `kg2rag.graph.statistics`."""
        from kg2rag.graph.statistics import describe

        return describe(self, hubs)

    def to_networkx(self, *, passages: bool = False) -> nx.MultiDiGraph:
        """The graph for networkx; see `kg2rag.graph.conversion`."""
        from kg2rag.graph.conversion import to_networkx

        return to_networkx(self, passages=passages)

    @classmethod
    def from_networkx(cls, graph: nx.Graph, corpus: Corpus) -> KnowledgeGraph:
        """A graph of networkx's as ours; see `kg2rag.graph.conversion`."""
        from kg2rag.graph.conversion import from_networkx

        return from_networkx(graph, corpus)

    def save(self, directory: Path | str) -> None:
        """Write the graph as Parquet files; see `kg2rag.graph.files`."""
        from kg2rag.graph.files import save

        save(self, Path(directory))

    @classmethod
    def load(cls, directory: Path | str, corpus: Corpus) -> KnowledgeGraph:
        """A graph that `save` wrote, over the corpus that it was built on."""
        from kg2rag.graph.files import load

        return load(Path(directory), corpus)

    @cached_property
    def fingerprint(self) -> str:
        """sha256 over everything but the notes: equal graphs over equal passage ids have equal fingerprints."""
        from kg2rag.graph.files import fingerprint

        return fingerprint(self)

    def __eq__(self, other: object) -> bool:
        return self.fingerprint == other.fingerprint if isinstance(other, KnowledgeGraph) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fingerprint)
