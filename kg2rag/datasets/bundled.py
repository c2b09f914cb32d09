"""The small set that comes with the package (or a folder of the same schema) -> QADataset.

`corpus.jsonl`     {"id", "doc_id", "title", "text"}; a passage's position is its place among those of its document
`questions.jsonl`  {"id", "question", "answers", "type", "hops", "gold": [passage id], "supporting": [[passage id,
                   sentence index]], "triples": [[head, relation, tail, passage id]]}
`triples.jsonl`, `entities.jsonl` are offered as a graph. The set teaches; it is no benchmark.
Questions of 2wiki-kg are read here too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field, StrictInt

from kg2rag.datasets.reading import Files, Identifier, Record, SentenceName, Text, find_graph_files, locate
from kg2rag.datasets.spec import DatasetSpec, LoadOptions
from kg2rag.text.normalisation import split_sentences
from kg2rag.text.records import DataError
from kg2rag.types import Corpus, Passage, QADataset, Question

_HERE = Path(__file__).resolve().parent


class BundledPassage(Record):
    """One passage."""

    id: Identifier
    doc_id: Text
    title: str = ""
    text: Text


class FolderQuestion(Record):
    """One question; `gold`, `supporting` and the fourth member of a triple name passages of the corpus."""

    id: Identifier
    question: Text
    answers: Annotated[list[Text], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)] = Field(
        default_factory=list, validation_alias=AliasChoices("answers", "answer")
    )
    type: str = Field("", validation_alias=AliasChoices("type", "hop_type"))
    hops: StrictInt | None = Field(None, validation_alias=AliasChoices("hops", "hop_count"))
    gold: list[Text] = Field(min_length=1, validation_alias=AliasChoices("gold", "gold_support_chunk_ids"))
    supporting: list[SentenceName] = Field(default_factory=list)
    triples: list[tuple[Text, Text, Text] | tuple[Text, Text, Text, Text]] = Field(
        default_factory=list, validation_alias=AliasChoices("triples", "gold_triples")
    )


def folder() -> Path:
    """Where the bundled files lie: `data/bundled` of a source checkout, else inside the installed package."""
    root = _HERE.parents[1]
    is_checkout = (root / "pyproject.toml").is_file() and (root / "data" / "bundled").is_dir()
    return root / "data" / "bundled" if is_checkout else _HERE / "bundled_files"


def load(options: LoadOptions) -> QADataset:
    """Read the folder."""
    files = Files()
    root = locate(options.path or folder(), ["corpus.jsonl"], "bundled corpus").parent
    rows = files.records(root / "corpus.jsonl", BundledPassage)
    passages, counts = list[Passage](), Counter[str]()
    for row in rows:
        passages.append(Passage(row.id, row.title, row.text, row.doc_id, counts[row.doc_id]))
        counts[row.doc_id] += 1
    # `supporting` counts sentences by our own split, so the corpus stores that split.
    corpus = Corpus.from_passages(passages, [split_sentences(row.text) for row in rows])
    questions = read_questions(files, locate(root, ["questions.jsonl"], "bundled questions"), corpus)
    source = {"files": files.checksums, "notes": {}}
    return QADataset("bundled", corpus, tuple(questions), source=source, graph_files=find_graph_files(root))


def read_questions(files: Files, path: Path, corpus: Corpus, ids: Container[str] | None = None) -> Iterator[Question]:
    """The questions of a file, or those of some ids; DataError names what refers to nothing in the corpus."""
    known, before = {id_: row for row, id_ in enumerate(corpus.ids)}, Counter[str]()
    counts = [len(corpus.sentences(row)) for row in range(len(corpus))]
    firsts = []  # the index in its document of a passage's first sentence: `supporting` counts by document
    for document, count in zip(corpus.doc_ids, counts, strict=True):
        firsts.append(before[document])
        before[document] += count
    for at, record in enumerate(files.records(path, FolderQuestion), start=1):
        if ids is not None and record.id not in ids:
            continue
        where = f"{path.name}, line {at} ({record.id!r})"
        named = [("gold", id_) for id_ in record.gold] + [("supporting", id_) for id_, _ in record.supporting]
        for field, id_ in named + [("triples", fact[3]) for fact in record.triples if len(fact) > 3]:
            if id_ not in known:
                raise DataError(f"{where}: {field} names passage {id_!r}, which corpus.jsonl lacks.")
        rows = [(known[id_], index) for id_, index in record.supporting]
        for row, index in rows:
            if not 0 <= index < counts[row]:
                raise DataError(
                    f"{where}: supporting names sentence {index} of {corpus.ids[row]!r}, which has {counts[row]}."
                )
        supporting = tuple((corpus.doc_ids[row], firsts[row] + index) for row, index in rows)
        said = tuple(record.answers), record.type, record.hops, supporting, tuple(fact[:3] for fact in record.triples)
        yield Question(record.id, record.question, dict.fromkeys(record.gold, 1), *said)


DATASET = DatasetSpec(
    name="bundled",
    summary="the Python web and data stack, our own sentences: teaches, is no benchmark",
    load=load,
    licence="Apache-2.0",
    citation="The kg2rag developers",
    needs_path=False,
)
