"""A corpus -> its near-duplicates: Jaccard similarity of runs of five words, by prefix filtering [1].

[1] Chaudhuri, Ganti, Kaushik, "A primitive operator for similarity joins in data cleaning", ICDE
2006. Only passages that share a rare run are compared: two passages of similarity t share a run
among the (1 - t) n + 1 rarest of the n runs of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kg2rag.text.scripts import words
from kg2rag.types import Corpus

if TYPE_CHECKING:
    import pandas as pd

ALIKE = 0.8
"""Least Jaccard similarity of the runs of two near-duplicates."""
BLOCK_ROWS = 50
"""Passages in one comparison with all others; bounds the memory."""
RUN_WORDS = 5


def near_duplicates(corpus: Corpus) -> pd.DataFrame:
    """One row per passage that nearly repeats an earlier one, with the first such passage.

    Columns: passage, of (the earlier one), similarity (Jaccard, from `ALIKE` to 1).
    """
    import pandas as pd
    from sklearn.feature_extraction.text import HashingVectorizer

    hashing = HashingVectorizer(
        analyzer=_runs, binary=True, norm=None, alternate_sign=False, n_features=1 << 24
    )
    runs = hashing.transform(corpus.table["text"].to_pylist()).astype(np.float32)
    rare = _rarest_runs(runs)
    columns = rare.T.tocsr()
    sizes = np.diff(runs.indptr)
    tables = list[pd.DataFrame]()
    for start in range(0, runs.shape[0], BLOCK_ROWS):
        candidates = (rare[start : start + BLOCK_ROWS] @ columns).tocoo()
        is_earlier = candidates.col < candidates.row + start
        rows = candidates.row[is_earlier] + start
        others = candidates.col[is_earlier]
        shared = np.asarray(runs[rows].multiply(runs[others]).sum(axis=1)).ravel()
        similarity = shared / (sizes[rows] + sizes[others] - shared)
        pairs = pd.DataFrame({"passage": rows, "of": others, "similarity": similarity})
        tables.append(pairs[similarity >= ALIKE])
    pairs = pd.concat(tables).sort_values(["passage", "of"]).drop_duplicates("passage")
    ids = np.array(corpus.ids, dtype=object)
    return pairs.assign(
        passage=ids[pairs["passage"]],
        of=ids[pairs["of"]],
        similarity=pairs["similarity"].round(3),
    ).reset_index(drop=True)


def _runs(text: str) -> list[str]:
    """The runs of five words of a text; a shorter text is one run."""
    text_words = words(text)
    if len(text_words) < RUN_WORDS:
        return [" ".join(text_words) or text]
    return [
        " ".join(text_words[start : start + RUN_WORDS])
        for start in range(len(text_words) - RUN_WORDS + 1)
    ]


def _rarest_runs(runs: Any) -> Any:
    """The matrix of runs with only the rarest runs of each passage.

    A passage keeps a share 1 - `ALIKE` of its runs and one more.

    runs : (n_passages, 2^24), sparse, 1 for each run that a passage has.
    """
    from scipy.sparse import csr_array

    entries = runs.tocoo()
    n_passages = np.bincount(entries.col, minlength=runs.shape[1])[entries.col]
    order = np.lexsort((entries.col, n_passages, entries.row))
    rows = entries.row[order]
    rank = np.arange(len(order)) - runs.indptr[rows]
    is_rare = rank <= (1 - ALIKE) * np.diff(runs.indptr)[rows] + 1e-6
    indices = (rows[is_rare], entries.col[order][is_rare])
    return csr_array((entries.data[order][is_rare], indices), shape=runs.shape)
