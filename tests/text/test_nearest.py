"""What is suggested for a name that is not known."""

from __future__ import annotations

from kg2rag.text.nearest import nearest, unknown


def test_a_misspelt_name_suggests_the_name_it_resembles() -> None:
    assert nearest("mention_pr", ["dense", "mention_ppr"]) == "mention_ppr"
    assert nearest("BM25", ["bm25", "dense"]) == "bm25"


def test_a_name_like_none_of_them_suggests_nothing() -> None:
    assert nearest("openai", ["bm25", "dense"]) is None
    assert unknown("system", "openai", ["dense", "bm25"]) == "Unknown system 'openai'. Known: bm25, dense."


def test_where_nothing_is_known_the_message_says_so() -> None:
    assert unknown("system", "x", []) == "Unknown system 'x'. Known: none."
