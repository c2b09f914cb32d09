"""A user's function or model, or a matrix of vectors, -> an `Embedder`.

The store keeps the vectors of a function or model, and gives them back only to the encoder that
made them. Two encoders are the same if they have the same name, prompts, code, attributes, weights
and configuration (`compute.encoder_state`), and give the same vectors for probe texts, as passages
and as queries, and for some passages of the corpus.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np

from kg2rag.compute.embedder import (
    PROBE,
    Embedder,
    Role,
    are_near,
    checked_vectors,
    hash_of,
    well_formed,
)
from kg2rag.compute.encoder_state import state_checksum
from kg2rag.compute.store import Store
from kg2rag.compute.vectors import VectorCache
from kg2rag.types import Corpus, Matrix, ParameterError, component

# Reveals an encoder's token limit.
LONG = " ".join(f"word {number}" for number in range(3000))
PROBES = (*PROBE, LONG)
METHODS: tuple[Mapping[Role, str], ...] = (
    {"query": "encode_query", "passage": "encode_document"},
    {"query": "encode_query", "passage": "encode"},
    {"query": "encode_queries", "passage": "encode_corpus"},
    {"query": "query_embed", "passage": "passage_embed"},
    {"query": "encode", "passage": "encode"},
    {"query": "embed_query", "passage": "embed_documents"},
    {"query": "get_query_embedding", "passage": "get_text_embedding_batch"},
    {"query": "embed", "passage": "embed"},
)
"""The methods that encode queries and passages in sentence-transformers, FlagEmbedding, fastembed, LangChain and
LlamaIndex; the first pair that an encoder has counts."""
SINGLE = frozenset(("embed_query", "get_query_embedding"))
"""Those that take one text."""
COMPARED_TEXTS = 8  # texts per call whose stored vectors are compared with new ones


def method_of(encoder: object, role: Role) -> Any:
    """The method of an encoder from texts to vectors for a role, see `METHODS`; None if it has none."""
    for names in METHODS:
        if all(hasattr(encoder, name) for name in names.values()):
            method = getattr(encoder, names[role])
            if names[role] in SINGLE:
                return lambda texts: [method(text) for text in texts]
            return method
    return None


class ChangedEncoderError(ValueError):
    """A user's encoder gives other vectors than before, although its readable state is equal."""


class Identity(NamedTuple):
    """An encoder in a store.

    `fingerprint` names its vectors. `probes` has the vectors of the probe texts, (n_probes, dim),
    by role.
    """

    fingerprint: str
    probes: Mapping[Role, Matrix]


def stored_identity(store: Store, name: str, probes: Mapping[Role, Matrix]) -> Identity:
    """The identity that a store has under a name; if there is none, one with these probe vectors."""
    file = store.keyed_file("encoders")
    if not file.find([name]):
        content = io.BytesIO()
        np.savez(content, **probes)  # type: ignore[arg-type]
        file.keep([(name, content.getvalue())])
    stored = file.find([name])[name]
    with np.load(io.BytesIO(stored), allow_pickle=False) as arrays:
        return Identity(hash_of(name, hashlib.sha256(stored).hexdigest()), dict(arrays))


