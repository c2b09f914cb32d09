"""Pieces of work give the same results whoever runs them, killed workers included."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from kg2rag.compute import WorkerDiedError, has_workers, in_order, run_pieces, workers
from kg2rag.compute.backends import BACKENDS

ENGINES = [pytest.param(name, marks=[pytest.mark.slow] * (name == "ray"), id=name) for name in sorted(BACKENDS)]
PIECES = range(12)
SQUARES = [piece * piece for piece in PIECES]


@pytest.fixture(scope="module", params=ENGINES)
def pool(request: pytest.FixtureRequest) -> Iterator[str]:
    """Two workers of each engine in turn."""
    with workers(2, request.param) as slots:
        assert slots == 2
        yield request.param


def deadly_for(number: int, marks: Path, times: int) -> Callable[[int], int]:
    """A function that kills the process of one piece, the first so many times that it is called for it."""

    def function(piece: int) -> int:
        deaths = len(list(marks.iterdir()))
        if piece == number and deaths < times:
            (marks / str(deaths)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return piece * piece

    return function


def test_pieces_run_in_other_processes(pool: str) -> None:
    assert has_workers()
    processes = {process for _, process in run_pieces(lambda _: os.getpid(), PIECES)}
    assert os.getpid() not in processes


def test_every_piece_gives_its_result_once(pool: str) -> None:
    assert sorted(run_pieces(lambda piece: piece * piece, PIECES)) == list(zip(PIECES, SQUARES, strict=True))
    assert list(in_order(run_pieces(lambda piece: piece * piece, PIECES))) == SQUARES
    assert list(run_pieces(lambda piece: piece * piece, [])) == []


def test_a_piece_whose_worker_is_killed_runs_again(pool: str, tmp_path: Path) -> None:
    assert list(in_order(run_pieces(deadly_for(5, tmp_path, times=1), PIECES))) == SQUARES
    assert len(list(tmp_path.iterdir())) == 1


def test_a_piece_that_kills_every_worker_is_named(pool: str, tmp_path: Path) -> None:
    pieces = run_pieces(deadly_for(1, tmp_path, times=9), range(3), lambda piece: f"piece {piece}")
    with pytest.raises(WorkerDiedError, match=r"The worker of piece 1 died each of the 3 times"):
        list(pieces)
    assert len(list(tmp_path.iterdir())) == 3
    assert list(in_order(run_pieces(lambda piece: piece * piece, PIECES))) == SQUARES  # the pool has recovered


def test_an_error_of_the_function_arrives_as_it_is(pool: str) -> None:
    def refuse(piece: int) -> int:
        if piece == 3:
            raise KeyError("there is no three")
        return piece

    with pytest.raises(KeyError, match="there is no three"):
        list(run_pieces(refuse, PIECES))


def test_pieces_are_taken_as_there_is_room(pool: str) -> None:
    taken = []

    def endless() -> Iterator[int]:
        for number in count():
            taken.append(number)
            yield number

    found = run_pieces(lambda piece: piece * piece, endless())
    next(found)
    found.close()
    assert len(taken) == 4


def test_without_workers_pieces_run_here_one_by_one() -> None:
    taken = []

    def note(piece: int) -> tuple[int, int]:
        taken.append(piece)
        return piece, os.getpid()

    with workers(1) as slots:
        assert slots == 1
        assert not has_workers()
        found = run_pieces(note, count())
        assert [next(found) for _ in range(3)] == [(number, (number, os.getpid())) for number in range(3)]
    assert taken == [0, 1, 2]


def test_workers_end_with_their_block() -> None:
    with workers(2):
        [process] = {process for _, process in run_pieces(lambda _: os.getpid(), range(1))}
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backend": "spark"}, "Unknown backend 'spark'. Known: dask, loky, ray."),
        ({"jobs": -1}, "jobs must be at least 0 (all processors), not -1."),
        ({"cluster": "tcp://10.0.0.1:8786"}, "not on cluster 'tcp://10.0.0.1:8786': give dask or ray."),
    ],
)
def test_impossible_workers_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)), workers(**options):  # type: ignore[arg-type]
        pass


def test_a_backend_that_is_not_installed_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kg2rag.compute.backends.find_spec", lambda _: None)
    message = r"'dask' needs the package 'distributed', .*pip install kg2rag\[scale\]"
    with pytest.raises(ValueError, match=message), workers(2, "dask"):
        pass
