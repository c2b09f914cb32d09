"""A block of code -> the outside inputs of the user's code in it: files, networks, random numbers.

Python reports such events to an audit hook (PEP 578). An event counts if the innermost code that is
not a library's is the user's; the files that this package reads, such as models and its store, are
already part of the key. A test whether a file exists raises no event, so the functions for it are
wrapped while a watch is open. The clock is not watched, nor are files that compiled code opens
without Python, for which `identity` raises an error.
"""

from __future__ import annotations

import linecache
import os
import random
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, wraps
from pathlib import Path
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from kg2rag.evaluation.module_files import PACKAGE, Origin, file_origin, module_origin
from kg2rag.knowledge import KnowledgeBase

BUILT_BY = "built by "
"""Prefix of the counts of parts that a module built; see `KnowledgeBase.usage`."""
_QUERIES: dict[str, Callable[..., Any]] = {
    "stat": os.stat,
    "lstat": os.lstat,
    "access": os.access,
}
"""The functions by which Python tests whether a file exists, and its size and age."""
_PROGRAMS = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.fork",
)
_REASONS = {
    "os.listdir": "it lists the folder {subject}",
    "os.scandir": "it lists the folder {subject}",
    **dict.fromkeys(_PROGRAMS, "it starts another program ({event})"),
    "socket.connect": "it opens a connection ({event})",
    "socket.getaddrinfo": "it opens a connection ({event})",
    "urllib.Request": "it opens a connection ({event})",
}
"""Event -> why the results of a block in which it occurs cannot be kept."""
_thread = threading.local()
_watches: list[Watch] = []
"""The open watches of this process; every event is reported to each."""


@dataclass
class Watch:
    """The reads of a system's code of the user's while some blocks of a run are computed.

    known_files : files whose content is known, so that they may be read.
    memos : functions with `functools.cache`, and knowledge bases, that may hold results of the
    user's code.
    unknown : in words, what else was read.
    read_known : whether any of the known files was read.
    """

    known_files: Collection[Path]
    memos: Collection[Any]
    unknown: dict[str, None] = field(default_factory=dict)
    read_known: bool = False

    @property
    def reason(self) -> str:
        """Why the results cannot be kept; "" if they can."""
        return next(iter(self.unknown), "")

    def opened(self, path: Path) -> None:
        """Note a file that was opened to be read, or whose existence was tested."""
        if path in self.known_files:
            self.read_known = True
        elif str(path) not in (os.devnull, "/dev/urandom"):
            self.unknown[f"it reads {path}, which is none of its parameters"] = None

    @contextmanager
    def block(self) -> Iterator[None]:
        """A context in which the outside inputs of the user's code are noted."""
        _add_hook()
        former_states = _random_states()
        _watches.append(self)
        for name, function in _QUERIES.items():
            setattr(os, name, _reporting(function))
        try:
            yield
        finally:
            _watches.remove(self)
            if not _watches:
                for name, function in _QUERIES.items():
                    setattr(os, name, function)
            for name, state in _random_states().items():
                if state != former_states[name]:
                    reason = (
                        f"it draws from {name}, whose state other code may have changed"
                    )
                    self.unknown[reason] = None

    def empty_memos(self) -> None:
        """Empty the memos with results that were not watched, or were computed from files.

        The results are computed again, under watch.
        """
        for memo in self.memos:
            modules = _user_modules(memo)
            if _computed(memo, modules) == _watched_counts.get(memo, 0):
                continue
            if isinstance(memo, KnowledgeBase):
                memo.forget(modules)
            else:
                memo.cache_clear()

    def note_memos(self) -> None:
        """Note that the memos were filled under watch, unless outside inputs were read."""
        if not self.unknown and not self.read_known:
            for memo in self.memos:
                _watched_counts[memo] = _computed(memo, _user_modules(memo))


def _reporting(function: Callable[..., Any]) -> Callable[..., Any]:
    """A wrapper of a function of a path that reports the paths passed by the user's code."""

    @wraps(function)
    def reporting(path: Any, *arguments: Any, **keywords: Any) -> Any:
        _report_path(path)
        return function(path, *arguments, **keywords)

    return reporting


def _random_states() -> dict[str, Any]:
    """Name of each global generator of random numbers -> its state."""
    kind, keys, *position = np.random.get_state()  # noqa: NPY002 - whether anybody else draws from it
    return {
        "the random module": random.getstate(),
        "numpy.random": (kind, np.asarray(keys).tobytes(), *position),
    }


@cache  # once a process: hooks cannot be removed
def _add_hook() -> None:
    """Add the audit hook to this process."""
    sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    """Report an audit event of the user's code to all open watches."""
    if not _watches:
        return
    if event == "open":
        path, mode, flags = arguments
        if _is_read(mode, flags):
            _report_path(path)
    elif event == "sqlite3.connect" and arguments[0] != ":memory:":
        _report_path(arguments[0])
    elif event in _REASONS and _is_by_user():
        subject = next(iter(arguments), None) or "."
        for watch in _watches:
            reason = _REASONS[event].format(event=event, subject=subject)
            watch.unknown[reason] = None


def _report_path(path: Any) -> None:
    """Report a file that the user's code opens or tests; a number is a file that is already open."""
    if isinstance(path, int) or not _is_by_user():
        return
    absolute_path = Path(os.fsdecode(path)).absolute()
    for watch in _watches:
        watch.opened(absolute_path)


def _is_read(mode: str | None, flags: int) -> bool:
    """Whether a file is opened to be read."""
    if mode is None:  # of os.open
        return flags & (os.O_WRONLY | os.O_RDWR) != os.O_WRONLY
    return "r" in mode or "+" in mode


def _is_by_user() -> bool:
    """Whether the innermost frame outside libraries has code of the user."""
    # The answer to this question reads files, too.
    if getattr(_thread, "is_asking", False):
        return False
    _thread.is_asking = True
    try:
        return _innermost_origin(sys._getframe(2)) == "user"
    finally:
        _thread.is_asking = False


def _innermost_origin(frame: FrameType | None) -> Origin:
    """The origin of the innermost frame outside libraries, from `frame` on outwards."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith("<frozen importlib") or file == linecache.__file__:
            return "library"  # an import, or a warning that quotes a line of code
        origin = _frame_origin(frame)
        if file != __file__ and origin != "library":
            # Rooms of this package that do not rank are no code of the user here.
            if PACKAGE in Path(file).parents:
                return "package"
            return origin
        frame = frame.f_back
    return "library"


def _frame_origin(frame: FrameType) -> Origin:
    """The origin of a frame's code; generated code, such as a constructor, is its module's."""
    file = frame.f_code.co_filename
    if file.startswith("<"):
        return module_origin(frame.f_globals.get("__name__", "__main__"))
    return file_origin(file)


_watched_counts: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
"""Memo -> number of its computed results after a run without outside inputs."""


def _user_modules(memo: Any) -> list[str]:
    """The user's modules whose functions have built parts of a knowledge base."""
    if not isinstance(memo, KnowledgeBase):
        return []
    modules = [
        name.removeprefix(BUILT_BY) for name in memo.usage if name.startswith(BUILT_BY)
    ]
    return [module for module in modules if module_origin(module) == "user"]


def _computed(memo: Any, modules: Iterable[str]) -> int:
    """The number of results that a memo has computed so far."""
    if isinstance(memo, KnowledgeBase):
        return sum(memo.usage[BUILT_BY + module] for module in modules)
    misses: int = memo.cache_info().misses
    return misses
