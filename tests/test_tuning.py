"""The register of what was chosen by looking at questions speaks of every system and of sets that exist."""

from __future__ import annotations

import tomllib
from pathlib import Path

from kg2rag.retrievers.systems import names

ROOT = Path(__file__).resolve().parent.parent
REGISTER = tomllib.loads((ROOT / "kg2rag" / "retrievers" / "tuning.toml").read_text(encoding="utf-8"))
REPORTED = {"musique-100", "hotpotqa-300", "2wiki-1000", "2wiki-kg-500", "cosqa-500"}


def test_every_system_is_in_the_register_once() -> None:
    tuned = {row["system"] for row in REGISTER["number"]}
    assert not tuned & set(REGISTER["untuned"])
    assert tuned | set(REGISTER["untuned"]) == set(names())


def test_its_kinds_and_sets_are_known_and_what_was_chosen_names_questions() -> None:
    for row in REGISTER["number"]:
        assert set(row) == {"system", "what", "kind", "sets", "training"}
        assert row["kind"] in ("fitted", "chosen", "known")
        assert set(row["sets"]) <= REPORTED
        assert row["sets"] or row["training"], row


def test_a_system_is_marked_where_a_set_was_in_view_and_nowhere_else() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    table = page.split("<!-- results -->")[1].split("<!-- / -->")[0]
    marked = {line.split("`")[1]: line.count("†") for line in table.splitlines() if line.startswith("| `")}
    assert {name: count for name, count in marked.items() if count} == {"mention_ppr": 6, "mention_chains": 6}
