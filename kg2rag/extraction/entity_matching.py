"""A graph of any common form -> an extractor that matches its entities to the passages by name.

The input is a networkx graph, a list of triples, a DataFrame, a file of these, or the folder of a
tool. Its provenance is kept. An entity without a passage is searched in all passages, as titles
are; one that they never name with its capitals ("Machine Learning") counts without them. A triple
without a passage gets the first passage that names both ends. These rules are ours.
"""

from __future__ import annotations

import atexit
import bz2
import gzip
import lzma
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copyfileobj, rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from kg2rag.extraction import Extraction, Extractor, Mention
from kg2rag.extraction.importers import nearest_file, triple_record
from kg2rag.extraction.importers.graph_files import (
    READERS,
    GraphFile,
    is_graph_file,
)
from kg2rag.extraction.importers.graphrag import (
    CHUNKS,
    GRAPH,
    LightRAG,
    MicrosoftGraphRAG,
)
from kg2rag.extraction.importers.hipporag import HippoRAGOpenIE, is_openie
from kg2rag.extraction.importers.networkx_graph import extraction_of_networkx
from kg2rag.extraction.importers.node_tables import nodes_file, tables_of
from kg2rag.extraction.importers.saved import ABOUT, SavedGraph
from kg2rag.extraction.importers.triples import FORMATS, TriplesFile
from kg2rag.extraction.sources import GivenExtraction
from kg2rag.text.decoding import decode, guessed_encodings
from kg2rag.text.inflection import languages_of_names, lexicon_of
from kg2rag.text.normalisation import (
    FUNCTION_WORDS,
    Integers,
    JoinedTexts,
    entity_key,
    is_date_or_number,
    normalise,
)
from kg2rag.text.records import (
    SPREADSHEETS,
    DataError,
    as_csv,
    first_line,
    reading,
    sheets_of,
)
from kg2rag.types import Corpus, Triple, frame_of, python_value

if TYPE_CHECKING:
    import pandas as pd

BLOCK_PASSAGES = 10_000  # that are searched together
MIN_LETTERS = 4  # of a name that is found in lower case


