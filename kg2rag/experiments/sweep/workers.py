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
from typing import Any

from kg2rag.compute.hardware import threads
from kg2rag.experiments.sweep.configuration import Bench, Task
from kg2rag.experiments.sweep.workbench import Outcome, opened, run

BACKENDS = {"dask": "distributed", "loky": "joblib", "ray": "ray"}
"""Name -> the module it needs."""
_LIMITS = ("KG2RAG_THREADS",)

Batch = tuple[Bench, Sequence[Task]]


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

    with ExitStack() as stack:
        stack.enter_context(_limited(max(1, threads() // jobs)))
        stack.enter_context(_configured(backend, jobs))
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs", batch_size=1)
        found = parallel(delayed(run_apart)(bench, tasks, k, os.getpid()) for bench, tasks in batches)
        try:
            # A worker whose memory has grown, as by loading the encoder, is replaced; loky warns, but loses nothing.
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="A worker stopped while some jobs", category=UserWarning)
                yield from found
        finally:
            found.close()


def run_apart(bench: Bench, tasks: Sequence[Task], k: int, parent: int) -> list[Outcome]:
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
def _limited(per_worker: int) -> Iterator[None]:
    """New processes read their number of threads from the environment."""
    before = {name: os.environ.get(name) for name in _LIMITS}
    os.environ.update(dict.fromkeys(_LIMITS, str(per_worker)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _configured(backend: str, jobs: int) -> Iterator[None]:
    from joblib import parallel_config

    with ExitStack() as stack:
        options: dict[str, Any] = {}
        if backend == "loky":
            options["inner_max_num_threads"] = max(1, threads() // jobs)
        elif backend == "dask":
            stack.enter_context(_dask(jobs))
        elif backend == "ray":
            from ray.util.joblib import register_ray  # type: ignore[import-not-found]

            register_ray()
        stack.enter_context(parallel_config(backend=backend, **options))
        yield


@contextmanager
def _dask(jobs: int) -> Iterator[None]:
    """The Dask client of this session, or a local one of our own."""
    from distributed import Client, get_client  # type: ignore[import-not-found]

    try:
        get_client()
    except ValueError:
        with Client(n_workers=jobs, threads_per_worker=1, dashboard_address=None):
            yield
    else:
        yield
