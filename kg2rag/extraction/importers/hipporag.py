"""HippoRAG's OpenIE file -> triples and mentions of the corpus.

The file is one JSON object, `{"docs": [{"title", "text", "passage", "extracted_entities", "extracted_triples"}, …]}`;
`title` and `text` are missing in some versions. A document is the passage whose contents (title, line break, text)
are exactly its own. Theirs: lists that are not three long, and exact duplicates within a document, are dropped. Ours:
so are triples with a blank or non-string part, and the extracted entities, unused in HippoRAG 2, become mentions.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from kg2rag.extraction import Extraction, Mention
from kg2rag.extraction.importers.file_source import FileSource
from kg2rag.text.records import DataError, Record, read_json, text, wrong
from kg2rag.types import Corpus, Triple


@dataclass(frozen=True)
class HippoRAGOpenIE(FileSource):
    """Triples and entities that HippoRAG's open information extraction found.

    Parameters
    ----------
    path : the file, such as openie_results_ner_gpt-3.5-turbo-1106.json.
    partial : count documents that the corpus lacks, instead of raising; at least one must match even so.
    """

    kind: ClassVar[str] = "openie"
    wanted: ClassVar[str] = "HippoRAG's openie_results_*.json"

    partial: bool = False

    def extract(self, corpus: Corpus) -> Extraction:
        """The file's triples and entities, in the file's order.

        Passages of equal contents all get them. `notes` counts what was dropped, and passages that the file lacks.

        Raises
        ------
        ValueError : a document that the corpus lacks (unless `partial`), none that it has, or a malformed record.
        """
        rows: dict[str, list[int]] = {}
        for row, contents in enumerate(corpus.contents):
            rows.setdefault(contents, []).append(row)
        notes: Counter[str] = Counter()
        triples: list[Triple] = []
        mentions: list[Mention] = []
        covered: set[int] = set()
        for number, document in enumerate(self._documents(), start=1):
            matched = self._match(document, number, rows, notes)
            covered.update(matched)
            facts, given = self._facts(document, number, notes), self._list(document, "extracted_entities", number)
            names = [name.strip() for name in given if isinstance(name, str) and name.strip()]
            notes["entities that are blank or no string"] += len(given) - len(names)
            for row in matched:
                id_ = corpus.ids[row]
                triples.extend(Triple(*fact, passage_id=id_) for fact in facts)
                mentions.extend(Mention(name, id_) for name in dict.fromkeys(names))
        if not covered:
            raise DataError(f"{self.path}: no document is a passage of the corpus. Does it belong to this data set?")
        notes["passages without a document"] = len(corpus) - len(covered)
        return Extraction(tuple(triples), tuple(mentions), notes={cause: n for cause, n in notes.items() if n})

    def _documents(self) -> list[Record]:
        contents = read_json(self.path)
        documents = contents.get("docs") if isinstance(contents, dict) else None
        if not isinstance(documents, list):
            raise DataError(f"{self.path}: no list 'docs' at the top. Is it one of HippoRAG's openie_results_*.json?")
        for number, document in enumerate(documents, start=1):
            if not isinstance(document, dict):
                wrong(self.path, number, "document", document, "an object")
        return documents

    def _match(self, document: Record, number: int, rows: dict[str, list[int]], notes: Counter[str]) -> list[int]:
        if "title" in document and "text" in document:
            own = f"{text(document, 'title', self.path, number)}\n{text(document, 'text', self.path, number)}"
            if own in rows:
                return rows[own]
        passage = text(document, "passage", self.path, number)
        if passage in rows:
            return rows[passage]
        if not self.partial:
            title = document.get("title") or passage.partition("\n")[0]
            raise DataError(
                f"{self.path}, record {number} ({title!r}) is no passage of the corpus. "
                "Load the corpus it was made from, or allow it with partial=True."
            )
        notes["documents outside the corpus"] += 1
        return []

    def _facts(self, document: Record, number: int, notes: Counter[str]) -> list[tuple[str, str, str]]:
        facts: dict[tuple[str, str, str], None] = {}
        for given in self._list(document, "extracted_triples", number):
            if not isinstance(given, list) or len(given) != 3:
                notes["triples without exactly three parts"] += 1
            elif not all(isinstance(part, str) and part.strip() for part in given):
                notes["triples with a part that is blank or no string"] += 1
            elif (fact := (given[0].strip(), given[1].strip(), given[2].strip())) in facts:
                notes["exact duplicates within a document"] += 1
            else:
                facts[fact] = None
        return list(facts)

    def _list(self, document: Record, field: str, number: int) -> list[object]:
        given = document.get(field)
        if not isinstance(given, list):
            wrong(self.path, number, field, given, "a list")
        return given
