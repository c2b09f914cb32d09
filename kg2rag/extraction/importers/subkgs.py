"""KG2RAG's published sub-graphs -> clean triples of the corpus.

One JSON object a line: `{"title": …, "sentences": {"<sentence index>": [[head, relation, tail], …]}}`, written by
Llama-3-8B for HotpotQA's articles. `subkg_noise` lists what is wrong with them and how it is repaired.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from kg2rag.extraction import Extraction, TripleTexts
from kg2rag.extraction.importers.file_source import FileSource
from kg2rag.extraction.importers.subkg_noise import Cleaning, clean
from kg2rag.text.records import DataError, Record, read_jsonl, text, wrong
from kg2rag.types.corpus import Corpus
from kg2rag.types.parameters import at_least, check
from kg2rag.types.passages import Triple

Pronouns = Literal["title", "keep", "drop"]


@dataclass(frozen=True)
class KG2RAGSubgraphs(FileSource):
    """Triples per title and sentence, as KG2RAG published them.

    Parameters
    ----------
    path : the file, such as subkgs.jsonl.
    pronouns : what an end such as "It" becomes: the article's title, itself, or a reason to drop the triple.
    restore : put back the letter that the release cut off unbracketed ends, where the passage has that very word.
    max_length : longest end, in characters, that is still taken for a name.
    """

    kind: ClassVar[str] = "subkgs"
    wanted: ClassVar[str] = "KG2RAG's sub-graphs as JSON Lines (subkgs.jsonl)"
    by_id: ClassVar[bool] = True

    pronouns: Pronouns = "title"
    restore: bool = True
    max_length: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self, max_length=at_least(1))

    def extract(self, corpus: Corpus) -> Extraction:
        """The triples of the corpus's titles: of paragraph passages all together, of sentence passages one by one.

        `notes` counts what was cleaned and dropped, titles outside the corpus and passages without a triple.

        Raises
        ------
        ValueError : no title is in the corpus, or a record is malformed.
        """
        places = _Places(corpus)
        rules = Cleaning(self.pronouns, self.restore, self.max_length)
        notes: Counter[str] = Counter()
        triples: list[Triple] = []
        matched = False
        for title, sentence, raw in self._sentences(places, notes):
            matched = True
            row = places.row(title, sentence)
            notes["triples read"] += len(raw)
            if row is None:
                notes["dropped: a sentence without one passage of its own"] += len(raw)
                continue
            kept = clean(raw, title, corpus.contents[row], rules, notes)
            triples.extend(Triple(*parts, passage_id=corpus.ids[row]) for parts in kept)
        if not matched:
            raise DataError(f"{self.path}: none of its titles is in the corpus. Does it belong to this data set?")
        notes["passages without a triple"] = len(corpus) - len({triple.passage_id for triple in triples})
        return Extraction(tuple(triples), notes={cause: count for cause, count in notes.items() if count})

    def _sentences(self, places: _Places, notes: Counter[str]) -> Iterator[tuple[str, int, list[TripleTexts]]]:
        for number, record in read_jsonl(self.path):
            title = text(record, "title", self.path, number)
            if title not in places.titles:
                notes["titles outside the corpus"] += 1
                continue
            sentences = record.get("sentences")
            if not isinstance(sentences, dict):
                wrong(self.path, number, "sentences", sentences, "an object of sentence numbers")
            for index, raw in sentences.items():
                if not index.isdecimal():
                    wrong(self.path, number, "sentence index", index, "a number from 0")
                yield title, int(index), self._triples(raw, record, number)

    def _triples(self, raw: object, record: Record, number: int) -> list[TripleTexts]:
        if not isinstance(raw, list):
            wrong(self.path, number, f"sentences of {record['title']!r}", raw, "lists of triples")
        for parts in raw:
            if not (isinstance(parts, list) and len(parts) == 3 and all(isinstance(part, str) for part in parts)):
                wrong(self.path, number, f"triple of {record['title']!r}", parts, "three strings")
        return [(head, relation, tail) for head, relation, tail in raw]


class _Places:
    """The passages of a title's sentences: its one paragraph, or one passage a sentence."""

    def __init__(self, corpus: Corpus) -> None:
        self.titles: dict[str, list[tuple[int, int]]] = {}
        positions = corpus.table["position"].to_pylist()
        for row, (title, doc_id, position) in enumerate(zip(corpus.titles, corpus.doc_ids, positions, strict=True)):
            self.titles.setdefault(title or doc_id, []).append((position, row))
        self.by_sentence = any(position > 0 for places in self.titles.values() for position, _ in places)

    def row(self, title: str, sentence: int) -> int | None:
        """The passage of a sentence; None where there is none, or more than one."""
        rows = [row for position, row in self.titles[title] if not self.by_sentence or position == sentence]
        return rows[0] if len(rows) == 1 else None
