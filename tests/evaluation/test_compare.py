from __future__ import annotations

import itertools
import json
import os
import re
import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import tiny_model
from typer.testing import CliRunner

from kg2rag.cli import app
from kg2rag.evaluation import CompareOptions, Comparison, compare

METRICS = ["recall@2", "mrr@10"]


@pytest.fixture
def systems(fixed):
    return {
        "worse": fixed(q1="p9 p0", q2="p7", q3="p1"),
        "dense": fixed(q1="p0 p9", q2="p3 p2", q3="p4 p6"),
        "better": fixed(q1="p0 p1", q2="p2", q3="p4 p6 p8"),
    }


@pytest.fixture
def result(systems, data) -> Comparison:
    return compare(
        systems,
        data,
        metrics=METRICS,
        k=10,
        options=CompareOptions(command="kg2rag compare little"),
    )


def row(result, system, metric):
    frame = result.scores
    return frame[(frame["system"] == system) & (frame["metric"] == metric)].iloc[0]


def test_means_and_counts_against_the_baseline_by_hand(result):
    assert result.curve.index.tolist() == [1, 2, 3, 4, 5, 7, 10]
    assert result.curve.loc[2, "better"] == pytest.approx((1 + 1 + 2 / 3) / 3)
    better = row(result, "better", "recall@2")
    assert better["mean"] == pytest.approx((1 + 1 + 2 / 3) / 3)
    # Dense: 1/2, 1, 2/3.
    assert (better["wins"], better["ties"], better["losses"]) == (
        1,
        2,
        0,
    )
    worse = row(result, "worse", "mrr@10")
    assert worse["mean"] == pytest.approx(1 / 6)
    assert (worse["wins"], worse["ties"], worse["losses"]) == (0, 0, 3)


def test_the_baseline_is_dense_or_the_first_and_its_test_is_blank(
    result, systems, data
):
    assert result.baseline == "dense"
    assert (
        row(result, "dense", "mrr@10")[["p_holm", "wins", "ties", "losses"]]
        .isna()
        .all()
    )
    del systems["dense"]
    assert compare(systems, data, metrics=METRICS).baseline == "worse"


def test_prepare_is_called_before_and_outside_the_timing(data, fixed, monkeypatch):
    clock = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(clock)))

    prepare = Mock(side_effect=lambda _: [next(clock) for _ in range(100)])
    retrieve_batch = Mock(side_effect=fixed().retrieve_batch)
    lazy = SimpleNamespace(prepare=prepare, retrieve_batch=retrieve_batch)
    result = compare(
        {"lazy": lazy}, data, metrics=["mrr"], options=CompareOptions(batch_size=2)
    )
    assert [
        len(call.args[0]) for call in (*prepare.mock_calls, *retrieve_batch.mock_calls)
    ] == [
        3,
        2,
        1,
    ]
    # one tick for all three
    assert result.ms_per_query["lazy"] == pytest.approx(1000 / 3, abs=0.001)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metrics": ["recall@20"], "k": 10}, "Ask for k=20"),
        ({"baseline": "densest"}, "'densest'.*Did you mean 'dense'"),
    ],
)
def test_wrong_arguments_are_refused_before_any_work(
    systems, data, change, message, monkeypatch
):
    comparing = sys.modules["kg2rag.evaluation.comparison"]
    monkeypatch.setattr(comparing, "run", lambda *_, **__: pytest.fail("work was done"))
    with pytest.raises(ValueError, match=message):
        compare(systems, data, **{"metrics": METRICS, **change})


def test_names_that_cannot_be_files_are_refused(systems, data):
    for name in ("", "a/b", "../a", "a b", ".hidden", "a\n", "x" * 101, 7):
        with pytest.raises(ValueError, match=re.escape(repr(name))):
            compare({name: systems["dense"]}, data)


@pytest.mark.parametrize(
    ("given", "graphs", "error", "message"),
    [
        (lambda one: {"a": one, "A": one}, None, ValueError, "'a' and 'A'"),
        (lambda _: {}, None, ValueError, "No system"),
        (lambda _: {"a": "densest"}, None, ValueError, "'densest'"),
        (lambda _: 3, None, TypeError, "must be a mapping"),
        (
            lambda one: {"a": type(one)},
            None,
            TypeError,
            r"'a' is the class Fixed. Pass Fixed\(kb\)",
        ),
    ],
)
def test_what_are_no_named_systems_is_refused(
    systems, data, given, graphs, error, message
):
    with pytest.raises(error, match=message):
        compare(given(systems["dense"]), data, graphs=graphs)


