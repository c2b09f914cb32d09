"""Initials with or without blanks and dots are those of one name."""

from __future__ import annotations

import pytest

from kg2rag.extraction import Entity, Extraction
from kg2rag.extraction.mentions.finding import find_mentions
from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.retrievers.linking import of
from kg2rag.types import Corpus, Passage, Query

SPELLINGS = ("J. R. R. Tolkien", "J.R.R. Tolkien", "J R R Tolkien", "JRR Tolkien")


@pytest.mark.parametrize("written", SPELLINGS)
@pytest.mark.parametrize("title", SPELLINGS)
def test_a_name_is_found_in_a_passage_and_in_a_question(
    title: str, written: str
) -> None:
    pages = {title: "A writer of novels.", "The Hobbit": f"A novel by {written}."}
    corpus = Corpus.from_passages(
        [Passage(name, name, text, name, 0) for name, text in pages.items()],
        [[text] for text in pages.values()],
    )
    table = find_mentions(corpus)
    assert [table.names[key] for key in table.key] == [title]
    assert table.row.tolist() == [1]
    question = f"When did {written} write it?"
    assert [table.names[key] for key in table.named_in(question)] == [title]
    kb = KnowledgeBase.build(corpus)
    links = of("ngram", kb).link_batch([Query("q", question)])[0]
    assert [kb.graph.names[link.entity] for link in links] == [title]


def test_a_name_as_it_is_written_comes_first() -> None:
    corpus = Corpus.from_passages([Passage("p", "P", "Text.", "d", 0)])
    entities = (Entity("U.S. Navy"), Entity("US Navy"), Entity("Usa Bank"))
    graph = KnowledgeGraph.build(Extraction(entities=entities), corpus)
    assert [graph.find(name) for name in ("US Navy", "U. S. Navy")] == [
        graph.entity("US Navy"),
        graph.entity("U.S. Navy"),
    ]
    assert graph.find("U S A Bank") is None
