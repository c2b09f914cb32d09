"""`kg2rag build` by a language model, to be killed -> its graph, and whether an answer too many was bought."""

from __future__ import annotations

import io
import json
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import NoReturn

import extraction_world as world
import llm_server

from kg2rag.cli import app
from kg2rag.extraction.importers.saved import ABOUT

PASSAGES = 3
ADDRESS, PAID = "KG2RAG_TORTURE_ADDRESS", "KG2RAG_TORTURE_PAID"


def extraction(folder: Path) -> object:
    """`kg2rag build` by the model of `endpoint`, as in a shell; its graph, and whether an answer too many was bought.

    One answer may be: that which was on its way when the process was killed. Their ledger is the store.
    """
    paid = Path(os.environ[PAID])
    if not folder.exists():
        folder.mkdir()
        paid.write_bytes(b"")
    os.environ["KG2RAG_STORE"] = str(folder / "store")
    given = ["beir", "--path", paid.parent / "data", "--extractor", "openie", "--out", folder / "graph"]
    model = ["--base-url", os.environ[ADDRESS], "--model", "tiny", "--api-key-env", "none", "--concurrency", 1]
    with redirect_stdout(io.StringIO()) as said:
        code = app(["build", *map(str, given + model)], standalone_mode=False)
    graph = {str(file.relative_to(folder)): file for file in sorted(folder.glob("graph/**/*")) if file.is_file()}
    written = {name: file.read_bytes() for name, file in graph.items() if file.name not in (ABOUT, ".kg2rag.json")}
    about = json.loads((folder / "graph" / ABOUT).read_text()) | {"usage": None}  # which counts what was stored
    return code, written, about, len(paid.read_bytes()) - 2 * PASSAGES <= 1 or said.getvalue()


@contextmanager
def endpoint() -> Iterator[None]:
    """A model in a process of its own, which marks each answer in a file, for as long as a block."""
    with tempfile.TemporaryDirectory() as folder:
        paid = Path(folder, "paid")
        world.write_beir(Path(folder, "data"), PASSAGES)
        paid.touch()
        read_end, write_end = os.pipe()
        if not (child := os.fork()):
            os.close(read_end)
            _serve(write_end, paid)
        os.close(write_end)
        with os.fdopen(read_end) as stream:
            os.environ |= {ADDRESS: stream.readline().strip(), PAID: str(paid), "NO_PROXY": "127.0.0.1"}
        try:
            yield
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _serve(pipe: int, paid: Path) -> NoReturn:
    def reply(prompt: str) -> str:
        with paid.open("ab") as stream:
            stream.write(b".")
        return world.reply(prompt)

    with llm_server.serving(reply, prompt_of=llm_server.last_message) as server:
        os.write(pipe, f"{server.url}\n".encode())
        signal.pause()
    os._exit(1)
