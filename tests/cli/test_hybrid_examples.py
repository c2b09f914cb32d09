"""Every query that the dynamic hybrid design gives as an example, as a user asks it: its kind, weights and first hit.

A small invented library stands for that of the design, with the names of its examples. The design
has no question set.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kg2rag.cli import app
from kg2rag.compute import Store

DOCUMENTS = {
    "class": (
        "streaming-text-response.ts",
        "export class StreamingTextResponse extends Response. Wraps a ReadableStream of text pieces so that a route "
        "handler can return them as they are made.",
    ),
    "swapped": (
        "text-streaming-response.ts",
        "export class TextStreamingResponse. An older response class with another constructor; kept for compatibility.",
    ),
    "handler": (
        "async-output.ts",
        "Async text streaming handler: writes each piece of text output to the socket as soon as it is there.",
    ),
    "processor": (
        "processor.ts",
        "A response stream processor that splits a body into events and hands them on.",
    ),
    "route": (
        "chat-route.ts",
        "The chat route of the example application checks the session, reads the messages of the request, asks the "
        "provider for a stream and answers with new StreamingTextResponse(stream).",
    ),
    "hook": (
        "use-chat.ts",
        "export function useChat(options): messages, input and handleSubmit for a chat component. The useChat hook "
        "calls the chat route.",
    ),
    "box": (
        "ChatBox.tsx",
        "The ChatBox component shows the messages of useChat and a form to write the next one.",
    ),
    "guide": (
        "guide-streaming.md",
        "How to stream AI responses in a React app: build real-time AI chat with React by a hook on the client and a "
        "streaming route on the server, step by step.",
    ),
    "errors": (
        "guide-errors.md",
        "Handling streaming in AI applications: back-pressure, aborted requests and partial answers.",
    ),
    "python": (
        "use_chat.py",
        "def use_chat(session): what the Python client has in place of a hook.",
    ),
    "legacy": (
        "use-chat-hook.ts",
        "export const useChatHook: the name that it had before version 3.",
    ),
    "keys": (
        "credentials.md",
        "API keys have the form sk-proj-9fA2 and belong into the environment.",
    ),
    "option": (
        "provider.ts",
        "createProvider({ apiKey }) takes the secret in TypeScript.",
    ),
    "argument": ("provider.py", "Provider(api_key=None) takes the secret in Python."),
    "variable": ("env.md", "export API_KEY=… sets the secret for a shell."),
    "install": ("install.md", "npm install @ai-sdk/openai adds the provider."),
    "former": (
        "migration.md",
        "Before version 2 the provider was imported from ai/openai.",
    ),
    "fork": ("forks.md", "openai-ai-sdk is a package by somebody else."),
    "recipe": ("bread.md", "Fold the butter in and let the dough rest overnight."),
}
FACTS = (
    ("StreamingTextResponse", "extends", "Response", "class"),
    ("chat route", "returns", "StreamingTextResponse", "route"),
    ("useChat", "calls", "chat route", "hook"),
    ("ChatBox", "uses", "useChat", "box"),
)
CONCEPTUAL, IDENTIFIER, SPELLED = (
    (0.7, 0.2, 0.0, 0.1),
    (0.1, 0.5, 0.3, 0.1),
    (0.2, 0.5, 0.2, 0.1),
)
RELATIONSHIP, FUZZY, FORMAT = (
    (0.1, 0.2, 0.1, 0.6),
    (0.1, 0.2, 0.6, 0.1),
    (0.0, 0.2, 0.7, 0.1),
)
# beside each other in the documents: BM25 does not tell them apart
IN_OTHER_CAPITALS = {"api_key", "API_KEY"}
EXAMPLES = [
    # "Query Analysis System", Example Query Classifications 1 to 5: the weights are the design's
    ("How do I stream AI responses in a React app?", "conceptual", CONCEPTUAL, "guide"),
    ("Find the StreamingTextResponse class", "identifier", IDENTIFIER, "class"),
    ("What components use the useChat hook?", "relationship", RELATIONSHIP, "box"),
    ("streamingTextRespons", "fuzzy", FUZZY, "class"),
    ("Find API keys in format 'sk-proj-xxxx'", "mixed", FORMAT, "keys"),
    # "Advantages Over Pure Semantic Search": its two test cases, the weights are the design's
    ("streaming text response", "identifier", SPELLED, "class"),
    (
        "How do I implement real-time AI chat in React?",
        "conceptual",
        CONCEPTUAL,
        "guide",
    ),
    # "Four-Dimensional Hybrid Search": the example of each dimension, whose weight the design gives
    # as a range
    (
        "How do I handle streaming in AI applications?",
        "conceptual",
        CONCEPTUAL,
        "errors",
    ),
    ("Find StreamingTextResponse class", "identifier", IDENTIFIER, "class"),
    ("STreamingTxtResp", "fuzzy", FUZZY, "class"),
    ("What uses StreamingTextResponse?", "relationship", RELATIONSHIP, "class"),
    # "Implementation" of the third: what its statement in SQL looks for with a wildcard within
    ("*Streaming*Response*", "mixed", FORMAT, "class"),
]
# Further names of the text, each beside the passage that has it: names that differ in case and
# separators alone, import
# paths, and what the other statements look for. Rank fusion does not know that the pattern's first
# hit is far ahead of
# the others, so in the fused ranking it is among the first three.
NAMES = {
    "StreamingTextResponse": "class",
    "*StreamingTextResponse*": "class",
    "TextStreamingResponse": "swapped",
    "useChat": "hook",
    "use_chat": "python",
    "useChatHook": "legacy",
    "apiKey": "option",
    "api_key": "argument",
    "API_KEY": "variable",
    "@ai-sdk/openai": "install",
    "ai/openai": "former",
    "openai-ai-sdk": "fork",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    rows = [
        {"_id": name, "title": title, "text": text}
        for name, (title, text) in DOCUMENTS.items()
    ]
    (folder / "corpus.jsonl").write_text(
        "\n".join(map(json.dumps, rows)), encoding="utf-8"
    )
    asked = {"_id": "q1", "text": "What returns a StreamingTextResponse?"}
    (folder / "queries.jsonl").write_text(json.dumps(asked), encoding="utf-8")
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\troute\t1\n", encoding="utf-8"
    )
    lines = [
        "\t".join(row) for row in (("head", "relation", "tail", "passage_id"), *FACTS)
    ]
    (folder / "triples.tsv").write_text("\n".join(lines), encoding="utf-8")
    return folder


def asked(library: Path, store: Store, query: str, *arguments: str) -> str:
    """What `kg2rag explain` shows of the first three hits of the dynamic hybrid."""
    graph = "dynamic_hybrid.graph=graph_augmented"
    given = [
        "--path",
        str(library),
        "--graph",
        f"triples({library / 'triples.tsv'})",
        "--set",
        graph,
        "--k",
        "3",
    ]
    done = CliRunner().invoke(
        app,
        ["explain", "beir", query, "--systems", "dynamic_hybrid", *given, *arguments],
        env={"KG2RAG_STORE": str(store.root), "COLUMNS": "200"},
    )
    if done.exception is not None:
        raise done.exception
    return done.stdout


def analysis(shown: str) -> tuple[str, tuple[float, ...]]:
    """The kind of the query and the weights, which are shown as "dense 0.7, sparse 0.2, …"."""
    said = dict(re.findall(r"^(query_type|weights): (.*?)\s*$", shown, re.MULTILINE))
    sides, weights = zip(
        *(part.split() for part in said["weights"].split(", ")), strict=True
    )
    assert sides == ("dense", "sparse", "pattern", "graph")
    return said["query_type"], tuple(map(float, weights))


def hits(shown: str) -> list[str]:
    """The passages, best first."""
    return re.findall(r"^ \d  (\S+)", shown, re.MULTILINE)


@pytest.mark.parametrize(
    ("query", "kind", "weights", "first"), EXAMPLES, ids=[one[0] for one in EXAMPLES]
)
def test_an_example_of_the_design_has_its_kind_its_weights_and_its_first_hit(
    library: Path,
    session_store: Store,
    query: str,
    kind: str,
    weights: tuple[float, ...],
    first: str,
) -> None:
    shown = asked(library, session_store, query)
    assert analysis(shown) == (kind, weights)
    assert hits(shown)[0] == first
    if query == "What uses StreamingTextResponse?":
        assert hits(shown)[1] == "route"


@pytest.mark.parametrize(("query", "holds"), NAMES.items(), ids=NAMES)
def test_a_name_is_told_from_names_that_are_nearly_the_same(
    library: Path, session_store: Store, query: str, holds: str
) -> None:
    shown = asked(library, session_store, query)
    assert analysis(shown) == (
        "identifier",
        FUZZY if query in IN_OTHER_CAPITALS else IDENTIFIER,
    )
    assert holds in hits(shown)
    if query in IN_OTHER_CAPITALS:
        assert hits(shown)[0] == holds
    alone = asked(
        library, session_store, query, "--set", "dynamic_hybrid.weights=[0,0,1,0]"
    )
    assert hits(alone)[0] == holds


def test_what_is_nearly_an_id_of_the_set_is_refused_and_another_word_is_a_query(
    library: Path, session_store: Store
) -> None:
    with pytest.raises(ValueError, match=r"'q17'.*q1"):
        asked(library, session_store, "q17")
    assert "unknown: the question is new to the set" in asked(
        library, session_store, "useChat"
    )


def test_a_search_may_bring_weights_of_its_own(
    library: Path, session_store: Store
) -> None:
    # The design's `search(query, weights?)`: nothing is analysed, and pattern alone finds the typo.
    shown = asked(
        library,
        session_store,
        "STreamingTxtResp",
        "--set",
        "dynamic_hybrid.weights=[0,0,1,0]",
    )
    assert "reasoning: weights as given" in shown
    assert (analysis(shown)[1], hits(shown)[0]) == ((0, 0, 1, 0), "class")
