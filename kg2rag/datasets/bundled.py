"""The small set that comes with the package (or a folder of the same schema) -> QADataset.

`corpus.jsonl`     {"id", "doc_id", "title", "text"}; a passage's position is its place among those of its document
`questions.jsonl`  {"id", "question", "answers", "type", "hops", "gold": [passage id], "supporting": [[passage id,
                   sentence index]], "triples": [[head, relation, tail, passage id]]}
`triples.jsonl`, `entities.jsonl` are offered as a graph. The set teaches; it is no benchmark.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from pydantic import Field, StrictInt

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


class BundledQuestion(Record):
    """One question; `supporting` and `triples` name passages of the corpus."""

    id: Identifier
    question: Text
    answers: list[Text] = Field(default_factory=list)
    type: str = ""
    hops: StrictInt | None = None
    gold: list[Text] = Field(min_length=1)
    supporting: list[SentenceName] = Field(default_factory=list)
    triples: list[tuple[Text, Text, Text, Text]] = Field(default_factory=list)


def folder() -> Path:
    """Where the bundled files lie: `data/bundled` of a source checkout, else inside the installed package."""
    checkout = _HERE.parents[1] / "data" / "bundled"
    if (_HERE.parents[1] / "pyproject.toml").is_file() and checkout.is_dir():
        return checkout
    return _HERE / "bundled_files"


def load(options: LoadOptions) -> QADataset:
    """Read the folder."""
    files = Files()
    root = locate(options.path or folder(), ["corpus.jsonl"], "bundled corpus").parent
    corpus = _corpus(files.records(root / "corpus.jsonl", BundledPassage))
    path = locate(root, ["questions.jsonl"], "bundled questions")
    known, firsts = set(corpus.ids), _first_sentences(corpus)
    questions = tuple(
        _question(record, corpus, known, firsts, f"{path.name}, line {number} ({record.id!r})")
        for number, record in enumerate(files.records(path, BundledQuestion), start=1)
    )
    source = {"files": files.checksums, "notes": {}}
    return QADataset("bundled", corpus, questions, source=source, graph_files=find_graph_files(root))


def _corpus(rows: list[BundledPassage]) -> Corpus:
    counts: Counter[str] = Counter()
    passages = []
    for row in rows:
        passages.append(Passage(row.id, row.title, row.text, row.doc_id, counts[row.doc_id]))
        counts[row.doc_id] += 1
    # `supporting` counts sentences by our own split, so the corpus stores that split.
    return Corpus.from_passages(passages, [split_sentences(row.text) for row in rows])


def _first_sentences(corpus: Corpus) -> list[int]:
    """The index, in its document, of each passage's first sentence: `Question.supporting` counts by document."""
    counts: Counter[str] = Counter()
    firsts = []
    for row, doc_id in enumerate(corpus.doc_ids):
        firsts.append(counts[doc_id])
        counts[doc_id] += len(corpus.sentences(row))
    return firsts


def _question(record: BundledQuestion, corpus: Corpus, known: set[str], firsts: list[int], where: str) -> Question:
    named = [("gold", id_) for id_ in record.gold]
    named += [("supporting", id_) for id_, _ in record.supporting] + [("triples", fact[3]) for fact in record.triples]
    for field, id_ in named:
        if id_ not in known:
            raise DataError(f"{where}: {field} names passage {id_!r}, which corpus.jsonl lacks.")
    supporting = []
    for id_, index in record.supporting:
        row = corpus.row(id_)
        if not 0 <= index < len(corpus.sentences(row)):
            raise DataError(
                f"{where}: supporting names sentence {index} of {id_!r}, which has {len(corpus.sentences(row))}."
            )
        supporting.append((corpus.doc_ids[row], firsts[row] + index))
    return Question(
        id=record.id,
        text=record.question,
        gold=dict.fromkeys(record.gold, 1),
        answers=tuple(record.answers),
        type=record.type,
        hops=record.hops,
        supporting=tuple(supporting),
        triples=tuple((head, relation, tail) for head, relation, tail, _ in record.triples),
    )


DATASET = DatasetSpec(
    name="bundled",
    summary="the Python web and data stack, our own sentences: teaches, is no benchmark",
    load=load,
    licence="Apache-2.0",
    citation="The kg2rag developers",
    needs_path=False,
)
