"""CoSQA's retrieval files (code_idx_map.txt and the questions of one split) -> QADataset.

[1] Huang et al., "CoSQA", ACL 2021. A passage is one Python function, its id the function's number in the map; it has
no title, since a function's name is part of its text. The gold of a web query is the one function judged to answer it.
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
    """Read the map of functions and the questions."""
    files = Files()
    path = locate(options.path or Path(), options.patterns, "CoSQA questions")
    text = files.text(locate(path.parent, [MAP], "map of CoSQA's functions"))
    pairs = parse_json(text, MAP, pairs=lambda own: own)  # a dict would drop a function that stands twice
    if not (isinstance(pairs, list) and all(isinstance(pair, tuple) for pair in pairs)):
        raise DataError(f"{MAP}: must hold one object, from functions to numbers.")
    functions = checked(((f"{MAP}, {code!r}", {"id": number, "code": code}) for code, number in pairs), Function, MAP)
    codes = {function.id: function.code for function in functions}
    corpus = Corpus.from_passages(Passage(str(number), "", code, str(number), 0) for number, code in codes.items())
    records = files.records(path, CosqaRecord)
    for at, record in enumerate(records, start=1):
        if codes.get(record.retrieval_idx) != record.code:
            where, number = f"{path.name}, record {at} ({record.id!r})", record.retrieval_idx
            raise DataError(f"{where}: {MAP} has another function, or none, under its retrieval_idx {number}.")
    questions = tuple(Question(record.id, record.doc, {str(record.retrieval_idx): 1}) for record in records)
    return QADataset("cosqa", corpus, questions, source={"files": files.checksums, "notes": {}})


DATASET = DatasetSpec(
    name="cosqa",
    summary="web queries to Python functions: identifiers and code",
    load=load,
    licence="C-UDA",
    citation="Huang et al., CoSQA: 20,000+ Web Queries for Code Search and Question Answering, ACL 2021",
    homepage="https://github.com/microsoft/CodeXGLUE",
    splits=("validation", "test"),
    files={"validation": ("cosqa-retrieval-dev*.json",), "test": ("cosqa-retrieval-test*.json",)},
)
