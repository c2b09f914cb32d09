"""The engines that run pieces of work in other processes: loky on this machine, Dask and Ray here or on a cluster.

Each is opened as a `Pool`, whose futures are those of `concurrent.futures`: what an engine adds to that is here, and
nothing above knows which one is at work. joblib offers all three too, but gives no results of Ray as they come, and
ends with the first worker that dies.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

from kg2rag.compute.hardware import threads

BACKENDS = {"dask": "distributed", "loky": "joblib", "ray": "ray"}
"""Name -> the module it needs."""
TRIES = 3  # runs of a piece that kills its worker
LIMITS = ("KG2RAG_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_LOCAL_DASK = {
    "distributed.scheduler.allowed-failures": 0,  # pieces of dead workers are run again by ourselves
    "distributed.deploy.lost-worker-timeout": "1 hour",  # 15 s: a worker that restarts slowly, or twice, is given up
}
_PATIENCE = 30.0  # seconds for a cluster to answer


@dataclass(frozen=True)
class Pool:
    """Workers that are running.

    Attributes
    ----------
    slots : pieces that run at the same time, at least 1.
    submit : (function, piece) -> the future of function(piece).
    abandon : ends the pieces of these futures, as far as the engine can.
    died : the errors by which the engine says that a worker died; the error of the function itself is none of them.
    """

    slots: int
    submit: Callable[[Callable[[Any], Any], Any], Future[Any]]
    abandon: Callable[[Iterable[Future[Any]]], None]
    died: tuple[type[BaseException], ...]


def check_backend(name: str, cluster: str | None = None) -> None:
    """Raise ValueError where a backend is not known or not installed, or has no clusters."""
    if name not in BACKENDS:
        raise ValueError(f"Unknown backend {name!r}. Known: {', '.join(sorted(BACKENDS))}.")
    if find_spec(BACKENDS[name]) is None:
        raise ValueError(
            f"Backend {name!r} needs the package {BACKENDS[name]!r}, which is not installed: pip install kg2rag[scale]."
        )
    if cluster is not None and name == "loky":
        raise ValueError(f"Backend 'loky' runs on this machine alone, not on cluster {cluster!r}: give dask or ray.")


@contextmanager
def opened(name: str, jobs: int, cluster: str | None) -> Iterator[Pool]:
    """The pool of an engine; what was started for it is ended, and what it wrote is removed, on leaving."""
    with ExitStack() as stack:
        if name == "loky":
            yield _loky(stack, jobs)
        else:
            yield (_dask if name == "dask" else _ray)(stack, jobs, cluster)


def _loky(stack: ExitStack, jobs: int) -> Pool:
    from joblib.externals.loky import ProcessPoolExecutor
    from joblib.externals.loky.process_executor import BrokenProcessPool

    jobs = jobs or threads()
    make = partial(
        ProcessPoolExecutor, jobs, env=_limits(jobs), initializer=_end_with, initargs=(os.getpid(),), timeout=None
    )
    current = [make()]

    def submit(function: Callable[[Any], Any], piece: object) -> Future[Any]:
        if current[0]._flags.broken or current[0]._flags.shutdown:
            current[0] = make()
        return current[0].submit(function, piece)  # type: ignore[no-any-return]

    def abandon(_: Iterable[Future[Any]]) -> None:  # a running piece ends with its worker alone
        current[0].shutdown(wait=True, kill_workers=True)

    stack.callback(lambda: current[0].shutdown(wait=True))
    return Pool(jobs, submit, abandon, (BrokenProcessPool,))


def _end_with(parent: int) -> None:
    """End this process soon after its parent: loky's workers would survive a killed one, with all their memory."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _dask(stack: ExitStack, jobs: int, cluster: str | None) -> Pool:
    import dask
    from distributed import Client, KilledWorker, LocalCluster, get_client

    if cluster is None:
        try:
            client = get_client()  # of this session
        except ValueError:
            jobs = jobs or threads()
            stack.enter_context(dask.config.set(_LOCAL_DASK))
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kg2rag-dask-", ignore_cleanup_errors=True))
            options = {
                "host": "127.0.0.1",
                "dashboard_address": "127.0.0.1:0",
                "memory_limit": None,
                "silence_logs": 50,
            }
            local = LocalCluster(jobs, threads_per_worker=1, env=_limits(jobs), local_directory=folder, **options)
            client = Client(stack.enter_context(local), set_as_default=False)
            stack.enter_context(client)
    else:
        try:
            client = stack.enter_context(Client(cluster, set_as_default=False, timeout=_PATIENCE))
            client.wait_for_workers(1, timeout=_PATIENCE)
        except (OSError, ValueError) as error:
            raise ConnectionError(f"No Dask cluster with workers answers at {cluster!r}: {error}") from error
    slots = sum(client.ncores().values())
    loop = client.loop.asyncio_loop

    def submit(function: Callable[[Any], Any], piece: object) -> Future[Any]:
        # Not by the client's own executor: its futures wait for ever where a worker dies between the end of a piece and
        # the fetching of its result, and the piece then fails when it is run again.
        return asyncio.run_coroutine_threadsafe(_settled(client.submit(function, piece, pure=False)), loop)

    return Pool(min(jobs or slots, slots), submit, _cancel, (KilledWorker, _LostError))


