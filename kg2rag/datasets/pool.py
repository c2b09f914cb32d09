"""Questions with the paragraphs they were written over -> one corpus that has each once, and the questions about it.

Ids are titles, which is what the public sets' gold names; the second paragraph of a title becomes `Title##1`, and the
sentences of a paragraph `Title##0`, `Title##1`, … where sentences are the passages. Titles and texts are kept as they
are, since graph files are matched by them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Generic

from kg2rag.datasets.reading import Files, R, Record, Text, check, checked, find_graph_files, locate
from kg2rag.datasets.spec import Granularity, LoadOptions
from kg2rag.text.records import DataError, parse_json
from kg2rag.types import Corpus, Passage, QADataset, Question

CORPUS = "_corpus.json"


@dataclass(eq=False, slots=True)
class Paragraph:
    """A paragraph of a pool; its `sentences` as the file has them, None where they are unknown."""

    passage: Passage
    sentences: Sequence[str] | None

    def has(self, index: int) -> bool:
        """Whether it has that sentence; where its sentences are unknown, any index may be right."""
        return self.sentences is None or 0 <= index < len(self.sentences)

    def ids(self, passages: Granularity) -> dict[int, str]:
        """Index -> id, of the passages that it became: its sentences that have text, or itself as 0."""
        own = self.passage.id
        if passages == "paragraph":
            return {0: own}
        return {index: f"{own}##{index}" for index, text in enumerate(self.sentences or ()) if text.strip()}


class Pool:
    """A corpus while it grows; `notes` : what was merged, dropped or matched loosely, and how often.

    Parameters
    ----------
    passages : what becomes a passage, each paragraph or each of its sentences.
    titles_are_documents : True where several paragraphs of one title are parts of one article (MuSiQue); False where
        they are versions of the same paragraph, each a document (HotpotQA).
    """

    def __init__(self, passages: Granularity = "paragraph", *, titles_are_documents: bool = False) -> None:
        self.passages, self.titles_are_documents = passages, titles_are_documents
        self.notes: Counter[str] = Counter()
        self.closed_by = ""  # the corpus file that has all there are, once it was read
        self._by_id: dict[str, Paragraph] = {}
        self._by_contents: dict[tuple[str, str], Paragraph] = {}
        self._by_title: dict[str, list[Paragraph]] = {}

    def place(self, title: str, text: str, sentences: Sequence[str] | None = None) -> Paragraph | None:
        """The paragraph of that title and text; a new one is added, unless the pool is closed.

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
        elif known is not None:
            known.sentences = known.sentences if sentences is None else sentences
        elif len(self.titled(title)) == 1:
            # Corpus files were made by others and may differ in blanks; a title that is unique leaves no doubt.
            self.notes["paragraphs matched by title, their text differs"] += 1
            return self.titled(title)[0]
        return known

    def titled(self, title: str) -> list[Paragraph]:
        """The paragraphs with that title, in order of appearance."""
        return self._by_title.get(title, [])

    def corpus(self) -> Corpus:
        """The passages so far, in order of appearance."""
        paragraphs = self._by_id.values()
        if self.passages == "paragraph":
            # None marks a passage whose source has no split, which the table takes as null.
            splits = [one.sentences and [text.strip() for text in one.sentences] for one in paragraphs]
            return Corpus.from_passages((one.passage for one in paragraphs), splits)
        given = [(one, index, id_) for one in paragraphs for index, id_ in one.ids("sentence").items()]
        exact = [(one.sentences or ())[index] for one, index, _ in given]
        sentences = [
            Passage(id_, one.passage.title, text.strip(), one.passage.doc_id, index)
            for (one, index, id_), text in zip(given, exact, strict=True)
        ]
        differ = [None if text == one.text else text for text, one in zip(exact, sentences, strict=True)]
        return Corpus.from_passages(sentences, [[one.text] for one in sentences], differ)

    def _add(self, title: str, text: str, sentences: Sequence[str] | None) -> Paragraph:
        before = self._by_title.setdefault(title, [])
        name = title if title.strip() else "untitled"
        ids = (f"{name}##{number}" if number else name for number in count(len(before)))
        id_ = next(one for one in ids if one not in self._by_id)  # a title may itself look like "Ada##1"
        doc_id, position = (name, len(before)) if self.titles_are_documents else (id_, 0)
        made = Paragraph(Passage(id_, title, text, doc_id, position), sentences)
        self._by_id[id_] = self._by_contents[title, text.strip()] = made
        before.append(made)
        return made


