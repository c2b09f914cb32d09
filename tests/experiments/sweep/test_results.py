"""What is chosen, by which questions, and how it is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kg2rag.experiments.sweep import Sweep, SweepResult
from kg2rag.text.records import DataError

Make = Callable[..., Sweep]


def result(rows: list[tuple[str, str, list[float], list[float]]]) -> SweepResult:
    """A result from (system, parameters, dev scores, test scores) of each configuration."""
    lines = []
    for number, (system, parameters, dev, test) in enumerate(rows, start=1):
        same = {
            "number": number,
            "system": system,
            "setting": "pooled",
            "graph": "mentions",
            "encoder": "words",
        }
        same |= {
            "parameters": parameters,
            "error": None,
            "ms_per_query": 1.0,
            "type": "",
            "hops": None,
        }
        scores = [("dev", score) for score in dev] + [("test", score) for score in test]
        lines += [
            {**same, "query_id": f"q{i}", "split": split, "recall@5": score}
            for i, (split, score) in enumerate(scores)
        ]
    return SweepResult(pd.DataFrame(lines), "recall@5", {"name": "by hand"})


BY_HAND = [
    ("bm25", '{"k1": 0.9}', [0.5, 0.5], [1.0, 1.0]),
    ("bm25", '{"k1": 1.5}', [1.0, 0.8], [0.0, 0.2]),
    ("dense", "{}", [0.2, 0.4], [0.6, 0.6]),
]


def test_every_configuration_is_compared_with_one_on_all_questions() -> None:
    table = result(BY_HAND).against(1).set_index("number")
    assert table["changed"].to_dict() == {1: "", 2: "k1=1.5", 3: "k1=default"}
    assert table["mean"].tolist() == pytest.approx([0.75, 0.5, 0.45])
    assert table["difference"].tolist() == pytest.approx([0.0, -0.25, -0.3])
    assert (table["low"] <= table["difference"]).all()
    assert (table["difference"] <= table["high"]).all()
    assert table.loc[1, ["low", "high"]].tolist() == [0.0, 0.0]
    # Of the 16 signs of four differences, 10 give as large a sum as .5, .3, -1, -.8 and 2 as -.3,
    # -.1, -.4, -.4.
    assert np.isnan(table.loc[1, "p_holm"])
    assert table.loc[[2, 3], "p_holm"].tolist() == pytest.approx([10 / 16, 2 * 2 / 16])


def test_a_comparison_with_what_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match=r"9.*\[1, 2, 3\]"):
        result(BY_HAND).against(9)
    with pytest.raises(ValueError, match=r"'recall@6'.*recall@5"):
        result(BY_HAND).against(1, "recall@6")


def test_the_best_is_chosen_on_dev_and_stands_beside_the_defaults_on_test() -> None:
    best = result(BY_HAND).best().set_index("system").loc["bm25"]
    assert best["number"] == 2
    by_hand = {
        "dev": 0.9,
        "test": 0.1,
        "gap": 0.8,
        "default_dev": 0.5,
        "default_test": 1.0,
    }
    assert {name: best[name] for name in by_hand} == pytest.approx(by_hand)
    # Two differences, four ways to swap, two as extreme.
    assert best["p"] == pytest.approx(0.5)
    changed = [
        (system, parameters, dev, [0.3, 0.7]) for system, parameters, dev, _ in BY_HAND
    ]
    assert list(result(changed).best()["number"]) == list(
        result(BY_HAND).best()["number"]
    )
    ties = [
        ("bm25", f'{{"k1": {k1}}}', [score, score], [0.1, 0.1])
        for k1, score in ((1, 0.5), (2, 0.6), (3, 0.6))
    ]
    assert result(ties).best()["number"].tolist() == [2]  # the earlier one


def test_the_number_of_a_chosen_configuration_and_how_many_it_was_chosen_from_are_apart():
    table = {row[0]: row[1] for row in result(BY_HAND).chosen()}
    assert table == {"bm25": "2 (best of 2)", "dense": "3 (best of 1)"}


def test_the_tests_of_the_chosen_are_corrected_for_the_systems_of_the_table() -> None:
    other = [("dense", '{"depth": 9}', [0.9, 0.9], [0.0, 0.2])]
    best = (
        result([("bm25", "{}", *BY_HAND[0][2:]), *BY_HAND[1:], *other])
        .best()
        .set_index("system")
    )
    assert best["p"].tolist() == [0.5, 0.5]
    assert best["p_holm"].tolist() == [1.0, 1.0]  # twice as large for two systems


def grid(scores: dict[tuple[float, float], list[float]]) -> SweepResult:
    """bm25 with (k1, b) -> dev scores."""
    return result(
        [
            ("bm25", f'{{"k1": {k1}, "b": {b}}}', dev, [0.0, 0.0])
            for (k1, b), dev in scores.items()
        ]
    )


def test_an_effect_is_the_mean_over_the_other_parameters_and_says_where_there_is_none():
    table = grid(
        {
            (1, 0.1): [0.2] * 2,
            (1, 0.2): [0.4] * 2,
            (2, 0.1): [0.6] * 2,
            (2, 0.2): [0.8] * 2,
        }
    ).effects("bm25")
    assert list(table["parameter"]) == ["k1", "k1", "b", "b"]
    assert table["mean"].tolist() == pytest.approx([0.3, 0.7, 0.4, 0.6])
    assert ((table["low"] <= table["mean"]) & (table["mean"] <= table["high"])).all()
    half, better = [0.0, 1.0] * 15, [1.0] * 30
    told = grid(
        {(1, 0.1): half, (1, 0.2): half, (2, 0.1): better, (2, 0.2): better}
    ).effects("bm25")
    assert told.groupby("parameter")["says"].first().to_dict() == {
        "b": "no difference",
        "k1": "",
    }


def test_a_configuration_without_parameters_stands_for_the_defaults_in_a_grid() -> None:
    # k1 = 0.9 and b = 0.4 are the defaults of bm25; a sweep runs them once, under whichever name
    # comes first.
    rows = [("bm25", "{}", [0.5, 0.5], [0.0, 0.0])]
    for k1, b, score in ((0.9, 0.8, 0.3), (1.5, 0.4, 0.6), (1.5, 0.8, 0.2)):
        rows.append(("bm25", f'{{"k1": {k1}, "b": {b}}}', [score, score], [0.0, 0.0]))
    table = result(rows).effects("bm25").set_index(["parameter", "value"])
    assert sorted(table.index) == [
        ("b", "0.4"),
        ("b", "0.8"),
        ("k1", "0.9"),
        ("k1", "1.5"),
    ]
    assert table["n"].tolist() == [2, 2, 2, 2]
    assert table.loc[("k1", "0.9"), "mean"] == pytest.approx(0.4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ran")


@pytest.fixture
def ran(sweep: Make, folder: Path) -> SweepResult:
    """Two systems over the random world."""
    if not (folder / "results.parquet").is_file():
        systems = {"bm25": {"k1": [0.5, 0.9], "b": [0.4, 0.8]}, "dense": {}}
        return sweep(systems=systems).run(folder)
    return SweepResult.load(folder)


def test_figures_are_drawn_of_systems_that_were_run(ran: SweepResult) -> None:
    assert {
        axis.get_title(loc="left").partition(":")[0]
        for axis in ran.plot_effects("bm25").axes
    } == {"b", "k1"}
    with pytest.raises(ValueError, match=r"'kg2rag'.*bm25, dense"):
        ran.plot_effects("kg2rag")


def test_the_report_is_one_page_that_loads_nothing(
    ran: SweepResult, tmp_path: Path
) -> None:
    page = ran.save(tmp_path).read_text()
    assert page.count("<svg") == 1
    assert "src=" not in page
    assert "http://www.w3.org" not in page.replace(
        'xmlns="http://www.w3.org/2000/svg"', ""
    ).replace('xmlns:xlink="http://www.w3.org/1999/xlink"', "")
    assert "| bm25 | " in (tmp_path / "report.md").read_text()


def test_a_file_that_is_missing_or_was_changed_is_refused(
    ran: SweepResult, tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError, match=r"results\.parquet"):
        SweepResult.load(tmp_path)
    ran.save(tmp_path)
    whole = (tmp_path / "results.parquet").read_bytes()
    (tmp_path / "results.parquet").write_bytes(
        whole[:200] + bytes([whole[200] ^ 1]) + whole[201:]
    )
    with pytest.raises(DataError):
        SweepResult.load(tmp_path)
