"""A BEIR folder (corpus.jsonl, queries.jsonl, qrels/<split>.tsv) -> QADataset.

[1] Thakur et al., "BEIR", NeurIPS 2021 (datasets and benchmarks). Grades are kept; a grade below 1 says that a document
is not relevant and is left out, as are queries of other splits; both are counted.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from kg2rag.datasets.graph_files import find_graph_files
from kg2rag.datasets.reading import Files, Identifier, Record, Text, locate
from kg2rag.datasets.spec import DatasetSpec, LoadOptions
from kg2rag.text.records import DataError
from kg2rag.types import Corpus, Passage, QADataset, Question

HEADER = ("query-id", "corpus-id", "score")


class Document(Record):
    """One document; BEIR has some with a title alone."""

    id: Identifier
    title: str = ""
    text: str


class BeirQuery(Record):
    """One query."""

    id: Identifier
    text: Text


def load(options: LoadOptions) -> QADataset:
    """Read the folder."""
    folder = options.path or Path()
    if not folder.is_dir():
        raise FileNotFoundError(
            f"{folder} is no folder. Give the one that holds corpus.jsonl, queries.jsonl and qrels."
        )
    files, notes = Files(), Counter[str]()
    corpus_path = locate(folder, ["corpus.jsonl"], "BEIR corpus")
    queries = files.records(locate(folder, ["queries.jsonl"], "BEIR queries"), BeirQuery)
    corpus = Corpus.from_passages(_passage(row, notes) for row in files.records(corpus_path, Document))
    split, qrels_path = _qrels_path(folder, options.split)
    gold = _qrels(files, qrels_path, corpus, {query.id for query in queries}, notes)
    questions = tuple(Question(query.id, query.text, gold[query.id]) for query in queries if query.id in gold)
    notes["queries without a relevant document in this split left out"] = len(queries) - len(questions)
    source = {"files": files.checksums, "split": split, "notes": {what: n for what, n in notes.items() if n}}
    return QADataset(folder.resolve().name, corpus, questions, source=source, graph_files=find_graph_files(folder))


def _passage(row: Document, notes: Counter[str]) -> Passage:
    if row.text.strip():
        return Passage(row.id, row.title, row.text, row.id, 0)
    if not row.title.strip():
        raise DataError(f"corpus.jsonl ({row.id!r}): fields 'title' and 'text' are both empty. Leave the document out.")
    notes["documents without text, their title serves as text"] += 1
    return Passage(row.id, "", row.title, row.id, 0)


def _qrels_path(folder: Path, split: str | None) -> tuple[str, Path]:
    """The requested judgements; where none are, "test" or the only split."""
    there = {path.stem: path for path in sorted((folder / "qrels").glob("*.tsv"))}
    if not there:
        raise FileNotFoundError(f"{folder} holds no qrels/<split>.tsv.")
    chosen = split or ("test" if "test" in there else next(iter(there)) if len(there) == 1 else "test")
    if chosen not in there:
        raise ValueError(f"{folder.name} has no split {chosen!r}. It offers: {', '.join(there)}.")
    return chosen, there[chosen]


def _qrels(
    files: Files, path: Path, corpus: Corpus, queries: set[str], notes: Counter[str]
) -> dict[str, dict[str, int]]:
    gold: dict[str, dict[str, int]] = {}
    documents = set(corpus.ids)
    for number, (query, document, score) in files.table(path, HEADER):
        where = f"{path.name}, line {number}"
        if query not in queries:
            raise DataError(f"{where}: query-id {query!r} is not in queries.jsonl.")
        if document not in documents:
            raise DataError(f"{where}: corpus-id {document!r} is not in corpus.jsonl.")
        try:
            grade = int(score)
        except ValueError:
            raise DataError(f"{where}: the score must be a whole number, not {score!r}.") from None
        if document in gold.get(query, {}):
            raise DataError(f"{where}: {query!r} and {document!r} are judged twice.")
        if grade < 1:
            notes["judgements below 1 left out"] += 1
        else:
            gold.setdefault(query, {})[document] = grade
    return gold


DATASET = DatasetSpec(
    name="beir",
    summary="any set of the BEIR benchmark, with graded judgements",
    load=load,
    licence="each set its own",
    citation="Thakur et al., BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of IR Models, NeurIPS 2021",
    homepage="https://github.com/beir-cellar/beir",
    splits=None,
)
