"""A mention table -> the sentences that mention something, each once, as texts to encode."""

from __future__ import annotations

import numpy as np

from kg2rag.extraction.mentions.table import MentionTable
from kg2rag.types.arrays import IntArray
from kg2rag.types.corpus import Corpus


def mention_sentences(table: MentionTable, corpus: Corpus) -> tuple[IntArray, list[str]]:
    """The row of each mention's sentence in a list of texts, and that list: "title: sentence", each once."""
    pairs = np.stack([table.row, table.sentence], axis=1)
    distinct, inverse = np.unique(pairs, axis=0, return_inverse=True)
    texts, titles, current, sentences = [], corpus.titles, -1, [""]
    for row, number in distinct.tolist():
        if row != current:
            current, sentences = row, corpus.sentences(row)
        title = titles[row]
        texts.append(f"{title}: {sentences[number]}" if title else sentences[number])
    return inverse.astype(np.int64).reshape(-1), texts
