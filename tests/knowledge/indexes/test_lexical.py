"""BM25 against its formula, and against numbers worked out by hand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kg2rag.knowledge import LexicalSettings
from kg2rag.knowledge.indexes.lexical import LexicalIndex
from kg2rag.knowledge.indexes.lexical_terms import VARIANTS

PLAIN = LexicalSettings(stemmer="none", stop_words=False)
TEXTS = [
    "the cat sat on the mat",
    "the dog sat on the log and the cat sat too",
    "cats and dogs",
    "a bird",
    "the bird saw the dog dog dog",
]
Index = Callable[..., LexicalIndex]


@pytest.fixture
def index(tmp_path: Path) -> Index:
    def make(
        texts: Sequence[str] = TEXTS, settings: LexicalSettings = PLAIN
    ) -> LexicalIndex:
        LexicalIndex.write(tmp_path, texts, settings)
        return LexicalIndex(tmp_path, settings)

    return make


def reference(texts: Sequence[str], query: str, k1: float, b: float) -> list[float]:
    """BM25 as Lucene has it [2]: idf · tf / (tf + k1 · (1 - b + b · length / mean length)), over the query's terms."""
    documents = [Counter(text.split()) for text in texts]
    mean = sum(map(len, map(str.split, texts))) / len(texts)
    scores = []
    for document in documents:
        score = 0.0
        for term in query.split():
            df = sum(term in other for other in documents)
            idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
            norm = k1 * (1 - b + b * document.total() / mean)
            score += (
                idf * document[term] / (document[term] + norm)
                if document[term]
                else 0.0
            )
        scores.append(score)
    return scores


@pytest.mark.parametrize(
    ("k1", "b"), [(0.9, 0.4), (1.5, 0.75), (1.2, 0.0), (1.2, 1.0), (0.0, 0.5)]
)
@pytest.mark.parametrize(
    "query", ["cat", "the dog sat", "dog dog", "bird zebra", "the the cat a"]
)
def test_scores_are_those_of_the_formula(
    index: Index, k1: float, b: float, query: str
) -> None:
    scores = index(
        settings=LexicalSettings(k1, b, stemmer="none", stop_words=False)
    ).scores(query)
    assert scores.tolist() == pytest.approx(reference(TEXTS, query, k1, b), abs=1e-6)


def test_two_passages_by_hand(index: Index) -> None:
    # N = 2, df(cat) = 1: idf = ln(1 + 1.5 / 1.5) = ln 2. tf = 2, length 3, mean 2:
    # norm = 1 · (1 - 0.5 + 0.5 · 1.5) = 1.25.
    scores = index(
        ["cat cat sat", "dog"], LexicalSettings(1.0, 0.5, stemmer="none")
    ).scores("cat")
    assert scores.tolist() == pytest.approx([math.log(2) * 2 / 3.25, 0.0], abs=1e-6)


@pytest.mark.parametrize("query", ["", "zebra", "?!", " \n", "the of and", "🌋"])
def test_a_query_without_a_known_term_scores_nothing(index: Index, query: str) -> None:
    assert index(settings=LexicalSettings()).scores(query).tolist() == [0.0] * 5


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_row_without_a_term_of_the_query_scores_nothing_in_any_variant(
    index: Index, variant: str
) -> None:
    texts = ["cat dog", "dog", "bird", "fish fish", "cow", "hen"]
    scores = index(texts, LexicalSettings(variant=variant)).scores("dog")
    assert (scores > 0).tolist() == [True, True, False, False, False, False]


@pytest.mark.parametrize("texts", [[], ["the", "of the"], ["?!", "..."]])
def test_a_corpus_without_a_single_term_is_an_index_that_finds_nothing(
    index: Index, texts: list[str]
) -> None:
    assert index(texts, LexicalSettings()).scores("the cat").tolist() == [0.0] * len(
        texts
    )


def test_an_index_is_written_from_texts_read_once_and_has_the_same_bytes_as_ever(
    tmp_path: Path,
) -> None:
    for name, texts in (("list", TEXTS), ("stream", iter(TEXTS))):
        (tmp_path / name).mkdir()
        LexicalIndex.write(tmp_path / name, texts, LexicalSettings())
    listed, streamed = (
        sorted((tmp_path / name).iterdir()) for name in ("list", "stream")
    )
    assert [(file.name, file.read_bytes()) for file in listed] == [
        (file.name, file.read_bytes()) for file in streamed
    ]


@pytest.mark.parametrize(
    ("changed", "text", "terms"),
    [
        (
            {},
            "The Cats' running, and the x-ray of 1984!",
            ["cat", "run", "x", "ray", "1984"],
        ),
        (
            {"stop_words": False, "stemmer": "none"},
            "The cats of Rome",
            ["the", "cats", "of", "rome"],
        ),
        (
            {"stemmer": "none"},
            "Zoë 東京 Ἀθῆναι generously",
            ["zoë", "東京", "ἀθῆναι", "generously"],
        ),
        ({"stemmer": "porter"}, "generously", ["gener"]),
        ({"stemmer": "snowball"}, "generously", ["generous"]),
    ],
)
def test_terms_are_lower_case_words_stemmed_as_asked(
    changed: dict[str, Any], text: str, terms: list[str]
) -> None:
    assert LexicalSettings(**changed).terms(text) == terms


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("Αθήνα", "ΑΘΗΝΑ"),
        ("كِتَابُ", "كتاب"),
        ("الســـفينة", "السفينة"),
        ("סֵפֶר", "ספר"),
        ("Φέρι", "φερι"),
    ],
)
def test_a_word_of_a_script_without_a_language_is_found_with_other_accents(
    written: str, asked: str
) -> None:
    assert LexicalSettings().terms(written) == LexicalSettings().terms(asked)


@pytest.mark.parametrize(
    "wrong",
    [{"k1": -0.1}, {"b": -0.1}, {"b": 1.1}, {"variant": "bm26"}, {"stemmer": "lovins"}],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
        LexicalSettings(**wrong)
