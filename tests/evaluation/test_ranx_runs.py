"""Runs of ranx: they are systems, their files are read, and our rankings leave as such.

They are in one file, and all ids have two characters, since a process compiles ranx for seconds for every width.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from ranx import Run

from kg2rag import Query, Recorded, compare

METRICS = ["recall@2", "mrr@10"]


@pytest.fixture(scope="module")
def run() -> Run:
    """The scores of the second query are negative, and the hits of the third are not those of its gold."""
    hits = {
        "q1": {"p1": 2.0, "p0": 1.0},
        "q2": {"p2": -1.0, "p0": -2.5},
        "q3": {"p9": 0.5},
    }
    return Run(hits, name="theirs")


def test_a_run_is_a_system_with_its_name_and_its_order(run, data) -> None:
    system = Recorded.of(run, data.corpus)
    rankings = system.retrieve_batch(data.queries, 10)
    assert system.name == "theirs"
    assert [ranking.passage_ids for ranking in rankings] == [
        ["p1", "p0"],
        ["p2", "p0"],
        ["p9"],
    ]


def test_a_run_is_compared_in_a_mapping_and_in_a_list(run, data) -> None:
    recall = [1.0, 1.0, 0.0]  # the gold is p0 + p1, p2, and p4 + p6 + p8
    for systems, name in (({"run": run}, "run"), ([run], "theirs")):
        result = compare(systems, data, metrics=["recall@2"])
        assert result["recall@2"].to_dict() == {name: pytest.approx(2 / 3)}
        assert result.per_query["recall@2"].tolist() == recall


@pytest.mark.parametrize("name", ["run.lz4", "run.parq"])
def test_a_file_is_read(run, data, tmp_path: Path, name: str) -> None:
    run.save(str(tmp_path / name))
    ranking = Recorded.of(tmp_path / name, data.corpus).retrieve(Query("q2", ""), 5)
    assert ranking.passage_ids == ["p2", "p0"]


def test_a_ranking_leaves_as_a_run_and_comes_back_in_its_order(fixed, data) -> None:
    system = fixed(q1="p9 p0", q2="p7", q3="p4 p6")
    result = compare({"bm25": system}, data, metrics=METRICS, k=10)
    run = result.to_ranx("bm25")
    assert (run.name, run.to_dict()["q1"]) == ("bm25", {"p9": 1.0, "p0": 0.5})
    again = compare({"again": run}, data, metrics=METRICS, k=10)
    assert again["again"][METRICS].to_dict() == result["bm25"][METRICS].to_dict()
    with pytest.raises(ValueError, match="'bm26'"):
        result.to_ranx("bm26")
