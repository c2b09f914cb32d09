"""A second process on this machine: it imports what it will need at once, and makes calls beside the work of this one.

Python runs one thread at a time, so that seconds of imports and of statistics pass beside other work in another process
alone. What a call returns does not depend on where it is made.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib import import_module
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from kg2rag.compute.hardware import threads
from kg2rag.compute.pieces import has_workers

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Result = TypeVar("Result")
Given = ParamSpec("Given")


@contextmanager
def aside(there: Sequence[str] = (), here: Sequence[str] = ()) -> Iterator[None]:
    """Start a second process for the calls of `call_aside` in this block; it ends with the block.

    Where this process has one thread (see `threads`), none is started: calls are made here.

    Parameters
    ----------
    there : modules that the second process imports while it waits for the first call.
    here : modules that this process imports while it waits for the first result.
    """
    if threads() == 1:
        yield
        return
    context = multiprocessing.get_context("spawn")  # a forked one has the locks and threads of this one
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, os.getpid(), tuple(there)), daemon=True)
    process.start()
    theirs.close()
    second = _Second(ours, list(here))
    token = _SECOND.set(second)
    try:
        yield
    finally:
        _SECOND.reset(token)
        ours.close()
        process.kill()
        process.join()


def call_aside(function: Callable[Given, Result], *given: Given.args, **named: Given.kwargs) -> Callable[[], Result]:
    """Begin a call; what is returned waits for its result. Without a second process, that is when the call is made.

    Function, arguments and result are pickled. One call runs at a time: a second one first waits for the one before.
    Where the second process has died, the call is made here; also where `workers` run pieces, which take those of the
    call.
    """
    second = None if has_workers() else _SECOND.get()
    return _Call(function, given, named) if second is None else second.begin(_Call(function, given, named))


class _Call:
    """A call that has a result or an error, or has none yet."""

    def __init__(self, function: Callable[..., Any], given: Sequence[Any], named: dict[str, Any]) -> None:
        self.work = function, given, named
        self.second: _Second | None = None
        self.answer: tuple[Any, BaseException | None] | None = None

    def __call__(self) -> Any:
        if self.second is not None and self.second.current is self:
            self.second.finish()
        if self.answer is None:
            self.answer = _answer(*self.work)
        result, error = self.answer
        if error is not None:
            raise error
        return result


class _Second:
    """The second process as this one sees it: a connection, and the call that it is at."""

    def __init__(self, connection: Connection, here: list[str]) -> None:
        self.connection, self.here = connection, here
        self.current: _Call | None = None

    def begin(self, call: _Call) -> _Call:
        """Send a call."""
        self.finish()  # two that send at once would wait for each other where the pipe is full
        call.second, self.current = self, call
        with suppress(OSError):  # where it has died, `finish` leaves the call without an answer
            self.connection.send(call.work)
        return call

    def finish(self) -> None:
        """Wait for the answer to the current call, if any."""
        if self.current is None:
            return
        while self.here:
            import_module(self.here.pop())
        call, self.current = self.current, None
        try:
            call.answer = self.connection.recv()
        except (EOFError, OSError):
            call.answer = None


_SECOND: ContextVar[_Second | None] = ContextVar("second", default=None)


def _serve(connection: Connection, parent: int, modules: Sequence[str]) -> None:
    """Answer calls until this process is killed or its parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's, which then ends this process
    for name in modules:
        import_module(name)
    while os.getppid() == parent:
        try:
            work = connection.recv()
        except EOFError:
            return
        connection.send(_answer(*work))


def _answer(
    function: Callable[..., Any], given: Sequence[Any], named: dict[str, Any]
) -> tuple[Any, BaseException | None]:
    try:
        return function(*given, **named), None
    except Exception as error:  # noqa: BLE001 - raised where the result is asked for
        return None, error
