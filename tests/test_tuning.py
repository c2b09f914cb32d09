"""What was chosen by looking at questions names systems and sets that exist, and how many variants were compared."""

from __future__ import annotations

import pages
import pytest
import studies

from kg2rag.retrievers.systems import SYSTEMS

REPORTED = {
    "musique-100",
    "hotpotqa-300",
    "2wiki-1000",
    "2wiki-kg-500",
    "cosqa-500",
    "scifact",
    "docs",
    "medical",
    "news",
}


def test_what_was_chosen_names_a_system_its_questions_and_the_variants() -> None:
    assert studies.register()
    for row in studies.register():
        assert row.system in SYSTEMS
        assert row.kind in ("fitted", "chosen", "known")
        assert row.variants is None or row.variants > 0
        assert set(row.sets) <= REPORTED
        assert row.sets or row.training, row


@pytest.mark.parametrize(
    ("system", "number"),
    [("graph_augmented", "depth"), ("confidence_gated", "passage_score")],
)
def test_numbers_that_were_chosen_while_scores_on_reported_sets_were_known_carry_their_mark(
    system: str, number: str
) -> None:
    (row,) = (
        row
        for row in studies.register()
        if row.system == system and row.what.startswith(number)
    )
    assert (row.kind, row.variants) == ("known", 10)
    declared = [
        study
        for study in studies.read().values()
        if study.folder.name.endswith(tuple(row.sets))
    ]
    compared = [study for study in declared if system in study.config["systems"]]
    assert compared
    assert all(system in study.marked for study in compared)


def test_the_page_has_every_row_of_the_register() -> None:
    text = pages.tuning()
    for row in studies.register():
        compared = "not counted" if row.variants is None else str(row.variants)
        assert any(
            all(part in line for part in (row.system, row.what, compared))
            for line in text.splitlines()
        )
