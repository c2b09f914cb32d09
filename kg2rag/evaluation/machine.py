"""The machine -> versions, processor, threads, load and commit, the record beside results."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from kg2rag.compute import processor
from kg2rag.compute.code_version import PACKAGE

_LIBRARIES = (
    "kg2rag bm25s datasets faiss-cpu networkx numba numpy pandas pyarrow ranx scikit-learn scipy sentence-transformers "
    "torch transformers"
).split()
_THREAD_SETTINGS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
GIT_TIMEOUT_SECONDS = 10


def environment() -> dict[str, Any]:
    """The record of versions, platform, processor, threads and commit; None for unknown values."""
    from threadpoolctl import threadpool_info

    torch = sys.modules.get("torch")
    cores = (
        len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count()
    )
    # The instruction set of a BLAS library changes the last bits of products.
    blas = {
        _blas_text(library)
        for library in threadpool_info()
        if library["user_api"] == "blas"
    }
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": processor(),
        "versions": library_versions(),
        "threads": {
            "cores": cores,
            "torch": None if torch is None else torch.get_num_threads(),
            **{name: os.environ.get(name) for name in _THREAD_SETTINGS},
        },
        "blas": sorted(blas),
        "commit": commit(),
    }


def _blas_text(library: Mapping[str, Any]) -> str:
    """Name, version and architecture of a BLAS library."""
    parts = [library.get(name) for name in ("internal_api", "version", "architecture")]
    return " ".join(str(part or "") for part in parts).strip()


@cache
def library_versions() -> dict[str, str | None]:
    """Name of each library -> its version, None if it is not installed."""
    versions = dict[str, str | None].fromkeys(_LIBRARIES)
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def load_average() -> float | None:
    """The mean number of processes that ran or waited in the last minute; None if unknown."""
    if not hasattr(os, "getloadavg"):
        return None
    return round(os.getloadavg()[0], 2)


@cache
def commit() -> dict[str, object] | None:
    """The git commit of this package's checkout and whether files differ from it; None if unknown.

    It is read once a process, as the code is.
    """
    if not (PACKAGE.parent / ".git").exists() or shutil.which("git") is None:
        return None
    command = "describe --always --dirty --abbrev=40 --exclude=*".split()
    answer = subprocess.run(  # noqa: S603 - no shell
        ["git", "-C", str(PACKAGE.parent), *command],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
        timeout=GIT_TIMEOUT_SECONDS,
    )
    head = answer.stdout.strip()
    if not head:
        return None
    return {"id": head.removesuffix("-dirty"), "changed": head.endswith("-dirty")}
