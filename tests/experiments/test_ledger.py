"""Ledgers: what a file must hold, and the project's own, number by number against their source."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

import pytest

from kg2rag.experiments.ledger import Ledger

LEDGERS = Path(__file__).parents[2] / "eval" / "ledger"
SOUND = """
cite = "Somebody, Table 1"
metric = "recall, per cent"

[sets.a]
name = "A"
questions = 100

[[published]]
system = "BM25"
needs = "nothing"
values.a = { "recall@5" = 61.9 }

[[published.ours]]
set = "a"
data = "bundled"
folder = "a"
system = "bm25"
primary = true
sample = "subset"
"""
SECOND = """
[[published.ours]]
set = "a"
data = "bundled"
folder = "a"
system = "bm25"
label = "another"
"""


def project(beginning: str = "") -> list[Ledger]:
    return [Ledger.read(file) for file in sorted(LEDGERS.glob(f"{beginning}*.toml"))]


def read(tmp_path: Path, text: str) -> Ledger:
    (tmp_path / "paper.toml").write_text(text)
    return Ledger.read(tmp_path / "paper.toml")


def test_a_sound_file_is_read(tmp_path: Path) -> None:
    ledger = read(tmp_path, SOUND)
    assert ledger.name == "paper"
    assert ledger.published[0].values == {"a": {"recall@5": 61.9}}
    assert ledger.published[0].ours[0].primary


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('set = "a"', 'set = "b"', r"'BM25' names the set 'b'; known: a"),
        ('sample = "subset"', "tolerance = 3.4", r"ours\.0\.tolerance: Extra inputs are not permitted"),
        ('sample = "subset"', "comparable = false", "note must say what forbids a verdict"),
        ('sample = "subset"', "", r"judged against 'BM25', so sample \('subset' or 'other'\) and the number"),
        ("questions = 100", "", "the number of questions of the set 'a' must be given"),
        ('sample = "subset"', 'sample = "part"', "Input should be 'subset' or 'other'"),
        ('sample = "subset"', 'metrics = { "recall@9" = "x" }', "'BM25' prints no 'recall@9' on 'a'"),
        ('sample = "subset"', 'sample = "subset"\nparameters = { k1 = 2 }', "primary run has the catalogue's defaults"),
        ('sample = "subset"', 'sample = "subset"\ntitles = false', "primary run has the catalogue's defaults"),
        ('cite = "Somebody, Table 1"', 'cite = "x"\nbaseline = "GTR"', "the baseline 'GTR' is no row; known: BM25"),
        ("[sets.a]", "[sets.a", r"paper\.toml: not a TOML file: Expected ']'"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, before: str, after: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(tmp_path, SOUND.replace(before, after))


def test_beside_the_run_that_is_judged_there_may_be_others(tmp_path: Path) -> None:
    assert [ours.primary for ours in read(tmp_path, SOUND + SECOND).published[0].ours] == [True, False]


def test_two_primary_runs_of_one_row_and_set_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'BM25' on 'a' has 2 primary runs of 2 \(bm25, another\): exactly one"):
        read(tmp_path, SOUND + SECOND + 'primary = true\nsample = "subset"\n')


def test_runs_none_of_which_is_primary_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'BM25' on 'a' has 0 primary runs of 1"):
        read(tmp_path, SOUND.replace("primary = true", "primary = false"))


def test_a_system_has_one_row(tmp_path: Path) -> None:
    again = '\n[[published]]\nsystem = "BM25"\nvalues.a = { mrr = 1 }\n'
    with pytest.raises(ValueError, match="'BM25' is published twice"):
        read(tmp_path, SOUND + again)


def test_a_run_of_released_code_needs_no_sample(tmp_path: Path) -> None:
    text = SOUND.replace('sample = "subset"\n', "").replace("[sets.a]", 'against = "released"\n\n[sets.a]')
    assert read(tmp_path, text).against == "released"


def test_every_ledger_of_the_project_is_sound() -> None:
    files = sorted(LEDGERS.glob("*.toml"))
    assert len(files) >= 6
    for file in files:
        assert Ledger.read(file).published


def test_a_verdict_goes_to_the_row_of_the_same_system_alone() -> None:
    """By recall alone, systems of different kinds lie within a point of each other."""
    same = {"BM25": "bm25"}
    judged = [
        (row.system, ours.system)
        for ledger in project()
        for row in ledger.published
        for ours in row.ours
        if ledger.against == "published" and ours.primary and ours.comparable
    ]
    assert judged
    assert all(same.get(published) == system for published, system in judged)


def test_bm25_is_judged_as_the_catalogue_has_it() -> None:
    runs = [ours for ledger in project() for row in ledger.published for ours in row.ours if row.system == "BM25"]
    assert [(ours.parameters, ours.titles) for ours in runs if ours.primary] == [({}, True)] * 6  # 3 sets, 2 papers


def test_own_runs_of_released_code_are_marked_as_such() -> None:
    assert [ledger.name for ledger in project() if ledger.against == "released"] == ["released"]


# What the papers print as the average of a row over its sets: a check of what was typed.
AVERAGES = {
    ("hipporag1", "recall@5"): {
        "BM25": 58.4,
        "Contriever": 59.9,
        "GTR": 63.4,
        "ColBERTv2": 65.6,
        "RAPTOR": 56.8,
        "RAPTOR (ColBERTv2)": 62.3,
        "Proposition": 61.2,
        "Proposition (ColBERTv2)": 64.4,
        "HippoRAG (Contriever)": 72.6,
        "HippoRAG (ColBERTv2)": 72.9,
        "IRCoT + BM25": 66.4,
        "IRCoT + Contriever": 65.9,
        "IRCoT + ColBERTv2": 70.0,
        "IRCoT + HippoRAG (Contriever)": 77.4,
        "IRCoT + HippoRAG (ColBERTv2)": 78.2,
    },
    ("hipporag1", "recall@2"): {
        "BM25": 46.5,
        "Contriever": 46.2,
        "GTR": 52.3,
        "ColBERTv2": 53.9,
        "RAPTOR": 46.7,
        "RAPTOR (ColBERTv2)": 52.4,
        "Proposition": 50.9,
        "Proposition (ColBERTv2)": 52.5,
        "HippoRAG (Contriever)": 57.2,
        "HippoRAG (ColBERTv2)": 57.4,
        "IRCoT + BM25": 53.7,
        "IRCoT + Contriever": 52.2,
        "IRCoT + ColBERTv2": 57.9,
        "IRCoT + HippoRAG (Contriever)": 61.7,
        "IRCoT + HippoRAG (ColBERTv2)": 62.7,
    },
    ("hipporag1", "all_recall@2"): {"ColBERTv2": 21.7, "HippoRAG (ColBERTv2)": 29.8},
    ("hipporag1", "all_recall@5"): {"ColBERTv2": 37.4, "HippoRAG (ColBERTv2)": 52.0},
    ("hipporag1", "answer_em"): {
        "no retrieval": 24.6,
        "ColBERTv2": 30.8,
        "HippoRAG (ColBERTv2)": 35.9,
        "IRCoT + ColBERTv2": 33.3,
        "IRCoT + HippoRAG (ColBERTv2)": 38.4,
    },
    ("hipporag1", "answer_f1"): {
        "no retrieval": 35.5,
        "ColBERTv2": 42.5,
        "HippoRAG (ColBERTv2)": 48.1,
        "IRCoT + ColBERTv2": 44.7,
        "IRCoT + HippoRAG (ColBERTv2)": 51.7,
    },
    ("hipporag2", "recall@5"): {
        "BM25": 55.1,
        "Contriever": 55.4,
        "GTR (T5-base)": 60.7,
        "GTE-Qwen2-7B-Instruct": 70.5,
        "GritLM-7B": 72.2,
        "NV-Embed-v2 (7B)": 73.4,
        "RAPTOR": 65.6,
        "HippoRAG, reproduced by its authors": 63.8,
        "HippoRAG 2": 78.2,
        "HippoRAG 2, NER to node": 74.6,
        "HippoRAG 2, query to node": 59.6,
        "HippoRAG 2 without passage nodes": 81.0,
        "HippoRAG 2 without the LLM filter": 86.4,
    },
    ("hipporag2", "answer_f1"): {
        "no retrieval": 38.4,
        "Contriever": 46.9,
        "BM25": 47.7,
        "GTR (T5-base)": 50.4,
        "GTE-Qwen2-7B-Instruct": 54.9,
        "GritLM-7B": 56.1,
        "NV-Embed-v2 (7B)": 57.0,
        "RAPTOR": 48.8,
        "GraphRAG": 49.6,
        "LightRAG": 6.6,
        "HippoRAG, reproduced by its authors": 53.1,
        "HippoRAG 2": 59.8,
    },
}


@pytest.mark.parametrize(("name", "metric"), AVERAGES)
def test_the_rows_have_the_averages_that_are_printed(name: str, metric: str) -> None:
    """Averages over questions, as the papers take them: sets of 1,000, LV-Eval 124, NarrativeQA 293."""
    ledger = Ledger.read(LEDGERS / f"{name}.toml")
    found = {}
    for row in ledger.published:
        values = {each: numbers[metric] for each, numbers in row.values.items() if metric in numbers}
        weights = {each: ledger.sets[each].questions or 0 for each in values}
        if values:
            found[row.system] = sum(values[each] * weights[each] for each in values) / sum(weights.values())
    assert found == pytest.approx(AVERAGES[name, metric], abs=0.0501)  # rounded to one decimal


@pytest.mark.realdata
def test_every_published_number_stands_in_a_ledger(shared_data: Path) -> None:
    published = tomllib.loads((shared_data.parent / "reference" / "published.toml").read_text())
    for name, source in published["source"].items():
        ledger = Ledger.read(LEDGERS / f"{name}.toml")
        ours = {row.system: row for row in ledger.published}
        for row in source.get("row", []):
            if row["system"] in ELSEWHERE:
                continue
            scale = 100 if name == "kg2rag" else 1
            kept = [
                value if metric == "passages" else value / scale
                for values in ours[row["system"]].values.values()
                for metric, value in values.items()
            ]
            left = Counter(round(number, 6) for number in _numbers(row))
            left.subtract(Counter(round(number, 6) for number in kept))
            assert max(left.values()) <= 0, (row["system"], left)


# Rows that stand in the ledgers under another name, or spread over several rows.
ELSEWHERE = {
    "KG2RAG, answer F1 for m = 1, 2, 3 hops": "kg2rag: KG2RAG; KG2RAG, 2 hops; KG2RAG, 3 hops",
    "KG2RAG, independent run of the official code (its issue 13): answer F1, supporting F1": "kg2rag_issue13",
    "BM25 + dense + rerank hybrid, same independent run": "kg2rag_issue13",
}


def test_what_others_found_with_kg2rag_is_kept() -> None:
    papers = {
        ledger.name: {row.system: row.values["distractor"] for row in ledger.published} for ledger in project("kg2rag")
    }
    assert [papers["kg2rag"][f"KG2RAG{hops}"]["answer_f1"] for hops in ("", ", 2 hops", ", 3 hops")] == [
        66.3,
        65.6,
        65.8,
    ]
    assert list(papers["kg2rag_issue13"].values()) == [
        {"f1": 34.39, "answer_f1": 61.24},
        {"f1": 35.51, "answer_f1": 64.99},
    ]


def _numbers(row: object) -> list[float]:
    if isinstance(row, dict):
        return [number for value in row.values() for number in _numbers(value)]
    if isinstance(row, list):
        return [number for value in row for number in _numbers(value)]
    return [row] if isinstance(row, float) else []
