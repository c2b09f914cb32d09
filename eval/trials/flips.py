"""Trials of damage: one bit of a file in the store that users have is flipped, and the same work is done again."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from harness import CRASH, LOST, SILENT, Finding, answer_all, chat, documents, serving, step, trial

POINT = "3 flips"
FLIPS = 8  # of an SQLite file; 2 of any other
PARTS = 24
TRIPLES = '{"triples": [["Ada", "knew", "Charles"], ["Grace", "met", "Alan"]], "named_entities": ["Ada", "Charles"]}'


def work(url: str, texts: str = "documents") -> list[Any]:
    """Read documents, encode them by an endpoint and by a function, ask a model, rank, compare."""
    import kg2rag

    data = kg2rag.load(texts)
    encoders = [lambda texts: [[len(text), text.count("e")] for text in texts], kg2rag.EndpointEncoder(url, "m")]
    found: list[Any] = [[(p.id, p.title, p.text) for p in data.corpus]]
    queries = [kg2rag.Query(str(i), f"{name} wrote a letter") for i, name in enumerate(("Ada", "Grace"))]
    for encoder in encoders:
        kb = kg2rag.KnowledgeBase.build(data.corpus, embedder=encoder)
        for system in (kg2rag.Dense(kb), kg2rag.BM25(kb), kg2rag.MentionPPR(kb)):
            found.append([(r.passage_ids, r.scores.tolist()) for r in system.retrieve_batch(queries, 5)])
    model = kg2rag.ChatModel(url, "m", api_key_env=None)
    found.append([repr(getattr(each, "text", each)) for each in model.complete_many([f"Say {i}" for i in range(9)])])
    asked = data.with_questions([{"id": "q", "question": "Ada wrote", "gold": data.corpus.ids[0]}])
    result = kg2rag.compare({"bm25": kg2rag.BM25(kb), "dense": kg2rag.Dense(kb)}, asked, metrics=["recall@1"])
    result.save("out")
    found.append(Path("out", "scores.csv").read_text())
    return found


def answer(handler: Any) -> None:
    """Triples for a chat, counts for an embedding."""
    if "input" in handler.body:
        answer_all(handler)
    else:
        handler.reply(chat(f"{TRIPLES} {handler.body['messages'][-1]['content'][-6:]}"))


@trial(POINT, *range(PARTS))
def a_bit_of_the_store(part: int) -> None:
    """Flips in every file of the store, dealt out to the parts."""
    documents()
    with serving(answer) as server:
        whole = step(lambda: work(server.url))
        shutil.rmtree("out")
        shutil.copytree(".store", "kept")
        files = [path for path in sorted(Path("kept").rglob("*")) if path.is_file() and path.stat().st_size]
        cases = [(path, number) for path in files for number in range(FLIPS if path.suffix == ".sqlite" else 2)]
        for path, number in cases[part::PARTS]:
            _flip(path.relative_to("kept"), Random(f"{path.name} {number} {part}"))
            for again in (False, True):  # what is damaged for good fails twice
                shutil.rmtree("out", ignore_errors=True)
                try:
                    came = step(lambda: work(server.url))
                except RuntimeError as error:
                    if again:
                        raise Finding(LOST, f"{path}: for good: {error}") from error
                    if path.name not in str(error) and path.parent.name not in str(error):
                        raise Finding(CRASH, f"{path}: {error}") from error
                    continue
                if came != whole:
                    raise Finding(SILENT, f"{path}: another result: {_difference(came, whole)}")
                break


def _flip(name: Path, random: Random) -> None:
    shutil.rmtree(".store")
    shutil.copytree("kept", ".store")
    data = bytearray(Path(".store", name).read_bytes())
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    Path(".store", name).write_bytes(data)


def _difference(found: list[Any], whole: list[Any]) -> str:
    return next(
        (f"part {i}: {a!r:.80}, {b!r:.80}" for i, (a, b) in enumerate(zip(found, whole, strict=True)) if a != b), ""
    )


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
            for place in range(len(data) // 2, len(data)):
                if data[place]:
                    data[place] ^= 4
            path.write_bytes(data)
        named = {str(each) for each in step(lambda: [str(each) for each in kg2rag.Store().verify()])}
        if not any(name.endswith(path.name) for name in named):
            raise Finding(SILENT, f"{path} is damaged, verify names {named}")
