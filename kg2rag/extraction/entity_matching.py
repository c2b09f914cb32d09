"""A graph in whatever shape people have it -> an extractor, whose entities are linked by name to the passages.

Of a networkx graph, a list of triples, a DataFrame or a file of either, provenance is kept where it is there. An entity
that no passage is known to name is looked for in all of them, as titles are; a triple without a passage gets the first
one that names both its ends. Ours.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_array

from kg2rag.extraction import Extraction, Extractor, Mention
from kg2rag.extraction.importers.networkx_graph import extraction_of_networkx, read_graphml
from kg2rag.extraction.importers.triples import COLUMNS, FORMATS, RANGES, TriplesFile
from kg2rag.extraction.sources import GivenExtraction
from kg2rag.text.normalisation import JoinedTexts, Lexicon, entity_key, normalise
from kg2rag.text.records import DataError
from kg2rag.types import Corpus, Triple
from kg2rag.types.coerce_corpus import plain

AT_ONCE = 10_000  # passages that are searched together


@dataclass(frozen=True)
class EntityMatching:
    """What a source has, linked by name where it does not say which passages it is of."""

    source: Extractor

    @property
    def fingerprint(self) -> str:
        """That of the source."""
        return f"linked-1, {self.source.fingerprint}"

    def extract(self, corpus: Corpus) -> Extraction:
        """The source's extraction with the mentions found; `notes` counts the entities that were linked, and were not.

        DataError where no entity at all is of any passage.
        """
        found = self.source.extract(corpus)
        named = {mention.entity for mention in found.mentions}  # names repeat by the thousand
        named |= {end for triple in found.triples if triple.passage_id for end in (triple.head, triple.tail)}
        placed = set(map(entity_key, named))
        spellings = {name: name for triple in found.triples for name in (triple.head, triple.tail)}
        spellings |= {entity.name: entity.name for entity in found.entities}
        for entity in found.entities:
            spellings |= {alias: entity.name for alias in entity.aliases if alias not in spellings}
        wanted = {spelling: name for spelling, name in spellings.items() if entity_key(name) not in placed}
        names = [name for name in wanted if normalise(name)]
        lexicon, contents, mentions = Lexicon([normalise(name) for name in names], names), corpus.streamed_contents, []
        for start in range(0, len(corpus), AT_ONCE):
            hits = lexicon.matches(JoinedTexts(contents[start : start + AT_ONCE]))
            pairs = zip(hits.codes.tolist(), hits.texts.tolist(), strict=True)
            mentions += [Mention(wanted[names[code]], corpus.ids[start + row]) for code, row in pairs]
        if not placed and not mentions:
            entities = list(dict.fromkeys(spellings.values()))
            raise DataError(
                f"The graph cannot be linked to the passages: none of its {len(entities)} entities, such as "
                f"{', '.join(map(repr, entities[:3]))}, is named in any of {len(corpus)}. Are the names spelled as in "
                "the texts? Else give triples a passage_id."
            )
        linked = {mention.entity for mention in mentions}
        notes = dict(found.notes) | {
            "entities linked by name": len(linked),
            "entities that no passage names": len(set(wanted.values()) - linked),
        }
        mentions = [*found.mentions, *mentions]
        return Extraction(_placed(found.triples, mentions, corpus), tuple(mentions), found.entities, notes, found.raw)


def _placed(triples: Sequence[Triple], mentions: Sequence[Mention], corpus: Corpus) -> tuple[Triple, ...]:
    """The triples, those without a passage with the first that names both their ends, where there is one."""
    lacking = [at for at, triple in enumerate(triples) if not triple.passage_id]
    if not lacking or not mentions:
        return tuple(triples)
    names = pa.array((mention.entity for mention in mentions), pa.string()).dictionary_encode()
    keys = pa.array(map(entity_key, names.dictionary.to_pylist()), pa.string()).dictionary_encode()
    known = {key: code for code, key in enumerate(keys.dictionary.to_pylist())}
    ids = pa.array((mention.passage_id for mention in mentions), pa.string())
    # A passage that the corpus lacks is refused where the graph is built.
    rows = pc.fill_null(pc.index_in(ids, value_set=pa.array(corpus.ids, pa.string())), 0).to_numpy()
    cells = keys.indices.to_numpy()[names.indices.to_numpy()], rows
    naming = csr_array((np.ones(len(rows), dtype=bool), cells), shape=(len(known) + 1, len(corpus)))  # the last: none
    ends = [(triples[at].head, triples[at].tail) for at in lacking]
    heads, tails = np.array([[known.get(entity_key(end), len(known)) for end in pair] for pair in ends]).T
    both = naming[heads].multiply(naming[tails]).tocsr()
    both.sort_indices()
    placed = list(triples)
    for at in np.flatnonzero(np.diff(both.indptr)).tolist():
        passage = corpus.ids[both.indices[both.indptr[at]]]
        placed[lacking[at]] = replace(placed[lacking[at]], passage_id=passage)
    return tuple(placed)


def graph_of(given: object) -> EntityMatching | None:
    """The source of a networkx graph, an extraction, triples, a DataFrame or a file; None of anything else.

    Triples are `Triple`s, (head, relation, tail) or dicts. A file is .graphml, or a table of triples.
    """
    if isinstance(given, str | Path):
        file = Path(given).expanduser()
        if file.suffix not in (".graphml", *FORMATS) or not file.is_file():
            return None
        if file.suffix != ".graphml":
            table = TriplesFile(file)
            return _table((row for _, row in table.records()), table.entities)
        given = read_graphml(file)
    if (networkx := sys.modules.get("networkx")) is not None and isinstance(given, networkx.Graph):
        given = extraction_of_networkx(given)
    elif hasattr(given, "to_dict") and hasattr(given, "columns"):
        return _table(given.to_dict("records"))
    elif isinstance(given, list | tuple) and given:
        if all(isinstance(one, Mapping) for one in given):
            return _table(given)
        if all(isinstance(one, Triple) for one in given):
            given = Extraction(tuple(given))
        elif all(isinstance(one, list | tuple) and len(one) == 3 for one in given):
            given = Extraction(tuple(Triple(str(h), str(r), str(t), "") for h, r, t in given))
    return EntityMatching(GivenExtraction(given)) if isinstance(given, Extraction) else None


def _table(rows: Iterable[Mapping[str, Any]], entities: Path | None = None) -> EntityMatching:
    """Rows of triples, in which a passage may be missing, and all but weights is text."""
    weights = {column for field in RANGES for column in COLUMNS[field]}
    known = {column for columns in COLUMNS.values() for column in columns}
    kept = []
    for row in rows:
        record: dict[str, Any] = {} if set(COLUMNS["passage_id"]) & set(map(str, row)) else {"passage_id": ""}
        for column, value in ((str(column), value) for column, value in row.items() if column in known):
            missing = value is None or value != value
            record[column] = None if missing else value if column in weights else str(plain(value))
        kept.append(record)
    return EntityMatching(TriplesFile(rows=tuple(kept), entities=entities))
