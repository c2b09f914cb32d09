"""docs/results is written as a whole from `eval/results`, and so is the one block of the README."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import outdated
import pages
import pytest
import remake
import studies

import kg2rag
from kg2rag.evaluation.system_code import CODE, system_codes
from kg2rag.retrievers.systems import SYSTEMS
from kg2rag.types import Notes

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def kept() -> dict[str, studies.Study]:
    return studies.read()


def test_a_kept_comparison_has_the_command_that_makes_it(tmp_path: Path) -> None:
    data = kg2rag.load("bundled", limit=2)
    options = kg2rag.evaluation.CompareOptions(
        command="kg2rag DATA bundled", progress=False
    )
    kg2rag.compare(
        ["bm25"], data, metrics=["recall@5"], folder=tmp_path / "made", options=options
    )
    command = "kg2rag compare bundled \\\n  --systems bm25"
    remake.keep(tmp_path / "made", tmp_path / "kept", tmp_path, command)
    assert (
        kg2rag.Comparison.load(tmp_path / "kept").config["command"]
        == "kg2rag compare bundled --systems bm25"
    )


def test_a_comparison_without_its_data_is_named_and_the_others_are_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = {
        "absent": "kg2rag compare beir --path DATA/nowhere --systems bm25",
        "wrong": "kg2rag compare bundled --systems nothing",
        "bundled": "kg2rag compare bundled --systems bm25 --metrics recall@5 --limit 2",
    }
    failures = remake.make(commands, tmp_path, tmp_path / "work")
    assert set(failures) == {"absent", "wrong"}
    assert "nowhere" in failures["absent"]
    assert "nothing" in failures["wrong"]
    # A comparison that was made is not made again.
    monkeypatch.setattr(remake, "run", None)
    assert (
        remake.make({"bundled": commands["bundled"]}, tmp_path, tmp_path / "work") == {}
    )


def test_blind_sets_are_remade_only_by_name() -> None:
    assert "blind-perl" not in remake.commands_of(None)
    assert list(remake.commands_of(["blind-perl"])) == ["blind-perl"]


def test_a_comparison_that_older_code_made_is_named_with_its_systems(
    kept: dict[str, studies.Study],
) -> None:
    older = kept["musique-100"]
    code = system_codes(older.config)
    today = SimpleNamespace(config={**older.config, CODE: code}, about=older.about)
    changed = SimpleNamespace(
        config={**older.config, CODE: {**code, "dense": "of then"}}, about=older.about
    )
    blind = SimpleNamespace(config=changed.config, about=kept["blind-perl"].about)
    assert outdated.outdated({"today": today, "changed": changed, "blind": blind}) == {
        "changed": ["dense"]
    }


def test_every_page_of_the_results_is_as_it_is_written(
    kept: dict[str, studies.Study],
) -> None:
    made = {name: text.rstrip("\n") + "\n" for name, text in pages.pages(kept).items()}
    there = {
        file.name: file.read_text(encoding="utf-8") for file in pages.OUT.glob("*.md")
    }
    assert there.keys() == made.keys()
    # otherwise: python eval/pages.py
    assert [name for name in made if made[name] != there[name]] == []


def test_the_readme_has_the_headline_table(kept: dict[str, studies.Study]) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    # Otherwise: python eval/pages.py.
    assert pages.with_block(text, pages.headline(kept)) == text
    with pytest.raises(ValueError, match="README"):
        pages.with_block("no comments", "")


def test_the_page_of_differences_is_written_from_what_the_strategies_declare() -> None:
    # otherwise: python eval/pages.py
    assert pages.differences() == pages.DIFFERENCES.read_text(encoding="utf-8")
    assert "| guided expansion: `expansion_queries` | `depth`, " in pages.differences()
    departures = pages.differences().partition("## Departures")[2]
    assert all(
        cell.strip()
        for line in departures.splitlines()[4:]
        for cell in line.strip("|").split(" | ")[1:]
    )


@pytest.mark.parametrize("strategy", pages.DESIGNS)
def test_every_name_of_ours_on_that_page_exists(strategy: str) -> None:
    words = import_module(f"kg2rag.retrievers.{pages.DESIGNS[strategy]}").ALIASES
    known = {
        *SYSTEMS.parameters(strategy),
        *Notes.classes,
        *kg2rag.__all__,
        "Triple",
        "Hit",
        "kb",
        "kg2rag",
    }
    assert [
        ours for _, ours, _ in words.rows if re.split(r"[.(]", ours)[0] not in known
    ] == []


def test_every_kept_comparison_says_what_made_it(
    kept: dict[str, studies.Study],
) -> None:
    for name, study in kept.items():
        assert study.about["command"].lstrip().startswith("kg2rag compare"), name
        assert not {
            "data",
            "systems",
            "knowledge",
            "tuning",
            "versions",
            "commit",
            "started",
        } - set(study.config), name
        assert not re.search(r"/(work|tmp|home|root|Users)/", str(study.config)), (
            f"{name}: a path of one machine"
        )


def test_no_other_page_has_a_marker() -> None:
    prose = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "notebooks").glob("*.ipynb"),
    ]
    marked = {
        file.name: re.findall("<!--.*?-->", file.read_text(encoding="utf-8"), re.DOTALL)
        for file in prose
    }
    assert {name: found for name, found in marked.items() if found} == {
        "README.md": [pages.BEGIN, pages.END]
    }


def test_a_gain_is_the_distance_to_the_shuffled_graph(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text(
        "system,metric,mean,p_holm,p_best,seed_sd\nwalk.mentions,recall@5,.75,.01,1,\n"
        "walk.mentions-shuffled,recall@5,.50,1,1,.013\ndense,recall@5,.60,,1,\n"
    )
    (tmp_path / "config.json").write_text('{"tuning": {}}')
    study = studies.Study(tmp_path, {})
    rows = [line.split(" | ") for line in study.graphs() if line.startswith("| `")]
    assert rows[0][2:] == [r"75.0\*", "50.0 ± 1.3", "+25.0 |"]
    assert rows[1][2:] == ["60.0", "", " |"]
