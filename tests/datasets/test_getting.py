"""Sets come from the hub into a folder once, and what is not what was reported is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kg2rag import DataError
from kg2rag.cli import app
from kg2rag.datasets import get, getting, load, subsets
from kg2rag.evaluation import provenance

RESULTS = Path(__file__).resolve().parents[2] / "eval" / "results"
Copy = Callable[..., Path]


@pytest.fixture
def part(
    musique: list[dict[str, Any]], write: Copy, monkeypatch: pytest.MonkeyPatch
) -> str:
    """The first two questions of the little MuSiQue, as if they were reported, in the other order."""
    chosen = musique[1::-1]
    data = load("musique", path=write("musique.json", chosen))
    about = {"questions": provenance.questions(data), "corpus": data.corpus.fingerprint}
    ids = tuple(question.id for question in data.questions)
    reported = getting.Subset(
        dataset="musique",
        about="two",
        ids=ids,
        split="validation",
        file="musique.json",
        **about,
    )
    monkeypatch.setattr(getting, "subsets", lambda: {"musique-2": reported})
    return "musique-2"


def test_a_reported_part_is_written_in_its_own_order(
    part: str, musique: list[dict[str, Any]], hub_copy: Copy, tmp_path: Path
) -> None:
    hub_copy("musique", musique)
    place = get(part, tmp_path / "sets")
    data = load("musique", path=place)
    assert (
        tuple(question.id for question in data.questions) == getting.subsets()[part].ids
    )


def test_what_lies_there_is_checked_and_not_got_again(
    part: str, musique: list[dict[str, Any]], hub_copy: Copy, tmp_path: Path
) -> None:
    file = hub_copy("musique", musique)
    place = get(part, tmp_path / "sets")
    file.unlink()
    assert get(part, tmp_path / "sets") == place
    records = json.loads((place / "musique.json").read_text())
    records[0]["answer"] = "another"
    (place / "musique.json").write_text(json.dumps(records))
    with pytest.raises(DataError, match="musique-2"):
        get(part, tmp_path / "sets")
    (place / "musique.json").write_text(json.dumps(records[:1]))
    with pytest.raises(DataError, match="1 of 2"):
        get(part, tmp_path / "sets")


def test_a_copy_that_lacks_a_question_or_has_other_texts_leaves_nothing(
    part: str, musique: list[dict[str, Any]], hub_copy: Copy, tmp_path: Path
) -> None:
    hub_copy("musique", musique[1:])
    with pytest.raises(DataError, match="1 of 2"):
        get(part, tmp_path / "sets")
    changed = json.loads(json.dumps(musique))
    changed[0]["paragraphs"][0]["paragraph_text"] += " More."
    hub_copy("musique", changed)
    with pytest.raises(DataError, match="4 passages"):
        get(part, tmp_path / "sets")
    assert list((tmp_path / "sets").iterdir()) == []


def test_what_the_hub_does_not_give_says_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"2wikimultihopqa_corpus\.json"):
        get("2wiki-1000", tmp_path)
    with pytest.raises(ValueError, match="'musique-100'"):
        get("musique-101", tmp_path)


def test_the_command_lists_the_parts_and_wants_a_name() -> None:
    found = CliRunner().invoke(
        app, ["datasets", "get", "--list"], env={"COLUMNS": "200"}
    )
    assert "musique-100" in found.output
    assert "from the hub" in found.output
    assert CliRunner().invoke(app, ["datasets", "get"]).exit_code != 0


@pytest.mark.parametrize(
    "name", ["musique-100", "hotpotqa-300", "2wiki-1000", "cosqa-500"]
)
def test_the_checksums_are_those_of_the_committed_results(name: str) -> None:
    about = json.loads((RESULTS / name / "config.json").read_text())["data"]
    part = subsets()[name]
    assert (part.questions, part.corpus) == (
        about["questions_sha256"],
        about["corpus_fingerprint"],
    )
    assert len(part.ids) == about["questions"]


@pytest.mark.realdata
@pytest.mark.parametrize("name", ["musique-100", "hotpotqa-300"])
def test_the_parts_come_out_of_the_copies_on_the_hub(
    name: str,
    shared_data: Path,
    hub_copy: Copy,
    as_on_the_hub: Callable[..., Any],
    tmp_path: Path,
) -> None:
    """Rows as the hub keeps them, from the official records; the corpus is made of the questions' paragraphs only."""
    part = subsets()[name]
    file = (
        shared_data
        / name
        / {"musique-100": "musique.json"}.get(name, "hotpot_dev_distractor.json")
    )
    records = json.loads(file.read_text(encoding="utf-8"))[::-1]
    if part.dataset == "hotpotqa":
        records = [as_on_the_hub(record) for record in records]
    hub_copy(part.dataset, records, str(part.split))
    assert get(name, tmp_path / "sets").is_dir()
    assert get(name, shared_data) == shared_data / name
