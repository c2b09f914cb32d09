"""The design's own example classifications, and what the rules say of other forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from kg2rag.knowledge import TrigramIndex
from kg2rag.retrievers.designs.dynamic_hybrid.analysers import (
    SIDES,
    QueryAnalysis,
    RuleAnalyser,
)
from kg2rag.types import Query

TEXTS = [
    "class StreamingTextResponse",
    "the useChat hook is used by components of a React app",
    "stream AI responses",
]


@pytest.fixture
def rules(tmp_path: Path) -> RuleAnalyser:
    TrigramIndex.write(tmp_path, TEXTS)
    return RuleAnalyser(TrigramIndex(tmp_path))


def one(rules: RuleAnalyser, text: str) -> tuple[str, tuple[float, ...]]:
    (analysis,) = rules.analyse([Query("q", text)])
    return analysis.query_type, tuple(analysis.weights[side] for side in SIDES)


CODE_PATTERN = (0.0, 0.2, 0.7, 0.1)
RELATIONSHIP = (0.1, 0.2, 0.1, 0.6)


@pytest.mark.parametrize(
    ("text", "query_type", "weights"),
    [
        # the five of the design
        (
            "How do I stream AI responses in a React app?",
            "conceptual",
            (0.7, 0.2, 0.0, 0.1),
        ),
        ("Find the StreamingTextResponse class", "identifier", (0.1, 0.5, 0.3, 0.1)),
        ("What components use the useChat hook?", "relationship", RELATIONSHIP),
        ("streamingTextRespons", "fuzzy", (0.1, 0.2, 0.6, 0.1)),
        ("Find API keys in format 'sk-proj-xxxx'", "mixed", CODE_PATTERN),
        # wildcards, regular expressions, formats by example
        *(
            (text, "mixed", CODE_PATTERN)
            for text in (
                "Streaming*Response",
                "/use[A-Z]\\w+/",
                "keys like sk-proj-xxxx",
            )
        ),
        *(
            (text, "mixed", CODE_PATTERN)
            for text in ("dates written as YYYY-MM-DD", "*_by_id", "handle*Event")
        ),
        # paraphrases of a relationship
        ("who invokes useChat", "relationship", RELATIONSHIP),
        ("callers of useChat", "relationship", RELATIONSHIP),
        ("subclasses of StreamingTextResponse", "relationship", RELATIONSHIP),
        ("what breaks if I change useChat", "relationship", RELATIONSHIP),
        ("what does useChat depend on?", "relationship", RELATIONSHIP),
        ("where is useChat used", "relationship", RELATIONSHIP),
        ("blast radius of renaming useChat", "relationship", RELATIONSHIP),
        ("everything that imports StreamingTextResponse", "relationship", RELATIONSHIP),
        (
            "how is useChat connected to StreamingTextResponse?",
            "relationship",
            RELATIONSHIP,
        ),
        (
            "Who is the spouse of the director of The Green Mile?",
            "relationship",
            (0.03, 0.03, 0.0, 0.94),
        ),
    ],
)
def test_types_and_weights(
    rules: RuleAnalyser, text: str, query_type: str, weights: tuple[float, ...]
) -> None:
    assert one(rules, text) == (query_type, weights)


@pytest.mark.parametrize(
    ("texts", "query_type"),
    [
        (["How do I return a StreamingTextResponse?"], "mixed"),
        # a verb alone
        (
            [
                "how to use a hook",
                "the best way to call components",
                "responses by use",
            ],
            "conceptual",
        ),
        # a name that the corpus only has something like
        (["STreamingTxtResp", "useCaht"], "fuzzy"),
        (["reponses used"], "fuzzy"),  # a few words, one of them nearly known
        (["useChat.StreamingTextResponse"], "identifier"),  # both members are known
        (["stream_reponses"], "fuzzy"),  # of a name, one part
        # prose may hold a word that is new
        (["streaming reponses of react components in an app"], "conceptual"),
        (["component of react"], "conceptual"),  # another form of a known word
        (["something like StreamingText"], "fuzzy"),
        # a code, to be looked up
        (["RFC 7231", "show TS2345", "CVE-2021-44228", "JIRA-4821"], "identifier"),
        (["", "the of", "?!"], "conceptual"),  # no word to look up
    ],
)
def test_types(rules: RuleAnalyser, texts: list[str], query_type: str) -> None:
    assert [one(rules, text)[0] for text in texts] == [query_type] * len(texts)


@pytest.mark.parametrize("text", ["what is *args", "a * b", "**bold** words"])
def test_stars_that_stand_for_nothing_are_no_wildcards(
    rules: RuleAnalyser, text: str
) -> None:
    assert one(rules, text)[0] != "mixed"


def test_a_name_that_the_corpus_has_in_other_capitals_is_looked_up_by_pattern(
    tmp_path: Path,
) -> None:
    TrigramIndex.write(
        tmp_path,
        [
            "api_key of the client",
            "API_KEY of the shell",
            "apiKey",
            "useChat",
            "use_chat",
        ],
    )
    rules = RuleAnalyser(TrigramIndex(tmp_path))
    found = {
        text: one(rules, text)
        for text in ("api_key", "the API_KEY variable", "apiKey", "Api_Key", "useChat")
    }
    in_capitals, as_words = (
        ("identifier", (0.1, 0.2, 0.6, 0.1)),
        ("identifier", (0.1, 0.5, 0.3, 0.1)),
    )
    assert found == {
        "api_key": in_capitals,
        "the API_KEY variable": in_capitals,
        "apiKey": as_words,  # BM25 tells api_key from apiKey
        "Api_Key": as_words,  # the corpus has it in no such capitals
        "useChat": as_words,
    }


def test_without_a_vocabulary_a_misspelt_name_is_taken_for_a_name() -> None:
    assert one(RuleAnalyser(), "streamingTextRespons")[0] == "identifier"


@pytest.mark.parametrize(
    ("query_type", "weights"),
    [
        ("odd", dict.fromkeys(SIDES, 0.25)),
        ("mixed", {"dense": 1.0}),
        ("mixed", {"dense": 0.5, "sparse": 0.0, "pattern": 0.0, "graph": 0.0}),
    ],
)
def test_a_type_and_weights_that_are_none_are_refused(
    query_type: str, weights: dict[str, float]
) -> None:
    with pytest.raises(ValueError, match=r"'odd'|must"):
        QueryAnalysis(query_type, weights, "")
