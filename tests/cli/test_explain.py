"""`kg2rag explain`, as a user starts it, on the bundled set."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from kg2rag.cli import app
from kg2rag.compute import Store


@pytest.fixture(scope="module")
def store(session_store: Store) -> Path:
    return session_store.root


def explain(store: Path, *arguments: str) -> str:
    done = CliRunner().invoke(
        app, ["explain", "bundled", *arguments], env={"KG2RAG_STORE": str(store), "COLUMNS": "140"}
    )
    if done.exception is not None:
        raise done.exception
    return done.stdout


def test_two_systems_are_shown_with_gold_stages_and_sums(store: Path, tmp_path: Path) -> None:
    page = tmp_path / "deep" / "page.html"
    shown = explain(store, "q001", "--systems", "bm25,hybrid", "--k", "2", "--html", str(page))
    assert "gold: fastapi-3" in shown
    assert "── bm25 ──" in shown
    assert "── hybrid ──" in shown
    assert "(bm25)" in shown
    assert "/ (60 + " in shown
    assert "◆ gold fastapi-3: at rank" in shown
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert f"Page: {page}" in shown


def test_a_new_question_goes_to_one_system_with_its_parameters(store: Path) -> None:
    shown = explain(store, "What is Redis?", "--systems", "bm25", "--set", "bm25.k1=0.0", "--k", "1")
    assert "not known: the question is new to the set" in shown
    assert "redis" in shown.lower()


def test_an_unknown_id_is_refused_and_known_ones_are_named(store: Path) -> None:
    with pytest.raises(ValueError, match=r"bundled has no question 'q9999'. Ids look like q"):
        explain(store, "q9999", "--systems", "bm25")


def test_an_unknown_system_is_refused(store: Path) -> None:
    with pytest.raises(ValueError, match="Unknown system 'nope'"):
        explain(store, "q001", "--systems", "nope")
