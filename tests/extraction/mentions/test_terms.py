"""Passages without a title are joined by the names and rare terms that they share; the rarest is what each is about."""

from __future__ import annotations

import numpy as np
import pytest

from kg2rag.extraction import Extraction
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.extraction.mentions.terms import max_passages, shared_terms
from kg2rag.types import Corpus, Passage

TEXTS = (
    "the tumour was a basal cell carcinoma.",
    "surgery for a basal cell carcinoma, under rule 1.3.3.",
    "see rule 1.3.3 about surgery in 2019.",
    "nothing else happened in 2019.",
)


def corpus(*texts: str, title: str = "", document: str = "") -> Corpus:
    """Passages p0, p1, … of these texts; by default, each is another document."""
    return Corpus.from_passages(
        [
            Passage(f"p{i}", title, t, document or f"d{i}", i)
            for i, t in enumerate(texts)
        ]
    )


def terms(*texts: str) -> dict[str, list[tuple[int, int]]]:
    """Term -> (row, sentence) of each passage that has it."""
    found = shared_terms(corpus(*texts), np.ones(len(texts), dtype=bool))
    places = zip(
        found.key.tolist(), found.row.tolist(), found.sentence.tolist(), strict=True
    )
    of: dict[str, list[tuple[int, int]]] = {name: [] for name in found.names}
    for key, row, sentence in places:
        of[found.names[key]].append((row, sentence))
    return of


def stated(found: Extraction) -> set[tuple[str, str, str, str]]:
    return {(one.head, one.relation, one.tail, one.passage_id) for one in found.triples}


def test_terms_are_the_longest_runs_that_passages_share_without_stop_words_and_bare_numbers():
    assert terms(*TEXTS) == {
        "surgery": [(1, 0), (2, 0)],
        "basal cell carcinoma": [(0, 0), (1, 0)],
        "rule 1.3.3": [(1, 0), (2, 0)],
    }


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        # in the first sentence
        (("red fox. red fox ran", "a red fox"), {"red fox": [(0, 0), (1, 0)]}),
        (
            ("red fox", "red fox", "old fox"),
            {"fox": [(0, 0), (1, 0), (2, 0)], "red fox": [(0, 0), (1, 0)]},
        ),
        # a full stop
        (
            ("red. Fox", "it is red. Fox"),
            {"fox": [(0, 1), (1, 1)], "red": [(0, 0), (1, 0)]},
        ),
        # case, accents and marks
        (("fox", "Fox, 3 m", "FÓX 3"), {"fox": [(0, 0), (1, 0), (2, 0)]}),
        (("fox", "hound"), {}),
        (("the", "the"), {}),  # stop words alone
        # Korean syllables, not their letters.
        (
            ("룬드 배", "섬 룬드"),
            {"룬 드": [(0, 0), (1, 0)]},
        ),
        # the end
        (
            ("glacier comet comet", "bridge glacier comet"),
            {"glacier comet": [(0, 0), (1, 0)]},
        ),
    ],
)
def test_terms_by_hand(
    texts: tuple[str, ...], expected: dict[str, list[tuple[int, int]]]
) -> None:
    found = {name: places for name, places in terms(*texts).items() if name != "fox 3"}
    assert found == expected


def test_hubs_are_pruned() -> None:
    assert [max_passages(n) for n in (3, 250, 1000)] == [5, 5, 20]
    assert "fox" in terms(*["fox"] * 5)
    assert terms(*["fox"] * 6) == {}


def test_the_rarest_key_of_a_passage_appears_with_its_others() -> None:
    # Every key is in two passages: that of most words is what a passage is about (1.3.3 counts as
    # three).
    found = Mentions().extract(corpus(*TEXTS))
    assert stated(found) == {
        ("rule 1.3.3", "appears with", "basal cell carcinoma", "p1"),
        ("rule 1.3.3", "appears with", "surgery", "p1"),
        ("rule 1.3.3", "appears with", "surgery", "p2"),
    }
    # 10 ln(1 + 4/2) / ln(1 + 4).
    assert {one.strength for one in found.triples} == {6.826}
    assert [one.name for one in found.entities] == [
        "surgery",
        "rule 1.3.3",
        "basal cell carcinoma",
    ]
    assert {one.type for one in found.entities} == {"term"}
    assert ("basal cell carcinoma", "p0", 0) in {
        (one.entity, one.passage_id, one.sentence) for one in found.mentions
    }
    assert found.notes == {"passages without a title that share nothing": 1}


def test_a_passage_leads_to_the_next_of_its_document() -> None:
    found = Mentions().extract(corpus(*TEXTS, document="d"))
    assert ("basal cell carcinoma", "continues in", "rule 1.3.3", "p0") in stated(found)
    assert len(stated(found)) == 4  # p1 and p2 are about the same, p3 about nothing


def test_a_term_that_is_a_name_is_no_other_entity() -> None:
    found = Mentions().extract(
        corpus("Ann met Rex Fox.", "We saw Rex Fox.", "a rex fox, a den", "no den")
    )
    assert [(one.name, one.type) for one in found.entities] == [
        ("Rex Fox", "name"),
        ("den", "term"),
    ]


def test_passages_with_titles_have_the_graph_that_they_had() -> None:
    titled = corpus(*TEXTS, title="A title")
    assert Mentions().extract(titled) == Mentions(terms=False).extract(titled)
    assert Mentions().extract(titled).triples == ()


def test_a_passage_without_a_title_among_those_with_one_is_joined_to_the_pages_it_names():
    pages = (
        Passage("p0", "Ann Fox", "A singer.", "d0", 0),
        Passage("p1", "Bob Fox", "Ann Fox sang.", "d1", 0),
    )
    found = Mentions().extract(
        Corpus.from_passages(
            [*pages, Passage("p2", "", "Ann Fox met Bob Fox.", "d2", 0)]
        )
    )
    assert ("Bob Fox", "mentions", "Ann Fox", "p1") in stated(found)
    assert {("Bob Fox", "appears with", "Ann Fox", "p2")} == {
        one for one in stated(found) if one[3] == "p2"
    }
