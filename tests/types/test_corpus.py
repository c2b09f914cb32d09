"""The corpus as a table, and the questions asked of it."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg2rag.text.records import DataError
from kg2rag.types import Corpus, Passage, QADataset, Query, Question, corpus_of
from kg2rag.types.corpus import SCHEMA

PASSAGES = [
    Passage("a#0", "Ed Wood", "Ed Wood is a film. It is in black and white.", "a", 0),
    Passage("a#1", "Ed Wood", "Tim Burton directed it.", "a", 1),
    Passage("b#0", "", "Burbank is a city.", "b", 0),
]


@pytest.fixture
def corpus() -> Corpus:
    return Corpus.from_passages(PASSAGES)


def test_passages_come_back_as_they_went_in(corpus: Corpus) -> None:
    assert list(corpus) == PASSAGES
    assert [corpus[row] for row in range(3)] == PASSAGES
    assert corpus[-1] == PASSAGES[-1]
    with pytest.raises(IndexError):
        corpus[3]
    assert repr(corpus) == "Corpus(3 passages, 2 documents)"
    assert corpus.titles == ["Ed Wood", "Ed Wood", ""]
    assert corpus.doc_ids == ["a", "a", "b"]
    assert corpus.contents == [passage.contents for passage in PASSAGES]


def test_ids_and_rows_lead_to_each_other(corpus: Corpus) -> None:
    assert [corpus.row(id_) for id_ in corpus.ids] == [0, 1, 2]
    assert "b#0" in corpus
    assert "b#1" not in corpus
    assert corpus.rows(["b#0", "a#0", "b#0"]).tolist() == [0, 2]
    assert corpus.rows([]).tolist() == []
    with pytest.raises(KeyError, match=r"'c#0'.*'a#0'"):
        corpus.row("c#0")


def test_the_sources_own_sentences_are_kept_and_others_are_split() -> None:
    corpus = Corpus.from_passages(
        PASSAGES[:2],
        sentences=[["Ed Wood is a film. It", "is in black and white."], None],
    )  # type: ignore[list-item]
    assert corpus.sentences(0) == ["Ed Wood is a film. It", "is in black and white."]
    assert corpus.sentences(1) == ["Tim Burton directed it."]
    assert Corpus.from_passages(PASSAGES).sentences(0) == [
        "Ed Wood is a film.",
        "It is in black and white.",
    ]
    assert Corpus.from_passages(PASSAGES[:1], sentences=[[]]).sentences(0) == []


def test_a_pickled_and_a_saved_corpus_come_back_equal(
    corpus: Corpus, tmp_path: Path
) -> None:
    corpus.save(tmp_path / "corpus.arrow")
    for again in (
        Corpus.open(tmp_path / "corpus.arrow"),
        pickle.loads(pickle.dumps(corpus)),
    ):
        assert list(again) == PASSAGES
        assert again.fingerprint == corpus.fingerprint


def test_the_fingerprint_depends_on_every_column_and_on_the_order() -> None:
    variants = [
        PASSAGES,
        PASSAGES[::-1],
        *(
            [replace(PASSAGES[0], **change), *PASSAGES[1:]]
            for change in (
                {"id": "x"},
                {"title": "x"},
                {"text": "x"},
                {"doc_id": "x"},
                {"position": 9},
            )
        ),
    ]
    prints = [Corpus.from_passages(passages).fingerprint for passages in variants]
    prints.append(
        Corpus.from_passages(PASSAGES, sentences=[["x"], ["y"], ["z"]]).fingerprint
    )
    assert len(set(prints)) == len(prints) == 8


@given(
    st.lists(
        st.text(alphabet="aé\n\"',\x00 b", min_size=1).filter(str.strip),
        min_size=1,
        max_size=8,
    )
)
def test_equal_corpora_have_equal_fingerprints_however_their_table_is_chunked(
    texts: list[str],
) -> None:
    corpus = Corpus.from_passages(
        Passage(f"p{i}", "", text, "d", i) for i, text in enumerate(texts)
    )
    pieces = [corpus.table.slice(row, 1) for row in range(len(corpus))]
    assert Corpus(pa.concat_tables(pieces)).fingerprint == corpus.fingerprint


def test_a_text_may_have_other_blanks_in_the_source_than_in_the_corpus(
    corpus: Corpus, tmp_path: Path
) -> None:
    exact = Corpus.from_passages(
        PASSAGES, exact=[None, " Tim Burton directed it.", None]
    )
    assert list(exact) == PASSAGES
    assert exact.joined(": ") == corpus.joined(": ") == corpus.joined(": ", exact=True)
    blank = "Ed Wood:  Tim Burton directed it."
    assert exact.joined(": ", exact=True) == [
        corpus.joined(": ")[0],
        blank,
        "Burbank is a city.",
    ]
    assert exact.fingerprint != corpus.fingerprint
    exact.save(tmp_path / "corpus.arrow")
    for other in (
        Corpus.open(tmp_path / "corpus.arrow"),
        pickle.loads(pickle.dumps(exact)),
    ):
        assert other.fingerprint == exact.fingerprint


def table_without(column: str) -> pa.Table:
    rows = [
        {"id": f"p{i}", "text": "Text.", "doc_id": "d", "position": i} for i in range(3)
    ]
    rows[1][column] = None
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Corpus.from_passages([]), "at least one passage"),
        (lambda: Corpus.from_passages([*PASSAGES, PASSAGES[1]]), "'a#1'"),
        (lambda: Corpus(table_without("id")), "row 1 has no id"),
        (lambda: Corpus(table_without("doc_id")), "row 1 has no doc_id"),
        (
            lambda: Corpus(table_without("id").drop_columns("doc_id")),
            "no column 'doc_id'",
        ),
    ],
)
def test_a_corpus_that_cannot_be_is_refused_by_name(make: Any, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        make()


def asked(corpus: Corpus, *questions: Question, **settings: Any) -> QADataset:
    return QADataset("films", corpus, questions, **settings)


FIRST = Question("q1", "Who directed Ed Wood?", {"a#1": 1}, candidates=("a#0", "a#1"))


def test_a_set_has_queries_gold_and_a_frame(corpus: Corpus) -> None:
    two = asked(
        corpus,
        FIRST,
        Question(
            "q2", "Where?", {"b#0": 2}, triples=(("Ed Wood", "by", "Tim Burton"),)
        ),
    )
    assert two.queries[0] == Query("q1", "Who directed Ed Wood?")
    assert asked(corpus, FIRST, setting="distractor").queries == [
        Query("q1", FIRST.text, ("a#0", "a#1"))
    ]
    assert two.qrels == {"q1": {"a#1": 1}, "q2": {"b#0": 2}}
    assert len(asked(corpus, Question("q1", "Who?", {"a": 1}), unit="document")) == 1
    frame = two.to_frame()
    assert list(frame.columns) == ["id", "text", "type", "hops", "gold", "answers"]
    assert frame.loc[1, "gold"] == ["b#0"]
    assert two.question("q2").text == "Where?"
    with pytest.raises(KeyError, match=r"films.*'q99'.*'q1'"):
        two.question("q99")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"text": "  "}, "'q1'.*empty"),
        ({"gold": {}}, "'q1'.*no gold passage"),
        ({"gold": {"a#1": 1, "z": 1}}, "'z'.*1 of 2"),
        ({"gold": {"a#1": 0}}, "'a#1'.* 0"),
        ({"candidates": ("a#1", "z")}, "candidate 'z'"),
    ],
)
def test_a_question_that_cannot_be_judged_is_refused_by_name(
    corpus: Corpus, change: Any, named: str
) -> None:
    with pytest.raises(ValueError, match=f"films, question .*{named}"):
        asked(corpus, replace(FIRST, **change))


@pytest.mark.parametrize(
    ("questions", "settings", "named"),
    [
        ((FIRST, FIRST), {}, "films.*'q1'"),
        ((), {}, "films: no question"),
        (
            (replace(FIRST, candidates=None),),
            {"setting": "distractor"},
            "films.*candidates",
        ),
        ((FIRST,), {"setting": "paragraph"}, "pooled, distractor"),
        ((FIRST,), {"unit": "paragraph"}, "passage, document"),
    ],
)
def test_a_set_that_cannot_be_asked_is_refused(
    corpus: Corpus, questions: Any, settings: Any, named: str
) -> None:
    with pytest.raises(ValueError, match=named):
        asked(corpus, *questions, **settings)


def test_a_sample_is_drawn_by_its_seed_and_keeps_the_order(corpus: Corpus) -> None:
    many = asked(
        corpus, *(Question(f"q{i}", f"Question {i}?", {"a#1": 1}) for i in range(50))
    )
    drawn = [question.id for question in many.sample(10, seed=3).questions]
    assert drawn == [question.id for question in many.sample(10, seed=3).questions]
    assert drawn != [question.id for question in many.sample(10, seed=4).questions]
    assert len(set(drawn)) == 10
    assert sorted(drawn, key=lambda id_: int(id_[1:])) == drawn
    assert many.sample(10, seed=3).source == {"limit": 10, "seed": 3}
    assert many.sample(50) is many
    with pytest.raises(ValueError, match="limit"):
        many.sample(0)


def test_streamed_contents_are_the_contents() -> None:
    corpus = Corpus.from_passages(
        [*PASSAGES, Passage("untitled", "", "Only text.", "d", 0)]
    )
    streamed = corpus.streamed_contents
    assert list(streamed) == corpus.contents
    assert [
        streamed[i] for i in range(-len(corpus), len(corpus))
    ] == corpus.contents * 2
    assert (streamed[1:3], streamed[::-2], streamed[5:2]) == (
        corpus.contents[1:3],
        corpus.contents[::-2],
        [],
    )
    with pytest.raises(IndexError):
        streamed[len(corpus)]


@pytest.mark.parametrize(
    "blank",
    [
        "",
        " ",
        "\t\n\x0b\x0c\r",
        "\x1c\x1d\x1e\x1f",
        "\x85\xa0\u1680\u2003\u2028\u2029\u202f\u205f\u3000",
    ],
)
def test_a_text_that_is_blank_in_any_script_is_none(blank: str) -> None:
    with pytest.raises(ValueError, match=r"'b' \(row 1\)"):
        Corpus.from_passages(
            [Passage("a", "", "\u200b", "a", 0), Passage("b", "", blank, "b", 0)]
        )


def test_what_moves_between_neighbouring_fields_changes_the_fingerprint() -> None:
    prints = {
        Corpus.from_passages(
            [Passage("a", *fields, "a", 0)], sentences=[split]
        ).fingerprint
        for fields in (("xy", "z"), ("x", "yz"))
        for split in (["yz"], ["y", "z"], [], None)
    }
    assert len(prints) == 8


def test_a_text_that_is_a_list_of_sentences_is_joined() -> None:
    records = [
        {
            "doc_id": 4983,
            "title": "Zinc",
            "abstract": ["Zinc helps.\n", "It is cheap."],
        },
        {"doc_id": 7912, "title": "Aspirin", "abstract": ("It lowers fever.",)},
    ]
    assert [(passage.doc_id, passage.text) for passage in corpus_of(records)] == [
        ("4983", "Zinc helps. It is cheap."),
        ("7912", "It lowers fever."),
    ]


@pytest.mark.parametrize("value", [["Zinc helps.", 3], [{"text": "Zinc helps."}], []])
def test_a_list_of_anything_else_is_no_text(value: list[Any]) -> None:
    with pytest.raises(DataError, match="record 1"):
        corpus_of([{"text": value}])
