"""Phrases of a query that may be names: in quotation marks or with capitals."""

from __future__ import annotations

import pytest

from kg2rag.retrievers.linking.phrases import phrases, phrases_outside

PHRASES = [
    ("Who directed The Birds?", ["Birds"]),
    ("In What Year did Ed Wood die?", ["Year", "Ed Wood"]),
    ('the film "ed wood" by Tim  Burton', ["ed wood", "Tim  Burton"]),
    ("“Ed Wood” and «Rebecca»", ["Ed Wood", "Rebecca"]),
    ("Tim Burton, Johnny Depp", ["Tim Burton", "Johnny Depp"]),
    ("is Saint-Étienne O'Brien's?", ["Saint-Étienne O'Brien's"]),
    ("кто написал Войну и мир", ["Войну"]),
    ("ōsaka and Ōsaka", ["Ōsaka"]),
    ("2001 was Kubrick's", ["Kubrick's"]),
    ("nothing of the kind", []),
    ("The Of And", []),
    ('"unclosed quote', []),
    ("", []),
]


@pytest.mark.parametrize(("text", "expected"), PHRASES)
def test_phrases_are_quoted_or_capitalised(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in phrases(text)] == expected


def test_phrases_outside_a_span_do_not_overlap_it() -> None:
    text = "Did Tim Burton film Ed Wood?"
    burton = (text.index("Tim"), text.index(" film"))
    assert phrases_outside(text, [burton]) == ["Ed Wood"]
    assert phrases_outside(text, [(0, len(text))]) == []
