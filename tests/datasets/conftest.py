"""Small hand-written sets in the official schemas, and a way to write them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kg2rag.datasets import DATASETS

HOTPOT = [
    {
        "_id": "h1",
        "question": "Where was the director of Ed Wood born?",
        "answer": "Burbank",
        "type": "bridge",
        "level": "hard",
        "supporting_facts": [["Ed Wood", 0], ["Tim Burton", 1]],
        "context": [
            [
                "Ed Wood",
                ["Ed Wood is a film by Tim Burton.", " It is in black and white."],
            ],
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
            {
                "id": 1,
                "question": "X >> maker",
                "answer": "Acme",
                "paragraph_support_idx": 1,
            },
            {
                "id": 2,
                "question": "#1 >> founder",
                "answer": "Ann",
                "paragraph_support_idx": 2,
            },
        ],
        "paragraphs": [
            {
                "idx": 0,
                "title": "Acme",
                "paragraph_text": "Acme is a town.",
                "is_supporting": False,
            },
            {
                "idx": 1,
                "title": "X",
                "paragraph_text": "X is made by Acme.",
                "is_supporting": True,
            },
            {
                "idx": 2,
                "title": "Acme",
                "paragraph_text": "Acme was founded by Ann.",
                "is_supporting": True,
            },
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
            {
                "idx": 0,
                "title": "X",
                "paragraph_text": "X is made by Acme.",
                "is_supporting": True,
            },
            {
                "idx": 1,
                "title": "Ann",
                "paragraph_text": "Ann was born in Rome.",
                "is_supporting": True,
            },
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
            path.write_text(
                "".join(json.dumps(row) + "\n" for row in content), encoding="utf-8"
            )
        else:
            path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return _write


def _as_on_the_hub(record: dict[str, Any]) -> dict[str, Any]:
    """A record of HotpotQA as the hub has it: `id` for `_id`, lists of pairs as a record of two lists."""
    names = {
        "supporting_facts": ("title", "sent_id"),
        "context": ("title", "sentences"),
    }
    columns = {
        field: {
            name: [pair[at] for pair in record[field]]
            for at, name in enumerate(pair_of)
        }
        for field, pair_of in names.items()
    }
    return {
        "id": record["_id"],
        **{key: value for key, value in record.items() if key != "_id"},
        **columns,
    }


@pytest.fixture
def as_on_the_hub() -> Callable[[dict[str, Any]], dict[str, Any]]:
    """An official record of HotpotQA -> a row of the hub's copy."""
    return _as_on_the_hub


@pytest.fixture
def hub_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, str], Path]:
    """A repository and a commit -> the folder of its files in the cache of the hub's own client; no network."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)

    def folder(repo: str, commit: str) -> Path:
        place = tmp_path / "hub" / f"datasets--{repo.replace('/', '--')}"
        (place / "refs").mkdir(parents=True, exist_ok=True)
        (place / "refs" / "main").write_text(commit)
        made = place / "snapshots" / commit
        made.mkdir(parents=True, exist_ok=True)
        return made

    return folder


@pytest.fixture
def hub_copy(hub_folder: Callable[[str, str], Path]) -> Callable[..., Path]:
    """Put rows where the hub's copy of a set is looked for, as the hub keeps them; returns the file."""

    def make(name: str, rows: list[dict[str, Any]], split: str = "validation") -> Path:
        copy = DATASETS[name].hub
        assert copy is not None
        file = hub_folder(copy.repo, copy.revision) / copy.files[split].replace(
            "*", "00000-of-00001.parquet"
        )
        file.parent.mkdir(exist_ok=True)
        if file.suffix == ".parquet":
            pq.write_table(pa.Table.from_pylist(rows), file)
        else:
            file.write_text(
                "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
            )
        return file

    return make
