"""HippoRAG's OpenIE file -> triples and mentions of the corpus.

The file is one JSON object, `{"docs": [{"title", "text", "passage", "extracted_entities", "extracted_triples"}, …]}`;
`title` and `text` are missing in some versions. A document is the passage whose contents (title, line break, text)
are exactly its own. Theirs: lists that are not three long, and exact duplicates within a document, are dropped. Ours:
so are triples with a blank or non-string part, and the extracted entities, unused in HippoRAG 2, become mentions.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

from kg2rag.extraction import Extraction, Mention, TripleTexts
from kg2rag.extraction.importers import FileSource
from kg2rag.text.records import DataError, read_json, text, wrong
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
        DataError for a document that the corpus lacks (unless `partial`), none that it has, or a malformed record.
        """
        rows: dict[str, list[int]] = {}
        for row, contents in enumerate(corpus.contents):
            rows.setdefault(contents, []).append(row)
        read = read_json(self.path)
        documents = read.get("docs") if isinstance(read, dict) else None
        if not isinstance(documents, list):
            raise DataError(f"{self.path}: no list 'docs' at the top. Is it one of HippoRAG's openie_results_*.json?")
        notes: Counter[str] = Counter()
        triples: list[Triple] = []
        mentions: list[Mention] = []
        covered: set[int] = set()
        for number, document in enumerate(documents, start=1):
            matched = self._match(document, number, rows, notes)
            covered.update(matched)
            for field in ("extracted_triples", "extracted_entities"):
                if not isinstance(document.get(field), list):
                    wrong(self.path, number, field, document.get(field), "a list")
            facts, entities = _facts(document["extracted_triples"], notes), document["extracted_entities"]
            names = [name.strip() for name in entities if isinstance(name, str) and name.strip()]
            notes["entities that are blank or no string"] += len(entities) - len(names)
            for id_ in (corpus.ids[row] for row in matched):
                triples += (Triple(*fact, passage_id=id_) for fact in facts)
                mentions += (Mention(name, id_) for name in dict.fromkeys(names))
        if not covered:
            raise DataError(f"{self.path}: no document is a passage of the corpus. Does it belong to this data set?")
        notes["passages without a document"] = len(corpus) - len(covered)
        return Extraction(tuple(triples), tuple(mentions), notes=notes)

    def _match(self, document: Any, number: int, rows: dict[str, list[int]], notes: Counter[str]) -> list[int]:
        if not isinstance(document, dict):
            wrong(self.path, number, "document", document, "an object")
        if "title" in document and "text" in document:
            title, body = (text(document, field, self.path, number) for field in ("title", "text"))
            if (own := f"{title}\n{body}") in rows:
                return rows[own]
        passage = text(document, "passage", self.path, number)
        if passage not in rows and not self.partial:
            title = document.get("title") or passage.partition("\n")[0]
            raise DataError(
                f"{self.path}, record {number} ({title!r}) is no passage of the corpus. "
                "Load the corpus it was made from, or allow it with partial=True."
            )
        notes["documents outside the corpus"] += passage not in rows
        return rows.get(passage, [])


def _facts(given: list[object], notes: Counter[str]) -> list[TripleTexts]:
    facts: dict[TripleTexts, None] = {}
    for parts in given:
        if not isinstance(parts, list) or len(parts) != 3:
            notes["triples without exactly three parts"] += 1
        elif not all(isinstance(part, str) and part.strip() for part in parts):
            notes["triples with a part that is blank or no string"] += 1
        elif (fact := (parts[0].strip(), parts[1].strip(), parts[2].strip())) in facts:
            notes["exact duplicates within a document"] += 1
        else:
            facts[fact] = None
    return list(facts)