@dataclass(frozen=True)
class Schema(Generic[R]):
    """How one set writes its questions.

    Attributes
    ----------
    mark : a field that its records have; of several schemas, the first whose mark is there is meant.
    to_question : places a record's paragraphs in the pool and returns its question, or None where it cannot be judged
        (which it counts); its last argument names file and record, for errors.
    names_corpus : True where the records have no paragraphs, only the titles of a corpus file.
    counted : entry of `QADataset.source` -> the field of the records whose values it counts.
    """

    mark: str
    record: type[R]
    to_question: Callable[[R, Pool, str], Question | None]
    titles_are_documents: bool = False
    names_corpus: bool = False
    counted: Mapping[str, str] = field(default_factory=dict)


def pooled(*schemas: Schema[Any]) -> Callable[[LoadOptions], QADataset]:
    """Reads one set: its file in `path`, with HippoRAG's corpus file where it lies beside it, or the hub's copy."""

    def load(options: LoadOptions) -> QADataset:
        if options.path is None:
            paths, origin = options.from_hub()
            return read_pooled(options, schemas, paths, None, origin)
        path = locate(options.path, options.patterns, f"{options.spec.name} questions")
        if "fullwiki" in path.name.lower() and path.name.lower().startswith("hotpot"):
            advice = "whose contexts lack gold. Take the distractor file"
            raise ValueError(f"{path.name} is HotpotQA's fullwiki file, {advice}.")

        return read_pooled(options, schemas, [path], corpus_beside(path, options.spec.name))

    return load


def read_pooled(
    options: LoadOptions,
    schemas: Sequence[Schema[Any]],
    paths: Sequence[Path],
    corpus: Path | None,
    origin: Mapping[str, object] | None = None,
) -> QADataset:
    """The set of some files of questions, over a corpus file where there is one; `origin` says where they are from."""
    read, spec = Files(), options.spec
    name = spec.name if corpus is None or spec.files else corpus.name.removesuffix(CORPUS)
    where = ", ".join(path.name for path in paths)
    rows = list(read.rows(*paths))
    fields = list(rows[0][1]) if rows and isinstance(rows[0][1], dict) else []
    schema = next((schema for schema in schemas if schema.mark in fields), None)
    if schema is None:
        known = ", ".join(schema.mark for schema in schemas)
        raise DataError(f"{where}: its records have the fields {fields}; one of {known} identifies their schema.")
    if schema.names_corpus and corpus is None:
        raise FileNotFoundError(f"{where} names its gold by title: {name}{CORPUS} must lie beside it.")
    if schema.names_corpus and options.setting == "distractor":
        raise ValueError(f"{where} has no paragraphs of each question: only setting 'pooled' is possible.")
    if corpus is not None and options.passages == "sentence":
        raise ValueError(f"{where}: passages 'sentence' needs the official file without {corpus.name} beside it.")
    pool = Pool(options.passages, titles_are_documents=schema.titles_are_documents)
    if corpus is not None:
        _read_corpus(read, corpus, pool)
    records = checked(rows, schema.record, where)
    found = (schema.to_question(one, pool, f"{at} ({one.id!r})") for (at, _), one in zip(rows, records, strict=True))
    questions = tuple(question for question in found if question is not None)
    if not questions:
        raise DataError(f"{where}: none of its {len(records)} records can be judged: {dict(pool.notes)}.")
    counts = {what: Counter(sorted(getattr(one, of) for one in records)) for what, of in schema.counted.items()}
    source = {**(origin or {"files": read.checksums}), **counts, "notes": dict(pool.notes)}
    graphs = find_graph_files(paths[0]) if origin is None else {}
    return QADataset(name, pool.corpus(), questions, options.setting, source=source, graph_files=graphs)


def corpus_beside(questions: Path, name: str) -> Path | None:
    """HippoRAG's corpus file of those questions: `<questions>_corpus.json` or `<name>_corpus.json` in their folder."""
    beside = (questions.with_name(f"{stem}{CORPUS}") for stem in (questions.stem, name))
    return next((file for file in beside if file.is_file()), None)


class TitledText(Record):
    """One passage of a corpus in HippoRAG's layout."""

    title: str
    text: Text


class TitledSentences(Record):
    """One passage of HotpotQA's corpus as HippoRAG publishes it."""

    title: str
    sentences: list[str]


def _read_corpus(files: Files, path: Path, pool: Pool) -> None:
    """Fill a pool from HippoRAG's corpus file, in its order, and close it.

    A list of `{"title", "text"}`, or, as HippoRAG publishes HotpotQA's, an object from title to sentences.
    """
    value = parse_json(files.text(path), path.name)
    if isinstance(value, dict):
        rows = [{"title": title, "sentences": sentences} for title, sentences in value.items()]
        for one in check(rows, TitledSentences, path.name):
            pool.place(one.title, "".join(one.sentences).strip(), [sentence.strip() for sentence in one.sentences])
    elif isinstance(value, list):
        for record in check(value, TitledText, path.name):
            pool.place(record.title, record.text)
    else:
        raise DataError(f"{path.name}: must hold a list of passages, not {type(value).__name__}.")
    pool.closed_by = path.name
