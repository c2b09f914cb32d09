"""Which items a budget takes, worked out by hand: a word is a token."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from kg2rag.answers.graph_block import Dropped, Item, Line, Section, shared


class Words:
    """Words between spaces, or the separators of these tests, are tokens."""

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.replace(",", " ").split()) for text in texts]


def section(name: str, *items: tuple[str, float], yields: bool = False, described: bool = False) -> Section:
    lines = [Line("", [Item(text, strength) for text, strength in items])]
    return Section(name, [*lines, Line("", [Item("text")])] if described else lines, yields)


def written(sections: Sequence[Section], budget: int) -> str:
    return shared("top", sections, budget, Words())[0].replace("\n\n", " | ").replace("\n", " ")


HUB = section("hub", *((f"h{at}", 9.0) for at in range(6)))
LEAF = section("leaf", ("l0", 5.0))


def test_every_line_has_its_turn_and_what_it_does_not_need_goes_to_the_others() -> None:
    assert written([HUB, LEAF], 1 + 2 + 2) == "top | hub h0 | leaf l0"
    assert written([HUB, LEAF], 1 + 5 + 2) == "top | hub h0, h1, h2, h3 | leaf l0"  # what one does not need
    assert written([section("a", ("one", 9.0), ("two", 8.0), described=True)], 4) == "top | a one text"


def test_a_line_that_is_full_takes_no_weaker_item_even_if_it_would_fit() -> None:
    long = section("a", ("one", 9.0), ("two long words", 8.0), ("three", 7.0))
    text, tokens, dropped = shared("top", [long], 5, Words())
    assert (text, tokens) == ("top\n\na\none", 3)
    assert dropped == (Dropped("two long words", "budget"), Dropped("three", "budget"))


def test_facts_wait_for_stronger_relations_and_go_with_those_that_do_not_fit() -> None:
    related = section("a", ("ten", 10.0), ("ten too", 10.0), ("nine", 9.0))
    facts = section("facts", ("fact of nine", 9.0), yields=True)
    assert written([related, facts], 5) == "top | a ten, ten too"
    assert written([related, facts], 9) == "top | a ten, ten too | facts fact of nine"
    assert written([related, section("facts", ("nine", 9.0), yields=True)], 4) == "top | a ten"
    assert written([related, section("facts", ("ten", 10.0), yields=True)], 5) == "top | a ten | facts ten"


ITEMS = st.lists(st.tuples(st.sampled_from(["a", "b b", "c c c"]), st.sampled_from([3.0, 5.0, 9.0])), max_size=5)


@given(st.lists(st.tuples(ITEMS, st.booleans()), max_size=4), st.integers(0, 30))
def test_every_item_is_written_or_dropped_and_the_budget_holds(
    given_sections: list[tuple[list[tuple[str, float]], bool]], budget: int
) -> None:
    sections = [
        section(f"s{at}", *sorted(items, key=lambda item: -item[1]), yields=last)
        for at, (items, last) in enumerate(given_sections)
        if items
    ]
    text, tokens, dropped = shared("top", sections, budget, Words())
    assert tokens == Words().count([text])[0] <= budget
    wanted = sum(len(items) for items, _ in given_sections)
    kept = sum(len(line.split(", ")) for line in text.split("\n") if line and not line.startswith(("top", "s")))
    assert kept + len(dropped) == (wanted if text else 1)
