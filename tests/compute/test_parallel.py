"""Pieces of work give the same results with every backend, and a bar shows their progress."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from itertools import count

import pytest

from kg2rag.compute import has_workers, map_pieces, parallel, threads, workers
from kg2rag.compute.parallel import BACKENDS

PIECES = range(12)
SQUARES = [piece * piece for piece in PIECES]


@pytest.fixture(scope="module", params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """Two workers of each engine in turn."""
    with workers(2, request.param) as slots:
        assert slots == 2
        yield request.param


def test_pieces_run_in_other_processes_and_give_their_results_in_order(
    backend: str,
) -> None:
    assert has_workers()
    assert os.getpid() not in set(map_pieces(lambda _: os.getpid(), PIECES))
    assert list(map_pieces(lambda piece: piece * piece, PIECES)) == SQUARES
    assert list(map_pieces(lambda piece: piece * piece, [])) == []


def test_a_worker_has_its_share_of_the_threads(backend: str) -> None:
    assert set(map_pieces(lambda _: os.environ["KG2RAG_THREADS"], PIECES)) == {
        str(max(1, threads() // 2))
    }


def test_without_workers_pieces_run_here_one_by_one() -> None:
    with workers(1) as slots:
        assert slots == 1
        assert not has_workers()
        found = map_pieces(lambda piece: (piece, os.getpid()), count())
        assert [next(found) for _ in range(3)] == [
            (number, os.getpid()) for number in range(3)
        ]


def test_workers_end_with_their_block() -> None:
    with workers(2):
        [process] = set(map_pieces(lambda _: os.getpid(), range(1)))
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_a_dask_cluster_that_is_running_is_joined_and_left_running() -> None:
    from distributed import Client, LocalCluster

    with LocalCluster(
        1,
        threads_per_worker=2,
        host="127.0.0.1",
        dashboard_address=None,
        silence_logs=50,
    ) as cluster:
        with workers(0, "dask", cluster.scheduler_address) as slots:
            assert slots == 2
            assert list(map_pieces(lambda piece: piece * piece, PIECES)) == SQUARES
        with Client(cluster, set_as_default=False) as other:
            assert other.submit(lambda: 1).result() == 1


@pytest.mark.parametrize(
    "options",
    [{"backend": "spark"}, {"jobs": -1}, {"cluster": "tcp://10.0.0.1:8786"}],
    ids=str,
)
def test_impossible_workers_are_refused(
    options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        pytest.raises(ValueError, match=str(next(iter(options.values())))),
        workers(**options),
    ):  # type: ignore[arg-type]
        pass
    monkeypatch.setattr("kg2rag.compute.parallel.find_spec", lambda _: None)
    with pytest.raises(ValueError, match=r"kg2rag\[scale\]"), workers(2, "dask"):
        pass


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def said(
    monkeypatch: pytest.MonkeyPatch,
    stream: io.StringIO,
    steps: int = 3,
    *,
    shown: bool = True,
) -> str:
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    monkeypatch.setattr(sys, "stderr", stream)
    # another test may have imported it
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    with parallel.progress_bar(steps, "dense", "query", shown=shown) as bar:
        for _ in range(steps):
            bar.update()
    return stream.getvalue()


def test_a_pipe_gets_what_took_long_where_it_is_to_be_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert said(monkeypatch, io.StringIO()) == ""  # done at once
    monkeypatch.setattr(parallel, "LINE_SECONDS", 0.0)
    assert "3/3" in said(monkeypatch, io.StringIO())
    assert "dense:   0%|" in said(monkeypatch, Terminal())
    assert (
        said(monkeypatch, io.StringIO(), shown=False)
        == said(monkeypatch, Terminal(), shown=False)
        == ""
    )
