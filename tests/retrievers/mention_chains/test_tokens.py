"""Token vectors of a corpus: written by blocks, the same bytes whatever the block."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kg2rag
from kg2rag.retrievers.mention_chains import tokens


def test_the_size_of_a_block_changes_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = kg2rag.load("bundled").corpus
    few = kg2rag.Corpus.from_passages(corpus[row] for row in range(6))
    found = []
    for block in (4, 100):
        monkeypatch.setattr(tokens, "BLOCK", block)
        kb = kg2rag.KnowledgeBase.build(few, store=kg2rag.Store(tmp_path / str(block)))
        index = tokens.token_index(kb)
        assert index is not None
        found.append((index.vectors, index.indptr, index.rarity))
    assert all(np.array_equal(one, other) for one, other in zip(*found, strict=True))
    assert found[0][1][-1] == len(found[0][0]) > 6
