"""Questions with their paragraphs -> one corpus without duplicates, and its questions.

Ids are titles, since the gold of the public sets consists of titles; the second paragraph of a
title has the id `Title##1`. If sentences are the passages, those of a paragraph have the ids
`Title##0`, `Title##1`, …. Titles and texts are not changed, since graph files are matched by them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic

from kg2rag.datasets.reading import (
    Files,
    R,
    Record,
    Text,
    check,
    checked,
    find_graph_files,
    locate,
    saved_split,
)
from kg2rag.datasets.spec import DatasetSpec, Granularity, LoadOptions
from kg2rag.text.records import DataError, parse_json
from kg2rag.types import Corpus, Passage, QADataset, Question

CORPUS = "_corpus.json"


@dataclass(eq=False, slots=True)
class Paragraph:
    """A paragraph of a pool, with its sentences as the file has them, None if they are unknown."""

    passage: Passage
    sentences: Sequence[str] | None

    def has(self, index: int) -> bool:
        """Whether it has a sentence of that index; True if its sentences are unknown."""
        return self.sentences is None or 0 <= index < len(self.sentences)

    def ids(self, passages: Granularity) -> dict[int, str]:
        """Index -> id of each passage of the paragraph.

        The index is 0 for the paragraph itself, or that of each sentence with text.
        """
        id_ = self.passage.id
        if passages == "paragraph":
            return {0: id_}
        return {
            index: f"{id_}##{index}"
            for index, text in enumerate(self.sentences or ())
            if text.strip()
        }


class Pool:
    """The corpus of the paragraphs of all questions.

    A corpus file closes the pool: then paragraphs are looked up, and no new one is added.

    Parameters
    ----------
    passages : whether paragraphs or their sentences become passages.
    titles_are_documents : True if several paragraphs of one title are parts of one article
        (MuSiQue); False if they are versions of the same paragraph, each a document (HotpotQA).

    Attributes
    ----------
    notes : counts of merged, dropped and loosely matched paragraphs.
    closed_by : the name of the corpus file; "" for an open pool.
    """

    def __init__(
        self, passages: Granularity = "paragraph", *, titles_are_documents: bool = False
    ) -> None:
        self.passages = passages
        self.titles_are_documents = titles_are_documents
        self.notes: Counter[str] = Counter()
        self.closed_by = ""
        self._by_id: dict[str, Paragraph] = {}
        self._by_contents: dict[tuple[str, str], Paragraph] = {}
        self._by_title: dict[str, list[Paragraph]] = {}

    def find_or_add(
        self, title: str, text: str, sentences: Sequence[str] | None = None
    ) -> Paragraph | None:
        """The paragraph of that title and text, which an open pool adds if it is new.

        None for a paragraph without text, which `notes` counts, and for one that a closed pool does
        not have. Sentences may have blanks at their ends; the corpus stores them as `exact`.
        """
        if not text.strip():
            self.notes["paragraphs without text left out"] += 1
            return None
        paragraph = self._by_contents.get((title, text.strip()))
        if self.closed_by:
            return self._find_in_corpus_file(paragraph, title, sentences)
        if paragraph is None:
            return self._add(title, text, sentences)
        self.notes["equal paragraphs merged"] += 1
        return paragraph

    def _find_in_corpus_file(
        self, paragraph: Paragraph | None, title: str, sentences: Sequence[str] | None
    ) -> Paragraph | None:
        """The paragraph of a closed pool: that with an equal text, or the only one with the title.

        paragraph : the one with an equal title and text, if there is one.
        """
        if paragraph is not None:
            if sentences is not None:
                paragraph.sentences = sentences
            return paragraph
        same_title = self.titled(title)
        if len(same_title) != 1:
            return None
        # Texts of corpus files may differ in white space; a unique title identifies the paragraph.
        self.notes["paragraphs matched by title, their text differs"] += 1
        return same_title[0]

    def titled(self, title: str) -> list[Paragraph]:
        """The paragraphs with that title, in order of appearance."""
        return self._by_title.get(title, [])

    def corpus(self) -> Corpus:
        """The passages so far, in order of appearance."""
        paragraphs = list(self._by_id.values())
        if self.passages == "sentence":
            return _sentence_corpus(paragraphs)
        splits = [_stripped(paragraph.sentences) for paragraph in paragraphs]
        return Corpus.from_passages(
            (paragraph.passage for paragraph in paragraphs), splits
        )

    def _add(self, title: str, text: str, sentences: Sequence[str] | None) -> Paragraph:
        """Add a paragraph under a new id."""
        same_title = self._by_title.setdefault(title, [])
        name = title if title.strip() else "untitled"
        number = len(same_title)
        id_ = _numbered(name, number)
        while id_ in self._by_id:  # a title may itself look like "Ada##1"
            number += 1
            id_ = _numbered(name, number)
        if self.titles_are_documents:
            passage = Passage(id_, title, text, name, len(same_title))
        else:
            passage = Passage(id_, title, text, id_, 0)
        paragraph = Paragraph(passage, sentences)
        self._by_id[id_] = paragraph
        self._by_contents[title, text.strip()] = paragraph
        same_title.append(paragraph)
        return paragraph


def _numbered(name: str, number: int) -> str:
    """The id of the paragraph `number`, from 0, with a title."""
    return f"{name}##{number}" if number else name


def _stripped(sentences: Sequence[str] | None) -> list[str] | None:
    """Sentences without blanks at their ends; None for unknown sentences."""
    return None if sentences is None else [text.strip() for text in sentences]


def _sentence_corpus(paragraphs: Sequence[Paragraph]) -> Corpus:
    """The corpus whose passages are the sentences of paragraphs."""
    passages = list[Passage]()
    exact = list[str | None]()
    for paragraph in paragraphs:
        for index, id_ in paragraph.ids("sentence").items():
            source = (paragraph.sentences or ())[index]
            text = source.strip()
            passages.append(
                Passage(
                    id_, paragraph.passage.title, text, paragraph.passage.doc_id, index
                )
            )
            exact.append(None if source == text else source)
    return Corpus.from_passages(
        passages, [[passage.text] for passage in passages], exact
    )


@dataclass(frozen=True)
class Schema(Generic[R]):
    """The form of the questions of a set.

    Attributes
    ----------
    mark : a field by which the records are recognised; the first schema with its mark is used.
    record : the class of the records.
    to_question : a function of record, pool, and the file and record for errors; it adds the
        paragraphs to the pool and returns the question, or None for one that cannot be judged,
        which it counts in the notes of the pool.
    titles_are_documents : see `Pool`.
    names_corpus : True if the records have no paragraphs, only titles from a corpus file.
    counted : entry of `QADataset.source` -> the field of the records whose values it counts.
    """

    mark: str
    record: type[R]
    to_question: Callable[[R, Pool, str], Question | None]
    titles_are_documents: bool = False
    names_corpus: bool = False
    counted: Mapping[str, str] = field(default_factory=dict)


def pooled(*schemas: Schema[Any]) -> Callable[[LoadOptions], QADataset]:
    """The function that loads a set from `path`, perhaps with HippoRAG's corpus file, or the hub."""

    def load(options: LoadOptions) -> QADataset:
        if options.path is None:
            paths, origin = options.from_hub()
            return read_pooled(options, schemas, paths, None, origin)
        parts = options.hub_files(options.path)
        if parts:
            return read_pooled(options, schemas, parts, None)
        name = options.spec.name
        folder = saved_split(
            options.path, options.split, next(iter(options.spec.files), "")
        )
        path = locate(folder, options.patterns, f"{name} questions")
        if (
            name == "hotpotqa"
            and "fullwiki" in f"{path.parent.name}/{path.name}".lower()
        ):
            advice = "whose contexts lack gold. Take the distractor file"
            raise ValueError(f"{path.name} is HotpotQA's fullwiki file, {advice}.")
        return read_pooled(options, schemas, [path], corpus_beside(path, name))

    return load


