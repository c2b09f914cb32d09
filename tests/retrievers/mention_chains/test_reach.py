"""Why no mention leads to a gold passage, by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from reach import Cause, cause_of, causes

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.mention_ppr.graph import mention_graph


@pytest.mark.parametrize(
    ("title", "text", "given", "cause"),
    [
        ("The Hobbit", "A book.", "He wrote The Hobbit.", Cause.CUT),
        ("Rebecca (film)", "By Hitchcock.", "in Rebecca he", Cause.CUT),
        ("Anna Karenina", "A novel.", "Karenina, Anna", Cause.SPELLING),
        ("J. R. R. Tolkien", "A writer.", "a book by JRR Tolkien", Cause.SPELLING),
        ("JRR Tolkien", "A writer.", "a book by J. R. R. Tolkien", Cause.SPELLING),
        ("Federal Bureau of Investigation", "An agency.", "He joined the FBI.", Cause.INITIALS),
        ("Tim Burton", "An artist.", "the Burton film", Cause.PART),
        ("Bastille", "Stormed in 1789.", "It began in 1789.", Cause.NUMBER),
        ("Bastille", "A fort in Paris.", "born in Paris", Cause.WORD),
        ("Bastille", "A fort.", "born in Rome", Cause.NOTHING),
    ],
)
def test_the_first_thing_that_is_shared_is_the_cause(title: str, text: str, given: str, cause: Cause) -> None:
    assert cause_of(title, f"{title}\n{text}", given) == cause


def test_gold_is_named_by_the_question_or_joined_to_other_gold(kb_of: Callable[..., KnowledgeBase]) -> None:
    kb = kb_of(
        ("Ed Wood", "The film was directed by Tim Burton."),
        ("Tim Burton", "He was raised in Burbank by Jean Burton."),
        ("Burbank", "A city of California."),
        ("Jean", "A cook."),
    )
    graph = mention_graph(kb, 0.3, 0.03, 50)
    found = causes(kb, graph, "Where was the director of Ed Wood born?", [0, 1, 3])
    assert found == {0: Cause.NAMED, 1: Cause.JOINED, 3: Cause.JOINED}
    assert causes(kb, graph, "Where was the director born?", [0, 2])[2] == Cause.NOTHING
