"""The same systems on several sets: a comparison each, one table over all, saved, opened again, and refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kg2rag import Comparison, Comparisons, DataError
from kg2rag.evaluation import compare
from kg2rag.report import markdown, rows


@pytest.fixture
def sets(data):
    return {"all": data, "two": replace(data, questions=data.questions[:2])}


@pytest.fixture
def build(fixed):
    made = {
        "dense": fixed(q1="p0 p9", q2="p3 p2", q3="p4 p6"),
        "better": fixed(q1="p0 p1", q2="p2", q3="p4 p6 p8"),
    }
    return lambda _: made


@pytest.fixture
def result(sets, build) -> Comparisons:
    return compare(build, sets, metrics=["recall@2", "mrr@10"], k=10)


def test_each_set_has_its_own_comparison_and_all_have_a_mean(result):
    frame = result.to_frame()
    assert list(frame.columns) == ["all", "two", "macro-average"]
    # dense finds 1/2, 1 and 2/3 of the gold of the three questions in its first two hits; better 1,
    # 1 and 2/3.
    assert frame.loc["dense"].to_numpy() == pytest.approx(
        [13 / 18, 3 / 4, (13 / 18 + 3 / 4) / 2]
    )
    assert frame.loc["better"].to_numpy() == pytest.approx(
        [16 / 18, 1, (16 / 18 + 1) / 2]
    )
    assert result["two"].to_frame().loc["dense", "recall@2"] == pytest.approx(3 / 4)
    assert list(result.sets) == ["all", "two"]
    assert result.to_frame("mrr@10").loc["dense", "two"] == pytest.approx(
        (1 + 1 / 2) / 2
    )


def test_the_table_says_what_its_columns_are(result, sets, build):
    text = markdown(result.sheet)
    assert text.splitlines()[0] == "| system | all | two | macro-average | ms/query |"
    assert "macro-average: the unweighted mean of the means on all, two" in text
    assert "Holm-corrected within a column" in text
    better = next(row for row in rows(result.sheet) if row.system == "better")
    assert [cell.counts for cell in better.cells] == ["1/2/0", "1/1/0", "2/3/0"]
    assert "recall@2 on all, two" in repr(result)
    assert "macro-average" in result._repr_html_()
    assert list(result.macro_sheet.metrics) == ["recall@2", "mrr@10"]
    # hits@2 is a count: .5 on one set is not 50 % beside 1.3 on another.
    counts = compare(build, sets, metrics=["hits@2"], k=10).sheet
    assert {counts.scales[name] for name in counts.metrics} == {1.0}


def test_questions_that_a_run_lacks_are_printed_with_their_set(sets):
    run = {"q1": ["p0"], "q2": ["p2"]}
    result = compare(
        {name: {"mine": run, "first": {"q1": ["p0"]}} for name in sets},
        sets,
        metrics=["recall@2"],
    )
    for text in (str(result), markdown(result.sheet)):
        lines = text.splitlines()
        assert any("mine: questions without a line" in line for line in lines)
        first = next(line for line in lines if "first: " in line)
        assert "with nothing: 2" in first
        assert "(all)" in first
        assert "(two)" in first


def test_sets_in_a_list_have_their_own_names(data, build):
    with pytest.raises(ValueError, match="little"):
        compare(build, [data, data])


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (lambda made, sets: (made, sets), TypeError, "pass a function of a data set"),
        (
            lambda made, sets: ({"all": made}, sets),
            ValueError,
            "for all; the sets are all, two",
        ),
        (
            lambda made, _: (lambda _: made, ["bundled"]),
            TypeError,
            "must be a QADataset, .*'bundled'",
        ),
        (lambda made, _: (lambda _: made, []), ValueError, "No data set"),
        (
            lambda made, sets: (lambda _: made, {"a/b": sets["all"]}),
            ValueError,
            "'a/b' cannot name a file",
        ),
        (
            lambda made, sets: (lambda _: made, {"macro-average": sets["all"]}),
            ValueError,
            "'macro-average'",
        ),
    ],
)
def test_what_is_no_set_or_has_systems_of_no_set_is_refused(
    data, sets, build, given, error, message
):
    with pytest.raises(error, match=message):
        compare(*given(build(data), sets))
    with pytest.raises(ValueError, match="graphs"):
        compare(build, sets, graphs={})


def test_other_systems_on_another_set_have_no_macro_average(data, sets, build):
    systems = {"all": build(data), "two": {"dense": build(data)["dense"]}}
    with pytest.raises(
        ValueError, match=r"'two'.*\['dense'\].*'all'.*\['dense', 'better'\]"
    ):
        compare(systems, sets, metrics=["recall@2"])


def test_what_is_saved_comes_back(result, tmp_path: Path):
    page = result.save(tmp_path)
    back = Comparisons({name: Comparison.load(tmp_path / name) for name in result.sets})
    assert back.to_frame().round(6).equals(result.to_frame().round(6))
    assert back.macro.round(6).equals(result.macro.round(6))
    assert 'href="two/report.html"' in page.read_text()
    assert (tmp_path / "two" / "report.html").is_file()
    assert (
        (tmp_path / "macro.csv")
        .read_text()
        .startswith("system,metric,mean,ci_low,ci_high,p_holm")
    )


def test_a_folder_of_one_comparison_is_not_made_one_of_several_nor_the_other_way_round(
    result, tmp_path: Path
):
    result.save(tmp_path)
    with pytest.raises(DataError, match=r"sets\.json"):
        result["all"].save(tmp_path)
    with pytest.raises(DataError, match=r"config\.json"):
        result.save(tmp_path / "all")


def test_sets_of_two_settings_have_no_macro_average(data, sets, build):
    asked = tuple(
        replace(question, candidates=data.corpus.ids) for question in data.questions
    )
    other = replace(data, questions=asked, setting="distractor")
    for systems in (build, pytest.fail):  # refused before any work
        with pytest.raises(ValueError, match=r"(?s)all \(pooled\).*two \(distractor\)"):
            compare(systems, {"all": data, "two": other}, metrics=["recall@2"])
    one = compare(build(data), other, metrics=["recall@2"])
    with pytest.raises(ValueError, match="distractor"):
        Comparisons(
            {"all": compare(build(data), data, metrics=["recall@2"]), "two": one}
        )
