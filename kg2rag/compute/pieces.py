"""Many independent pieces of work -> their results, here or by workers.

`workers` says by whom, for everything in its block, wherever below it the work is: encoding, finding mentions,
configurations of a sweep, shuffled graphs, resamples. `run_pieces` is how these offer their work. Nothing that is
computed depends on the workers, so they are part of no configuration and of no key in the store.
"""

from __future__ import annotations

import reprlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, TypeVar

from kg2rag.compute.backends import TRIES, Pool, check_backend, opened
from kg2rag.compute.hardware import threads

Piece = TypeVar("Piece")
Result = TypeVar("Result")

_POOL: ContextVar[Pool | None] = ContextVar("pool", default=None)


class WorkerDiedError(RuntimeError):
    """A piece of work ended its worker every time that it was run."""


@contextmanager
def workers(jobs: int = 0, backend: str = "loky", cluster: str | None = None) -> Iterator[int]:
    """Run the pieces of everything in this block by other processes; gives the number that run at a time.

    Parameters
    ----------
    jobs : processes, or pieces at a time on a cluster; 0 for one a processor, or all that the cluster has. 1 with
        loky: everything in this process.
    backend : "loky" (processes on this machine), "dask" or "ray": a local one is started, and ended on leaving, where
        the session has none and `cluster` names none.
    cluster : address of one that is running, such as "tcp://10.0.0.1:8786" (Dask), or "10.0.0.1:6379" or "auto" (Ray).
        Its workers need this version of kg2rag, and the same files under the same paths where pieces read any.

    Raises
    ------
    ValueError : a backend that is unknown, not installed, or has no clusters; a negative number of jobs.
    ConnectionError : nobody answers at `cluster`.
    """
    check_backend(backend, cluster)
    if jobs < 0:
        raise ValueError(f"jobs must be at least 0 (all processors), not {jobs}.")
    with ExitStack() as stack:
        alone = backend == "loky" and (jobs or threads()) == 1
        pool = None if alone else stack.enter_context(opened(backend, jobs, cluster))
        token = _POOL.set(pool)
        stack.callback(_POOL.reset, token)
        yield pool.slots if pool else 1


def has_workers() -> bool:
    """Whether pieces are run by other processes here."""
    return _POOL.get() is not None


def run_pieces(
    function: Callable[[Piece], Result], pieces: Iterable[Piece], describe: Callable[[Piece], str] = reprlib.repr
) -> Iterator[tuple[int, Result]]:
    """(number of a piece, its result), in the order in which pieces finish; without workers one by one, in order.

    A piece whose worker dies (killed, out of memory) is run again on another. At most twice as many pieces as run at a
    time are taken from `pieces` ahead. Closing the iterator, as an interrupt does, abandons what is running.

    Parameters
    ----------
    function : of a piece, and of nothing that changes: it may be called again for the same piece, in any process. It
        is sent along with each piece, as are its arguments where it is a `functools.partial`: what is large is read
        from files there.
    describe : a piece -> what to call it in an error.

    Raises
    ------
    WorkerDiedError : a piece ended its worker each time it was run.
    Exception : what the function raises; the remaining pieces are abandoned.
    """
    pool = _POOL.get()
    if pool is None:
        for number, piece in enumerate(pieces):
            yield number, function(piece)
        return
    run = _Run(pool, function, describe)
    try:
        yield from run.results(enumerate(pieces))
    finally:
        if run.running:
            pool.abandon(list(run.running))


class _Run:
    """The pieces that a pool is running, and those to be run again.

    When a worker dies, engines report every piece that it had been given, at loky even those of all workers. So a piece
    is blamed only where a worker dies while it runs alone, which is its last try.
    """

    def __init__(self, pool: Pool, function: Callable[[Any], Any], describe: Callable[[Any], str]) -> None:
        self.pool, self.function, self.describe = pool, function, describe
        self.running: dict[Future[Any], _Try] = {}
        self.again: deque[_Try] = deque()
        self.alone: deque[_Try] = deque()

    def results(self, pieces: Iterator[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
        """Each piece's number and result, as it finishes."""
        fresh = (_Try(number, piece) for number, piece in pieces)
        while True:
            while self.alone and not self.running:
                self._submit(self.alone.popleft())
                yield from self._finished()
            room = 0 if self.alone else 2 * self.pool.slots - len(self.running)
            for one in islice(chain(self._drained(), fresh), room):
                self._submit(one)
            if not (self.running or self.alone):
                return
            yield from self._finished()

    def _drained(self) -> Iterator[_Try]:
        while self.again:
            yield self.again.popleft()

    def _submit(self, one: _Try) -> None:
        try:
            future = self.pool.submit(self.function, one.piece)
        except self.pool.died as error:  # noticed only now
            future = Future()
            future.set_exception(error)
        self.running[future] = one

    def _finished(self) -> Iterator[tuple[int, Any]]:
        for future in wait(self.running, return_when=FIRST_COMPLETED).done:
            one = self.running.pop(future)
            error = future.exception()
            if error is None:
                yield one.number, future.result()
            elif isinstance(error, self.pool.died):
                self._died(one, error)
            else:
                raise error

    def _died(self, one: _Try, error: BaseException) -> None:
        again = replace(one, deaths=one.deaths + 1)
        if again.deaths < TRIES - 1:
            self.again.append(again)
        elif again.deaths < TRIES:
            self.alone.append(again)
        else:
            raise WorkerDiedError(
                f"The worker of {self.describe(one.piece)} died each of the {TRIES} times that it was run: killed from "
                "outside, short of memory, or ended by a fault in compiled code. Run fewer at a time (jobs)."
            ) from error


@dataclass(frozen=True)
class _Try:
    """A piece and how many workers died while they had it."""

    number: int
    piece: Any
    deaths: int = 0


def in_order(numbered: Iterable[tuple[int, Result]]) -> Iterator[Result]:
    """The results of `run_pieces` in the order of the pieces, each as soon as those before it have come.

    >>> list(in_order([(1, "b"), (0, "a"), (2, "c")]))
    ['a', 'b', 'c']
    """
    waiting: dict[int, Result] = {}
    due = 0
    for number, result in numbered:
        waiting[number] = result
        while due in waiting:
            yield waiting.pop(due)
            due += 1