@component
class GivenEncoder:
    """A function list[str] -> vectors, or an object with `encode`, as an `Embedder`.

    The store keeps its vectors.

    Parameters
    ----------
    encoder : a function list[str] -> (n_texts, dim), or an object that has it as `encode`, as `encode_query` and
        `encode_document`, or as another pair of `METHODS`.
    name : part of the name of its vectors in the store. Give another name if the encoder reads a file or asks a server
        that changed in a way that the probe texts do not show.
    query_prompt, passage_prompt : put before each query and each passage.
    sample : texts whose vectors in the store, if it has any, must be those that the encoder gives now.
    """

    encoder: Any = field(repr=False)
    name: str = ""
    query_prompt: str = ""
    passage_prompt: str = ""
    sample: tuple[str, ...] = field(default=(), repr=False, compare=False)
    _identities: dict[Path, Identity] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _compared: set[tuple[Path, Role]] = field(
        default_factory=set, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        has_name = hasattr(self.encoder, "__qualname__")
        owner = self.encoder if has_name else type(self.encoder)
        object.__setattr__(
            self, "name", self.name or f"{owner.__module__}.{owner.__qualname__}"
        )

    def fingerprint(self, store: Store) -> str:
        """A hash of the name, the prompts, the state and the vectors of the probes."""
        return self._identity(store, self.sample).fingerprint

    def encode(
        self, texts: Sequence[str], store: Store, role: Role = "passage"
    ) -> Matrix:
        """The vectors of texts, (n_texts, dim), rows of norm 1; stored ones are reused.

        ChangedEncoderError: the encoder gives other vectors than before for the same texts.
        """
        readable = [well_formed(text) for text in texts]
        identity = self._identity(store, self.sample or readable)
        cache = self._cache(store, identity, role)
        if (store.root, role) not in self._compared and readable:
            if not self._agrees(cache, readable, role):
                raise self._change_error()
            self._compared.add((store.root, role))

        def encode(shard: list[str]) -> list[Matrix]:
            # A probe in each call reveals an encoder that changes meanwhile.
            vectors = self._vectors([*shard, PROBES[0]], role)
            if not are_near(vectors[-1:], identity.probes[role][:1]):
                raise self._change_error()
            return [vectors[:-1]]

        return cache.of(readable, encode)

    def lacking(self, texts: Sequence[str], store: Store) -> list[str]:
        """The passages, each once, whose vectors the store lacks."""
        readable = list(map(well_formed, texts))
        identity = self._identity(store, self.sample or readable)
        return self._cache(store, identity, "passage").lacking(readable)

    def _identity(self, store: Store, sample: Sequence[str]) -> Identity:
        """The identity of the encoder in a store: a stored one if state and vectors are equal.

        `sample` : texts whose stored vectors are compared.
        """
        if store.root not in self._identities:
            state = state_checksum(self.encoder)
            probes: dict[Role, Matrix] = {
                role: self._vectors(PROBES, role) for role in get_args(Role)
            }
            if probes["query"].shape != probes["passage"].shape:
                raise ValueError(
                    f"{self.name}: passages and queries have vectors of {probes['passage'].shape[1]} and "
                    f"{probes['query'].shape[1]} numbers; needed: equally many."
                )
            if state_checksum(self.encoder) != state:
                state = ""  # each call changes the state, so that it identifies nothing
            key = hash_of(self.name, self.query_prompt, self.passage_prompt, state)
            # Encoders of one key that give other vectors are numbered; the last is new.
            identities = (
                stored_identity(store, f"{key} {number}", probes) for number in count()
            )
            self._identities[store.root] = next(
                identity
                for identity in identities
                if self._has_identity(identity, store, probes, sample)
            )
        return self._identities[store.root]

    def _has_identity(
        self,
        identity: Identity,
        store: Store,
        probes: Mapping[Role, Matrix],
        sample: Sequence[str],
    ) -> bool:
        """Whether the encoder gives the probe vectors and the stored vectors of an identity.

        `probes` are its vectors now.
        """
        has_probes = all(
            are_near(vectors, identity.probes[role]) for role, vectors in probes.items()
        )
        cache = self._cache(store, identity, "passage")
        return has_probes and self._agrees(cache, sample, "passage")

    def _agrees(self, cache: VectorCache, texts: Sequence[str], role: Role) -> bool:
        """Whether the encoder gives the stored vectors of up to `COMPARED_TEXTS` of some texts."""
        vector_of = cache.find(texts)
        if not vector_of:
            return True
        stored = list(vector_of)
        rows = np.linspace(
            0, len(stored) - 1, min(COMPARED_TEXTS, len(stored)), dtype=int
        )
        compared = [stored[row] for row in rows.tolist()]
        vectors = np.stack([vector_of[text] for text in compared])
        return are_near(self._vectors(compared, role), vectors)

    def _cache(self, store: Store, identity: Identity, role: Role) -> VectorCache:
        """The stored vectors of an identity for texts of a role."""
        dim = identity.probes["passage"].shape[1]
        prompt = f"{role}\0{self._prompt(role)}"
        return VectorCache(store, identity.fingerprint, dim, prompt)

    def _prompt(self, role: Role) -> str:
        """The prompt before the texts of a role."""
        return self.query_prompt if role == "query" else self.passage_prompt

    def _vectors(self, texts: Sequence[str], role: Role) -> Matrix:
        """The encoder's vectors of texts after the prompt of a role, checked and scaled."""
        prompt = self._prompt(role)
        vectors = self._method(role)([prompt + text for text in texts])
        if isinstance(vectors, Iterator):  # of fastembed
            vectors = list(vectors)
        if hasattr(vectors, "detach"):
            vectors = vectors.detach().float().cpu().numpy()
        return checked_vectors(vectors, len(texts), self.name)

    def _method(self, role: Role) -> Any:
        """The method of the encoder for a role, or the function itself."""
        return method_of(self.encoder, role) or self.encoder

    def _change_error(self) -> ChangedEncoderError:
        """The error about vectors that differ from the stored ones."""
        return ChangedEncoderError(
            f"The encoder {self.name} gives other vectors than the store has of the same texts. If it was changed, "
            "build the knowledge base again; if it reads a file or asks a server, name it: GivenEncoder(encoder, "
            "name='...')."
        )


@dataclass(frozen=True, eq=False)
class GivenVectors:
    """Vectors that a user supplies for texts, as an `Embedder`.

    `rows` maps a text to its row in `matrix`, (n_texts, dim). `other` encodes all other texts.
    """

    rows: Mapping[str, int] = field(repr=False)
    matrix: Matrix = field(repr=False)
    other: Embedder | None = None

    @classmethod
    def of(
        cls,
        ids: Sequence[object],
        matrix: Any,
        corpus: Corpus,
        other: Embedder | None = None,
    ) -> GivenVectors:
        """The embedder of a matrix, (n_ids, dim); an id is that of a passage, or else a text."""
        vectors = checked_vectors(matrix, len(ids), "the matrix")
        passage_ids = frozenset(corpus.ids)
        names = [str(id_) for id_ in ids]
        if passage_ids.isdisjoint(names):
            raise ParameterError(
                f"None of the {len(ids)} ids, such as {names[:1]}, is the id of a passage."
            )
        rows = {}
        for row, name in enumerate(names):
            text = corpus.contents[corpus.row(name)] if name in passage_ids else name
            rows[text] = row
        return cls(rows, vectors, other)

    def fingerprint(self, store: Store) -> str:
        """A hash of the texts, the matrix and the other embedder."""
        digest = hashlib.sha256(json.dumps([*self.rows]).encode())
        digest.update(np.ascontiguousarray(self.matrix).tobytes())
        digest.update(self.other.fingerprint(store).encode() if self.other else b"")
        return digest.hexdigest()[:16]

    def encode(
        self, texts: Sequence[str], store: Store, role: Role = "passage"
    ) -> Matrix:
        """The vectors of texts, (n_texts, dim).

        ValueError: a text has no vector and there is no other embedder, or one of another dim.
        """
        rows = np.array([self.rows.get(text, -1) for text in texts], dtype=np.int64)
        vectors = self.matrix[rows]
        new = [text for text in texts if text not in self.rows]
        if not new:
            return vectors
        if self.other is None:
            raise ValueError(
                f"No vector is given for {new[0]!r:.80} ({len(new):,} of {len(texts):,} texts). "
                "Add it by its text, or say what encodes other texts: embedder=(ids, matrix, function or model name)."
            )
        new_vectors = self.other.encode(new, store, role)
        if new_vectors.shape[1] != vectors.shape[1]:
            raise ValueError(
                f"The matrix has {vectors.shape[1]} columns, but vectors of {self.other!r} have {new_vectors.shape[1]}."
            )
        vectors[rows < 0] = new_vectors
        return vectors
