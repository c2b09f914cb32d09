"""CoSQA's retrieval files (code_idx_map.txt and the questions of one split) -> QADataset.

[1] Huang et al., "CoSQA", ACL 2021. A passage is one Python function, its id the function's number
in the map; it has no title, since a function's name is part of its text. The gold of a web query is
the one function judged to answer it.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, StrictInt

from kg2rag.datasets.reading import Files, Record, Text, checked, locate
from kg2rag.datasets.spec import DatasetSpec, LoadOptions
from kg2rag.text.records import DataError, parse_json
from kg2rag.types import Corpus, Passage, QADataset, Question

MAP = "code_idx_map.txt"


class Function(Record):
    """One entry of the map."""

    id: StrictInt
    code: str


class CosqaRecord(Record):
    """One web query and the function that answers it."""

    id: Text = Field(validation_alias="idx")
    doc: Text
    code: Text
    retrieval_idx: StrictInt


def load(options: LoadOptions) -> QADataset:
    """The data set of the map of functions and one file of questions."""
    files = Files()
    path = locate(options.path or Path(), options.patterns, "CoSQA questions")
    codes = _read_functions(
        files, locate(path.parent, [MAP], "map of CoSQA's functions")
    )
    corpus = Corpus.from_passages(
        Passage(str(number), code) for number, code in codes.items()
    )
    questions = list[Question]()
    for number, record in enumerate(files.records(CosqaRecord, path), start=1):
        function = record.retrieval_idx
        if codes.get(function) != record.code:
            where = f"{path.name}, record {number} ({record.id!r})"
            raise DataError(
                f"{where}: {MAP} has another function, or none, under its retrieval_idx {function}."
            )
        questions.append(Question(record.id, record.doc, {str(function): 1}))
    return QADataset(
        "cosqa",
        corpus,
        tuple(questions),
        source={"files": files.checksums, "notes": {}},
    )


def _read_functions(files: Files, path: Path) -> dict[int, str]:
    """The number of each function in the map -> its code."""
    # A list of pairs keeps a function that occurs twice, which a dict would drop.
    pairs = parse_json(files.text(path), MAP, pairs=list)
    if not (isinstance(pairs, list) and all(isinstance(pair, tuple) for pair in pairs)):
        raise DataError(f"{MAP}: must hold one object, from functions to numbers.")
    rows = (
        (f"{MAP}, {code!r}", {"id": number, "code": code}) for code, number in pairs
    )
    return {function.id: function.code for function in checked(rows, Function, MAP)}


DATASET = DatasetSpec(
    name="cosqa",
    summary="web queries to Python functions: identifiers and code",
    load=load,
    licence="C-UDA",
    citation="Huang et al., CoSQA: 20,000+ Web Queries for Code Search and Question Answering, ACL 2021",
    homepage="https://github.com/microsoft/CodeXGLUE",
    splits=("validation", "test"),
    files={
        "validation": ("cosqa-retrieval-dev*.json",),
        "test": ("cosqa-retrieval-test*.json",),
    },
)
