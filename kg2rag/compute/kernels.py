"""A function with parallel loops -> a compiled one that may be called from several threads and in forked processes.

Of numba's threading layers, workqueue aborts the process where two threads run parallel loops at once, and GNU OpenMP
ends any forked process that runs one after its parent has. So calls take turns where the layer needs it, and in the
child of a process that has such threads the same function runs without threads: the results are the same bytes.
Loops of other libraries (ranx compiles some) do not take turns with ours.

A function whose arithmetic is written eight numbers side by side is compiled with LLVM's vectoriser of straight-line
code, which numba leaves off: eight float64 are one register, and every number has the operations it had, in order.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

import numba
from numba.core.compiler_lock import global_compiler_lock

from kg2rag.compute.hardware import limit_numba

limit_numba()

ALONE = "workqueue"
"""The layer that only one thread may use at a time."""
_turns = threading.Lock()
_forked: list[int] = []
"""This process, where its parent has started numba's threads, as `limit_numba` does; else empty."""

if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=lambda: _forked.append(os.getpid()))


def has_threads() -> bool:
    """Whether numba's parallel loops can be run in this process."""
    return not _forked or numba.threading_layer() == ALONE


class Kernel:
    """A function compiled with parallel loops and, where it is needed, without; each when it is first called.

    Parameters
    ----------
    lanes : its arithmetic is written side by side, for one register.

    Attributes
    ----------
    serial : the function without threads, which other kernels may call.
    """

    def __init__(self, function: Callable[..., Any], *, lanes: bool = False) -> None:
        self.__doc__ = function.__doc__
        self._parallel = numba.njit(cache=True, parallel=True)(function)
        self.serial = numba.njit(cache=True)(_twin(cast("FunctionType", function)))
        if lanes:
            for dispatcher in (self._parallel, self.serial):
                dispatcher.compile = _side_by_side(dispatcher.compile)

    def __call__(self, *arguments: Any) -> Any:
        """What the function returns."""
        if _forked:
            return self.serial(*arguments)
        if numba.threading_layer() != ALONE:
            return self._parallel(*arguments)
        with _turns:
            return self._parallel(*arguments)


def _side_by_side(compile_one: Callable[..., Any]) -> Callable[..., Any]:
    """Compile with straight-line code vectorised; numba's setting is the process's, so it is put back."""

    def compiled(signature: object) -> Any:
        with global_compiler_lock:
            before, numba.config.SLP_VECTORIZE = numba.config.SLP_VECTORIZE, 1
            try:
                return compile_one(signature)
            finally:
                numba.config.SLP_VECTORIZE = before

    return compiled


def _twin(function: FunctionType) -> Any:
    """The same function by another name: numba's cache tells functions apart by name and place, not by `parallel`."""
    name = f"{function.__name__}_serial"
    twin = FunctionType(function.__code__, function.__globals__, name, function.__defaults__, function.__closure__)
    twin.__qualname__, twin.__module__ = name, function.__module__
    return twin
