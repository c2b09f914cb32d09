"""Trials of stored vectors: another encoder on the same store must not get the vectors of the first encoder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import tiny_model
from harness import SILENT, Finding, step, trial

POINT = "2 vectors"
TEXTS = [
    "the river of the castle",
    "an old bridge was built",
    "who wrote a novel near the abbey",
    "film engine",
]


def model(**changes: Any) -> Any:
    """The tiny model with a change."""
    from sentence_transformers import SentenceTransformer

    if not Path("model").exists():
        tiny_model.save(Path())
    max_tokens = changes.pop("max_seq_length", None)
    encoder = SentenceTransformer("model", device="cpu", **changes)
    if max_tokens is not None:
        encoder.max_seq_length = max_tokens
    return encoder


def pooled(mode: str) -> Any:
    """The tiny model with another pooling of the same weights."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    encoder = model()
    return SentenceTransformer(
        modules=[encoder[0], Pooling(tiny_model.DIM, pooling_mode=mode), encoder[2]],
        device="cpu",
    )


def unnormalised() -> Any:
    """The tiny model without its last module."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(modules=list(model())[:2], device="cpu")


def changed(change: Callable[[Any], object]) -> Any:
    """The tiny model after a change in place."""
    encoder = model()
    change(encoder)
    return encoder


def zero_weight(encoder: Any) -> None:
    """Change weights in place."""
    encoder[0].auto_model.embeddings.word_embeddings.weight.data[5:].zero_()


class Encoder:
    """An encoder that is no class of kg2rag."""

    def __init__(self, power: float, query_power: float) -> None:
        self.power, self.query_power = power, query_power

    def encode(self, texts: list[str]) -> list[list[float]]:
        """Counts of letters to a power."""
        return [
            [(1 + text.count(sign)) ** self.power for sign in "etaoin"]
            for text in texts
        ]

    def encode_query(self, texts: list[str]) -> list[list[float]]:
        """The same of queries."""
        return [
            [(1 + text.count(sign)) ** self.query_power for sign in "etaoin"]
            for text in texts
        ]


def looked_up(
    table: dict[str, list[float]],
) -> Callable[[list[str]], list[list[float]]]:
    """A function that looks vectors up."""

    def look_up(texts: list[str]) -> list[list[float]]:
        return [table.get(text.strip(), [1.0, 0.0, len(text)]) for text in texts]

    return look_up


def table(sign: float) -> dict[str, list[float]]:
    """A vector for each text."""
    return {text: [1.0, sign * i, len(text)] for i, text in enumerate(TEXTS)}


LATER = {"scale": 1.0}
PAIRS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "mean, then CLS pooling": (model, lambda: pooled("cls")),
    "mean, then max pooling": (model, lambda: pooled("max")),
    "no normalisation": (model, unnormalised),
    "other prompts": (
        model,
        lambda: model(
            prompts={"query": "who wrote ", "document": "film "},
            default_prompt_name="document",
        ),
    ),
    "a query prompt": (model, lambda: model(prompts={"query": "who wrote "})),
    "truncate_dim": (model, lambda: model(truncate_dim=8)),
    "max_seq_length": (model, lambda: model(max_seq_length=4)),
    "weights changed in place": (model, lambda: changed(zero_weight)),
    "half precision": (model, lambda: changed(lambda encoder: encoder.bfloat16())),
    "another lower-casing": (
        model,
        lambda: changed(lambda encoder: setattr(encoder[0], "do_lower_case", True)),
    ),
    "a query encoder": (lambda: Encoder(1, 1), lambda: Encoder(1, 3)),
    "a passage encoder": (lambda: Encoder(1, 1), lambda: Encoder(3, 1)),
    "a table": (lambda: looked_up(table(1)), lambda: looked_up(table(-1))),
    "a lambda": (
        lambda: lambda texts: [[1.0, len(t)] for t in texts],
        lambda: lambda texts: [[len(t), 1.0] for t in texts],
    ),
    "a default argument": (
        lambda: lambda texts, scale=1: [[1.0, scale * len(t)] for t in texts],
        lambda: lambda texts, scale=-1: [[1.0, scale * len(t)] for t in texts],
    ),
    "a global": (
        lambda: (
            LATER.update(scale=1.0)
            or (lambda texts: [[1.0, LATER["scale"] * len(t)] for t in texts])
        ),
        lambda: (
            LATER.update(scale=-1.0)
            or (lambda texts: [[1.0, LATER["scale"] * len(t)] for t in texts])
        ),
    ),
}


def scores(encoder: Any, store: str) -> list[list[float]]:
    """The scores of a few queries by an encoder on a store."""
    import kg2rag

    corpus = kg2rag.Corpus.from_passages(
        [kg2rag.Passage(str(i), "", text) for i, text in enumerate(TEXTS)]
    )
    kb = kg2rag.KnowledgeBase.build(corpus, embedder=encoder, store=kg2rag.Store(store))
    queries = [kg2rag.Query(str(i), text) for i, text in enumerate(TEXTS)]
    rankings = kg2rag.Dense(kb).retrieve_batch(queries, 4)
    return [
        [
            round(dict(zip(r.passage_ids, r.scores.tolist(), strict=True))[str(i)], 3)
            for i in range(4)
        ]
        for r in rankings
    ]


@trial(POINT, *PAIRS)
def another_encoder(pair: str) -> None:
    """The second encoder on the store of the first, and on a new one."""
    first, second = PAIRS[pair]
    step(lambda: scores(first(), "shared"))
    on_shared, fresh = (
        step(lambda: scores(second(), "shared")),
        step(lambda: scores(second(), "fresh")),
    )
    if on_shared != fresh:
        raise Finding(SILENT, f"{on_shared[0]} on the store, {fresh[0]} on a new one")


@trial(
    POINT,
    "a local model whose files were replaced",
    "a static model whose files were replaced",
)
def the_same_path(kind: str) -> None:
    """Another model in the same folder."""
    import numpy as np

    static = kind.startswith("a static")

    def run(folder: str) -> list[list[float]]:
        import kg2rag
        from kg2rag.compute import embedder_named

        name = (
            f"static:{Path('static').resolve()}"
            if static
            else str(Path("model").resolve())
        )
        return scores(
            embedder_named(name, dtype="float32")
            if static
            else kg2rag.SentenceEncoder(name, dtype="float32"),
            folder,
        )

    def make(seed: int) -> None:
        if static:
            from model2vec import StaticModel
            from tokenizers import Tokenizer, models, pre_tokenizers

            words = {
                word: i
                for i, word in enumerate(
                    ["[UNK]", *sorted(set(" ".join(TEXTS).split()))]
                )
            }
            tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
            tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
            vectors = (
                np.random.default_rng(seed)
                .normal(size=(len(words), 8))
                .astype(np.float32)
            )
            StaticModel(vectors, tokenizer).save_pretrained("static")
        elif seed == 0:
            model()
        else:
            changed(zero_weight).save("model")

    step(lambda: make(0))
    step(lambda: run("shared"))
    step(lambda: make(1))
    on_shared, fresh = step(lambda: run("shared")), step(lambda: run("fresh"))
    if on_shared != fresh:
        raise Finding(SILENT, f"{on_shared[0]} on the store, {fresh[0]} on a new one")