def test_a_failing_system_raises_its_own_error_and_says_where(data):
    broken = SimpleNamespace(retrieve_batch=lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError) as caught:
        compare(
            {"broken": broken},
            data,
            metrics=["mrr"],
            options=CompareOptions(batch_size=2),
        )
    assert (
        "System 'broken' failed in the batch that begins with query 'q1'"
        in caught.value.__notes__[0]
    )


def test_too_many_hits_and_hits_outside_the_candidates_are_refused(
    data, systems, fixed
):
    many = SimpleNamespace(
        retrieve_batch=lambda queries, k: fixed(q1="p1 p2 p3").retrieve_batch(
            queries, k + 1
        )
    )
    with pytest.raises(ValueError, match=r"'wrong', query 'q1': 3 hits"):
        compare({"wrong": many}, data, metrics=["mrr"], k=2)
    questions = tuple(replace(q, candidates=("p0", "p1", "p2")) for q in data.questions)
    with pytest.raises(ValueError, match=r"query 'q1': 'p9'"):
        compare(
            systems,
            replace(data, questions=questions, setting="distractor"),
            metrics=["mrr"],
        )


def test_groups_have_their_own_means_in_their_order(result):
    frame, by_gold = result.compare_by("type"), result.compare_by("gold")
    assert frame.loc[("bridge", "better"), "n"] == 2
    assert frame.loc[("bridge", "dense"), "recall@2"] == pytest.approx(3 / 4)
    groups = [
        list(one.unstack("system").index)
        for one in (result.compare_by("hops"), by_gold)
    ]
    assert groups == [["1", "2", "unknown"], ["1", "2", "3"]]
    assert by_gold.loc[("2", "dense"), "recall@2"] == 0.5  # q1 alone
    assert "Number of gold passages" in result.to_html()
    with pytest.raises(ValueError, match="'type', 'hops', 'gold', not by 'colour'"):
        result.compare_by("colour")


def test_all_pairs_are_tested_in_the_metric_that_is_named(result):
    table = result.pairs("mrr@10").set_index(["a", "b"])
    assert list(table.index) == [
        ("worse", "dense"),
        ("worse", "better"),
        ("dense", "better"),
    ]
    # worse against dense: 3 losses, 2 of 8 sign patterns; three pairs.
    assert table.loc[("worse", "dense"), ["p", "p_holm"]].tolist() == [0.25, 0.75]
    with pytest.raises(ValueError, match="mrr@10, recall@2"):
        result.pairs("map")


def test_the_best_alone_has_a_p_value_against_all_others(result, systems, data):
    best = result.scores.dropna(subset="p_best").set_index("metric")
    assert best["system"].to_dict() == {"recall@2": "better", "mrr@10": "better"}
    assert best.loc["mrr@10", "p_best"] == 1  # dense: one win of three
    # Of so many no best one is looked for.
    many = {f"s{i}": systems["dense"] for i in range(21)}
    assert compare(many, data, metrics=["mrr"], k=10).scores["p_best"].isna().all()


def test_the_largest_differences_come_first(result):
    frame = result.differences(metric="recall@2")
    assert frame[["system", "query_id"]].to_numpy().tolist() == [
        ["worse", "q2"],
        ["worse", "q3"],
        ["better", "q1"],
    ]
    assert frame["difference"].tolist() == pytest.approx([-1.0, -2 / 3, 0.5])


def test_the_configuration_says_what_the_numbers_depend_on(result, data):
    config = json.loads(json.dumps(result.config))
    about = (
        config["data"]["corpus_fingerprint"],
        config["data"]["source"],
        config["systems"]["dense"],
    )
    assert about == (
        data.corpus.fingerprint,
        {"loader": "by hand"},
        "Fixed(equal=False)",
    )
    assert config["versions"]["ranx"]
    assert config["command"] == "kg2rag compare little"
    assert {
        "threads",
        "runs",
        "commit",
        "python",
        "platform",
        "seconds",
        "started",
        "seed",
    } <= set(config)


def test_what_is_saved_comes_back_and_no_gold_of_another(
    result, systems, data, tmp_path
):
    report = result.save(tmp_path / "out")
    assert report.read_text().startswith("<!doctype html>")
    loaded = Comparison.load(tmp_path / "out")
    assert loaded.scores.round(6).equals(result.scores.round(6))
    assert loaded.per_query.equals(result.per_query)
    assert loaded.to_markdown() == result.to_markdown()
    assert [r.passage_ids for r in loaded.rankings["dense"]] == [
        r.passage_ids for r in result.rankings["dense"]
    ]
    loaded.save(tmp_path / "out")
    # A loaded comparison holds no gold.
    assert not (tmp_path / "out" / "qrels.trec").exists()
    compare(
        {"NA": systems["dense"], "nan": systems["better"]}, data, metrics=METRICS
    ).save(tmp_path / "NA")
    assert Comparison.load(tmp_path / "NA").scores["system"].tolist() == [
        "NA",
        "NA",
        "nan",
        "nan",
    ]


