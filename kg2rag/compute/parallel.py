"""Many independent pieces of work -> their results, in this process or by the workers of joblib.

`workers` says by whom, for everything in its block, wherever below it the work is: configurations of a sweep, shuffled
graphs, resamples. `map_pieces` is how these offer their work. No result depends on the workers, so they are part of no
configuration and of no key in the store.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from kg2rag.compute.hardware import threads

if TYPE_CHECKING:
    from tqdm import tqdm

Piece = TypeVar("Piece")
Result = TypeVar("Result")

BACKENDS = {"dask": "distributed", "loky": "joblib"}  # name -> the module it needs
EVERY = 10.0  # seconds between two lines where no bar can be drawn; work that takes less says nothing
_LIMITS = ("KG2RAG_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_ELSEWHERE: ContextVar[bool] = ContextVar("elsewhere", default=False)


@contextmanager
def workers(jobs: int = 0, backend: str = "loky", cluster: str | None = None) -> Iterator[int]:
    """Run the pieces of everything in this block by other processes; gives the number that run at a time.

    Parameters
    ----------
    jobs : processes, or pieces at a time on a cluster; 0 for one a processor, or all that the cluster has. 1 with
        loky: everything in this process.
    backend : "loky" (processes on this machine), or "dask": a local one is started, and ended on leaving, where
        `cluster` names none.
    cluster : address of a Dask scheduler that is running, such as "tcp://10.0.0.1:8786". Its workers need this version
        of kg2rag, and the same files under the same paths where pieces read any.

    ValueError: a backend that is unknown, not installed, or has no clusters; a negative number of jobs. OSError: nobody
    answers at `cluster`.
    """
    if backend not in BACKENDS:
        raise ValueError(f"Unknown backend {backend!r}. Known: {', '.join(BACKENDS)}.")
    if find_spec(BACKENDS[backend]) is None:
        raise ValueError(f"Backend {backend!r} needs {BACKENDS[backend]!r}: pip install kg2rag[scale].")
    if cluster is not None and backend == "loky":
        raise ValueError(f"Backend 'loky' runs on this machine alone, not on cluster {cluster!r}: give dask.")
    if jobs < 0:
        raise ValueError(f"jobs must be at least 0 (all processors), not {jobs}.")
    slots, options = jobs or threads(), dict[str, Any]()
    alone, share = backend == "loky" and slots == 1, str(max(1, threads() // slots))
    with ExitStack() as stack:
        stack.callback(_ELSEWHERE.reset, _ELSEWHERE.set(not alone))
        if alone:
            yield 1
            return
        import joblib

        # New processes learn their share of the threads from the environment; this one has read it already.
        for name in _LIMITS if cluster is None else ():
            before = os.environ.get(name)
            stack.callback(*((os.environ.pop, name) if before is None else (os.environ.__setitem__, name, before)))
            os.environ[name] = share
        if backend == "loky":
            from joblib.externals.loky import get_reusable_executor

            stack.callback(lambda: get_reusable_executor().shutdown(wait=True, kill_workers=True))
        else:
            from distributed import Client, LocalCluster

            local = {"threads_per_worker": 1, "dashboard_address": None, "memory_limit": None, "silence_logs": 50}
            address = cluster or stack.enter_context(LocalCluster(slots, host="127.0.0.1", **local))
            options["client"] = stack.enter_context(Client(address, set_as_default=False))
            there = sum(options["client"].ncores().values())
            slots = min(jobs or there, there)
        stack.enter_context(joblib.parallel_config(backend, n_jobs=slots, **options))
        yield slots


def has_workers() -> bool:
    """Whether pieces are run by other processes here."""
    return _ELSEWHERE.get()


def map_pieces(
    function: Callable[[Piece], Result], pieces: Iterable[Piece], progress: str = "", total: int | None = None
) -> Iterator[Result]:
    """The results of a function in the order of the pieces, each as soon as it and those before it have come.

    `function` depends on its piece alone, and is sent along with each; what is large it reads from files.
    `progress`, `total` : what a progress bar says, and of how many pieces; "" for none.
    BrokenProcessPool: a worker of loky died (killed, out of memory). Dask has errors of its own.
    """
    found: Iterator[Result] = map(function, pieces)
    if has_workers():
        import joblib

        found = joblib.Parallel(return_as="generator")(joblib.delayed(function)(piece) for piece in pieces)
    with progress_bar(total, progress, "piece", shown=bool(progress)) as shown:
        for result in found:
            shown.update()
            yield result


def progress_bar(total: int | None, what: str, unit: str, *, shown: bool = True) -> tqdm[Any]:
    """A bar on stderr, a line now and then where that is a file; TQDM_DISABLE=1 hides all."""
    from tqdm import tqdm

    drawn = sys.stderr.isatty() or "ipykernel" in sys.modules
    paced = {} if drawn else {"mininterval": EVERY, "maxinterval": EVERY, "delay": EVERY}
    hidden = not shown or bool(os.environ.get("TQDM_DISABLE"))
    return tqdm(total=total, desc=what, unit=unit, leave=False, disable=hidden, file=sys.stderr, **paced)
