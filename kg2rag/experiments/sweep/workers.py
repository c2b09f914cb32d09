"""Batches of configurations -> outcomes as they finish, by one process or many; joblib does the work.

joblib knows its own processes ("loky") and, where installed, Dask and Ray by name.
"""

from __future__ import annotations

import gc
import os
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib.util import find_spec

from kg2rag.compute import threads
from kg2rag.experiments.sweep.configuration import Bench, Configuration
from kg2rag.experiments.sweep.workbench import Outcome, opened, run

BACKENDS = {"dask": "distributed", "loky": "joblib", "ray": "ray"}
"""Name -> the module it needs."""
LIMIT = "KG2RAG_THREADS"  # new processes read their number of threads from the environment

Batch = tuple[Bench, Sequence[Configuration]]


def check_backend(name: str) -> None:
    """Raise ValueError where a backend is not known or not installed."""
    if name not in BACKENDS:
        raise ValueError(f"Unknown backend {name!r}. Known: {', '.join(sorted(BACKENDS))}.")
    if find_spec(BACKENDS[name]) is None:
        raise ValueError(f"Backend {name!r} needs the package {BACKENDS[name]!r}, which is not installed.")


def outcomes(batches: Sequence[Batch], k: int, jobs: int, backend: str) -> Iterator[list[Outcome]]:
    """The outcomes of every batch, in the order in which batches finish; with one job in this process, in order."""
    if jobs == 1 or not batches:
        for bench, tasks in batches:
            for task in tasks:
                yield run(bench, [task], k)
        return
    from joblib import Parallel, delayed  # type: ignore[import-untyped]

    with _configured(backend, jobs):
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs", batch_size=1)
        found = parallel(delayed(run_apart)(bench, tasks, k, os.getpid()) for bench, tasks in batches)
        try:
            # A worker whose memory has grown, as by loading the encoder, is replaced; loky warns, but loses nothing.
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="A worker stopped while some jobs", category=UserWarning)
                yield from found
        finally:
            found.close()


def run_apart(bench: Bench, tasks: Sequence[Configuration], k: int, parent: int) -> list[Outcome]:
    """`run` in a worker process; `parent` is the process that started the sweep."""
    if os.getppid() == parent:
        _end_with(parent)
    fresh = opened.cache_info().currsize
    outcomes = run(bench, tasks, k)
    if opened.cache_info().currsize > fresh:
        # Modules, indexes and graphs stay: the garbage collector need not look through them again and again, which
        # took a third of the time of a configuration that makes many small objects.
        gc.freeze()
    return outcomes


@cache
def _end_with(parent: int) -> None:
    """End this process soon after its parent: loky's workers would survive a killed one, with all their memory."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _configured(backend: str, jobs: int) -> Iterator[None]:
    """The backend, and each worker's share of the threads."""
    from joblib import parallel_config

    share, before = max(1, threads() // jobs), os.environ.get(LIMIT)
    options = {"inner_max_num_threads": share} if backend == "loky" else {}
    with ExitStack() as stack:
        stack.callback(os.environ.update, {} if before is None else {LIMIT: before})
        stack.callback(os.environ.pop, LIMIT)  # runs first
        os.environ[LIMIT] = str(share)
        if backend == "dask":
            from distributed import Client, get_client  # type: ignore[import-not-found]

            try:
                get_client()  # of this session; else a local one of our own
            except ValueError:
                stack.enter_context(Client(n_workers=jobs, threads_per_worker=1, dashboard_address=None))
        elif backend == "ray":
            from ray.util.joblib import register_ray  # type: ignore[import-not-found]

            register_ray()
        stack.enter_context(parallel_config(backend=backend, **options))
        yield