def _ray(stack: ExitStack, jobs: int, cluster: str | None) -> Pool:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    import ray

    quiet: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
    if ray.is_initialized():
        joined = ray.get_runtime_context().gcs_address
        if cluster not in (None, "auto", joined):
            raise ConnectionError(
                f"This process is connected to Ray at {joined}, not at {cluster!r}: ray.shutdown() first."
            )
    else:
        if cluster is None:
            jobs = jobs or threads()
            folder = tempfile.mkdtemp(prefix="ray-")  # short: the sockets' paths have a limit
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            where = {"num_cpus": jobs, "include_dashboard": False, "_temp_dir": folder, "address": "local"}
        else:
            where = {"address": cluster}
        stack.callback(ray.shutdown)
        try:
            _require_answer(cluster or "")
            ray.init(**where, **quiet)
        except Exception as error:
            told = "No local Ray could be started" if cluster is None else f"No Ray cluster answers at {cluster!r}"
            raise ConnectionError(f"{told}: {error}") from error
    slots = int(ray.cluster_resources()["CPU"])
    variables = _limits(slots if cluster is None else threads())  # on a cluster, a piece is given one processor
    if cluster is None:  # workers of the other engines import from where this process does, too
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    options = {"num_cpus": 1, "max_retries": 0, "runtime_env": {"env_vars": variables}}
    task = ray.remote(**options)(_called)
    running: dict[Future[Any], Any] = {}

    def submit(function: Callable[[Any], Any], piece: object) -> Future[Any]:
        reference = task.remote(function, piece)
        future: Future[Any] = reference.future()
        running[future] = reference
        future.add_done_callback(lambda done: running.pop(done, None))
        return future

    def abandon(futures: Iterable[Future[Any]]) -> None:
        for future in futures:
            if future in running:
                ray.cancel(running[future], force=True)

    errors = ray.exceptions
    died = (errors.WorkerCrashedError, errors.OutOfMemoryError, errors.NodeDiedError, errors.LocalRayletDiedError)
    return Pool(min(jobs or slots, slots), submit, abandon, died)


def _require_answer(address: str) -> None:
    """OSError where nobody listens at HOST:PORT, of which Ray itself would be sure after many minutes."""
    host, _, port = address.rpartition(":")
    if port.isdigit() and "://" not in address:
        socket.create_connection((host, int(port)), _PATIENCE).close()


def _called(function: Callable[[Any], Any], piece: object) -> object:
    return function(piece)


class _LostError(RuntimeError):
    """Dask gave a piece up, because the worker that held it or its result is gone."""


async def _settled(running: Any) -> object:
    """The result of a Dask future; cancelled with this coroutine."""
    from distributed.client import FutureCancelledError

    try:
        return await running
    except FutureCancelledError as error:  # counts as a cancellation of whoever awaits it
        raise _LostError(str(error)) from error
    except asyncio.CancelledError:
        await running.cancel()
        raise


def _cancel(futures: Iterable[Future[Any]]) -> None:
    for future in futures:
        future.cancel()


def _limits(jobs: int) -> dict[str, str]:
    """The variables by which a new process learns its share of the threads."""
    return dict.fromkeys(LIMITS, str(max(1, threads() // jobs)))
