"""The small set that comes with the package (or a folder of the same schema) -> QADataset.

- `corpus.jsonl`: {"id", "doc_id", "title", "text"}; the passages of a document are in order.
- `questions.jsonl`: {"id", "question", "answers", "type", "hops", "gold": [passage id],
  "supporting": [[passage id, sentence index]], "triples": [[head, relation, tail, passage id]]}.
- `triples.jsonl` and `entities.jsonl` are a graph.

The set is for teaching, and no benchmark. The questions of 2wiki-kg have the same schema.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field, StrictInt

from kg2rag.datasets.reading import (
    Files,
    Identifier,
    Record,
    SentenceName,
    Text,
    find_graph_files,
    locate,
)
from kg2rag.datasets.spec import DatasetSpec, LoadOptions
from kg2rag.text.records import DataError
from kg2rag.text.sentences import split_sentences
from kg2rag.types import Corpus, Passage, QADataset, Question

_HERE = Path(__file__).resolve().parent


class BundledPassage(Record):
    """One passage."""

    id: Identifier
    doc_id: Text
    title: str = ""
    text: Text


class FolderQuestion(Record):
    """One question; `gold`, `supporting` and the last member of a triple are ids of passages."""

    id: Identifier
    question: Text
    answers: Annotated[
        list[Text],
        BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    ] = Field(default_factory=list, validation_alias=AliasChoices("answers", "answer"))
    type: str = Field("", validation_alias=AliasChoices("type", "hop_type"))
    hops: StrictInt | None = Field(
        None, validation_alias=AliasChoices("hops", "hop_count")
    )
    gold: list[Text] = Field(
        min_length=1, validation_alias=AliasChoices("gold", "gold_support_chunk_ids")
    )
    supporting: list[SentenceName] = Field(default_factory=list)
    triples: list[tuple[Text, Text, Text] | tuple[Text, Text, Text, Text]] = Field(
        default_factory=list, validation_alias=AliasChoices("triples", "gold_triples")
    )


def folder() -> Path:
    """The folder of the bundled files: `data/bundled` of a checkout, or inside the package."""
    root = _HERE.parents[1]
    is_checkout = (root / "pyproject.toml").is_file() and (
        root / "data" / "bundled"
    ).is_dir()
    return root / "data" / "bundled" if is_checkout else _HERE / "bundled_files"


def load(options: LoadOptions) -> QADataset:
    """The data set in `path`, or the bundled one."""
    files = Files()
    root = locate(options.path or folder(), ["corpus.jsonl"], "bundled corpus").parent
    rows = files.records(BundledPassage, root / "corpus.jsonl")
    passages = list[Passage]()
    positions = Counter[str]()
    for row in rows:
        passages.append(
            Passage(row.id, row.title, row.text, row.doc_id, positions[row.doc_id])
        )
        positions[row.doc_id] += 1
    # `supporting` counts the sentences of `split_sentences`, so the corpus stores that split.
    corpus = Corpus.from_passages(passages, [split_sentences(row.text) for row in rows])
    questions = read_questions(
        files, locate(root, ["questions.jsonl"], "bundled questions"), corpus
    )
    source = {"files": files.checksums, "notes": {}}
    return QADataset(
        "bundled",
        corpus,
        tuple(questions),
        source=source,
        graph_files=find_graph_files(root),
    )


def read_questions(
    files: Files, path: Path, corpus: Corpus, ids: Container[str] | None = None
) -> Iterator[Question]:
    """The questions of a file, or those with one of `ids`.

    DataError: a question names a passage or sentence that the corpus lacks.
    """
    sentences = _SentenceNumbers(corpus)
    passage_ids = frozenset(corpus.ids)
    for number, record in enumerate(files.records(FolderQuestion, path), start=1):
        if ids is not None and record.id not in ids:
            continue
        where = f"{path.name}, line {number} ({record.id!r})"
        _require_passages(record, passage_ids, where)
        supporting = [sentences.in_document(*name, where) for name in record.supporting]
        yield Question(
            record.id,
            record.question,
            gold=dict.fromkeys(record.gold, 1),
            answers=tuple(record.answers),
            type=record.type,
            hops=record.hops,
            supporting=tuple(supporting),
            triples=tuple(fact[:3] for fact in record.triples),
        )


def _require_passages(
    record: FolderQuestion, passage_ids: Container[str], where: str
) -> None:
    """Raise DataError if a question names a passage that the corpus lacks."""
    references = {
        "gold": record.gold,
        "supporting": [id_ for id_, _ in record.supporting],
        "triples": [fact[3] for fact in record.triples if len(fact) > 3],
    }
    for field, ids in references.items():
        for id_ in ids:
            if id_ not in passage_ids:
                raise DataError(
                    f"{where}: {field} names passage {id_!r}, which corpus.jsonl lacks."
                )


class _SentenceNumbers:
    """Converts sentence indices: files count the sentences of a passage, `Question` of a document."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self._counts = [len(corpus.sentences(row)) for row in range(len(corpus))]
        # For each passage, the index of its first sentence in its document.
        self._first = list[int]()
        n_before = Counter[str]()
        for document, count in zip(corpus.doc_ids, self._counts, strict=True):
            self._first.append(n_before[document])
            n_before[document] += count

    def in_document(self, id_: str, index: int, where: str) -> tuple[str, int]:
        """The document of a passage, and the index in it of sentence `index` of the passage."""
        row = self.corpus.row(id_)
        count = self._counts[row]
        if not 0 <= index < count:
            raise DataError(
                f"{where}: supporting names sentence {index} of {id_!r}, which has {count}."
            )
        return self.corpus.doc_ids[row], self._first[row] + index


DATASET = DatasetSpec(
    name="bundled",
    summary="the Python web and data stack, our own sentences: teaches, is no benchmark",
    load=load,
    licence="Apache-2.0",
    citation="The kg2rag developers",
    needs_path=False,
)
