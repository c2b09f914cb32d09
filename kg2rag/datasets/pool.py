"""Paragraphs of many questions -> one corpus that has each once, and the questions that refer to it.

Ids are titles, which is what the public sets' gold names; the second paragraph of a title becomes `Title##1`, and the
sentences of a paragraph `Title##0`, `Title##1`, … where sentences are the passages. Titles and texts are kept as they
are, since graph files are matched by them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from pydantic import TypeAdapter, ValidationError

from kg2rag.datasets.reading import Files, R, Record, Text
from kg2rag.datasets.spec import Granularity
from kg2rag.text.records import DataError
from kg2rag.types import Corpus, Passage, Question


class Pool:
    """A corpus while it grows.

    Parameters
    ----------
    passages : what becomes a passage, each paragraph or each of its sentences.
    titles_are_documents : True where several paragraphs of one title are parts of one article (MuSiQue); False where
        they are versions of the same paragraph, each a document of its own (HotpotQA).

    Attributes
    ----------
    notes : what was merged, dropped or matched loosely, and how often.
    """

    def __init__(self, passages: Granularity = "paragraph", *, titles_are_documents: bool = False) -> None:
        self.passages = passages
        self.titles_are_documents = titles_are_documents
        self.notes: Counter[str] = Counter()
        self.closed_by = ""
        self._paragraphs: dict[str, Passage] = {}
        self._sentences: dict[str, list[str] | None] = {}
        self._exact: dict[str, Sequence[str]] = {}
        self._by_contents: dict[tuple[str, str], str] = {}
        self._by_title: dict[str, list[str]] = {}

    def place(self, title: str, text: str, sentences: Sequence[str] | None = None) -> str | None:
        """The id of a paragraph; a new one is added, unless the pool is closed.

        `sentences` may have blanks at their ends: the corpus keeps them apart, as `exact`.
        Returns None for a paragraph without text and for one that a closed pool lacks; `notes` counts the former.
        """
        if not text.strip():
            self.notes["paragraphs without text left out"] += 1
            return None
        known = self._by_contents.get((title, text.strip()))
        if not self.closed_by:
            if known is None:
                return self._add(title, text, sentences)
            self.notes["equal paragraphs merged"] += 1
            return known
        if known is not None and sentences is not None:
            self._split(known, sentences)
        if known is None and len(self.titled(title)) == 1:
            # Corpus files were made by others and may differ in blanks; a title that is unique leaves no doubt.
            self.notes["paragraphs matched by title, their text differs"] += 1
            return self.titled(title)[0]
        return known

    def close(self, name: str) -> None:
        """Take no more paragraphs: the corpus is a file of that name, and questions only refer to it."""
        self.closed_by = name

    def titled(self, title: str) -> list[str]:
        """The ids of the paragraphs with that title, in order of appearance."""
        return self._by_title.get(title, [])

    def doc_id(self, id_: str) -> str:
        """The document of a paragraph."""
        return self._paragraphs[id_].doc_id

    def sentence_ids(self, id_: str) -> dict[int, str]:
        """Sentence index -> passage id, of the sentences of a paragraph that have text."""
        return {index: f"{id_}##{index}" for index, text in enumerate(self._sentences[id_] or []) if text}

    def has_sentence(self, id_: str, index: int) -> bool:
        """Whether a paragraph has that sentence; where its sentences are unknown, any index may be right."""
        sentences = self._sentences[id_]
        return sentences is None or 0 <= index < len(sentences)

    def passage_ids(self, id_: str) -> list[str]:
        """The passages that a paragraph became."""
        return [id_] if self.passages == "paragraph" else list(self.sentence_ids(id_).values())

    def corpus(self) -> Corpus:
        """The passages so far, in order of appearance."""
        paragraphs = self._paragraphs.values()
        if self.passages == "paragraph":
            # None marks a passage without a split of its own, which the table takes as null.
            return Corpus.from_passages(paragraphs, list(self._sentences.values()))  # type: ignore[arg-type]
        sentences = [
            Passage(id_, p.title, (self._sentences[p.id] or [])[index], p.doc_id, index)
            for p in paragraphs
            for index, id_ in self.sentence_ids(p.id).items()
        ]
        given = [self._exact[p.id][index] for p in paragraphs for index in self.sentence_ids(p.id)]
        exact = [None if as_is == p.text else as_is for as_is, p in zip(given, sentences, strict=True)]
        return Corpus.from_passages(sentences, [[passage.text] for passage in sentences], exact)

    def _add(self, title: str, text: str, sentences: Sequence[str] | None) -> str:
        before = self._by_title.setdefault(title, [])
        name = title if title.strip() else "untitled"
        number = len(before)
        id_ = f"{name}##{number}" if number else name
        while id_ in self._paragraphs:  # a title may itself look like "Ada##1"
            number += 1
            id_ = f"{name}##{number}"
        doc_id, position = (name, len(before)) if self.titles_are_documents else (id_, 0)
        self._paragraphs[id_] = Passage(id_, title, text, doc_id, position)
        self._split(id_, sentences)
        self._by_contents[title, text.strip()] = id_
        before.append(id_)
        return id_

    def _split(self, id_: str, sentences: Sequence[str] | None) -> None:
        self._sentences[id_] = None if sentences is None else [sentence.strip() for sentence in sentences]
        self._exact[id_] = sentences or ()


@dataclass(frozen=True)
class Schema(Generic[R]):
    """How one set writes its questions.

    `to_question` places a record's paragraphs in the pool and returns its question, or None where it cannot be judged
    (which it counts); its last argument names file and record, for errors.
    """

    record: type[R]
    to_question: Callable[[R, Pool, str], Question | None]
    titles_are_documents: bool = False

    def pool(self, passages: Granularity = "paragraph") -> Pool:
        """An empty pool for records of this schema."""
        return Pool(passages, titles_are_documents=self.titles_are_documents)

    def questions(self, records: Sequence[R], pool: Pool, where: str) -> list[Question]:
        """The questions of all records that can be judged."""
        made = []
        for number, record in enumerate(records, start=1):
            question = self.to_question(record, pool, f"{where}, record {number} ({getattr(record, 'id', '')!r})")
            if question is not None:
                made.append(question)
        if not made:
            raise DataError(f"{where}: none of its {len(records)} records can be judged: {dict(pool.notes)}.")
        return made


class CorpusRecord(Record):
    """One passage of a corpus in HippoRAG's layout."""

    title: str
    text: Text


def read_corpus(files: Files, path: Path, pool: Pool) -> None:
    """Fill a pool from HippoRAG's corpus file, in its order, and close it.

    A list of `{"title", "text"}`, or, as HippoRAG publishes HotpotQA's, an object from title to sentences.
    """
    text = files.text(path)
    if text.lstrip().startswith("{"):
        try:
            titles = TypeAdapter(dict[str, list[str]]).validate_json(text)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            at = f"{path.name}, title {first['loc'][0]!r}" if first["loc"] else path.name
            raise DataError(f"{at}: {first['msg']}. An object must map each title to a list of sentences.") from None
        for title, sentences in titles.items():
            pool.place(title, "".join(sentences).strip(), [sentence.strip() for sentence in sentences])
    else:
        for record in files.records(path, CorpusRecord):
            pool.place(record.title, record.text)
    pool.close(path.name)
