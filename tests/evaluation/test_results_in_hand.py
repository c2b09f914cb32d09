"""What colleagues hold is compared, and what they ask of a result is there: names, runs, differences, tables."""

from __future__ import annotations

import json
import re

import pytest

import kg2rag
from kg2rag.evaluation import CompareOptions, Comparison, compare
from kg2rag.report import questions_json

METRICS = ["recall@2", "mrr@10"]


@pytest.fixture
def result(fixed, data) -> Comparison:
    systems = {
        "dense": fixed(q1="p0 p9", q2="p3 p2", q3="p4 p6"),
        "bm25": fixed(q1="p9 p0", q2="p7", q3="p4 p6"),
        "hybrid": fixed(q1="p0 p1", q2="p2", q3="p4 p6"),
    }
    return compare(systems, data, metrics=METRICS, k=10)


def test_names_of_the_catalogue_stand_beside_functions_in_a_mapping(kb_of) -> None:
    kb = kb_of(("Ada", "Ada wrote notes."), ("Bells", "Bells ring."))
    data = kg2rag.from_frames(
        kb.corpus, [{"id": "q", "question": "Who wrote notes?", "gold": ["p0"]}]
    )
    result = compare(
        {
            "mine": lambda *_: ["p1", "p0"],
            "words": "bm25",
            "far": kg2rag.BM25(kb, k1=2.0),
        },
        data,
        metrics=["mrr"],
    )
    assert result["mrr"].to_dict() == {"mine": 0.5, "words": 1.0, "far": 1.0}
    # Of the other system, in place of a second one.
    assert result.inputs.systems["words"].kb is kb


def test_a_strategy_is_named_over_several_graphs(kb_of) -> None:
    kb = kb_of(("Ada", "Ada wrote notes."), ("Bells", "Bells ring."))
    data = kg2rag.from_frames(
        kb.corpus, [{"id": "q", "question": "Who wrote notes?", "gold": ["p0"]}]
    )
    result = compare(
        {"walk": "mention_ppr", "dense": kg2rag.Dense(kb)},
        data,
        metrics=["mrr"],
        graphs={"a": kb, "b": kb},
    )
    assert result.systems == ["walk.a", "walk.b", "dense"]


def test_a_parameter_that_does_not_exist_is_answered_with_the_one_that_was_meant(
    result, data
) -> None:
    with pytest.raises(TypeError, match="'k'"):
        compare(["bm25"], data, top_k=3)
    with pytest.raises(TypeError, match="'baseline'"):
        compare(["bm25"], data, base_line="bm25")
    with pytest.raises(TypeError, match=r"options=CompareOptions\(seed=…\)"):
        compare(["bm25"], data, seed=1)
    kb = kg2rag.KnowledgeBase.build(data.corpus)
    with pytest.raises(TypeError, match="'k'"):
        kb.retrieve("notes", top_k=3)
    with pytest.raises(TypeError, match="'stemmer'"):
        kg2rag.BM25(kb, stemer="none")
    with pytest.raises(TypeError, match="min_gain"):
        result.verdict(worth=0.1)
    with pytest.raises(ValueError, match="batch_size"):
        CompareOptions(batch_size=0)


def test_the_default_baseline_is_hybrid_then_dense_then_the_first(
    result, fixed, data
) -> None:
    assert result.baseline == "hybrid"
    systems = {"bm25": fixed(q1="p0"), "dense": fixed(q2="p2")}
    assert compare(systems, data, metrics=METRICS).baseline == "dense"
    assert (
        compare(
            {"a": systems["bm25"], "b": systems["dense"]}, data, metrics=METRICS
        ).baseline
        == "a"
    )


def test_two_systems_are_set_side_by_side_question_by_question(result) -> None:
    table = result.differences("bm25", "dense", metric="recall@2")
    assert table[
        ["query_id", "score", "baseline", "difference"]
    ].to_numpy().tolist() == [["q2", 0.0, 1.0, -1.0]]
    turned = result.differences("dense", "bm25", metric="recall@2")
    assert turned["difference"].tolist() == [1.0]
    against_baseline = result.differences("bm25", metric="recall@2")
    assert against_baseline[["query_id", "difference"]].to_numpy().tolist() == [
        ["q2", -1.0],
        ["q1", -0.5],
    ]
    with pytest.raises(ValueError, match=r"differences\(metric='mrr@10'\)"):
        result.differences("mrr@10")
    with pytest.raises(ValueError, match="'dense'"):
        result.differences("denser")


def test_a_table_for_latex_by_hand(result) -> None:
    lines = result.to_latex().splitlines()
    head = lines.index(r"\toprule") + 1
    assert lines[head] == r"system & recall@2 & mrr@10 & ms/query \\"
    dense = lines[lines.index(r"\midrule") + 1]
    # recall@2 of dense: 1/2, 1, 2/3
    assert dense.startswith(r"dense $\ddagger$ & 72.2 {\scriptsize [")
    assert lines[-1].startswith("% ")
    assert r"hybrid (baseline) & " in result.to_latex()


def test_a_saved_comparison_without_texts_shows_the_questions_of_the_data_it_is_given(
    result, data, tmp_path
) -> None:
    loaded = Comparison.load(result.save(tmp_path, texts=False))
    page = loaded.to_html(data=data)
    held = json.loads(
        re.search(r'id="kg2rag-page">(.*?)</script>', page, re.DOTALL).group(1)
    )
    assert [question[1] for question in held["questions"]] == [
        "First?",
        "Second?",
        "Third?",
    ]
    ids_only = json.loads(
        questions_json(loaded.rankings, loaded.per_query, loaded.sheet)
    )
    assert [question[1] for question in ids_only["questions"]] == ["", "", ""]


def test_the_table_says_which_runs_were_read_from_the_store_and_the_saved_files_do_not(
    kb_of, tmp_path
) -> None:
    kb = kb_of(("Ada", "Ada wrote notes."), ("Bells", "Bells ring."))
    data = kg2rag.from_frames(
        kb.corpus, [{"id": "q", "question": "Who wrote notes?", "gold": ["p0"]}]
    )

    def compared() -> Comparison:
        return compare(
            {"words": kg2rag.BM25(kb, k1=1.25), "mine": lambda *_: ["p1"]},
            data,
            metrics=["mrr"],
        )

    first, second = compared(), compared()
    first.save(tmp_path / "first")
    second.save(tmp_path / "second")
    assert (first.stored, list(second.stored)) == ({}, ["words"])
    assert "Read from the store: words (computed 20" in second.to_markdown()
    assert "Not kept in the store: mine" in second.to_markdown()
    assert (
        "Read from the store" not in (tmp_path / "second" / "report.html").read_text()
    )
