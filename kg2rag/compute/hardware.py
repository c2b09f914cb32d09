"""The machine -> its threads, vector instructions and device, as recorded with every result."""

from __future__ import annotations

import os
import platform
import re
import time
from functools import cache
from pathlib import Path

CPU = "cpu"
# Instructions of the processor that change floating-point results.
RECORDED_FLAGS = (
    "avx2",
    "avx512f",
    "avx512_bf16",
    "avx_vnni",
    "amx_bf16",
    "bf16",
    "sve",
)


@cache
def threads() -> int:
    """The number of threads to use: `$KG2RAG_THREADS`, else the processors of this process.

    ValueError: the variable is not a positive whole number.
    """
    variable = os.environ.get("KG2RAG_THREADS")
    if variable is not None:
        if not variable.isdigit() or int(variable) < 1:
            raise ValueError(
                f"KG2RAG_THREADS={variable!r}: a positive whole number is needed."
            )
        return int(variable)
    affinity = getattr(os, "sched_getaffinity", None)  # missing on macOS and Windows
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def processor_seconds() -> float:
    """The processor time of this process in seconds, divided by its number of threads."""
    return time.process_time() / threads()


@cache
def processor() -> str:
    """The machine type and its `RECORDED_FLAGS`, which change floating-point results.

    An example is "x86_64 avx512_bf16".
    """
    cpuinfo = Path("/proc/cpuinfo")
    flags: list[str] = []
    if cpuinfo.is_file():
        line = re.search(
            r"^(?:flags|Features).*?:(.*)", cpuinfo.read_text(), re.MULTILINE
        )
        flags = line[1].split() if line else []
    return " ".join(
        [platform.machine(), *(flag for flag in RECORDED_FLAGS if flag in flags)]
    )


def device_of(name: str) -> str:
    """The torch device of a name: "cpu", "cuda" (the first CUDA device), "cuda:1", … or "auto".

    "auto" is the first CUDA device, or the CPU if there is none. ValueError: torch does not see the
    CUDA device.
    """
    if name == CPU:
        return CPU
    import torch

    gpus = [f"cuda:{i}" for i in range(torch.cuda.device_count())]
    if name in ("auto", "cuda") and gpus:
        return gpus[0]
    if name == "auto":
        return CPU
    if name.startswith("cuda") and name not in gpus:
        raise ValueError(
            f"device {name!r}: torch {torch.__version__} sees {', '.join(gpus) or 'no CUDA device'}. "
            "Use --device cpu or auto, or install a build of torch for your GPU."
        )
    return name
