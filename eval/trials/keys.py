"""Trials of keys and texts: a key goes only to its host and is never shown, and no text steers a terminal."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import (
    CRASH,
    KEY,
    SECRET,
    SILENT,
    Finding,
    Server,
    answer_all,
    chat,
    command,
    documents,
    serving,
    step,
    trial,
    write,
)

POINT = "8 keys"
ESCAPE = "\x1b]0;owned\x07\x1b[2J\x9b31m"


def ask_chat(url: str) -> object:
    """One prompt to a chat model."""
    import kg2rag

    return repr(
        kg2rag.ChatModel(
            url, "m", api_key_env="OPENAI_API_KEY", retries=0
        ).complete_many(["Say it."])
    )


def ask_embeddings(url: str) -> object:
    """Two texts to an embedding endpoint, by its name."""
    import kg2rag
    from kg2rag.compute import embedder_named

    encoder = embedder_named(f"endpoint:m@{url}")
    return repr(encoder.encode(["one text", "another"], kg2rag.Store()))


ASKS: dict[str, Callable[[str], object]] = {
    "chat": ask_chat,
    "embeddings": ask_embeddings,
}


def echo(handler: Any) -> None:
    """Refuse a key and repeat it."""
    handler.reply(
        {
            "error": {
                "message": f"Incorrect API key: {handler.headers.get('authorization')}"
            }
        },
        401,
    )


def echo_plain(handler: Any) -> None:
    """The same as HTML."""
    handler.reply(f"<h1>401 {handler.headers.get('authorization')}</h1>".encode(), 401)


def echo_as_answer(handler: Any) -> None:
    """Status 200 without an answer."""
    handler.reply(
        {"object": "error", "message": str(handler.headers.get("authorization"))}
    )


def echo_500(handler: Any) -> None:
    """A server error with all headers of the request."""
    handler.reply({"error": {"message": str(handler.headers)}}, 500)


FAULTS = {
    "a refusal": echo,
    "a page": echo_plain,
    "status 200": echo_as_answer,
    "a dump": echo_500,
}


@trial(POINT, *((ask, fault) for ask in ASKS for fault in FAULTS))
def an_endpoint_that_echoes_the_key(case: tuple[str, str]) -> None:
    """The key is neither in the error, nor in its traceback, nor in the store."""

    def show() -> str:
        try:
            return str(ASKS[case[0]](server.url))
        except Exception as error:  # noqa: BLE001
            return "".join(traceback.format_exception(error))

    with serving(FAULTS[case[1]]) as server:
        text = step(show, OPENAI_BASE_URL=server.url)
        stored = b"".join(
            path.read_bytes() for path in Path(".store").rglob("*") if path.is_file()
        )
    if SECRET in text or SECRET.encode() in stored:
        raise Finding(
            KEY, text[max(0, text.find(SECRET) - 150) : text.find(SECRET) + 30]
        )


@trial(POINT, "encoder", "linker", "graph", "reranker", "two of them")
def a_sweep_file_that_names_a_host(part: str) -> None:
    """The key in OPENAI_API_KEY is not sent to a host that a file names."""
    documents()
    with serving(answer_all) as server:
        lines = {
            "encoder": f'encoder = "endpoint:m@{server.url}"\n[systems.dense]\n',
            "linker": f'[systems.graph_augmented]\nlinker = ["llm(m@{server.url})"]\n',
            "graph": f'graphs = ["llm(m@{server.url})"]\n[systems.graph_augmented]\nhops = [1]\n',
            "reranker": f'[systems.dense]\nrerank = ["llm(m@{server.url})"]\n',
            "two of them": (
                f'encoder = "endpoint:m@{server.url}"\n[systems.mention_ppr]\nlinker = ["llm(m@{server.url})"]\n'
            ),
        }[part]
        write(
            {
                "theirs.toml": f'name = "s"\ndata = "bundled"\nmetrics = ["recall@5"]\nk = 5\n{lines}'
            }
        )
        done = command("sweep", "theirs.toml", "--run")
        if server.authorized:
            raise Finding(KEY, f"sent to {server.url}")
        if SECRET in done.output:
            raise Finding(KEY, "shown")
        if server.requests:
            raise Finding(
                KEY,
                f"{len(server.requests)} requests with passages or questions went to a host of a file",
            )


@trial(POINT, *((ask, status) for ask in ASKS for status in (301, 302, 307, 308)))
def a_redirect_to_another_host(case: tuple[str, int]) -> None:
    """Neither the prompt nor the key follows."""
    with serving(answer_all) as other:

        def redirect(handler: Any) -> None:
            handler.reply(
                {}, case[1], location=f"{other.url.removesuffix('/v1')}{handler.path}"
            )

        with serving(redirect) as server:

            def show() -> str:
                try:
                    return str(ASKS[case[0]](server.url))
                except Exception as error:  # noqa: BLE001
                    return "".join(traceback.format_exception(error))

            step(show, OPENAI_BASE_URL=server.url)
        _nothing_came(other)


def _nothing_came(server: Server) -> None:
    if server.requests:
        raise Finding(
            KEY,
            f"{len(server.requests)} requests went to the other host, key: {server.authorized}",
        )


@trial(
    POINT,
    "names of files",
    "texts",
    "titles",
    "an error",
    "a server",
    "a question file",
    "a warning",
)
def texts_that_steer_a_terminal(where: str) -> None:
    """No control character of a file or server reaches the terminal."""
    documents(**{f"other{ESCAPE}.md": "Mary wrote it.", "text.md": f"# Mary{ESCAPE}\n\nMary{ESCAPE} wrote a novel.",
                 f"bad{ESCAPE}.pdf": b"%PDF no"})  # fmt: skip
    write(
        {
            f"q{ESCAPE}.jsonl": '{"question": 5}\n',
            "q.jsonl": f'{{"question": "Who wrote?", "gold": "{ESCAPE!r}"}}\n',
        }
    )

    def say(handler: Any) -> None:
        handler.reply({"error": {"message": f"no model {ESCAPE}"}}, 404)

    with serving(say) as server:
        words: dict[str, tuple[object, ...]] = {
            "names of files": ("ask", "documents", "Who was Mary?", "--k", 9),
            "texts": ("context", "documents", "Who was Mary?", "--system", "bm25"),
            "titles": (
                "explain",
                "documents",
                "Who was Mary?",
                "--systems",
                "bm25,mention_ppr",
            ),
            "an error": ("compare", f"nowhere{ESCAPE}"),
            "a server": (
                "build",
                "documents",
                "--extractor",
                "openie",
                "--out",
                "g",
                "--base-url",
                server.url,
                "--model",
                "m",
            ),
            "a question file": (
                "compare",
                "documents",
                "--questions",
                f"q{ESCAPE}.jsonl",
                "--systems",
                "bm25",
            ),
            "a warning": (
                "compare",
                "documents",
                "--questions",
                "q.jsonl",
                "--systems",
                "bm25",
            ),
        }
        done = command(*words[where], OPENAI_BASE_URL=server.url)
    if any(sign in done.output for sign in ("\x1b]", "\x1b[2J", "\x9b", "\x07")):
        raise Finding(SILENT, f"{where}: the title of the terminal was changed")
    if "Traceback" in done.output:
        raise Finding(CRASH, done.output[-300:])


@trial(POINT)
def a_reply_with_a_key_in_a_comparison() -> None:
    """The saved configuration names the host without the user information of its address."""

    def say(handler: Any) -> None:
        handler.reply(chat("{}"))

    with serving(say) as server:
        url = server.url.replace("://", f"://user:{SECRET}@")
        done = command(
            "build",
            "bundled",
            "--extractor",
            "openie",
            "--limit",
            2,
            "--out",
            "g",
            "--base-url",
            url,
            "--model",
            "m",
        )
    written = b"".join(
        path.read_bytes()
        for folder in ("g", ".store")
        for path in Path(folder).rglob("*")
        if path.is_file()
    )
    if SECRET in done.output or SECRET.encode() in written:
        raise Finding(KEY, done.output[-300:])
