"""Passages, the triples that they state, and a model that reads them: for tests of extraction by a language model.

Passage 7 reads "Ann7 knows Bob7. Bob7 lives in Cairo8." The model's answer is a function of the
question only.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from kg2rag.types import Corpus, Passage, Triple

_FACT = re.compile(r"(\w+) (knows|lives in) (\w+)\.")
_NAME = re.compile(r"(?:Ann|Bob|Cairo)\d+")


def passages(count: int) -> list[Passage]:
    texts = [
        f"Ann{i} knows Bob{i}. Bob{i} lives in Cairo{i + 1}." for i in range(count)
    ]
    return [
        Passage(f"p{i}", f"Note {i}", text, f"p{i}", 0) for i, text in enumerate(texts)
    ]


def corpus(count: int) -> Corpus:
    return Corpus.from_passages(passages(count))


def triples(count: int) -> tuple[Triple, ...]:
    """What the passages state, in their order."""
    stated = [
        (
            Triple(f"Ann{i}", "knows", f"Bob{i}", f"p{i}"),
            Triple(f"Bob{i}", "lives in", f"Cairo{i + 1}", f"p{i}"),
        )
        for i in range(count)
    ]
    return tuple(triple for pair in stated for triple in pair)


def reply(question: str) -> str:
    """What the model answers to a question of the style "openie", "kg2rag" or "typed"."""
    if question.startswith("Passage: "):
        facts = [
            dict(zip(("source", "relation", "target"), fact, strict=True))
            for fact in _FACT.findall(question)
        ]
        names = [{"name": name} for name in dict.fromkeys(_NAME.findall(question))]
        return json.dumps({"entities": names, "relations": facts})
    if "Entities: " in question or question.startswith("Title: "):
        return json.dumps({"triples": _FACT.findall(question)})
    return json.dumps({"entities": list(dict.fromkeys(_NAME.findall(question)))})


def write_beir(folder: Path, count: int) -> Path:
    """The passages as a folder of the set "beir", with one question."""
    documents = [
        {"_id": p.id, "title": p.title, "text": p.text} for p in passages(count)
    ]
    (folder / "qrels").mkdir(parents=True)
    _write(folder / "corpus.jsonl", documents)
    _write(
        folder / "queries.jsonl",
        [{"_id": "q", "text": "Where does the friend of Ann1 live?"}],
    )
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\tp1\t1\n")
    return folder


def _write(file: Path, records: list[dict[str, str]]) -> None:
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
