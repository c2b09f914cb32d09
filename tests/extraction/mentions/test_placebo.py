"""The placebo of a mention table: all counts stay, nothing else does."""

from __future__ import annotations

import numpy as np
import pytest

from kg2rag.extraction.mentions.finding import find_mentions
from kg2rag.extraction.mentions.table import MentionTable
from kg2rag.knowledge.graph.perturbation import shuffled_mentions
from kg2rag.types import Corpus, Passage


@pytest.fixture(scope="module")
def table() -> MentionTable:
    random = np.random.default_rng(0)
    titles = [
        f"{a}{b}"
        for a in ("Ar", "Be", "Co", "Du")
        for b in ("lin", "mond", "nas", "pold", "rest")
    ]
    names = [f"{a} {b}" for a in ("Anna", "Boris") for b in ("Vogt", "Weiss", "Zorn")]
    passages = []
    for i in range(60):
        named = [*random.choice(titles, 3, replace=False), random.choice(names)]
        text = " ".join(
            f"It was said that {name} came by." for name in [*named, named[0]]
        )
        passages.append(
            Passage(f"p{i}", titles[i % 20] if i < 30 else "", text, f"d{i}", 0)
        )
    return find_mentions(Corpus.from_passages(passages))


def pairs(table: MentionTable) -> set[tuple[int, int]]:
    return set(zip(table.row.tolist(), table.key.tolist(), strict=True))


def test_passages_mention_as_much_of_a_kind_in_the_same_sentences_and_titles_as_often(
    table: MentionTable,
) -> None:
    def kinds(of: MentionTable) -> list[list[bool]]:
        return [
            sorted((of.key[of.row == row] < of.n_titles).tolist()) for row in range(60)
        ]

    placebo = shuffled_mentions(table, 1)
    for name in ("row", "sentence", "document_frequency", "pages"):
        assert getattr(placebo, name).tolist() == getattr(table, name).tolist()
    assert kinds(placebo) == kinds(table)


def test_what_a_passage_mentioned_it_mentions_by_chance_alone(
    table: MentionTable,
) -> None:
    placebo = shuffled_mentions(table, 1)
    chance = 4 / len(table.keys)
    assert len(pairs(table) & pairs(placebo)) < 2 * chance * len(pairs(table))


def test_no_title_stays_on_its_page(table: MentionTable) -> None:
    placebo = shuffled_mentions(table, 1)
    own, given = (
        list(zip(of.page_key.tolist(), of.page_row.tolist(), strict=True))
        for of in (table, placebo)
    )
    assert given == sorted(given)
    assert len({*own} & {*given}) <= 2  # another page of the same title


def test_a_seed_makes_one_placebo(table: MentionTable) -> None:
    one, same, other = (pairs(shuffled_mentions(table, seed)) for seed in (3, 3, 4))
    assert one == same != other


def test_a_corpus_that_mentions_nothing_has_an_empty_placebo() -> None:
    empty = find_mentions(
        Corpus.from_passages([Passage("p", "", "nothing here", "d", 0)])
    )
    assert len(shuffled_mentions(empty).key) == 0
