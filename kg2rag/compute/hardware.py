"""The threads, vector instructions and devices to compute with; all are recorded with every result."""

from __future__ import annotations

import os
import platform
import re
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

CPU = "cpu"
_lost: list[str] = []
"""The layer of numba whose threads this process lost when it was forked."""


def _note_fork() -> None:
    if numba := sys.modules.get("numba"):
        with suppress(ValueError):  # none was started
            if (layer := numba.threading_layer()) != "workqueue":
                _lost.append(layer)


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_note_fork)


@cache
def threads() -> int:
    """`$KG2RAG_THREADS`, a positive whole number (else ValueError), or the number of processors of this process."""
    given = os.environ.get("KG2RAG_THREADS")
    if given is not None:
        if not given.isdigit() or int(given) < 1:
            raise ValueError(f"KG2RAG_THREADS={given!r}: a positive whole number is needed.")
        return int(given)
    affinity = getattr(os, "sched_getaffinity", None)  # missing on macOS and Windows
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def has_threads() -> bool:
    """Whether numba's parallel loops can be run here: not in a process whose parent had started OpenMP's threads."""
    return not _lost


@cache
def processor() -> str:
    """The machine type and the instructions that floating-point results depend on, such as "x86_64 avx512_bf16"."""
    wanted = ("avx2", "avx512f", "avx512_bf16", "avx_vnni", "amx_bf16", "bf16", "sve")
    cpuinfo = Path("/proc/cpuinfo")
    listed = re.search(r"^(?:flags|Features).*?:(.*)", cpuinfo.read_text() if cpuinfo.is_file() else "", re.MULTILINE)
    flags = listed[1].split() if listed else []
    return " ".join([platform.machine(), *(flag for flag in wanted if flag in flags)])


def devices(name: str) -> list[str]:
    """The devices of a name: "cpu", "cuda" (every CUDA device), "auto" (those, or the CPU), "cuda:0,cuda:1".

    ValueError: a CUDA device that torch does not see.
    """
    if name == CPU:
        return [CPU]
    import torch

    found = [f"cuda:{i}" for i in range(torch.cuda.device_count())]
    if name == "auto":
        return found or [CPU]
    named = found or ["cuda"] if name == "cuda" else [each.strip() for each in name.split(",")]
    for each in named:
        if each.startswith("cuda") and each not in found:
            raise ValueError(
                f"device {name!r}: torch {torch.__version__} sees {', '.join(found) or 'no CUDA device'}. "
                "Use --device cpu or auto, or install a build of torch for your GPU."
            )
    return named
