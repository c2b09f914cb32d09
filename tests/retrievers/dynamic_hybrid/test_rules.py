"""The design's own example classifications, and what the rules say of other forms."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kg2rag.knowledge import TrigramIndex
from kg2rag.retrievers.dynamic_hybrid.analysis import SIDES, QueryAnalysis, RuleAnalyser, reconsidered
from kg2rag.retrievers.mention_chains.searched import ChainsNotes
from kg2rag.types import Notes, Query, Ranking

TEXTS = ["class StreamingTextResponse", "the useChat hook is used by components of a React app", "stream AI responses"]


@pytest.fixture
def rules(tmp_path: Path) -> RuleAnalyser:
    TrigramIndex.write(tmp_path, TEXTS)
    return RuleAnalyser(TrigramIndex(tmp_path))


def one(rules: RuleAnalyser, text: str) -> tuple[str, tuple[float, ...]]:
    (analysis,) = rules.analyse([Query("q", text)])
    return analysis.query_type, tuple(analysis.weights[side] for side in SIDES)


@pytest.mark.parametrize(
    ("text", "query_type", "weights"),
    [
        ("How do I stream AI responses in a React app?", "conceptual", (0.7, 0.2, 0.0, 0.1)),
        ("Find the StreamingTextResponse class", "identifier", (0.1, 0.5, 0.3, 0.1)),
        ("What components use the useChat hook?", "relationship", (0.1, 0.2, 0.1, 0.6)),
        ("streamingTextRespons", "fuzzy", (0.1, 0.2, 0.6, 0.1)),
        ("Find API keys in format 'sk-proj-xxxx'", "mixed", (0.0, 0.2, 0.7, 0.1)),
    ],
)
def test_the_five_classifications_of_the_design(
    rules: RuleAnalyser, text: str, query_type: str, weights: tuple[float, ...]
) -> None:
    assert one(rules, text) == (query_type, weights)


@pytest.mark.parametrize("text", ["STreamingTxtResp", "useCaht"])
def test_a_name_that_the_corpus_only_has_something_like_is_a_typo(rules: RuleAnalyser, text: str) -> None:
    assert one(rules, text)[0] == "fuzzy"


def test_a_how_question_that_names_a_class_is_mixed(rules: RuleAnalyser) -> None:
    assert one(rules, "How do I return a StreamingTextResponse?")[0] == "mixed"


@pytest.mark.parametrize("text", ["Streaming*Response", "/use[A-Z]\\w+/"])
def test_wildcards_and_regular_expressions_are_left_to_the_pattern_side(rules: RuleAnalyser, text: str) -> None:
    assert one(rules, text) == ("mixed", (0.0, 0.2, 0.7, 0.1))


def test_a_question_about_people_goes_to_the_graph(rules: RuleAnalyser) -> None:
    query_type, weights = one(rules, "Who is the spouse of the director of The Green Mile?")
    assert (query_type, max(weights)) == ("relationship", weights[SIDES.index("graph")])


@pytest.mark.parametrize(
    "text",
    [
        "who invokes useChat",
        "callers of useChat",
        "subclasses of StreamingTextResponse",
        "what breaks if I change useChat",
        "what does useChat depend on?",
        "where is useChat used",
        "blast radius of renaming useChat",
        "everything that imports StreamingTextResponse",
        "how is useChat connected to StreamingTextResponse?",
    ],
)
def test_paraphrases_of_a_relationship_go_to_the_graph(rules: RuleAnalyser, text: str) -> None:
    assert one(rules, text) == ("relationship", (0.1, 0.2, 0.1, 0.6))


@pytest.mark.parametrize("text", ["how to use a hook", "the best way to call components", "responses by use"])
def test_a_verb_of_relation_alone_asks_for_none(rules: RuleAnalyser, text: str) -> None:
    assert one(rules, text)[0] == "conceptual"


@pytest.mark.parametrize("text", ["keys like sk-proj-xxxx", "dates written as YYYY-MM-DD", "*_by_id", "handle*Event"])
def test_a_format_by_example_is_left_to_the_pattern_side(rules: RuleAnalyser, text: str) -> None:
    assert one(rules, text) == ("mixed", (0.0, 0.2, 0.7, 0.1))


@pytest.mark.parametrize("text", ["what is *args", "a * b", "**bold** words"])
def test_stars_that_stand_for_nothing_are_no_wildcards(rules: RuleAnalyser, text: str) -> None:
    assert one(rules, text)[0] != "mixed"


@pytest.mark.parametrize(
    ("text", "query_type"),
    [
        ("reponses used", "fuzzy"),  # a few words, one of them nearly known
        ("useChat.StreamingTextResponse", "identifier"),  # both members are known
        ("stream_reponses", "fuzzy"),  # of a name, one part
        ("streaming reponses of react components in an app", "conceptual"),  # prose may hold a word that is new
        ("component of react", "conceptual"),  # another form of a known word
        ("something like StreamingText", "fuzzy"),
    ],
)
def test_what_counts_as_a_typo(rules: RuleAnalyser, text: str, query_type: str) -> None:
    assert one(rules, text)[0] == query_type


@pytest.mark.parametrize("text", ["RFC 7231", "show TS2345", "CVE-2021-44228", "JIRA-4821"])
def test_a_code_is_looked_up(rules: RuleAnalyser, text: str) -> None:
    assert one(rules, text)[0] == "identifier"


@pytest.mark.parametrize("text", ["", "the of", "?!"])
def test_a_query_without_a_word_to_look_up_is_left_to_meaning(rules: RuleAnalyser, text: str) -> None:
    assert one(rules, text)[0] == "conceptual"


def test_without_a_vocabulary_a_misspelt_name_is_taken_for_a_name() -> None:
    assert one(RuleAnalyser(), "streamingTextRespons")[0] == "identifier"


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"dense": 1.0}, "they must name dense, sparse, pattern, graph"),
        ({"dense": 1.5, "sparse": -0.5, "pattern": 0.0, "graph": 0.0}, "at least 0 and sum to 1"),
        ({"dense": 0.5, "sparse": 0.0, "pattern": 0.0, "graph": 0.0}, "at least 0 and sum to 1"),
    ],
)
def test_weights_that_are_no_weights_are_refused(weights: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        QueryAnalysis("mixed", weights, "")


def test_a_type_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Unknown query type 'odd'\. Known: conceptual"):
        QueryAnalysis("odd", dict.fromkeys(SIDES, 0.25), "")


def ranked(question: str) -> Ranking:
    return Ranking.of("q", np.empty(0, np.int64), np.empty(0), [], notes=ChainsNotes(question=question))


def test_what_names_nothing_asks_for_a_chain_only_where_the_passages_found_make_one(rules: RuleAnalyser) -> None:
    nothing, how_to, named = rules.analyse(
        [
            Query("q", "which person leads the band that played on the boat"),
            Query("q", "How do I stream the responses?"),
            Query("q", "Find the StreamingTextResponse class"),
        ]
    )
    for kind, query_type in (("one_chain", "relationship"), ("two_chains", "relationship"), ("unlinked", "conceptual")):
        assert reconsidered(nothing, ranked(question=kind)).query_type == query_type
    assert reconsidered(nothing, replace(ranked("one_chain"), notes=Notes())) is nothing  # of another side
    assert reconsidered(nothing, None) is nothing
    assert reconsidered(how_to, ranked(question="one_chain")) is how_to
    assert reconsidered(named, ranked(question="one_chain")) is named
