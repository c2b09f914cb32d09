"""The sentences that mention something, made when they are read."""

from __future__ import annotations

import numpy as np
import pytest

from kg2rag.datasets import load
from kg2rag.extraction.mentions import shards
from kg2rag.extraction.mentions.finding import find_mentions
from kg2rag.extraction.mentions.shards import mention_sentences
from kg2rag.types import Corpus


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return load("bundled").corpus


def expected(corpus: Corpus) -> list[str]:
    """Each of them once, in the order of the corpus."""
    table = find_mentions(corpus)
    pairs = sorted(set(zip(table.row.tolist(), table.sentence.tolist(), strict=True)))
    return [f"{corpus.titles[row]}: {corpus.sentences(row)[number]}" for row, number in pairs]


def test_texts_are_read_in_order_by_place_and_in_parts(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "_AT_ONCE", 7)
    places, texts = mention_sentences(find_mentions(corpus), corpus)
    everything = expected(corpus)
    assert list(texts) == everything
    assert [texts[0], texts[-1], texts[20]] == [everything[0], everything[-1], everything[20]]
    assert texts[3:9] == everything[3:9]
    assert texts[::-5] == everything[::-5]
    assert texts[4:4] == []
    assert len(texts) == len(everything) == places.max() + 1
    with pytest.raises(IndexError):
        texts[len(texts)]


def test_every_mention_has_the_text_of_its_sentence(corpus: Corpus) -> None:
    table = find_mentions(corpus)
    places, texts = mention_sentences(table, corpus)
    for mention in np.linspace(0, len(table.key) - 1, 20).astype(int).tolist():
        row, number = int(table.row[mention]), int(table.sentence[mention])
        assert texts[int(places[mention])] == f"{corpus.titles[row]}: {corpus.sentences(row)[number]}"
