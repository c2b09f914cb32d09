"""Edited names of functions, with the passages that define them as gold."""

from __future__ import annotations

import pytest
from rapidfuzz.distance import OSA
from typo_queries import KINDS, typo_queries

from kg2rag.text.normalisation import key
from kg2rag.types import Corpus, Passage

NAMES = ["parse_header", "writeBoolean", "load_settings", "openDocument", "merge_frames", "drawOutline"]


@pytest.fixture
def corpus() -> Corpus:
    passages = [Passage(f"p{i}", "", f"def {name}(x):\n    return x", f"d{i}", 0) for i, name in enumerate(NAMES)]
    return Corpus.from_passages([*passages, Passage("twin", "", "def parseHeader(): pass", "twin", 0)])


def test_every_kind_has_as_many_questions_as_asked_for(corpus: Corpus) -> None:
    assert [question.type for question in typo_queries(corpus, per_kind=2).questions] == [
        kind for kind in KINDS for _ in range(2)
    ]


def test_one_typo_is_one_edit_from_the_name_of_its_gold(corpus: Corpus) -> None:
    for question in typo_queries(corpus, per_kind=6).questions[:6]:
        names = [NAMES[int(id_[1:])] for id_ in question.gold if id_ != "twin"]
        assert OSA.distance(question.text, names[0]) == 1


def test_every_passage_that_defines_the_name_in_some_spelling_is_gold(corpus: Corpus) -> None:
    gold = [set(question.gold) for question in typo_queries(corpus, per_kind=6).questions]
    assert {"p0", "twin"} in gold
    assert not any(len(ids & {"p0", "twin"}) == 1 for ids in gold)


def test_a_recased_name_keeps_its_words(corpus: Corpus) -> None:
    recased = typo_queries(corpus, per_kind=6).questions[-6:]
    assert {key(question.text) for question in recased} == {key(name) for name in NAMES}


def test_the_seed_decides(corpus: Corpus) -> None:
    first, again, other = (typo_queries(corpus, per_kind=6, seed=seed).questions for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_a_corpus_with_too_few_names_is_refused(corpus: Corpus) -> None:
    with pytest.raises(ValueError, match="defines 6 names of 6 letters or more; 60 are needed"):
        typo_queries(corpus)
