"""HippoRAG's OpenIE file -> triples and mentions of the corpus.

The file is one JSON object, `{"docs": [{"title", "text", "passage", "extracted_entities",
"extracted_triples"}, …]}`; `title` and `text` are missing in some versions, and count before
`passage` in others. A document is a chunk, see `exported`. Theirs: lists that are not three long,
and exact duplicates within a document, are dropped. Ours: so are triples with a blank or non-string
part, and the extracted entities, unused in HippoRAG 2, become mentions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from kg2rag.extraction import Extraction, Mention, TripleTexts
from kg2rag.extraction.importers import FileSource, noting_encodings
from kg2rag.extraction.importers.exported import ChunkMap
from kg2rag.extraction.importers.json_graph import read_json_values
from kg2rag.text.records import DataError, read_json, text, wrong
from kg2rag.types import Corpus, Triple


@dataclass(frozen=True)
class HippoRAGOpenIE(FileSource):
    """Triples and entities that HippoRAG's open information extraction found.

    Parameters
    ----------
    path : the file, such as openie_results_ner_gpt-3.5-turbo-1106.json.
    """

    kind: ClassVar[str] = "openie"
    wanted: ClassVar[str] = "HippoRAG's openie_results_*.json"

    @noting_encodings
    def extract(self, corpus: Corpus) -> Extraction:
        """The triples and entities of the file, in its order.

        A document gives them to all passages with its contents; of several passages in a document, those
        with the most of the names get them. `notes` counts dropped triples and names, how the passages of
        documents were found, and documents and passages without a counterpart. DataError: the corpus has
        no document of the file, or a record is malformed.
        """
        content = read_json(self.path)
        documents = content.get("docs") if isinstance(content, dict) else None
        if not isinstance(documents, list):
            raise DataError(
                f"{self.path}: no list 'docs' at the top. Is it one of HippoRAG's openie_results_*.json?"
            )
        notes: Counter[str] = Counter()
        records = {
            f"record {n}": self._read_document(document, n)
            for n, document in enumerate(documents, start=1)
        }
        chunks = ChunkMap.of(
            {record: document["passage"] for record, document in records.items()},
            corpus,
            self.path,
            notes,
        )
        triples: list[Triple] = []
        mentions: list[Mention] = []
        for record, document in records.items():
            for head, relation, tail in _facts(document["extracted_triples"], notes):
                passages = chunks.passages([record], [head, tail], "triples", notes)
                triples += (
                    Triple(head, relation, tail, passage_id=passage)
                    for passage in passages
                )
            for name in _names(document["extracted_entities"], notes):
                passages = chunks.passages([record], [name], "entities", notes)
                mentions += (Mention(name, passage) for passage in passages)
        return Extraction(tuple(triples), tuple(mentions), notes=notes)

    def _read_document(self, document: Any, number: int) -> Mapping[str, Any]:
        """The record of a document with its contents as `passage`; DataError: a missing or wrong field."""
        if not isinstance(document, dict):
            wrong(self.path, number, "document", document, "an object")
        if "title" in document and "text" in document:
            title, body = (
                text(document, field, self.path, number) for field in ("title", "text")
            )
            document = {**document, "passage": f"{title}\n{body}"}
        text(document, "passage", self.path, number)
        for field in ("extracted_triples", "extracted_entities"):
            if not isinstance(document.get(field), list):
                wrong(self.path, number, field, document.get(field), "a list")
        return dict(document)


def is_openie(file: Path) -> bool:
    """Whether a file is a JSON file of HippoRAG's open information extraction."""
    if file.suffix.lower() != ".json":
        return False
    content = read_json_values(file)
    documents = content.get("docs") if isinstance(content, dict) else None
    return isinstance(documents, list) and any(
        "extracted_triples" in document for document in documents
    )


def _names(entities: list[object], notes: Counter[str]) -> list[str]:
    """The distinct names of a document; `notes` counts the others."""
    names = [
        name.strip() for name in entities if isinstance(name, str) and name.strip()
    ]
    notes["entities that are blank or no string"] += len(entities) - len(names)
    return list(dict.fromkeys(names))


def _facts(triples: list[object], notes: Counter[str]) -> list[TripleTexts]:
    """The distinct triples of a document with three parts that are no blank strings; `notes` counts the others."""
    facts: dict[TripleTexts, None] = {}
    for parts in triples:
        if not isinstance(parts, list) or len(parts) != 3:
            notes["triples without exactly three parts"] += 1
            continue
        if not all(isinstance(part, str) and part.strip() for part in parts):
            notes["triples with a part that is blank or no string"] += 1
            continue
        fact = parts[0].strip(), parts[1].strip(), parts[2].strip()
        if fact in facts:
            notes["exact duplicates within a document"] += 1
        facts[fact] = None
    return list(facts)
