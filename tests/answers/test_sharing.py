"""Which items a budget takes, worked out by hand: a word is a token."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from kg2rag.answers.graph_block import Dropped, Line, shared


class Words:
    """Words between spaces, or the separators of these tests, are tokens."""

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.replace(",", " ").split()) for text in texts]


def line(name: str, *items: str) -> Line:
    return Line((0, name), "", items)


def written(lines: Sequence[Line], budget: int) -> str:
    return (
        shared("top", lines, budget, Words())[0]
        .replace("\n\n", " | ")
        .replace("\n", " ")
    )


HUB, LEAF = line("hub", *(f"h{at}" for at in range(6))), line("leaf", "l0")


def test_every_line_has_its_turn_and_what_it_does_not_need_goes_to_the_others() -> None:
    assert written([HUB, LEAF], 1 + 2 + 2) == "top | hub h0 | leaf l0"
    # what one does not need
    assert written([HUB, LEAF], 1 + 5 + 2) == "top | hub h0, h1, h2, h3 | leaf l0"
    assert (
        written([line("a", "one", "two"), line("a", "text")], 4) == "top | a one text"
    )


def test_a_line_that_is_full_takes_no_weaker_item_even_if_it_would_fit() -> None:
    text, tokens, dropped = shared(
        "top", [line("a", "one", "two long words", "three")], 5, Words()
    )
    assert (text, tokens) == ("top\n\na\none", 3)
    assert dropped == [Dropped("two long words", "budget"), Dropped("three", "budget")]


@given(
    st.lists(st.lists(st.sampled_from(["a", "b b", "c c c"]), max_size=5), max_size=4),
    st.integers(0, 30),
)
def test_every_item_is_written_or_dropped_and_the_budget_holds(
    given_items: list[list[str]], budget: int
) -> None:
    lines = [line(f"s{at}", *items) for at, items in enumerate(given_items) if items]
    text, tokens, dropped = shared("top", lines, budget, Words())
    assert tokens == Words().count([text])[0] <= budget
    kept = sum(
        len(one.split(", "))
        for one in text.split("\n")
        if one and not one.startswith(("top", "s"))
    )
    assert kept + len(dropped) == (sum(map(len, given_items)) if text else 1)
