"""The threads, vector instructions and device to compute with; all are recorded with every result."""

from __future__ import annotations

import os
import platform
import re
from functools import cache
from pathlib import Path

CPU = "cpu"


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


@cache
def processor() -> str:
    """The machine type and the instructions that floating-point results depend on, such as "x86_64 avx512_bf16"."""
    wanted = ("avx2", "avx512f", "avx512_bf16", "avx_vnni", "amx_bf16", "bf16", "sve")
    cpuinfo = Path("/proc/cpuinfo")
    listed = re.search(r"^(?:flags|Features).*?:(.*)", cpuinfo.read_text() if cpuinfo.is_file() else "", re.MULTILINE)
    flags = listed[1].split() if listed else []
    return " ".join([platform.machine(), *(flag for flag in wanted if flag in flags)])


def device_of(name: str) -> str:
    """The device of a name: "cpu", "cuda" (the first CUDA device), "auto" (that, or the CPU), or such as "cuda:1".

    ValueError: a CUDA device that torch does not see.
    """
    if name == CPU:
        return CPU
    import torch

    found = [f"cuda:{i}" for i in range(torch.cuda.device_count())]
    if name == "auto":
        return (found or [CPU])[0]
    named = found[0] if name == "cuda" and found else name
    if named.startswith("cuda") and named not in found:
        raise ValueError(
            f"device {name!r}: torch {torch.__version__} sees {', '.join(found) or 'no CUDA device'}. "
            "Use --device cpu or auto, or install a build of torch for your GPU."
        )
    return named