@dataclass(frozen=True)
class EntityMatching:
    """The graph of a source; entities without provenance are matched to passages by name."""

    source: Extractor

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the source and of the matching."""
        return f"linked-2, {self.source.fingerprint}"

    def extract(self, corpus: Corpus) -> Extraction:
        """The source's extraction with the mentions; `notes` counts linked and unlinked entities.

        DataError: the passages name no entity, or only entities that are numbers.
        """
        extraction = self.source.extract(corpus)
        spellings = _name_by_spelling(extraction)
        located_keys = _keys_with_passages(extraction)
        unlocated = {
            spelling: name
            for spelling, name in spellings.items()
            if entity_key(name) not in located_keys
        }
        mentions, plain_mentions = _find_mentions(unlocated, corpus)
        plain = {mention.entity for mention in plain_mentions}
        linked = plain | {mention.entity for mention in mentions}
        # Ids are numbers, which a text may contain by chance.
        if not located_keys and all(map(str.isdecimal, linked)):
            entities = list(dict.fromkeys(spellings.values()))
            raise DataError(
                f"The graph cannot be linked to the passages: none of its {len(entities)} entities, such as "
                f"{', '.join(map(repr, entities[:3]))}, is a name in any of {len(corpus)}. Are the names spelled as in "
                "the texts? If they are ids, put the table of nodes beside that of edges, as nodes.csv and edges.csv. "
                "Else give triples a passage_id."
            )
        notes = dict(extraction.notes) | {
            "entities linked by name": len(linked),
            "entities linked by name in lower case only": len(plain),
            "entities that no passage names": len(set(unlocated.values()) - linked),
        }
        mentions = [*extraction.mentions, *mentions, *plain_mentions]
        triples = _with_passages(extraction.triples, mentions, corpus)
        return Extraction(
            triples, tuple(mentions), extraction.entities, notes, extraction.raw
        )


def _name_by_spelling(extraction: Extraction) -> dict[str, str]:
    """Spelling -> name of each entity; an alias that is the name of another entity is left out."""
    spellings = {
        name: name
        for triple in extraction.triples
        for name in (triple.head, triple.tail)
    }
    spellings |= {entity.name: entity.name for entity in extraction.entities}
    for entity in extraction.entities:
        for alias in entity.aliases:
            spellings.setdefault(alias, entity.name)
    return spellings


def _keys_with_passages(extraction: Extraction) -> set[str]:
    """The keys of the entities whose passages the source names."""
    # Keys are computed once for each distinct name: names repeat thousands of times.
    names = {mention.entity for mention in extraction.mentions}
    for triple in extraction.triples:
        if triple.passage_id:
            names |= {triple.head, triple.tail}
    return set(map(entity_key, names))


def _find_mentions(
    names: Mapping[str, str], corpus: Corpus
) -> tuple[list[Mention], list[Mention]]:
    """The mentions in all passages, and those in lower case of entities without any, see `_plain_codes`.

    `names` : spelling -> the name of its entity.
    """
    spellings = [spelling for spelling in names if normalise(spelling)]
    keys = [normalise(spelling) for spelling in spellings]
    entity_of = {name: code for code, name in enumerate(dict.fromkeys(names.values()))}
    entities = np.array([entity_of[names[spelling]] for spelling in spellings], int)
    contents = corpus.streamed_contents
    languages = languages_of_names(contents)
    lexicon = lexicon_of(keys, languages, spellings)
    is_plain = np.zeros(len(spellings), dtype=bool)
    is_plain[list(_plain_codes(spellings, languages))] = True
    is_linked = np.zeros(len(entity_of), dtype=bool)
    blocks: list[Integers] = []
    plain_blocks: list[Integers] = []
    for start in range(0, len(corpus), BLOCK_PASSAGES):
        block = JoinedTexts(contents[start : start + BLOCK_PASSAGES])
        candidates = lexicon.candidates(block)
        matches = candidates.matches()
        blocks.append(np.stack((entities[matches.codes], start + matches.texts)))
        is_linked[entities[matches.codes]] = True
        is_plain &= ~is_linked[entities]
        if is_plain.any():
            matches = candidates.matches(capitals=False)
            pairs = np.stack((entities[matches.codes], start + matches.texts))
            plain_blocks.append(pairs[:, is_plain[matches.codes]])
    # A later block may have named an entity with its capitals.
    plain_blocks = [pairs[:, ~is_linked[pairs[0]]] for pairs in plain_blocks]
    return (
        _mentions(blocks, list(entity_of), corpus),
        _mentions(plain_blocks, list(entity_of), corpus),
    )


def _mentions(
    blocks: Sequence[Integers], names: Sequence[str], corpus: Corpus
) -> list[Mention]:
    """The mentions in arrays, (2, n_mentions), of the codes of entities and the rows of passages."""
    return [
        Mention(names[code], corpus.ids[row])
        for pairs in blocks
        for code, row in pairs.T.tolist()
    ]


def _plain_codes(
    spellings: Sequence[str], languages: Mapping[str, str]
) -> frozenset[int]:
    """The indices of the spellings that may be names in lower case, as "Allopurinol".

    Each of their words has a capital at most at its beginning, and none is a function word, a month
    or a number. In German, capitals distinguish nouns ("Essen") from other words, so there are none.
    """
    if languages.get("latin") == "german":
        return frozenset()
    return frozenset(
        code
        for code, spelling in enumerate(spellings)
        if len(spelling) >= MIN_LETTERS
        and spelling != spelling.lower()
        and all(word[1:] == word[1:].lower() for word in spelling.split())
        and FUNCTION_WORDS.isdisjoint(normalise(spelling).split())
        and not is_date_or_number(normalise(spelling))
    )


def _with_passages(
    triples: Sequence[Triple], mentions: Sequence[Mention], corpus: Corpus
) -> tuple[Triple, ...]:
    """The triples; those without a passage get the first passage that names both ends."""
    unlocated = [index for index, triple in enumerate(triples) if not triple.passage_id]
    if not unlocated or not mentions:
        return tuple(triples)
    naming, code_of = _naming_matrix(mentions, corpus)
    empty_row = len(code_of)
    heads = np.array(
        [code_of.get(entity_key(triples[index].head), empty_row) for index in unlocated]
    )
    tails = np.array(
        [code_of.get(entity_key(triples[index].tail), empty_row) for index in unlocated]
    )
    co_mentions = naming[heads].multiply(naming[tails]).tocsr()
    co_mentions.sort_indices()
    located_triples = list(triples)
    for position in np.flatnonzero(np.diff(co_mentions.indptr)).tolist():
        passage = corpus.ids[co_mentions.indices[co_mentions.indptr[position]]]
        located_triples[unlocated[position]] = replace(
            located_triples[unlocated[position]], passage_id=passage
        )
    return tuple(located_triples)


def _naming_matrix(
    mentions: Sequence[Mention], corpus: Corpus
) -> tuple[csr_array, dict[str, int]]:
    """Whether each passage names each entity, (n_keys + 1, n_passages), and key of an entity -> row.

    The last row is empty, for the entities that no passage names.
    """
    import pandas as pd  # slow, and only graphs without provenance need it

    name_codes, names = pd.factorize(pd.Index([mention.entity for mention in mentions]))
    key_codes, keys = pd.factorize(names.map(entity_key))
    ids = pd.Index([mention.passage_id for mention in mentions])
    # Building the graph refuses a passage that the corpus lacks.
    rows = np.maximum(pd.Index(corpus.ids).get_indexer(ids), 0)
    shape = (len(keys) + 1, len(corpus))
    cells = (np.ones(len(rows), dtype=bool), (key_codes[name_codes], rows))
    return csr_array(cells, shape=shape), {key: code for code, key in enumerate(keys)}


def graph_of(value: object) -> Extractor | None:
    """The source of a networkx graph, extraction, triples, DataFrame, file or folder; else None.

    Triples are `Triple`s, (head, relation, tail) or dicts. A file is a table of triples, which may be
    a sheet of a spreadsheet, or a graph as GraphML, GEXF, GML or JSON; a folder is that of LightRAG,
    GraphRAG or `kg2rag build`.
    DataError: a file of another format.
    """
    if isinstance(value, str | Path):
        with guessed_encodings():  # noted when the source is read
            return _path_source(Path(value).expanduser())
    # A caller that has such a graph has loaded networkx.
    networkx = sys.modules.get("networkx")
    if networkx is not None and isinstance(value, networkx.Graph):
        return EntityMatching(GivenExtraction(extraction_of_networkx(value)))
    if (
        isinstance(value, list | tuple)
        and value
        and all(isinstance(triple, Triple) for triple in value)
    ):
        value = Extraction(tuple(value))
    if isinstance(value, Extraction):
        return EntityMatching(GivenExtraction(value))
    rows = _rows(value)
    return (
        None
        if rows is None
        else EntityMatching(TriplesFile(rows=rows, needs_passages=False))
    )


def _path_source(path: Path) -> Extractor | None:
    """The source of a file or folder; None if neither exists, since a text may name a source."""
    if path.is_dir():
        return _folder_source(path)
    if not path.is_file():
        return None
    suffix = path.suffix.lower()
    if suffix in PACKED:
        return _path_source(_unpacked(path))
    if suffix in SPREADSHEETS:
        return _path_source(_tables_of_workbook(path))
    if suffix == ".csv" and _SECTION.match(first_line(path)):
        return _path_source(_tables_of_sections(path))
    return _file_source(path)


def _file_source(path: Path) -> Extractor:
    """The source of a file, by its contents or its suffix; DataError: a file of another format."""
    suffix = path.suffix.lower()
    if path.name == GRAPH and path.with_name(CHUNKS).is_file():
        return LightRAG(path)
    if is_openie(path):
        return HippoRAGOpenIE(path)
    if is_graph_file(path):
        return EntityMatching(GraphFile(path))
    if suffix in FORMATS:
        return EntityMatching(TriplesFile(path, needs_passages=False))
    if suffix in REFUSED:
        raise DataError(f"{path}: {REFUSED[suffix]}")
    formats = ", ".join(dict.fromkeys((*READERS, *FORMATS, *SPREADSHEETS)))
    raise DataError(
        f"{path}: a graph is not read from {suffix or 'a file without a suffix'}. Known: {formats}."
    )


def _unpacked(path: Path) -> Path:
    """A copy of a compressed file without its compression, in a temporary folder."""
    file = _temporary_folder() / path.stem
    with (
        reading(path, "Is the file complete?"),
        PACKED[path.suffix.lower()](path, "rb") as packed,
        file.open("wb") as stream,
    ):
        copyfileobj(packed, stream)
    return file


def _tables_of_workbook(path: Path) -> Path:
    """The sheets of a spreadsheet as CSV: a file, or a temporary folder if several have cells."""
    with reading(path, "Is it a spreadsheet, and complete?"):
        tables = {
            name.replace("/", "_"): as_csv(_without_title(sheet))
            for name, sheet in sheets_of(path.read_bytes()).items()
        }
    tables = {name: table for name, table in tables.items() if table.strip()}
    folder = _temporary_folder() / path.name
    folder.mkdir()
    for name, table in tables.items():
        (folder / f"{name}.csv").write_bytes(table)
    return folder if len(tables) != 1 else folder / f"{next(iter(tables))}.csv"


def _without_title(sheet: pd.DataFrame) -> pd.DataFrame:
    """The rows of a sheet from the first with two cells on, which is the header below a title."""
    n_cells = (sheet.map(str) != "").sum(axis=1).to_numpy()
    return sheet.iloc[int(np.argmax(n_cells > 1)) :]


def _tables_of_sections(path: Path) -> Path:
    """The tables of a CSV file in a temporary folder, where "# ENTITIES" is above each, as in LightRAG's export."""
    _, *sections = _SECTION.split(decode(path.read_bytes(), path))
    folder = _temporary_folder() / path.name
    folder.mkdir()
    for name, table in zip(sections[::2], sections[1::2], strict=True):
        if table.strip():
            (folder / f"{name}.csv").write_text(table.strip() + "\n", encoding="utf-8")
    return folder