def read_pooled(
    options: LoadOptions,
    schemas: Sequence[Schema[Any]],
    paths: Sequence[Path],
    corpus: Path | None,
    origin: Mapping[str, object] | None = None,
) -> QADataset:
    """The data set of question files and, if there is one, a corpus file.

    schemas : the possible forms of the questions.
    origin : the record of the hub's copy in `QADataset.source`; None for files of the user.
    """
    files = Files()
    where = ", ".join(path.name for path in paths)
    rows = list(files.rows(*paths))
    schema = _matching_schema(rows, schemas, where)
    _require_servable(options, schema, corpus, where)
    pool = Pool(options.passages, titles_are_documents=schema.titles_are_documents)
    if corpus is not None:
        _read_corpus(files, corpus, pool)
    records = checked(rows, schema.record, where)
    questions = list[Question]()
    for (place, _), record in zip(rows, records, strict=True):
        question = schema.to_question(record, pool, f"{place} ({record.id!r})")
        if question is not None:
            questions.append(question)
    if not questions:
        raise DataError(
            f"{where}: none of its {len(records)} records can be judged: {dict(pool.notes)}."
        )
    source = dict[str, object](origin or {"files": files.checksums})
    for entry, field_name in schema.counted.items():
        source[entry] = Counter(
            sorted(getattr(record, field_name) for record in records)
        )
    source["notes"] = dict(pool.notes)
    return QADataset(
        _set_name(options.spec, corpus),
        pool.corpus(),
        tuple(questions),
        options.setting,
        source=source,
        graph_files=find_graph_files(paths[0]) if origin is None else {},
    )


