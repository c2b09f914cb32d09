"""An `Extraction` and its corpus -> the tables of a graph: columns of triples, and adjacency.

Two names are one entity if their normal forms (`text.normalise`) are equal. A name with an empty
normal form ("++") is its stripped spelling. Entities are numbered by first appearance: the source's
entity records, then the ends of the triples, then the mentions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.knowledge.graph.csr import (
    Codes,
    Columns,
    Incidence,
    Offsets,
    incidence,
    offsets,
)
from kg2rag.text.normalisation import entity_key
from kg2rag.types import Corpus, Triple

Weights = NDArray[np.float32]
SMALLEST = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, eq=False)
class TripleTable(Columns):
    """The triples as columns, (n_triples,) each.

    Heads and tails are codes of entities; relations and descriptions are indices into the graph's
    lists, 0 for no description; passages are corpus rows, -1 if none states the triple; strengths are
    in (0, 10], confidences in (0, 1].
    """

    heads: Codes
    relations: Codes
    tails: Codes
    passages: Codes
    strengths: Weights
    confidences: Weights
    descriptions: Codes

    def __len__(self) -> int:
        return len(self.heads)

    def take(self, index: NDArray[np.integer]) -> TripleTable:
        """The triples at some indices, in that order."""
        return TripleTable(*(column[index] for column in vars(self).values()))

    def distinct(self) -> TripleTable:
        """The distinct triples in order of appearance.

        Each has the maximum strength and confidence of its duplicates and their first description.
        """
        import pandas as pd  # slow to import, and loading a data set does not need it

        frame = pd.DataFrame(vars(self))
        # An empty description does not count as the first one.
        frame["descriptions"] = frame["descriptions"].where(frame["descriptions"] > 0)
        aggregation = {
            "strengths": "max",
            "confidences": "max",
            "descriptions": "first",
        }
        groups = frame.groupby(["heads", "relations", "tails", "passages"], sort=False)
        distinct = groups.agg(aggregation).reset_index()
        dtypes = {"strengths": np.float32, "confidences": np.float32}
        columns = {
            name: distinct[name].fillna(0).to_numpy(dtypes.get(name, np.int32))
            for name in vars(self)
        }
        return TripleTable(
            **{name: np.array(column) for name, column in columns.items()}
        )


def factorize(values: NDArray[Any]) -> tuple[Codes, list[Any]]:
    """The code of each value, by first appearance, and the distinct values in that order."""
    import pandas as pd

    codes, distinct = pd.factorize(values)
    return codes.astype(np.int32), distinct.tolist()


def renumber_descriptions(
    triples: TripleTable, descriptions: Sequence[str]
) -> tuple[TripleTable, tuple[str, ...]]:
    """The triples and the descriptions that they use, numbered by first appearance after ""."""
    codes, order = factorize(np.append(np.int32(0), triples.descriptions))
    return replace(triples, descriptions=codes[1:]), tuple(
        descriptions[code] for code in order
    )


@dataclass(frozen=True, eq=False)
class Adjacency(Columns):
    """The triples at each entity, in both directions: a slot per triple and end, one for a loop.

    The slots of an entity are ordered by (-strength, triple), so that the first slot of a neighbour
    is its strongest triple.

    Per slot, (n_slots,): `neighbours`, the entity at the other end, `triples`, the triple, and
    `along`, whether it leads from head to tail.
    """

    indptr: Offsets
    neighbours: Codes
    triples: Codes
    along: NDArray[np.bool_]

    @classmethod
    def of(cls, triples: TripleTable, n_entities: int) -> Adjacency:
        """The adjacency of a triple table."""
        indexes = np.arange(len(triples), dtype=np.int32)
        has_way_back = triples.heads != triples.tails
        entities = np.concatenate([triples.heads, triples.tails[has_way_back]])
        others = np.concatenate([triples.tails, triples.heads[has_way_back]])
        numbers = np.concatenate([indexes, indexes[has_way_back]])
        along = np.arange(len(entities)) < len(triples)
        order = np.lexsort((numbers, -triples.strengths[numbers], entities))
        return cls(
            offsets(entities, n_entities), others[order], numbers[order], along[order]
        )


def collect(extraction: Extraction, corpus: Corpus) -> dict[str, Any]:
    """The fields of the `KnowledgeGraph` of an extraction, by name, without the passage ids."""
    records = extraction.entities
    names = [record.name for record in records]
    for triple in extraction.triples:
        names += (triple.head, triple.tail)
    n_before_mentions = len(names)
    names += [mention.entity for mention in extraction.mentions]
    codes, spellings = _number_entities(names)
    record_codes, end_codes, mention_codes = np.split(
        codes, [len(records), n_before_mentions]
    )
    table, relations, descriptions = _triple_table(
        extraction.triples, end_codes.reshape(-1, 2), corpus
    )
    triples, triple_descriptions = renumber_descriptions(table.distinct(), descriptions)
    rows = _rows(extraction.mentions, corpus)
    mentions = incidence(mention_codes, rows, np.ones_like(rows), len(spellings))
    notes = Counter(extraction.notes)
    notes["exact duplicate triples merged in the graph"] += len(table) - len(triples)
    notes["entity records merged in the graph"] += len(records) - len(
        np.unique(record_codes)
    )
    return {
        **_entity_columns(spellings, records, record_codes),
        "relations": tuple(relations),
        "triple_descriptions": triple_descriptions,
        "triples": triples,
        "mentions": add_mentions(mentions, triples, 1),
        "notes": {
            cause: count
            for cause, count in notes.items()
            if count or cause in extraction.notes
        },
    }


def _number_entities(names: Sequence[str]) -> tuple[Codes, list[str]]:
    """The entity number of each name, and the first spelling of each entity.

    ValueError: a blank name.
    """
    # Each distinct spelling is normalised once: names repeat thousands of times.
    spelling_codes, spellings = factorize(np.array(names, dtype=object))
    keys = [entity_key(spelling) for spelling in spellings]
    if "" in keys:
        name = spellings[keys.index("")]
        raise ValueError(
            f"An entity needs a name, not {name!r}. Drop it in the extractor, and count it in `notes`."
        )
    entity_codes, _ = factorize(np.array(keys, dtype=object))
    first = np.unique(entity_codes, return_index=True)[1].tolist()
    return entity_codes[spelling_codes], [spellings[index].strip() for index in first]


def _entity_columns(
    names: Sequence[str], records: Sequence[Entity], codes: Codes
) -> dict[str, tuple[Any, ...]]:
    """The names, first types, first descriptions and all aliases of the entities, by field.

    `codes` are the entities of the records.
    """
    types = [""] * len(names)
    descriptions = [""] * len(names)
    aliases: list[tuple[str, ...]] = [()] * len(names)
    for code, record in zip(codes.tolist(), records, strict=True):
        types[code] = types[code] or record.type
        descriptions[code] = descriptions[code] or record.description
        aliases[code] = tuple(dict.fromkeys((*aliases[code], *record.aliases)))
    columns = {
        "names": names,
        "types": types,
        "descriptions": descriptions,
        "aliases": aliases,
    }
    return {name: tuple(column) for name, column in columns.items()}


def add_mentions(mentions: Incidence, triples: TripleTable, sign: int) -> Incidence:
    """The mentions with those of both ends of some triples added (sign 1) or subtracted (-1)."""
    stated = triples.passages >= 0
    owners = np.concatenate(
        [mentions.owners, triples.heads[stated], triples.tails[stated]]
    )
    rows = np.concatenate([mentions.others, np.tile(triples.passages[stated], 2)])
    counts = np.concatenate(
        [mentions.counts, np.full(len(rows) - len(mentions.others), sign)]
    )
    return incidence(owners, rows, counts, len(mentions.indptr) - 1)


def _triple_table(
    triples: Sequence[Triple], ends: Codes, corpus: Corpus
) -> tuple[TripleTable, list[str], list[str]]:
    """The triples as columns, and their relations and descriptions in order of appearance."""
    relation_texts = [triple.relation for triple in triples]
    relations, relation_names = factorize(np.array(relation_texts, dtype=object))
    texts = ["", *(triple.description.strip() for triple in triples)]
    descriptions, description_texts = factorize(np.array(texts, dtype=object))
    table = TripleTable(
        heads=np.ascontiguousarray(ends[:, 0]),
        relations=relations,
        tails=np.ascontiguousarray(ends[:, 1]),
        passages=_rows(triples, corpus),
        strengths=_weights([triple.strength for triple in triples]),
        confidences=_weights([triple.confidence for triple in triples]),
        descriptions=descriptions[1:],
    )
    return table, relation_names, description_texts


def _weights(values: Sequence[float]) -> Weights:
    """Positive numbers as float32, none rounded to 0."""
    return np.maximum(np.array(values, dtype=np.float64), SMALLEST).astype(np.float32)


def _rows(statements: Sequence[Triple] | Sequence[Mention], corpus: Corpus) -> Codes:
    """The corpus row of the passage of each statement, (n,); -1 for a triple without a passage.

    ValueError: the corpus lacks a passage.
    """
    row_of = {id_: row for row, id_ in enumerate(corpus.ids)}
    for statement in statements:
        is_stated = isinstance(statement, Mention) or statement.passage_id
        if is_stated and statement.passage_id not in row_of:
            raise ValueError(
                f"{statement} names passage {statement.passage_id!r}, which the corpus lacks (it has {len(corpus):,}, "
                f"such as {corpus.ids[0]!r}). Were extraction and corpus made from the same data?"
            )
    rows = [row_of.get(statement.passage_id, -1) for statement in statements]
    return np.array(rows, dtype=np.int32)
