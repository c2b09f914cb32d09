"""Docstrings as this project writes them, in Markdown and in reStructuredText."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

SITE = Path(__file__).resolve().parent.parent / "docs" / "site"
DOCSTRING = """Query -> passages.

    It drops *nothing*:

    Parameters
    ----------
    depth : how many hits are read; all
        of them are kept.
    low, high : bounds of a|b, see `Dense`.

    Returns
    -------
    Rows, and
    their scores.

    Raises
    ------
    ValueError : an unknown name_.
    """


@pytest.fixture
def docstrings(monkeypatch: pytest.MonkeyPatch) -> object:
    pytest.importorskip("numpydoc", reason="the extra `docs` is not installed")
    monkeypatch.syspath_prepend(str(SITE))
    sys.modules.pop("docstrings", None)
    return pytest.importorskip("docstrings")


def test_a_meaning_that_goes_on_below_is_one_text(docstrings) -> None:  # type: ignore[no-untyped-def]
    assert docstrings.listed(docstrings.parsed(DOCSTRING), "Parameters") == {
        "depth": "how many hits are read; all of them are kept.",
        "low, high": "bounds of a|b, see `Dense`.",
    }


def test_fields_are_written_for_autodoc_and_marks_mean_themselves(docstrings) -> None:  # type: ignore[no-untyped-def]
    text = "\n".join(docstrings.restructured(DOCSTRING.splitlines()))
    assert r"It drops \*nothing\*:" in text
    assert r":param low, high: bounds of a\|b, see `Dense`." in text
    assert ":returns: Rows, and their scores." in text
    assert r":raises ValueError: an unknown name\_." in text


def test_a_list_and_references_are_set_apart(docstrings) -> None:  # type: ignore[no-untyped-def]
    told = "Ours:\n- one, which\n  goes on\n- two\n[1] A paper.\n[2] Another."
    assert docstrings.prose(told).split("\n\n") == [
        "Ours:",
        "- one, which\n  goes on\n- two",
        "[1] A paper.",
        "[2] Another.",
    ]
