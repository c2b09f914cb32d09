"""A sentence-transformers model -> a table with a weighted vector for each of its tokens.

As model2vec (Tulkens & van Dongen 2024) distils it: each token alone through the model, the sentence vectors on their
principal axes, each weighted by the frequency that Zipf's law gives its rank (SIF, Arora et al. 2017). The ranks are
those of the vocabulary, which tokenizers list from frequent to rare; no corpus is read, so that a table serves every
corpus, and one that grows keeps its vectors. Ours: the axes are scaled to equal variance, and frequent tokens count for
less than in model2vec (a = 1e-5 in place of 1e-4), both chosen by recall on training questions of three sets.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from kg2rag.compute.hardware import threads
from kg2rag.types import FloatArray, IntArray, Matrix

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer

VERSION = 2
SIF = 1e-5  # the `a` of the weight a / (a + frequency)
ROWS = 512  # tokens in a batch
FLAT = 1e-4  # of the widest axis: what varies less is rounding, as in the axis that a layer normalisation removes
UNUSED = re.compile(r"\[unused\d+\]|<unused\d+>|madeupword\d+")


def distil(network: SentenceTransformer, dim: int) -> tuple[Matrix, Tokenizer]:
    """The table, (n_tokens + 1, at most `dim`), and the tokenizer whose ids are its rows.

    Special and unused tokens have zeros; the last row is the mean of the others, for texts without any of these. Equal
    bits for any number of threads.

    Raises
    ------
    ValueError : the model has no fast tokenizer, or puts nothing but special tokens around a text.
    """
    tokenizer = _fast_tokenizer(network)
    special = {token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special}
    names = {id_: name for name, id_ in tokenizer.get_vocab(with_added_tokens=True).items()}
    used = np.array([id_ for id_ in sorted(names) if names[id_] not in special and not UNUSED.fullmatch(names[id_])])
    vectors = _on_principal_axes(_token_vectors(network, used), dim) * _weights(len(used))[:, None]
    table = np.zeros((max(names) + 2, vectors.shape[1]), dtype=np.float32)
    table[used], table[-1] = vectors, vectors.mean(axis=0)
    return table, tokenizer


def _fast_tokenizer(network: SentenceTransformer) -> Tokenizer:
    from tokenizers import Tokenizer

    backend = getattr(network.tokenizer, "backend_tokenizer", None)
    if not isinstance(backend, Tokenizer):
        raise ValueError(
            f"A static encoder is distilled from a transformer with a fast tokenizer; this model has "
            f"{type(network.tokenizer).__name__}. Save it with a fast tokenizer, or name another model."
        )
    copy = Tokenizer.from_str(backend.to_str())
    copy.no_truncation()
    copy.no_padding()
    return copy


def _token_vectors(network: SentenceTransformer, ids: IntArray) -> FloatArray:
    """(n_tokens, teacher's dim): the sentence vector of each token between the special tokens of a text."""
    import torch

    whole = network.tokenizer("a")["input_ids"]
    alone = network.tokenizer("a", add_special_tokens=False)["input_ids"]
    at = next(i for i in range(len(whole)) if whole[i : i + len(alone)] == alone)
    before, after = whole[:at], whole[at + len(alone) :]
    padded = np.concatenate([ids, np.repeat(ids[:1], -len(ids) % ROWS)])  # batches of one shape: see `encoder`
    batches = padded.reshape(-1, ROWS)

    def forward(batch: IntArray) -> Any:
        torch.set_num_threads(1)
        rows = torch.tensor([[*before, token, *after] for token in batch.tolist()])
        with torch.inference_mode():
            found = network({"input_ids": rows, "attention_mask": torch.ones_like(rows)})
        return found["sentence_embedding"].double().numpy()

    with ThreadPoolExecutor(min(threads(), len(batches))) as pool:
        return np.concatenate(list(pool.map(forward, batches)))[: len(ids)]


def _on_principal_axes(vectors: FloatArray, dim: int) -> FloatArray:
    """(n, at most `dim`): centred, turned so that the first axes vary most, and scaled to variance 1 on each."""
    from sklearn.decomposition import PCA
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # BLAS adds up differently on several
        axes = PCA(min(dim, *vectors.shape), svd_solver="covariance_eigh").fit(vectors)
        turned = axes.transform(vectors)
    spread = np.sqrt(axes.explained_variance_)
    kept = spread > FLAT * spread[0]
    scaled: FloatArray = turned[:, kept] / spread[kept]
    return scaled


def _weights(n_tokens: int) -> FloatArray:
    """The weights a / (a + p) of the ranks 1, 2, … of the vocabulary, p by Zipf's law."""
    inverse = 1 / np.arange(2, n_tokens + 2)  # model2vec counts from 2
    weights: FloatArray = SIF / (SIF + inverse / inverse.sum())
    return weights
