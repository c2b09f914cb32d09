"""What `eval/results` keeps of comparisons is whole, and its tables follow from it."""

from __future__ import annotations

import json
import re
import tomllib
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest

import kg2rag
from kg2rag.evaluation import evaluate
from kg2rag.evaluation.per_query import ABOUT
from kg2rag.evaluation.significance import score_table
from kg2rag.retrievers.adapters import Recorded
from kg2rag.retrievers.adapters.trec import name_of
from kg2rag.types import QADataset

RESULTS = Path(__file__).resolve().parent.parent / "eval" / "results"
KEPT = sorted(file.parent.name for file in RESULTS.glob("*/config.json"))
IN_CI = ("musique-100", "hotpotqa-300")


def config_of(name: str) -> dict[str, object]:
    config: dict[str, object] = json.loads(
        (RESULTS / name / "config.json").read_text(encoding="utf-8")
    )
    return config


def per_query_of(name: str) -> pd.DataFrame:
    return kg2rag.Comparison.load(RESULTS / name).per_query


def test_the_headline_comparisons_are_kept() -> None:
    assert set(IN_CI) <= set(KEPT)


MADE = {
    "ledger.csv": "remake.py",
    "scale/measurements.jsonl": "bench/scale.py",
    "domains/leave_one_out.parquet": "fit.py",
    "domains/links.parquet": "links.py",
    "domains/languages.parquet": "languages.py",
    "domains/faq_links.parquet": "faq_links.py",
    "costs/2wiki-1000.parquet": "bench/strategies.py",
    "peers/musique-100.parquet": "bench/peers.py",
    "peers/hotpotqa-300.parquet": "bench/peers.py",
    "peers/invented-10000.parquet": "bench/peers.py",
    "peers/invented-100000.parquet": "bench/peers.py",
}
"""File that is no comparison's -> the program that writes it."""


def test_nothing_is_kept_that_no_program_made_of_runs() -> None:
    for file in (file for file in RESULTS.rglob("*") if file.is_file()):
        place = file.relative_to(RESULTS)
        whole = RESULTS / place.parts[0]
        saved = (whole / "runs").is_dir() or (whole / "sweep.json").is_file()
        program = RESULTS.parent / MADE.get(str(place), "none")
        assert saved or file.name in program.read_text(encoding="utf-8"), place


FEW = ("musique-100", "placebo-musique-100", "docs", "e5-musique-100")
"""Comparisons of one run a system, of several, of few questions and of another encoder."""


@pytest.mark.parametrize(
    "name",
    [
        *FEW,
        *(
            pytest.param(name, marks=pytest.mark.full)
            for name in KEPT
            if name not in FEW
        ),
    ],
)
def test_the_table_follows_from_the_scores_of_the_questions(name: str) -> None:
    config, per_query = config_of(name), per_query_of(name)
    metrics = [column for column in per_query.columns if column not in ABOUT]
    runs = RESULTS / name / "per_seed.csv"
    per_seed = pd.read_csv(runs) if runs.is_file() else None
    table = score_table(per_query, metrics, str(config["baseline"]), per_seed=per_seed)
    made = StringIO(table.to_csv(index=False, float_format="%.6f"))
    found, kept = (
        pd.read_csv(source, dtype=str)
        for source in (made, RESULTS / name / "scores.csv")
    )
    # Scores of several seeds are kept to six decimals, so their deviation may differ in the sixth.
    assert found.pop("seed_sd").astype(float).tolist() == pytest.approx(
        kept.pop("seed_sd").astype(float).tolist(), abs=2e-6, nan_ok=True
    )
    pd.testing.assert_frame_equal(found, kept)


@pytest.mark.parametrize("name", KEPT)
def test_each_system_has_its_run_and_the_configuration_says_what_it_depends_on(
    name: str,
) -> None:
    config = config_of(name)
    runs = {name_of(file) for file in (RESULTS / name / "runs").iterdir()}
    assert runs == set(config["systems"])  # type: ignore[call-overload]
    needed = "data parameters knowledge tuning versions processor threads command commit fingerprint".split()
    assert not set(needed) - set(config)
    text = json.dumps(config)
    assert not re.search(r"/(work|tmp|home|root|Users)/", text), "a path of one machine"