def _temporary_folder() -> Path:
    """A new folder that the program removes at its end."""
    folder = Path(mkdtemp(prefix="kg2rag-"))
    atexit.register(rmtree, folder, ignore_errors=True)
    return folder


def _folder_source(folder: Path) -> Extractor:
    """The source of a tool's folder, by a characteristic file, or of tables of edges and nodes."""
    for name, source in FOLDERS.items():
        file = nearest_file(folder, name)
        if file is not None:
            return source(file)
    tables = [file for file in sorted(folder.iterdir()) if nodes_file(file) is not None]
    if len(tables) == 1:
        return EntityMatching(GraphFile(tables[0]))
    if tables_of(folder):
        return EntityMatching(GraphFile(folder))
    contents = ", ".join((*FOLDERS, "tables of nodes and edges"))
    raise DataError(
        f"{folder}: no graph of a tool that is known here. Such a folder has {contents}."
    )


FOLDERS: Mapping[str, Callable[[Path], Extractor]] = {
    GRAPH: LightRAG,
    CHUNKS: lambda file: LightRAG(file.parent / GRAPH),
    "entities.parquet": lambda file: MicrosoftGraphRAG(file.parent),
    "create_final_entities.parquet": lambda file: MicrosoftGraphRAG(file.parent),
    "*text_units.parquet": lambda file: MicrosoftGraphRAG(file.parent),
    ABOUT: lambda file: SavedGraph(file.parent),
    "openie_results*.json": HippoRAGOpenIE,
    "property_graph_store.json": lambda file: EntityMatching(GraphFile(file)),
    "graph_store.json": lambda file: EntityMatching(GraphFile(file)),
}
"""Characteristic file of a folder -> builder of its source from that file."""
PACKED: Mapping[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
"""Suffix of a compressed file -> the function that opens it."""
_SECTION = re.compile(r"^# ([A-Z]+)\s*$", re.MULTILINE)
_ADJACENCY = (
    "a list of adjacent nodes is not read, since blanks divide its names and it has no relations. Write the graph as "
    "GraphML, for example by networkx or igraph."
)
_PICKLE = "a pickle can run code and is not read. Write the graph as GraphML (networkx.write_graphml)."
REFUSED: Mapping[str, str] = {
    **dict.fromkeys((".adjlist", ".multiline_adjlist", ".lgl"), _ADJACENCY),
    **dict.fromkeys((".pickle", ".pkl", ".gpickle"), _PICKLE),
    ".dump": "A dump of a database is not read. Export the graph, for example by apoc.export.json.all.",
    ".gdf": "GDF is not read. Export the graph from Gephi as GEXF or GraphML.",
}
"""Suffix of an unsupported format -> the reason and the alternative."""


def _rows(value: Any) -> tuple[Mapping[str, Any], ...] | None:
    """The records of triples in memory, with Python values; None for other objects."""
    frame = frame_of(value)
    if frame is not None:
        value = frame.rows(named=True)
    if not isinstance(value, list | tuple) or not value:
        return None
    records = list(map(triple_record, value))
    if None in records:
        return None
    return tuple(
        {str(name): python_value(cell) for name, cell in record.items()}
        for record in records
        if record
    )
