"""A bar is drawn in a terminal and a notebook; a pipe gets it now and then."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest

from kg2rag.compute import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def said(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, steps: int = 3, *, shown: bool = True) -> str:
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)  # another test may have imported it
    with progress.bar(steps, "dense", "query", shown=shown) as bar:
        for _ in range(steps):
            bar.update()
    return stream.getvalue()


def test_a_pipe_gets_what_took_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.0)
    assert "3/3" in said(monkeypatch, io.StringIO())


def test_a_pipe_hears_nothing_of_what_is_done_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(monkeypatch, io.StringIO()) == ""


def test_a_terminal_gets_a_bar_that_leaves_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = said(monkeypatch, Terminal())
    assert "dense:   0%|" in drawn
    assert "\n" not in drawn


def test_what_is_not_to_be_shown_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.0)
    assert said(monkeypatch, io.StringIO(), shown=False) == ""
    assert said(monkeypatch, Terminal(), shown=False) == ""


def test_no_bar_is_drawn_where_the_environment_says_so() -> None:
    asked = (
        "from kg2rag.compute.progress import bar; print([bar(3, 'a', 'b', shown=shown).disable for shown in (1, 0)])"
    )
    for value, disabled in (("1", "[True, True]"), ("", "[False, True]")):
        environment = {**os.environ, "TQDM_DISABLE": value}
        done = subprocess.run(
            [sys.executable, "-c", asked], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == disabled
