"""A world -> a folder, line by line, and back.

`corpus.jsonl` {"id", "title", "text"}; `questions.jsonl`; `triples.jsonl`, offered as a graph; `README.md`, which says
that all of it is invented; and `world.json`, the controls and every file's sha256. The folder is written beside its
place and renamed into it, so that one that exists is whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.json
from pydantic import Field, StrictInt, ValidationError

from kg2rag.compute import Store, new_folder, remove_leftovers
from kg2rag.compute.progress import bar as progress_bar
from kg2rag.datasets.graph_files import find_graph_files
from kg2rag.datasets.reading import Files, Identifier, Record, Text
from kg2rag.datasets.spec import DatasetSpec, LoadOptions
from kg2rag.datasets.world.build import World
from kg2rag.text.records import DataError, check_depth, decode, sha256
from kg2rag.types import Corpus, QADataset, Question

MANIFEST = "world.json"
PARSED = "corpus.arrow"
LARGE = 64 << 20
"""Bytes of passages from which parsing takes a second and more."""
VERSION = 1
"""Part of the parsed corpus's key in the store: raise it where lines are read in another way."""
README = """# A synthetic world

Everything in this folder is invented: the people, the towns, the books and every sentence about them. It was generated
by kg2rag from the controls in world.json, and the same controls give the same bytes. It shows how a retrieval strategy
fares as questions grow longer, distractors more and graphs noisier. It is no benchmark of natural text.
"""


class Manifest(Record):
    """What `world.json` holds."""

    controls: dict[str, object]
    sha256: dict[Literal["corpus.jsonl", "questions.jsonl", "triples.jsonl"], str] = Field(min_length=3)


class WorldQuestion(Record):
    """One question; gold passages are in the order of the chain."""

    id: Identifier
    question: Text
    answers: list[Text] = Field(min_length=1)
    hops: StrictInt
    gold: list[Text] = Field(min_length=1)
    triples: list[tuple[Text, Text, Text]]


def write(world: World, folder: Path | str, *, progress: bool = True) -> Path:
    """Write a world, a line at a time: memory does not grow with the passages' texts.

    Raises
    ------
    FileExistsError : the folder is there already.
    """
    folder = Path(folder)
    if folder.exists():
        raise FileExistsError(f"{folder} exists. Give the world a new folder, or delete this one.")
    remove_leftovers(folder.parent)
    with new_folder(folder) as partial:
        (partial / "README.md").write_text(README, encoding="utf-8")
        lines: dict[str, Iterable[Mapping[str, object]]] = {
            "questions.jsonl": (
                {"id": q.id, "question": q.text, "answers": q.answers, "hops": q.hops}
                | {"gold": list(q.gold), "triples": q.triples}
                for q in world.asked
            ),
            "corpus.jsonl": ({"id": p.id, "title": p.title, "text": p.text} for p in world.pages()),
            "triples.jsonl": (
                {"head": t.head, "relation": t.relation, "tail": t.tail, "passage_id": t.passage_id}
                for t in world.triples()
            ),
        }
        checksums = {name: _write(partial / name, rows, progress=progress) for name, rows in lines.items()}
        manifest = {"synthetic": True, "controls": world.controls, "sha256": checksums}
        (partial / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    return folder


def load(options: LoadOptions) -> QADataset:
    """Read a folder that `write` wrote; every file must have the checksum that `world.json` names."""
    folder = options.path or Path()
    if not (folder / MANIFEST).is_file():
        raise FileNotFoundError(f"{folder} holds no world: {MANIFEST} is missing. Make one: kg2rag world --out.")
    try:
        manifest = Manifest.model_validate_json(decode((folder / MANIFEST).read_bytes(), folder / MANIFEST))
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]["msg"]
        raise DataError(f"{folder / MANIFEST}: no manifest of a world ({fault}). Generate the world again.") from None
    for name, expected in manifest.sha256.items():
        if (found := sha256(folder / name)) != expected:
            raise DataError(f"{folder / name}: sha256 {found}, but {MANIFEST} says {expected}. Generate it again.")
    questions = tuple(_question(record) for record in Files().records(folder / "questions.jsonl", WorldQuestion))
    source = {"synthetic": True, "controls": manifest.controls, "files": manifest.sha256}
    corpus, graphs = _corpus(folder / "corpus.jsonl"), find_graph_files(folder)
    return QADataset("synthetic world", corpus, questions, source=source, graph_files=graphs)


def _corpus(path: Path) -> Corpus:
    """The passages; of a large file, parsed once, kept in the store and mapped."""
    if path.stat().st_size < LARGE:
        return _parsed(path)
    key = {"corpus.jsonl": sha256(path), "rules": VERSION}
    return Corpus.open(Store().entry("world", key, lambda folder: _parsed(path).save(folder / PARSED)) / PARSED)


def _parsed(path: Path) -> Corpus:
    check_depth(path)  # Arrow's reader overflows the stack on 30,000 brackets
    parsing = pa.json.ParseOptions(
        explicit_schema=pa.schema([(name, pa.string()) for name in ("id", "title", "text")]),
        unexpected_field_behavior="ignore",
    )
    try:
        rows = pa.json.read_json(path, pa.json.ReadOptions(block_size=1 << 24), parsing)
    except pa.ArrowInvalid as error:
        raise DataError(f"{path}: no JSON Lines of passages ({error}). Generate the world again.") from None
    size = len(rows)
    rows = rows.append_column("doc_id", rows["id"]).append_column("position", pa.array([0] * size, pa.int32()))
    return Corpus(rows.append_column("sentences", pa.nulls(size, pa.list_(pa.string()))))


def _write(path: Path, rows: Iterable[Mapping[str, object]], *, progress: bool) -> str:
    """The sha256 of the lines written."""
    digest = hashlib.sha256()
    with path.open("wb") as file, progress_bar(None, path.stem, "line", shown=progress) as bar:
        for row in rows:
            line = json.dumps(row, ensure_ascii=False).encode() + b"\n"
            digest.update(line)
            file.write(line)
            bar.update()
    return digest.hexdigest()


def _question(record: WorldQuestion) -> Question:
    return Question(
        id=record.id,
        text=record.question,
        gold=dict.fromkeys(record.gold, 1),
        answers=tuple(record.answers),
        type=f"{record.hops} hop{'s' if record.hops > 1 else ''}",
        hops=record.hops,
        triples=tuple(record.triples),
    )


DATASET = DatasetSpec(
    name="world",
    summary="a generated, wholly invented world with exact gold chains: for scale and controlled questions",
    load=load,
    licence="Apache-2.0",
    citation="The kg2rag developers; synthetic",
)
