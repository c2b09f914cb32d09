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
LAST = 'sample = "subset"'
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


def test_a_sound_file_is_read_with_one_run_that_is_judged_and_others_beside_it(
    tmp_path: Path,
) -> None:
    ledger = read(tmp_path, SOUND + SECOND)
    assert ledger.name == "paper"
    assert ledger.published[0].values == {"a": {"recall@5": 61.9}}
    assert [run.primary for run in ledger.published[0].runs] == [True, False]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('set = "a"', 'set = "b"', r"'BM25' names the set 'b'; known: a"),
        (
            'sample = "subset"',
            "tolerance = 3.4",
            r"ours\[0\]\.tolerance.*: Extra inputs are not permitted",
        ),
        (
            'sample = "subset"',
            "comparable = false",
            "note must name the reason",
        ),
        (
            'sample = "subset"',
            "",
            r"judged against 'BM25', so sample \('subset' or 'other'\) and the number",
        ),
        ("questions = 100", "", "the number of questions of the set 'a' must be given"),
        ('sample = "subset"', 'sample = "part"', "must be 'subset' or 'other'"),
        (
            'sample = "subset"',
            'metrics = { "recall@9" = "x" }',
            "'BM25' prints no 'recall@9' on 'a'",
        ),
        (
            'sample = "subset"',
            'sample = "subset"\nparameters = { k1 = 2 }',
            "primary run has the catalogue's defaults",
        ),
        (
            'sample = "subset"',
            'sample = "subset"\ntitles = false',
            "primary run has the catalogue's defaults",
        ),
        (
            'cite = "Somebody, Table 1"',
            'cite = "x"\nbaseline = "GTR"',
            "the baseline 'GTR' is no row; known: BM25",
        ),
        ("[sets.a]", "[sets.a", r"paper\.toml"),
        ("primary = true", "primary = false", "'BM25' on 'a' has 0 primary"),
        (
            LAST,
            f"{LAST}{SECOND}primary = true\n{LAST}",
            r"'BM25' on 'a' has 2 .*bm25, another",
        ),
        (
            LAST,
            f'{LAST}\n[[published]]\nsystem = "BM25"\nvalues.a = {{ mrr = 1 }}\n',
            "'BM25' is published twice",
        ),
    ],
)
def test_what_is_wrong_is_named(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        read(tmp_path, SOUND.replace(before, after))


def test_a_run_of_released_code_needs_no_sample(tmp_path: Path) -> None:
    text = SOUND.replace('sample = "subset"\n', "").replace(
        "[sets.a]", 'against = "released"\n\n[sets.a]'
    )
    assert read(tmp_path, text).against == "released"


def test_a_verdict_goes_to_the_row_of_the_same_system_alone_as_the_catalogue_has_it():
    """By recall only, systems of different kinds lie within a point of each other."""
    ledgers = project()
    assert len(ledgers) >= 6
    assert [ledger.name for ledger in ledgers if ledger.against == "released"] == [
        "released"
    ]
    published = [ledger for ledger in ledgers if ledger.against == "published"]
    runs = [
        (row.system, ours)
        for ledger in published
        for row in ledger.published
        for ours in row.runs
    ]
    judged = [
        (system, ours) for system, ours in runs if ours.primary and ours.comparable
    ]
    assert {(system, ours.system) for system, ours in judged} == {("BM25", "bm25")}
    primary = [
        (ours.parameters, ours.titles)
        for system, ours in runs
        if system == "BM25" and ours.primary
    ]
    assert primary == [({}, True)] * 6  # 3 sets, 2 papers


@pytest.mark.realdata
def test_every_published_number_stands_in_a_ledger(shared_data: Path) -> None:
    published = tomllib.loads(
        (shared_data.parent / "reference" / "published.toml").read_text()
    )
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


def _numbers(row: object) -> list[float]:
    if isinstance(row, dict):
        return [number for value in row.values() for number in _numbers(value)]
    if isinstance(row, list):
        return [number for value in row for number in _numbers(value)]
    return [row] if isinstance(row, float) else []