def _matching_schema(
    rows: Sequence[tuple[str, Any]], schemas: Sequence[Schema[Any]], where: str
) -> Schema[Any]:
    """The first schema whose mark is a field of the first record; DataError for none."""
    fields = list[str]()
    if rows and isinstance(rows[0][1], dict):
        fields = list(rows[0][1])
    for schema in schemas:
        if schema.mark in fields:
            return schema
    marks = ", ".join(schema.mark for schema in schemas)
    raise DataError(
        f"{where}: its records have the fields {fields}; one of {marks} identifies their schema."
    )


def _require_servable(
    options: LoadOptions, schema: Schema[Any], corpus: Path | None, where: str
) -> None:
    """Raise ValueError for options that do not fit the files.

    FileNotFoundError: the corpus file is missing.
    """
    if schema.names_corpus and corpus is None:
        name = f"{_set_name(options.spec, corpus)}{CORPUS}"
        raise FileNotFoundError(
            f"{where} names its gold by title: {name} must lie beside it."
        )
    if schema.names_corpus and options.setting == "distractor":
        raise ValueError(
            f"{where} has no paragraphs of each question: only setting 'pooled' is possible."
        )
    if corpus is not None and options.passages == "sentence":
        raise ValueError(
            f"{where}: passages 'sentence' needs the official file without {corpus.name} beside it."
        )


def _set_name(spec: DatasetSpec, corpus: Path | None) -> str:
    """The name of a set; HippoRAG's layout, which any set may have, is named by its corpus file."""
    if corpus is None or spec.files:
        return spec.name
    return corpus.name.removesuffix(CORPUS)


def corpus_beside(questions: Path, name: str) -> Path | None:
    """HippoRAG's corpus file, `<questions>_corpus.json` or `<name>_corpus.json`; None for none."""
    paths = (questions.with_name(f"{stem}{CORPUS}") for stem in (questions.stem, name))
    return next((path for path in paths if path.is_file()), None)


class TitledText(Record):
    """One passage of a corpus in HippoRAG's layout."""

    title: str
    text: Text


class TitledSentences(Record):
    """One passage of HotpotQA's corpus as HippoRAG publishes it."""

    title: str
    sentences: list[str]


def _read_corpus(files: Files, path: Path, pool: Pool) -> None:
    """Add the paragraphs of HippoRAG's corpus file to a pool, in their order, and close it.

    The file is a list of `{"title", "text"}` or, for HotpotQA, an object from title to sentences.
    """
    contents = parse_json(files.text(path), path.name)
    if isinstance(contents, dict):
        rows = [
            {"title": title, "sentences": sentences}
            for title, sentences in contents.items()
        ]
        for record in check(rows, TitledSentences, path.name):
            pool.find_or_add(
                record.title,
                "".join(record.sentences).strip(),
                _stripped(record.sentences),
            )
    elif isinstance(contents, list):
        for paragraph in check(contents, TitledText, path.name):
            pool.find_or_add(paragraph.title, paragraph.text)
    else:
        raise DataError(
            f"{path.name}: must hold a list of passages, not {type(contents).__name__}."
        )
    pool.closed_by = path.name
