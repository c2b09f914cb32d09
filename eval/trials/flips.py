"""Trials of damage: one bit of a file in the store is flipped, and the same work is done again."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from harness import (
    CRASH,
    LOST,
    SILENT,
    Finding,
    answer_all,
    chat,
    documents,
    serving,
    step,
    trial,
)

POINT = "3 flips"
FLIPS_OF_SQLITE, FLIPS = 8, 2  # of an SQLite file, and of any other
PARTS = 24
TRIPLES = '{"triples": [["Ada", "knew", "Charles"], ["Grace", "met", "Alan"]], "named_entities": ["Ada", "Charles"]}'


def work(url: str, texts: str = "documents") -> list[Any]:
    """Read documents, encode them by an endpoint and by a function, ask a model, rank, compare."""
    import kg2rag

    data = kg2rag.load(texts)
    encoders = [
        lambda texts: [[len(text), text.count("e")] for text in texts],
        kg2rag.EndpointEncoder(url, "m"),
    ]
    results: list[Any] = [
        [(passage.id, passage.title, passage.text) for passage in data.corpus]
    ]
    queries = [
        kg2rag.Query(str(i), f"{name} wrote a letter")
        for i, name in enumerate(("Ada", "Grace"))
    ]
    for encoder in encoders:
        kb = kg2rag.KnowledgeBase.build(data.corpus, embedder=encoder)
        for system in (kg2rag.Dense(kb), kg2rag.BM25(kb), kg2rag.MentionPPR(kb)):
            rankings = system.retrieve_batch(queries, 5)
            results.append(
                [(ranking.passage_ids, ranking.scores.tolist()) for ranking in rankings]
            )
    model = kg2rag.ChatModel(url, "m", api_key_env=None)
    replies = model.complete_many([f"Say {i}" for i in range(9)])
    results.append([repr(getattr(reply, "text", reply)) for reply in replies])
    with_question = data.with_questions(
        [{"id": "q", "question": "Ada wrote", "gold": data.corpus.ids[0]}]
    )
    result = kg2rag.compare(
        {"bm25": kg2rag.BM25(kb), "dense": kg2rag.Dense(kb)},
        with_question,
        metrics=["recall@1"],
    )
    result.save("out")
    results.append(Path("out", "scores.csv").read_text())
    return results


def answer(handler: Any) -> None:
    """Triples for a chat, counts for an embedding."""
    if "input" in handler.body:
        answer_all(handler)
    else:
        handler.reply(chat(f"{TRIPLES} {handler.body['messages'][-1]['content'][-6:]}"))


@trial(POINT, *range(PARTS))
def a_bit_of_the_store(part: int) -> None:
    """Flips in every file of the store, divided among the parts."""
    documents()
    with serving(answer) as server:
        undamaged = step(lambda: work(server.url))
        shutil.copytree(".store", "kept")
        cases = []
        for path in sorted(Path("kept").rglob("*")):
            if path.is_file() and path.stat().st_size:
                cases += [
                    (path.relative_to("kept"), i)
                    for i in range(
                        FLIPS_OF_SQLITE if path.suffix == ".sqlite" else FLIPS
                    )
                ]
        for name, number in cases[part::PARTS]:
            _flip(name, Random(f"{name.name} {number} {part}"))
            result = _repeated(server.url, name)
            if result != undamaged:
                raise Finding(
                    SILENT, f"{name}: another result: {_difference(result, undamaged)}"
                )


def _repeated(url: str, name: Path) -> list[Any]:
    """The work on a damaged store; an error must name the damaged file, and the second run must succeed."""
    shutil.rmtree("out", ignore_errors=True)
    try:
        return step(lambda: work(url))
    except RuntimeError as error:
        if name.name not in str(error) and name.parent.name not in str(error):
            raise Finding(CRASH, f"{name}: {error}") from error
    shutil.rmtree("out", ignore_errors=True)
    try:
        return step(lambda: work(url))
    except RuntimeError as error:
        raise Finding(LOST, f"{name}: the damage stays: {error}") from error


def _flip(name: Path, random: Random) -> None:
    """Restore the store and flip one bit of a file."""
    shutil.rmtree(".store")
    shutil.copytree("kept", ".store")
    data = bytearray(Path(".store", name).read_bytes())
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    Path(".store", name).write_bytes(data)


def _difference(result: list[Any], undamaged: list[Any]) -> str:
    """The first part in which two results differ."""
    for number, (part, undamaged_part) in enumerate(
        zip(result, undamaged, strict=True)
    ):
        if part != undamaged_part:
            return f"part {number}: {part!r:.80}, {undamaged_part!r:.80}"
    return ""


@trial(POINT)
def the_store_names_what_is_damaged() -> None:
    """`Store.verify` finds a changed row of each SQLite file, and an entry's changed byte."""
    import kg2rag

    documents()
    with serving(answer) as server:
        step(lambda: work(server.url))
    for path in sorted(Path(".store").rglob("*.sqlite")):
        with suppress(sqlite3.DatabaseError):
            data = bytearray(path.read_bytes())
            for position in range(len(data) // 2, len(data)):
                if data[position]:
                    data[position] ^= 4
            path.write_bytes(data)
        damaged = step(lambda: [str(file) for file in kg2rag.Store().verify()])
        if not any(file.endswith(path.name) for file in damaged):
            raise Finding(SILENT, f"{path} is damaged, verify names {damaged}")
