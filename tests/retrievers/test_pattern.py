"""Names found by spellings like theirs; hostile queries."""

from __future__ import annotations

from pathlib import Path

import pytest

from kg2rag.compute import Store
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.pattern import Pattern
from kg2rag.types import Corpus, Passage, Query

TEXTS = {
    "class": "class StreamingTextResponse: sends pieces of text as they are made",
    "swapped": "class TextStreamResponse: another class",
    "prose": "the streaming of text, as a response to some request",
    "hook": "call the useChat hook of the package @ai-sdk/openai",
    "snake": "def use_chat(): pass",
    "key": "API keys look like sk-proj-1234 and are secret",
    "recipe": "fold the butter in, then rest the dough",
}


def pattern_over(texts: dict[str, str], folder: Path, **settings: float) -> Pattern:
    corpus = Corpus.from_passages(
        [Passage(id_, "", text, id_, 0) for id_, text in texts.items()]
    )
    return Pattern(KnowledgeBase.build(corpus, store=Store(folder)), **settings)


@pytest.fixture
def pattern(tmp_path: Path) -> Pattern:
    return pattern_over(TEXTS, tmp_path, max_share=0.5)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        # every spelling of the design
        *(
            (text, "class")
            for text in (
                "streamingTextRespons",
                "STreamingTxtResp",
                "streaming text response",
            )
        ),
        ("Streaming*Response", "class"),
        ("useChat", "hook"),  # the query's own spelling before another of the same name
        ("use_chat", "snake"),
        ("ai-sdk/openai", "hook"),  # a path, whole and by its parts
        ("openai", "hook"),
    ],
)
def test_a_spelling_finds_the_name_first(
    pattern: Pattern, text: str, first: str
) -> None:
    assert pattern.retrieve(text).passage_ids[0] == first


def test_a_hit_says_which_term_it_matched_and_how_nearly(pattern: Pattern) -> None:
    ranking = pattern.retrieve("streamingTextRespons")
    (match,) = ranking.notes.matched["class"]  # type: ignore[index]
    assert (match.term, match.matched) == (
        "streamingTextRespons",
        "StreamingTextResponse",
    )
    assert match.similarity == pytest.approx(20 / 21)
    assert ranking.hit(1).score_parts["similarity"] == pytest.approx(20 / 21)


@pytest.mark.parametrize(
    "text", ["Find API keys in format 'sk-proj-xxxx'", "keys like sk-proj-xxxx"]
)
def test_a_format_given_by_an_example_finds_what_has_it(
    pattern: Pattern, text: str
) -> None:
    ranking = pattern.retrieve(text)
    assert ranking.passage_ids == ["key"]
    assert ranking.notes.terms == (r"/\bsk\-proj\-[A-Za-z0-9]{4,}/",)


@pytest.mark.parametrize(
    ("text", "ids"),
    [(r"/sk-proj-\d+/", ["key"]), ("/usechat/", []), ("/usechat/i", ["hook"])],
)
def test_a_slashed_query_is_a_regular_expression_that_folds_case_where_it_says_i(
    pattern: Pattern, text: str, ids: list[str]
) -> None:
    assert pattern.retrieve(text).passage_ids == ids


@pytest.mark.parametrize("text", ["", "   ", "the of and", "!?", "*", "* *"])
def test_a_query_with_nothing_to_look_up_has_no_hit_and_says_so(
    pattern: Pattern, text: str
) -> None:
    ranking = pattern.retrieve(text)
    assert (len(ranking), ranking.notes.terms) == (0, ())


@pytest.mark.parametrize("text", ["/(a+)+$/", "/(a|aa)+$/", "/(x+x+)+y/"])
def test_a_regular_expression_that_makes_backtracking_engines_hang_is_answered(
    tmp_path: Path, text: str
) -> None:
    pattern = pattern_over({"hostile": "a" * 50_000 + "!" + "x" * 50_000}, tmp_path)
    assert pattern.retrieve(text).passage_ids == []


@pytest.mark.parametrize("text", ["/usr/lib(x/", "/usr/lib[x/"])
def test_what_no_engine_could_read_is_a_path_and_no_regular_expression(
    tmp_path: Path, text: str
) -> None:
    ranking = pattern_over(
        {"path": "it lies in usr/lib", "else": "nothing"}, tmp_path
    ).retrieve(text)
    assert ranking.passage_ids == ["path"]
    assert not any(
        term.startswith("/") and term.endswith("/") for term in ranking.notes.terms
    )  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text", [r"/(a)\1/", "/(?=a)/", "/((a{1,100}){1,100}){1,100}/", f"/{'a' * 5000}/"]
)
def test_a_regular_expression_that_cannot_be_matched_in_linear_time_or_is_endless_is_refused(
    pattern: Pattern, text: str
) -> None:
    with pytest.raises(ValueError, match=r"query .q."):
        pattern.retrieve(text)


@pytest.mark.parametrize(
    "text",
    [
        "word " * 20_000,
        "y" * 100_000,
        "*" * 100_000,
        "a*" * 50_000,
        "aB" * 50_000,
        "/" * 100_000 + "x",
        "_" * 100_000,
    ],
)
def test_a_query_of_a_hundred_thousand_characters_is_answered(
    pattern: Pattern, text: str
) -> None:
    assert [
        ranking.query_id for ranking in pattern.retrieve_batch([Query("q", text)], 10)
    ] == ["q"]


def test_terms_beyond_the_limit_are_counted_not_forgotten(tmp_path: Path) -> None:
    pattern = pattern_over(TEXTS, tmp_path, max_terms=2)
    ranking = pattern.retrieve("useChat use_chat StreamingTextResponse api_key")
    assert len(ranking.notes.terms) == 2  # type: ignore[arg-type]
    assert int(ranking.notes.terms_left_out) > 0  # type: ignore[call-overload]
