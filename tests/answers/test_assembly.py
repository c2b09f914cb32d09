"""The graph block and the passages of a ranking in one budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kg2rag.answers.context import assemble
from kg2rag.knowledge import KnowledgeBase
from kg2rag.types import LinkedEntity, Notes, Query, Ranking, Triple

PAGES = (
    ("Ed Wood", "Ed Wood is a film by Tim Burton."),
    ("Burbank", "Tim Burton was born in Burbank."),
)
FACTS = (
    Triple("Ed Wood", "directed by", "Tim Burton", "p0", strength=8),
    Triple("Tim Burton", "born in", "Burbank", "p1", strength=6),
)
ASKED = Query("q", "Who made Ed Wood?")


class Words:
    """A token counter of words."""

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


@pytest.fixture
def films(kb_of: Callable[..., KnowledgeBase]) -> KnowledgeBase:
    return kb_of(*PAGES, facts=FACTS)


def ranking(kb: KnowledgeBase, *entities: str, linked: bool = False) -> Ranking:
    notes = Notes(
        entities=tuple(LinkedEntity(name, "ngram", 1.0) for name in entities)
        if linked or entities
        else None
    )
    return Ranking.from_scores(
        "q",
        np.array([0, 1]),
        np.array([0.9, 0.5]),
        kb.corpus.ids,
        stages=("dense",),
        notes=notes,
    )


def test_the_block_of_the_linked_entities_stands_above_the_passages(
    films: KnowledgeBase,
) -> None:
    (made,) = assemble(
        films, [ASKED], [ranking(films, "Tim Burton")], tokens=200, graph_tokens=100
    )
    block, passages = made.text.split("\n\n[1] ")
    assert block.startswith(
        "## Knowledge Graph Context\nQuery entities: [Tim Burton]\n\n### Tim Burton\n"
    )
    assert passages.startswith(
        "[Score: 0.90] [Source: dense]\nEd Wood\nEd Wood is a film"
    )
    assert [citation.passage_id for citation in made.citations] == ["p0", "p1"]


def test_a_system_that_says_nothing_of_entities_has_them_linked_in_the_question(
    films: KnowledgeBase,
) -> None:
    said, unsaid, none = (
        ranking(films, "Burbank"),
        ranking(films),
        ranking(films, linked=True),
    )
    made = assemble(
        films,
        [ASKED] * 3,
        [said, unsaid, none],
        tokens=200,
        graph_tokens=100,
        counter=Words(),
    )
    heads = [context.text.splitlines()[1] for context in made]
    assert heads[:2] == ["Query entities: [Burbank]", "Query entities: [Ed Wood]"]
    # it looked, and found none: neither does the block
    assert made[2].text.startswith("[1] [Score: 0.90]")


def test_without_entities_or_tokens_for_it_there_is_no_block(
    films, kb_of: Callable[..., KnowledgeBase]
) -> None:
    for kb, share in ((kb_of(*PAGES), 10), (films, 0)):
        (made,) = assemble(
            kb, [ASKED], [ranking(kb)], tokens=100, graph_tokens=share, counter=Words()
        )
        assert made.text.startswith("[1]")


def test_what_the_block_leaves_of_its_share_goes_to_the_passages(
    films: KnowledgeBase,
) -> None:
    # Head, title and text are 5 + 2 + 8 and 5 + 1 + 6 words, a line between them is 1; without
    # entities, no block.
    (made,) = assemble(
        films,
        [ASKED],
        [ranking(films, linked=True)],
        tokens=28,
        graph_tokens=25,
        counter=Words(),
    )
    assert len(made.citations) == 2
    assert made.tokens == len(made.text.split()) == 28
    (block,) = assemble(
        films, [ASKED], [ranking(films)], tokens=200, graph_tokens=200, counter=Words()
    )
    spent = len(block.text.split("\n\n[1] ")[0].split())
    (made,) = assemble(
        films,
        [ASKED],
        [ranking(films)],
        tokens=spent + 15,
        graph_tokens=spent + 15,
        counter=Words(),
    )
    assert [citation.passage_id for citation in made.citations] == ["p0"]


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(tokens=st.integers(1, 80), share=st.integers(0, 80))
def test_no_context_is_longer_than_its_budget(
    films: KnowledgeBase, tokens: int, share: int
) -> None:
    counter = Words()
    if share > tokens:
        with pytest.raises(
            ValueError,
            match=f"graph_tokens is {share}, which is more than the {tokens} tokens",
        ):
            assemble(
                films,
                [ASKED],
                [ranking(films)],
                tokens=tokens,
                graph_tokens=share,
                counter=counter,
            )
        return
    (made,) = assemble(
        films,
        [ASKED],
        [ranking(films)],
        tokens=tokens,
        graph_tokens=share,
        counter=counter,
    )
    assert made.tokens == counter.count([made.text])[0] <= tokens


def test_as_many_rankings_as_queries_are_needed(films: KnowledgeBase) -> None:
    with pytest.raises(ValueError, match=r"1 .*0 "):
        assemble(films, [ASKED], [])
    with pytest.raises(ValueError, match="tokens"):
        assemble(films, [], [], tokens=0)
    assert assemble(
        films, [ASKED], [replace(ranking(films), query_id="other")], tokens=60
    )[0].citations
