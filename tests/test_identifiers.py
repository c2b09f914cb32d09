"""The queries of `eval/identifiers.py`: spellings and gold by hand."""

from __future__ import annotations

import identifiers

from kg2rag.types import Corpus, Passage, QADataset, Question


def test_an_identifier_is_misspelt_in_the_middle() -> None:
    spellings = {title: write("useChatHook") for title, write in identifiers.SPELLINGS.items()}
    assert spellings == {
        "as written": "useChatHook",
        "two letters swapped": "useCahtHook",
        "a letter left out": "useChtHook",
        "a letter doubled": "useChaatHook",
        "as separate words": "use chat hook",
    }


def test_the_gold_of_an_identifier_are_the_passages_that_hold_it_unless_they_are_many() -> None:
    texts = ("call useChatHook here", "useChatHook again", "plain words", *["the_common_name"] * 4)
    corpus = Corpus.from_passages([Passage(f"p{i}", "", text, f"p{i}", 0) for i, text in enumerate(texts)])
    data = QADataset("names", corpus, (Question("q", "?", {"p0": 1}),))
    assert identifiers.identifiers(data) == {"useChatHook": {"p0": 1, "p1": 1}}
