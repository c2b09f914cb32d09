"""Calls made by a second process return what they return here."""

from __future__ import annotations

import multiprocessing
import operator
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kg2rag.cli import app
from kg2rag.compute import aside, call_aside


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The tests run with one, for which no second process is started."""
    monkeypatch.setattr("kg2rag.compute.second_process.threads", lambda: 2)
    yield
    assert not multiprocessing.active_children()


@pytest.mark.usefixtures("two_threads")
def test_a_call_is_made_by_another_process() -> None:
    with aside():
        other = call_aside(os.getpid)()
        assert call_aside(os.getpid)() == other
    assert other != os.getpid()


def test_without_a_block_or_a_thread_to_spare_it_is_made_here(monkeypatch: pytest.MonkeyPatch) -> None:
    assert call_aside(os.getpid)() == os.getpid()
    monkeypatch.setattr("kg2rag.compute.second_process.threads", lambda: 1)
    with aside():
        assert call_aside(os.getpid)() == os.getpid()


@pytest.mark.usefixtures("two_threads")
def test_results_may_be_asked_for_in_any_order_more_than_once_and_after_the_block() -> None:
    with aside(there=("fractions",), here=("colorsys",)):
        first, last = call_aside(operator.mul, 6, 7), call_aside(sorted, [2, 3, 1], reverse=True)
        never_asked_for = call_aside(os.getpid)
        assert (last(), first(), last()) == ([3, 2, 1], 42, [3, 2, 1])
    assert "colorsys" in sys.modules
    assert first() == 42
    assert never_asked_for() == os.getpid()


@pytest.mark.usefixtures("two_threads")
def test_large_calls_and_results_do_not_wait_for_each_other() -> None:
    many = list(range(200_000))  # far more than a pipe holds
    with aside():
        calls = [call_aside(sorted, many, reverse=True) for _ in range(3)]
        assert [call()[0] for call in calls] == [199_999] * 3


@pytest.mark.usefixtures("two_threads")
def test_an_error_is_raised_where_the_result_is_asked_for() -> None:
    with aside():
        call = call_aside(int, "forty-two")
        assert call_aside(int, "42")() == 42
        with pytest.raises(ValueError, match="forty-two"):
            call()


@pytest.mark.usefixtures("two_threads")
def test_where_the_second_process_has_died_calls_are_made_here() -> None:
    with aside():
        os.kill(call_aside(os.getpid)(), signal.SIGKILL)
        multiprocessing.active_children()[0].join()
        assert call_aside(os.getpid)() == os.getpid()


@pytest.mark.usefixtures("two_threads")
def test_a_comparison_has_the_same_bytes_either_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def written(folder: Path) -> dict[str, bytes]:
        options = ["--systems", "bm25,rerank", "--set", "rerank.retriever=bm25", "--limit", "30", "--out", str(folder)]
        result = CliRunner().invoke(app, ["compare", "bundled", *options], catch_exceptions=False)
        assert result.exit_code == 0
        return {file.name: file.read_bytes() for file in folder.iterdir() if file.suffix in (".csv", ".parquet")}

    beside = written(tmp_path / "beside")
    monkeypatch.setattr("kg2rag.compute.second_process.threads", lambda: 1)
    assert written(tmp_path / "here") == beside
    assert "scores.csv" in beside
