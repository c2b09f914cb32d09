"""The machine and checkout -> what a result depends on besides data and systems: recorded, never used."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from kg2rag.compute import processor

LIBRARIES = (
    "kg2rag bm25s datasets faiss-cpu networkx numba numpy pandas pyarrow ranx scikit-learn scipy sentence-transformers "
    "torch transformers"
).split()
_THREAD_SETTINGS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
_CHECKOUT = Path(__file__).resolve().parents[2]


def environment() -> dict[str, object]:
    """Versions, platform, processor, threads and commit, as JSON values; None where unknown."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": processor(),
        "versions": {name: _version(name) for name in LIBRARIES},
        "threads": threads(),
        "blas": linear_algebra(),
        "commit": commit(),
    }


def threads() -> dict[str, object]:
    """Cores this process may use, thread settings of the environment, and torch's, where torch is loaded."""
    torch = sys.modules.get("torch")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    settings = {name: os.environ.get(name) for name in _THREAD_SETTINGS}
    return {"cores": cores, "torch": None if torch is None else torch.get_num_threads(), **settings}


def linear_algebra() -> list[str]:
    """The libraries that add up matrix products, with their version and the instructions they chose."""
    from threadpoolctl import threadpool_info

    found = (one for one in threadpool_info() if one["user_api"] == "blas")
    return sorted(
        {
            " ".join(str(one.get(part) or "") for part in ("internal_api", "version", "architecture")).strip()
            for one in found
        }
    )


def load_average() -> float | None:
    """Processes waiting for a core over the last minute, or None where the platform does not report it."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def commit() -> dict[str, object] | None:
    """The git commit of the checkout that this package runs from, and whether files differ from it, or None."""
    git = shutil.which("git")
    if git is None or not (_CHECKOUT / ".git").exists():
        return None
    head = _ask(git, "rev-parse", "--verify", "--quiet", "HEAD")
    if not head:
        return None
    return {"id": head, "changed": bool(_ask(git, "status", "--porcelain", "--untracked-files=no"))}


def _ask(git: str, *arguments: str) -> str:
    answer = subprocess.run(  # noqa: S603 - fixed arguments, no shell
        [git, "-C", str(_CHECKOUT), *arguments], capture_output=True, text=True, check=False, timeout=10
    )
    return answer.stdout.strip()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