@pytest.mark.parametrize("name", KEPT)
def test_what_is_kept_was_made_from_a_commit_and_has_the_run_of_every_question(
    name: str,
) -> None:
    commit, kept = config_of(name)["commit"], kg2rag.Comparison.load(RESULTS / name)
    assert isinstance(commit, dict)
    assert (len(commit["id"]), commit["changed"]) == (40, False)
    for system, run in kept.rankings.items():
        questions = kept.per_query[kept.per_query["system"] == system]["query_id"]
        assert [one.query_id for one in run] == questions.tolist()
        assert any(len(one) for one in run)


def test_nothing_is_kept_but_comparisons_with_their_runs_and_what_one_command_writes():
    written = {"ledger.csv", "costs", "domains", "peers", "scale", "sweep-kg2rag-train"}
    assert {file.name for file in RESULTS.iterdir()} <= {*KEPT, *written}
    tables = [
        file
        for name in written
        for file in (RESULTS / name).glob("*")
        if file.suffix in (".csv", ".toml")
    ]
    assert tables == []  # tables follow from runs, or from the scores of each question


@pytest.mark.parametrize("name", KEPT)
def test_headline_numbers_are_of_float32(name: str) -> None:
    encoders = [one["encoder"] for one in config_of(name)["knowledge"]]  # type: ignore[attr-defined]
    of_default = [one for one in encoders if "MiniLM" in str(one.get("model"))]
    assert {one["dtype"] for one in of_default} <= {"float32"}


@pytest.mark.realdata
@pytest.mark.parametrize(
    "name",
    [
        *IN_CI,
        *(
            pytest.param(name, marks=pytest.mark.full)
            for name in KEPT
            if name not in IN_CI
        ),
    ],
)
def test_the_scores_follow_from_the_runs_and_the_gold(
    name: str, shared_data: Path
) -> None:
    config, per_query = config_of(name), per_query_of(name)
    data = loaded(config, name, shared_data)
    once = set(per_query["system"]) - set(config["seeds"])  # type: ignore[call-overload]
    for system, rows in per_query[per_query["system"].isin(once)].groupby(
        "system", sort=False
    ):
        (file,) = (RESULTS / name / "runs").glob(f"{system}.trec.*")
        run = Recorded.of(file, data.corpus)
        answered = frozenset(query.id for query in data.queries) - set(run.run)
        run = Recorded(data.corpus, run.run, str(system), answered)
        # The tokens of another encoder are counted by its own tokenizer, which is not at hand.
        counted = "all-MiniLM-L6-v2" in str(config["tokens"])
        metrics = [
            name
            for name in rows.columns
            if name not in ABOUT and (counted or not name.endswith("tokens"))
        ]
        scores = evaluate(
            run.retrieve_batch(data.queries, 20), data, metrics, name=str(system)
        )
        kept = rows.set_index("query_id")[metrics]
        pd.testing.assert_frame_equal(
            scores, kept, check_index_type=False, check_dtype=False, rtol=0, atol=1e-12
        )


def loaded(config: dict[str, object], name: str, shared_data: Path) -> QADataset:
    about = config["data"]
    assert isinstance(about, dict)
    source = about["source"]
    command = tomllib.loads((RESULTS.parent / "kept.toml").read_text(encoding="utf-8"))[
        name
    ]["command"]
    folder = shared_data / command.split("--path DATA/")[1].split()[0]
    if name.startswith("blind-") and not folder.exists():
        pytest.skip("eval/blind.py and eval/blind_code.py make these sets")
    chosen = {
        option: source[option]
        for option in ("split", "setting", "passages")
        if source.get(option)
    }
    data = kg2rag.load(source["loader"], path=folder, **chosen)
    assert data.corpus.fingerprint == about["corpus_fingerprint"]
    return data


def test_the_kept_sweep_opens_and_was_chosen_on_training_questions() -> None:
    result = kg2rag.SweepResult.load(RESULTS / "sweep-kg2rag-train")
    assert len(result.failed) == 0
    (data,) = result.config["data"]["pooled"]
    assert list(data["source"]["files"]) == ["musique_train.jsonl"]
    assert "/" not in json.dumps(data)
    assert all("dtype='float32'" in one for one in result.config["encoders"].values())