def files_in(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_saving_replaces_its_own_files_and_no_others(result, systems, data, tmp_path):
    result.save(tmp_path)
    runs = ["runs/better.trec.gz", "runs/dense.trec.gz", "runs/worse.trec.gz"]
    tables = ["curve.csv", "scores.csv", "sizes.csv", "token_curve.csv"]
    others = [
        ".kg2rag.json",
        "config.json",
        "per_query.parquet",
        "qrels.trec",
        "report.html",
    ]
    assert sorted(files_in(tmp_path)) == sorted([*others, *runs, *tables])
    (tmp_path / "runs" / "anserini.trec.gz").write_bytes(b"theirs")
    (tmp_path / "macro.csv").write_bytes(b"theirs")
    compare({"dense": systems["dense"]}, data, metrics=METRICS).save(tmp_path)
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [
        "anserini.trec.gz",
        "dense.trec.gz",
    ]
    assert (
        (tmp_path / "macro.csv").read_bytes()
        == (tmp_path / "runs" / "anserini.trec.gz").read_bytes()
        == b"theirs"
    )


@pytest.mark.parametrize(
    "name",
    ["scores.csv", "config.json", "runs/dense.trec.gz", "report.html", "sizes.csv"],
)
def test_a_file_of_somebody_else_is_not_overwritten_and_nothing_is_run(
    name, systems, data, tmp_path
):
    file = tmp_path / "out" / name
    file.parent.mkdir(parents=True)
    file.write_bytes(b"theirs")
    never = Mock(retrieve_batch=Mock(side_effect=AssertionError))
    with pytest.raises(FileExistsError, match=Path(name).name):
        compare({"dense": never}, data, metrics=METRICS, folder=tmp_path / "out")
    assert files_in(tmp_path / "out") == {name: b"theirs"}


def test_a_full_disk_leaves_the_earlier_comparison_and_names_a_file(
    result, systems, data, tmp_path
):
    result.save(tmp_path)
    before = files_in(tmp_path)
    other = compare({"dense": systems["dense"]}, data, metrics=METRICS)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        # bytes of a file: the page has more
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
        with pytest.raises(OSError, match=str(tmp_path)):
            other.save(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert files_in(tmp_path) == before
    assert Comparison.load(tmp_path).systems == result.systems


def test_without_texts_the_same_comparison_is_kept(result, tmp_path):
    kept = Comparison.load(result.save(tmp_path, texts=False))
    assert kept.to_markdown() == result.to_markdown()
    assert set(kept.per_query["question"]) == {""}
    first = [one.passage_ids[:10] for one in result.rankings["dense"]]
    assert [one.passage_ids for one in kept.rankings["dense"]] == first
    whole = b"".join(
        file.read_bytes()
        for file in tmp_path.rglob("*")
        if file.suffix in (".csv", ".json", ".parquet")
    )
    assert b"First?" not in whole
    assert not (tmp_path / "report.html").exists()


@pytest.mark.slow
def test_tables_and_runs_are_the_same_bytes_under_any_hash_seed(tmp_path, monkeypatch):
    command = "compare bundled --limit 20 --systems bm25,mention_ppr --metrics recall@2,mrr@10".split()
    command += ["--embedder", str(tiny_model.save(tmp_path / "encoder")), "--out"]
    monkeypatch.setenv("KG2RAG_STORE", str(tmp_path / "store here"))
    here = CliRunner().invoke(
        app, [*command, str(tmp_path / "here")], catch_exceptions=False
    )
    assert here.exit_code == 0, here.output
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {
        **os.environ,
        "PYTHONHASHSEED": seed,
        "KG2RAG_STORE": str(tmp_path / "store there"),
    }
    there = [sys.executable, "-m", "kg2rag", *command, str(tmp_path / "there")]
    subprocess.run(there, env=environment, check=True)
    contents = []
    for name in ("here", "there"):
        files = [
            *(tmp_path / name).glob("*.csv"),
            *(tmp_path / name / "runs").iterdir(),
        ]
        contents.append({path.name: path.read_bytes() for path in files})
    assert len(contents[0]) == 4 + 2
    assert contents[0] == contents[1]
