"""Independent pieces of work -> their results, in this process or by joblib's workers.

`workers` chooses the processes for all work in its block: configurations of a sweep, shuffled
graphs, resamples. `map_pieces` offers such work. No result depends on the workers, so they are part
of no configuration and of no key in the store.
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

BACKENDS = {"dask": "distributed", "loky": "joblib"}  # name -> the module that it needs
LINE_SECONDS = 10.0  # interval of progress lines where no bar can be drawn; shorter work prints none
_THREAD_VARIABLES = (
    "KG2RAG_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
)
_USES_PROCESSES: ContextVar[bool] = ContextVar("uses_processes", default=False)


@contextmanager
def workers(
    jobs: int = 0, backend: str = "loky", cluster: str | None = None
) -> Iterator[int]:
    """A block whose pieces of work run in other processes; yields the number of processes.

    Parameters
    ----------
    jobs : processes, or pieces at a time on a cluster; 0 is one for each processor, or as many as the cluster runs. 1
        with loky runs everything in this process.
    backend : "loky" (processes on this machine), or "dask": without `cluster`, a local cluster is started, and ended
        when the block is left.
    cluster : address of a running Dask scheduler, such as "tcp://10.0.0.1:8786". Its workers need this version of
        kg2rag, and the same files under the same paths if pieces read files.

    Raises
    ------
    ValueError : a backend that is unknown, not installed, or has no clusters; a negative number of jobs.
    OSError : nothing answers at `cluster`.
    """
    _check_workers(jobs, backend, cluster)
    slots = jobs or threads()
    is_in_process = backend == "loky" and slots == 1
    with ExitStack() as stack:
        stack.callback(_USES_PROCESSES.reset, _USES_PROCESSES.set(not is_in_process))
        if is_in_process:
            yield 1
            return
        import joblib

        if cluster is None:
            stack.enter_context(_thread_limits(max(1, threads() // slots)))
        options: dict[str, Any] = {}
        if backend == "loky":
            from joblib.externals.loky import get_reusable_executor

            stack.callback(
                lambda: get_reusable_executor().shutdown(wait=True, kill_workers=True)
            )
        else:
            client = stack.enter_context(_dask_client(cluster, slots))
            options["client"] = client
            available = sum(client.ncores().values())
            slots = min(jobs or available, available)
        stack.enter_context(joblib.parallel_config(backend, n_jobs=slots, **options))
        yield slots


def _check_workers(jobs: int, backend: str, cluster: str | None) -> None:
    """Raise the ValueError that `workers` describes."""
    if backend not in BACKENDS:
        raise ValueError(f"Unknown backend {backend!r}. Known: {', '.join(BACKENDS)}.")
    if find_spec(BACKENDS[backend]) is None:
        raise ValueError(
            f"Backend {backend!r} needs {BACKENDS[backend]!r}: pip install kg2rag[scale]."
        )
    if cluster is not None and backend == "loky":
        raise ValueError(
            f"Backend 'loky' runs only on this machine, not on cluster {cluster!r}. Use backend 'dask'."
        )
    if jobs < 0:
        raise ValueError(f"jobs must be at least 0 (all processors), not {jobs}.")


@contextmanager
def _thread_limits(count: int) -> Iterator[None]:
    """A block in which new processes use at most `count` threads; this process is unchanged."""
    former_values = {name: os.environ.get(name) for name in _THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, str(count)))
    try:
        yield
    finally:
        for name, value in former_values.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@contextmanager
def _dask_client(cluster: str | None, slots: int) -> Iterator[Any]:
    """A Dask client of the cluster at an address, or of a new one with `slots` processes."""
    from distributed import Client, LocalCluster

    with ExitStack() as stack:
        address: Any = cluster
        if cluster is None:
            options = {
                "threads_per_worker": 1,
                "dashboard_address": None,
                "memory_limit": None,
                "silence_logs": 50,
            }
            address = stack.enter_context(
                LocalCluster(slots, host="127.0.0.1", **options)
            )
        yield stack.enter_context(Client(address, set_as_default=False))


def has_workers() -> bool:
    """Whether other processes run the pieces of work in this block."""
    return _USES_PROCESSES.get()


def map_pieces(
    function: Callable[[Piece], Result],
    pieces: Iterable[Piece],
    progress: str = "",
    total: int | None = None,
) -> Iterator[Result]:
    """The results of a function in the order of the pieces, each as soon as possible.

    BrokenProcessPool: a worker of loky died (killed, out of memory). Dask raises other errors.

    Parameters
    ----------
    function : depends only on its piece. It is sent along with each piece, so large inputs belong in files.
    progress, total : label of a progress bar, "" for none, and the number of pieces.
    """
    results: Iterator[Result] = map(function, pieces)
    if has_workers():
        import joblib

        results = joblib.Parallel(return_as="generator")(
            joblib.delayed(function)(piece) for piece in pieces
        )
    with progress_bar(total, progress, "piece", shown=bool(progress)) as bar:
        for result in results:
            bar.update()
            yield result


def progress_bar(
    total: int | None, label: str, unit: str, *, shown: bool = True
) -> tqdm[Any]:
    """A progress bar on stderr, or lines if stderr is a file; TQDM_DISABLE=1 hides both."""
    from tqdm import tqdm

    options: dict[str, Any] = {}
    if not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        options = dict.fromkeys(("mininterval", "maxinterval", "delay"), LINE_SECONDS)
    is_hidden = not shown or bool(os.environ.get("TQDM_DISABLE"))
    return tqdm(
        total=total,
        desc=label,
        unit=unit,
        leave=False,
        disable=is_hidden,
        file=sys.stderr,
        **options,
    )
