"""A comparison, made twice under other hash seeds and thread counts -> which of its files are equal, byte for byte."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kg2rag.compute import threads

TIMED = ("config.json", "report.html")
"""Files that hold timings and dates, and so differ."""


@dataclass(frozen=True)
class Verification:
    """What two runs wrote: file -> the sha256 of each, None where a run did not write it."""

    checksums: dict[str, tuple[str | None, str | None]]

    @property
    def differing(self) -> list[str]:
        """Files that are not equal."""
        return [name for name, (first, second) in self.checksums.items() if first != second]


def verify(arguments: Sequence[str]) -> Verification:
    """Run `kg2rag compare ARGUMENTS` twice, each with a store of its own, and compare every table and run.

    The first has hash seed 0 and one thread, the second hash seed 1 and as many threads as there are (at least 2).
    RuntimeError: a run failed; the message is its own.
    """
    found = []
    for seed, threads_ in ((0, 1), (1, max(2, threads()))):
        with tempfile.TemporaryDirectory() as folder:
            given = [*arguments, "--out", f"{folder}/out"]
            command = [sys.executable, "-c", "from kg2rag.cli import main; main()", "compare", *given]
            own = {"PYTHONHASHSEED": str(seed), "KG2RAG_THREADS": str(threads_), "KG2RAG_STORE": f"{folder}/store"}
            done = subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True, check=False)  # noqa: S603
            if done.returncode:
                raise RuntimeError(f"kg2rag compare {' '.join(arguments)} failed: {done.stderr.strip()}")
            found.append(_checksums(Path(folder) / "out"))
    first, second = found
    return Verification({name: (first.get(name), second.get(name)) for name in sorted({*first, *second})})


def _checksums(folder: Path) -> dict[str, str]:
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.name not in TIMED)
    return {file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
