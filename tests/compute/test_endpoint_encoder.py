"""Embedding endpoints on this machine: replies in every form that servers send, paid once, errors in one line."""

from __future__ import annotations

import base64
import json
import pickle
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest

from kg2rag.compute import EndpointEncoder, Store, embedder_of
from kg2rag.compute.endpoint import EndpointError
from kg2rag.compute.endpoint_encoder import read_vectors
from kg2rag.types import corpus_of

TEXTS = [f"text number {number} {'x' * (number % 5)}" for number in range(25)]
Answer = Callable[[list[str]], tuple[int, dict[str, Any]]]


def letters(texts: list[str]) -> np.ndarray:
    """How often each letter and digit stands in a text."""
    symbols = "abcdefghijklmnopqrstuvwxyz0123456789"
    return np.array(
        [[text.count(symbol) + 0.01 for symbol in symbols] for text in texts]
    )


def unit_letters(texts: list[str]) -> np.ndarray:
    vectors = letters(texts)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def as_openai(texts: list[str]) -> tuple[int, dict[str, Any]]:
    items = [
        {"object": "embedding", "index": i, "embedding": row}
        for i, row in enumerate(letters(texts).tolist())
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return 200, {
        "object": "list",
        "data": items[::-1],
        "model": "letters",
        "usage": usage,
    }


class Server(ThreadingHTTPServer):
    """Answers with embeddings; `asked` has the texts of each request, `paid` those that were answered."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = answer
        self.asked: list[list[str]] = []
        self.paid: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Server)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body["input"])
        status, reply = self.server.answer(body["input"])
        if status == 200:
            self.server.paid += body["input"]
        content = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def serving(answer: Answer = as_openai) -> Iterator[Server]:
    server = Server(answer)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path)


def test_an_endpoint_is_paid_once_and_named_on_the_command_line(
    store: Store,
) -> None:
    with serving() as server:
        encoder = EndpointEncoder(server.url, "letters")
        texts = TEXTS[:3]
        assert encoder.lacking([*texts, texts[0]], store) == texts
        vectors = encoder.encode(texts, store)
        assert np.allclose(vectors, unit_letters(texts))
        asked = len(server.asked)
        again = embedder_of(f"endpoint:letters@{server.url}", corpus_of(texts))
        assert np.array_equal(again.encode(texts, store), vectors)
        assert np.array_equal(
            pickle.loads(pickle.dumps(encoder)).encode(texts, store), vectors
        )
        assert (len(server.asked), encoder.lacking(texts, store)) == (asked, [])


VECTORS = [[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]]


def reply(items: object) -> bytes:
    return json.dumps({"object": "list", "data": items}).encode()


def items(
    indexes: list[int | None], embeddings: list[Any] = VECTORS
) -> list[dict[str, Any]]:
    return [
        {"index": index, "embedding": row}
        for index, row in zip(indexes, embeddings, strict=True)
    ]


READ_RIGHT = {
    "in order": items([0, 1, 2]),
    "in another order": [items([0, 1, 2])[i] for i in (2, 0, 1)],
    "0 left out": [{"embedding": VECTORS[0]}, *items([0, 1, 2])[1:]],
    "0 left out, in another order": [
        items([0, 1, 2])[2],
        {"embedding": VECTORS[0]},
        items([0, 1, 2])[1],
    ],
    "no index": [{"embedding": row} for row in VECTORS],
    "null": items([None, None, None]),
    "always 0": items([0, 0, 0]),
    "base64": items(
        [0, 1, 2],
        [base64.b64encode(np.array(row, "<f4").tobytes()).decode() for row in VECTORS],
    ),
    "a list in a list": items([0, 1, 2], [[row] for row in VECTORS]),
}


@pytest.mark.parametrize("form", READ_RIGHT)
def test_a_reply_is_read_in_every_form_that_servers_send(form: str) -> None:
    assert np.array_equal(read_vectors(reply(READ_RIGHT[form]), 3), VECTORS)


def test_a_reply_is_a_list_for_addresses_of_llama_cpp_without_a_version() -> None:
    content = json.dumps(
        [{"index": i, "embedding": [row]} for i, row in enumerate(VECTORS)]
    )
    assert np.array_equal(read_vectors(content.encode(), 3), VECTORS)


def test_an_encoder_without_its_address_is_refused_with_an_encoder_as_example() -> None:
    with pytest.raises(ValueError, match="endpoint:nomic-embed-text@http"):
        embedder_of("endpoint:letters", corpus_of(TEXTS))


REFUSED = {
    "error": (b'{"error": {"message": "quota used up", "code": 429}}', "quota used up"),
    "error as a text": (b'{"error": "no such model"}', "no such model"),
    "no data": (b'{"object": "list"}', "no embeddings"),
    "a page": (b"<html>", "no embeddings"),
    "too few": (reply(items([0, 1, 2])[:2]), "2 embeddings for 3 texts"),
    "an index twice": (reply(items([0, 1, 1])), "indexes"),
    "from 1": (reply(items([1, 2, 3])), "indexes"),
    "null for numbers": (
        reply(items([0, 1, 2], [VECTORS[0], VECTORS[1], None])),
        "no embeddings",
    ),
    "of other lengths": (
        reply(items([0, 1, 2], [[1.0], [1.0, 2.0], [1.0]])),
        "lengths",
    ),
    "no base64": (reply(items([0, 1, 2], ["?!", "AAAA", "AAAA"])), "base64"),
    "zeros": (reply(items([0, 1, 2], [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])), "zeros"),
    "for each token": (
        reply(items([0, 1, 2], [[row, row] for row in VECTORS])),
        "pooling",
    ),
}


NATIVE = {
    "Ollama": {"model": "m", "embeddings": VECTORS},
    "Cohere": {"id": "1", "embeddings": {"float": VECTORS}},
    "TEI": VECTORS,
    "Vertex": {
        "predictions": [{"embeddings": {"values": vector}} for vector in VECTORS]
    },
}


@pytest.mark.parametrize("server", NATIVE)
def test_vectors_are_read_from_the_native_replies_of_servers(server: str) -> None:
    vectors = read_vectors(json.dumps(NATIVE[server]).encode(), len(VECTORS))
    np.testing.assert_array_equal(vectors, np.array(VECTORS, np.float32))


def test_a_native_reply_for_one_text_is_its_vector() -> None:
    content = json.dumps({"embedding": VECTORS[0]}).encode()
    np.testing.assert_array_equal(read_vectors(content, 1), [VECTORS[0]])


@pytest.mark.parametrize("form", REFUSED)
def test_a_reply_of_any_other_form_is_refused(form: str) -> None:
    content, named = REFUSED[form]
    with pytest.raises(ValueError, match=named):
        read_vectors(content, 3)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_request_with_too_many_texts_is_halved_and_the_size_remembered(
    store: Store, status: int
) -> None:
    def ten(texts: list[str]) -> tuple[int, dict[str, Any]]:
        if len(texts) > 10:
            return status, {
                "error": {
                    "message": "batch size is invalid, it should not be larger than 10."
                }
            }
        return as_openai(texts)

    with serving(ten) as server:
        encoder = EndpointEncoder(server.url, "letters")
        assert np.allclose(encoder.encode(TEXTS, store), unit_letters(TEXTS))
        assert sorted(server.paid) == sorted([*TEXTS, "dimensions"])
        # 16 once, then 8.
        assert len([texts for texts in server.asked if len(texts) > 10]) == 1


def test_texts_are_sent_singly_to_a_server_that_embeds_only_the_first_of_several(
    store: Store,
) -> None:
    with serving(lambda texts: as_openai(texts[:1])) as server:
        encoder = EndpointEncoder(server.url, "letters", retries=0)
        assert np.allclose(encoder.encode(TEXTS, store), unit_letters(TEXTS))
    # the dimensions, one request of several texts, and each text
    assert len(server.asked) == 1 + 1 + len(TEXTS)


def test_vectors_without_numbers_are_an_error_that_says_so(store: Store) -> None:
    empty = {"data": [{"index": 0, "embedding": []}]}
    with (
        serving(lambda _: (200, empty)) as server,
        pytest.raises(EndpointError, match=rf"{server.url}.*without numbers"),
    ):
        EndpointEncoder(server.url, "letters", retries=0).encode(TEXTS, store)


def test_a_request_that_times_out_is_sent_with_fewer_texts(store: Store) -> None:
    def slowly(texts: list[str]) -> tuple[int, dict[str, Any]]:
        time.sleep(0.1 * len(texts))
        return as_openai(texts)

    with serving(slowly) as server:
        encoder = EndpointEncoder(server.url, "letters", timeout=0.8)
        assert np.allclose(
            encoder.encode(TEXTS[:4] + TEXTS, store)[:4], unit_letters(TEXTS[:4])
        )
        # "dimensions", too many, whether it answers at all, an eighth
        assert [len(texts) for texts in server.asked[:5]] == [1, 16, 1, 2, 2]
        with pytest.raises(EndpointError) as raised:
            EndpointEncoder(
                server.url, "letters", timeout=0.05, query_prompt="?"
            ).encode(["late"], store, "query")
        assert raised.value.kind == "timeout"


def test_an_endpoint_that_no_longer_answers_is_asked_once_more(store: Store) -> None:
    is_dead = Event()

    def dying(texts: list[str]) -> tuple[int, dict[str, Any]]:
        if is_dead.is_set():
            time.sleep(0.4)
        return as_openai(texts)

    with serving(dying) as server:
        encoder = EndpointEncoder(server.url, "letters", timeout=0.2)
        encoder.encode(TEXTS[:1], store)
        is_dead.set()
        n_requests = len(server.asked)
        with pytest.raises(EndpointError):
            encoder.encode(TEXTS, store)
        assert [len(texts) for texts in server.asked[n_requests:]] == [16, 1]


def test_what_was_paid_before_an_error_is_kept_and_the_error_names_address_and_cause(
    store: Store,
) -> None:
    def until_spent(texts: list[str]) -> tuple[int, dict[str, Any]]:
        if len(server.paid) > 9:
            return 401, {"error": {"message": "out of\ncredit"}}
        if len(texts) > 4:
            return 400, {"error": {"message": "at most 4"}}
        return as_openai(texts)

    with serving(until_spent) as server:
        encoder = EndpointEncoder(server.url, "letters", retries=0)
        with pytest.raises(EndpointError) as raised:
            encoder.encode(TEXTS, store)
        assert "\n" not in str(raised.value)
        assert all(word in str(raised.value) for word in (server.url, "out of credit"))
        paid = list(server.paid)
        server.answer = as_openai
        encoder.encode(TEXTS, store)
        assert sorted(server.paid) == sorted([*TEXTS, "dimensions"])
        assert len(paid) == 13  # "dimensions", then three times four


def test_a_text_that_a_server_fails_for_is_named_and_the_others_are_kept(
    store: Store,
) -> None:
    def failing(texts: list[str]) -> tuple[int, dict[str, Any]]:
        if TEXTS[11] in texts:
            return 500, {"error": {"message": "json: unsupported value: NaN"}}
        return as_openai(texts)

    with serving(failing) as server:
        encoder = EndpointEncoder(server.url, "letters", retries=1)
        with pytest.raises(EndpointError) as raised:
            encoder.encode(TEXTS, store)
        assert all(part in str(raised.value) for part in ("NaN", TEXTS[11], server.url))
        assert raised.value.status == 500
        # "dimensions", 16 texts twice, then halves, each once
        assert [len(texts) for texts in server.asked] == [
            1,
            16,
            16,
            8,
            8,
            4,
            4,
            2,
            2,
            1,
            1,
        ]
        assert len(encoder.lacking(TEXTS, store)) == len(TEXTS) - len(server.paid) + 1


def test_vectors_of_other_dimensions_than_those_in_the_store_are_refused(
    store: Store,
) -> None:
    def as_half(texts: list[str]) -> tuple[int, dict[str, Any]]:
        return 200, {"embeddings": letters(texts)[:, :18].tolist()}

    with serving(as_openai) as server:
        model = EndpointEncoder(server.url, "letters")
        model.encode(TEXTS[:2], store)
        server.answer = as_half
        with pytest.raises(ValueError, match=r"letters at .* 18 dimensions.* 36"):
            model.encode(TEXTS[2:4], store)
        server.answer = as_openai
        assert model.encode(TEXTS[:4], store).shape == (4, 36)


def test_builds_at_the_same_time_pay_every_text_once(store: Store) -> None:
    def slowly(texts: list[str]) -> tuple[int, dict[str, Any]]:
        time.sleep(0.05)
        return (
            as_openai(texts)
            if len(texts) <= 4
            else (413, {"error": {"message": "too large"}})
        )

    with serving(slowly) as server, ThreadPoolExecutor(4) as pool:
        parts = [TEXTS, TEXTS[5:], TEXTS[::-1], TEXTS]
        results = list(
            pool.map(
                lambda part: EndpointEncoder(server.url, "letters").encode(part, store),
                parts,
            )
        )
        assert sorted(server.paid) == sorted([*TEXTS, "dimensions"])
    assert all(
        np.allclose(vectors, unit_letters(part))
        for vectors, part in zip(results, parts, strict=True)
    )
