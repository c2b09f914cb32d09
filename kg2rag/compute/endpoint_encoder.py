"""Texts -> unit vectors by an OpenAI-compatible endpoint, each paid once."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from kg2rag.compute.embedder import Role, checked_vectors, hash_of, well_formed
from kg2rag.compute.endpoint import (
    Endpoint,
    EndpointError,
    Exchange,
    checked_address,
    is_local,
)
from kg2rag.compute.store import Store
from kg2rag.compute.vectors import VectorCache
from kg2rag.text.records import quote
from kg2rag.types import Matrix, Natural, above, component

REQUEST_TEXTS, LOCAL_REQUEST_TEXTS = 128, 16
"""Texts of a request to a hosted endpoint, and to one of this machine, which is slow and near."""
# Of one vector in a reply: 8,192 numbers as text take 200 kB.
MAX_VECTOR_BYTES = 512 << 10
# HTTP statuses that refuse a request with too many texts.
TOO_MANY_TEXTS = (400, 413, 422)
SERVER_FAILURE = 500
"""The HTTP status of a server that fails, perhaps at one text, as Ollama at a vector with NaN."""
TIMEOUT_DIVISOR = 8  # after a time-out, requests have this fraction of the texts


@component
class EndpointEncoder:
    """An OpenAI-compatible endpoint as an `Embedder`; the store keeps vectors, which are paid once.

    A request that the endpoint refuses is sent again with half as many texts, and so is one at which
    it fails (HTTP 500), until one text remains, which the error quotes. After a reply of another
    form, such as one vector for several texts, each text is sent by itself. After a request that
    times out, a single text is sent; if it is answered, requests have an eighth of the texts from then on.
    Vectors are stored after each request.

    Parameters
    ----------
    base_url : up to and including the version, such as "https://api.openai.com/v1".
    model : its name there, such as "text-embedding-3-small".
    api_key_env : the environment variable with the key for this address; None for the rule of `compute.endpoint`.
    query_prompt, passage_prompt : put before each query and each passage.
    retries : further requests after one that was lost or refused for the moment.
    timeout : seconds between two bytes of a reply.
    """

    base_url: str
    model: str
    api_key_env: str | None = None
    query_prompt: str = ""
    passage_prompt: str = ""
    retries: Natural = field(default=5, repr=False)
    timeout: Annotated[float, above(0)] = field(default=60.0, repr=False)
    _request_texts: dict[str, int] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        checked_address(self.base_url)

    def fingerprint(self, store: Store) -> str:
        """A hash of address, model and prompts: an endpoint shows no weights."""
        return hash_of(
            self.base_url, self.model, self.query_prompt, self.passage_prompt
        )

    def encode(
        self, texts: Sequence[str], store: Store, role: Role = "passage"
    ) -> Matrix:
        """The vectors of texts, (n_texts, dim), rows of norm 1; texts in the store are not sent.

        EndpointError, which names the address and the cause, if the endpoint returns no vectors.
        """
        prompt = self.query_prompt if role == "query" else self.passage_prompt
        dim = self._dim(store)
        cache = VectorCache(store, self.fingerprint(store), dim, prompt)
        return cache.of(
            list(map(well_formed, texts)),
            lambda shard: self._vectors([prompt + text for text in shard], dim),
            shard_texts=REQUEST_TEXTS,
            is_paid=True,
        )

    def lacking(self, texts: Sequence[str], store: Store) -> list[str]:
        """The passages, each once, whose vectors the store lacks."""
        cache = VectorCache(store, self.fingerprint(store), 0, self.passage_prompt)
        return cache.lacking([well_formed(text) for text in texts])

    def _dim(self, store: Store) -> int:
        """The number of dimensions; one request finds it, and the store keeps it."""
        file = store.keyed_file("encoders")
        name = f"endpoint {self.fingerprint(store)}"
        if not file.find([name]):
            with file.claim(name):
                if not file.find([name]):
                    file.keep(
                        [(name, str(self._request(["dimensions"]).shape[1]).encode())]
                    )
        return int(file.find([name])[name])

    def _vectors(self, texts: list[str], dim: int) -> Iterator[Matrix]:
        """The vectors of texts, in blocks: one for each request, of as many texts as it may have.

        ValueError: the vectors have other dimensions than `dim`.
        """
        max_texts = LOCAL_REQUEST_TEXTS if is_local(self.base_url) else REQUEST_TEXTS
        count = self._request_texts.get(self.base_url, max_texts)
        has_failed = False
        while texts:
            count = min(count, len(texts))
            try:
                vectors = self._request(texts[:count], repeats=not has_failed)
            except EndpointError as error:
                if count == 1:
                    raise _about_text(error, texts[0], self.base_url) from None
                count = self._fewer_texts(count, error)
                has_failed |= error.status == SERVER_FAILURE
                continue
            self._check_dimensions(vectors, dim)
            yield vectors
            texts = texts[count:]
            if not has_failed:
                count = self._request_texts.get(self.base_url, max_texts)

    def _check_dimensions(self, vectors: Matrix, dim: int) -> None:
        """ValueError: vectors have other dimensions than those of the store."""
        if vectors.shape[1] != dim:
            raise ValueError(
                f"{self.model} at {self.base_url} returned vectors of {vectors.shape[1]:,} dimensions;"
                f" its first had {dim:,}. Has the address another model of this name now? Then give"
                " another store."
            )

    def _fewer_texts(self, count: int, error: EndpointError) -> int:
        """The number of texts to send after a request of `count` texts, two or more, failed.

        The limit of later requests is lowered, too, unless one of the texts may be the cause. An
        error that fewer texts cannot prevent is raised again.
        """
        if error.status == SERVER_FAILURE:
            return count // 2
        if error.kind == "response":  # as of servers that embed only the first text
            self._request_texts[self.base_url] = 1
            return 1
        has_timed_out = error.kind == "timeout"
        if not (has_timed_out or error.status in TOO_MANY_TEXTS):
            raise error
        if has_timed_out:
            self._request_texts[self.base_url] = max(1, count // TIMEOUT_DIVISOR)
            return 1  # a dead endpoint is asked only once more
        self._request_texts[self.base_url] = count // 2
        return count // 2

    def _request(self, texts: list[str], *, repeats: bool = True) -> Matrix:
        """The vectors of texts by one request, which is sent again where it fails if `repeats`."""
        exchange = Exchange(
            lambda content, _: read_vectors(content, len(texts)),
            MAX_VECTOR_BYTES * len(texts),
        )
        endpoint = self._endpoint if repeats else self._endpoint_once
        vectors = endpoint.send(
            "embeddings", {"model": self.model, "input": texts}, exchange
        )
        return checked_vectors(vectors, len(texts), f"{self.model} at {self.base_url}")

    @cached_property
    def _endpoint(self) -> Endpoint:
        """The endpoint, whose client reads the key at the first request."""
        return Endpoint(
            self.base_url, self.api_key_env, timeout=self.timeout, retries=self.retries
        )

    @cached_property
    def _endpoint_once(self) -> Endpoint:
        """The endpoint without retries, which finds the text that it fails for."""
        return Endpoint(
            self.base_url, self.api_key_env, timeout=self.timeout, retries=0
        )

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in self.__dict__.items()
            if name not in ("_endpoint", "_endpoint_once")
        }


def _about_text(error: EndpointError, text: str, base_url: str) -> EndpointError:
    """The error of a request of one text, with its beginning if the text may be the cause."""
    if error.kind not in ("server", "request", "response"):
        return error
    reason = f"{error.reason}. The text is {quote(text)}."
    address = f"{base_url}/embeddings"
    return EndpointError(address, error.kind, reason, error.attempts, error.status)


VECTOR_FIELDS = (
    "data",
    "embeddings",
    "predictions",
    "vectors",
    "float",
    "embedding",
    "vector",
    "values",
)
"""The fields of vectors in replies of OpenAI, Ollama, Vertex and Cohere, outermost first."""


def read_vectors(content: bytes, n_texts: int) -> Matrix:
    """The vectors in a reply of an endpoint, (n_texts, dim), in the order of the texts.

    The reply is a list with an item per text, or an object with such a list under one of
    `VECTOR_FIELDS`. An item is a vector, or an object with a vector and perhaps its index: some
    endpoints leave out the index 0, and some all. ValueError: an error, or other vectors.
    """
    items = _items(content)
    if len(items) != n_texts:
        raise ValueError(f"{len(items)} embeddings for {n_texts} texts")
    vectors = [_numbers(_inner_value(item)) for item in items]
    if len({len(vector) for vector in vectors}) > 1:
        raise ValueError("embeddings of different lengths")
    if not vectors[0].size:
        raise ValueError(
            "empty embeddings, without numbers. Is it a model for embeddings, and the server's newest version?"
        )
    if not all(vector.any() for vector in vectors):
        raise ValueError("an embedding of zeros, which has no direction")
    return np.stack(vectors)[_order(items)]


def _items(content: bytes) -> list[Any]:
    """The item of each text in a reply; ValueError if it is no JSON or has no items."""
    try:
        reply = json.loads(content)
    except ValueError:
        raise ValueError("no embeddings, and no JSON") from None
    items: list[Any] | str = _inner_value(reply)
    if isinstance(items, str) or (items and isinstance(items[0], int | float)):
        return [items]  # the vector of the only text
    return items


def _inner_value(value: Any) -> Any:
    """The list or text that nested objects of a reply contain.

    ValueError, which quotes the error of the server, if there is none.
    """
    while isinstance(value, dict):
        error = value.get("error")
        field = next((name for name in VECTOR_FIELDS if name in value), None)
        if isinstance(error, dict):
            error = error.get("message", error)
        if field is None:
            raise ValueError(
                f"an error: {error}"
                if error
                else f"no embeddings among the fields {', '.join(value) or 'none'}"
            )
        value = value[field]
    if not isinstance(value, list | str):
        raise ValueError(f"no embeddings, but {value!r}")
    return value


def _numbers(embedding: Any) -> Matrix:
    """The numbers of one embedding: a list, a list in a list, or float32 in base64."""
    if isinstance(embedding, str):
        try:
            return np.frombuffer(
                base64.b64decode(embedding, validate=True), dtype="<f4"
            )
        except ValueError:
            raise ValueError(
                f"the text {embedding[:20]!r} for numbers, which is no float32 in base64"
            ) from None
    vector = np.array(embedding, dtype=np.float32)
    if vector.ndim == 2 and len(vector) == 1:
        vector = vector[0]
    if vector.ndim != 1:
        raise ValueError("an embedding for each token; the endpoint needs a pooling")
    return vector


def _order(items: list[Any]) -> list[int]:
    """The position of each text's vector in the reply, from the indexes of the items.

    Items without an index belong, in their order, to the texts that no index names.
    """
    positions = list(range(len(items)))
    indexes = [item.get("index") if isinstance(item, dict) else None for item in items]
    present = [index for index in indexes if index is not None]
    if not any(present):
        return positions
    if len(set(present)) < len(present) or not set(present) <= set(positions):
        raise ValueError(f"indexes {present[:5]}, which do not number the texts")
    free = iter(sorted(set(positions) - set(present)))
    text_of = [next(free) if index is None else index for index in indexes]
    return sorted(positions, key=text_of.__getitem__)
