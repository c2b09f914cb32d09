"""Small hand-written sets in the official schemas, and a way to write them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HOTPOT = [
    {
        "_id": "h1",
        "question": "Where was the director of Ed Wood born?",
        "answer": "Burbank",
        "type": "bridge",
        "level": "hard",
        "supporting_facts": [["Ed Wood", 0], ["Tim Burton", 1]],
        "context": [
            ["Ed Wood", ["Ed Wood is a film by Tim Burton.", " It is in black and white."]],
            ["Tim Burton", ["Tim Burton directs films.", " He was born in Burbank."]],
            ["Paris", ["Paris is a city."]],
        ],
    },
    {
        "_id": "h2",
        "question": "Is Paris a city and Tim Burton a director?",
        "answer": "yes",
        "type": "comparison",
        "level": "easy",
        "supporting_facts": [["Paris", 0], ["Tim Burton", 0]],
        "context": [
            ["Paris", ["Paris is a city."]],
            ["Tim Burton", ["Tim Burton directs films.", " He was born in Burbank."]],
        ],
    },
]

MUSIQUE = [
    {
        "id": "2hop__1_2",
        "question": "Who founded the maker of X?",
        "answer": "Ann",
        "answer_aliases": ["Anne", "Ann"],
        "answerable": True,
        "question_decomposition": [
            {"id": 1, "question": "X >> maker", "answer": "Acme", "paragraph_support_idx": 1},
            {"id": 2, "question": "#1 >> founder", "answer": "Ann", "paragraph_support_idx": 2},
        ],
        "paragraphs": [
            {"idx": 0, "title": "Acme", "paragraph_text": "Acme is a town.", "is_supporting": False},
            {"idx": 1, "title": "X", "paragraph_text": "X is made by Acme.", "is_supporting": True},
            {"idx": 2, "title": "Acme", "paragraph_text": "Acme was founded by Ann.", "is_supporting": True},
        ],
    },
    {
        "id": "3hop1__3_4_5",
        "question": "Where was the founder of the maker of X born?",
        "answer": "Rome",
        "answer_aliases": [],
        "answerable": True,
        "question_decomposition": [],
        "paragraphs": [
            {"idx": 0, "title": "X", "paragraph_text": "X is made by Acme.", "is_supporting": True},
            {"idx": 1, "title": "Ann", "paragraph_text": "Ann was born in Rome.", "is_supporting": True},
        ],
    },
]


@pytest.fixture
def hotpot() -> list[dict[str, Any]]:
    """Two HotpotQA records over three paragraphs."""
    return copy.deepcopy(HOTPOT)


@pytest.fixture
def musique() -> list[dict[str, Any]]:
    """Two MuSiQue records over four paragraphs, two of them titled Acme."""
    return copy.deepcopy(MUSIQUE)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, object], Path]:
    """Write a file below tmp_path: text as it is, `.jsonl` one object a line, anything else as JSON."""

    def _write(name: str, content: object) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        elif isinstance(content, bytes):
            path.write_bytes(content)
        elif path.suffix == ".jsonl" and isinstance(content, list):
            path.write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")
        else:
            path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return _write
