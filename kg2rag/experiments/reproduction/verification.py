"""A comparison, run twice under other hash seeds and thread counts -> which of its files are equal, byte for byte."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kg2rag.compute import threads

UNEQUAL = ("config.json", "report.html")
"""Files that hold timings and dates, and so differ."""


@dataclass(frozen=True)
class Verification:
    """What two runs wrote: file -> the sha256 of each, None where a run did not write it."""

    checksums: dict[str, tuple[str | None, str | None]]
    conditions: tuple[str, str]

    @property
    def differing(self) -> list[str]:
        """Files that are not equal."""
        return [name for name, (first, second) in self.checksums.items() if first != second]

    def __bool__(self) -> bool:
        return not self.differing


def verify(arguments: Sequence[str], *, fresh: bool = False) -> Verification:
    """Run `kg2rag compare ARGUMENTS` twice and compare every table and run byte by byte.

    The first run has hash seed 0 and one thread, the second hash seed 1 and as many threads as there are (at least
    2). Both read the same store, whose vectors are then common to both, unless `fresh`: each then builds everything
    anew, vectors included.

    Raises
    ------
    RuntimeError : a run failed; the message is its own.
    """
    many = max(2, threads())
    settings = [{"PYTHONHASHSEED": "0", "KG2RAG_THREADS": "1"}, {"PYTHONHASHSEED": "1", "KG2RAG_THREADS": str(many)}]
    with tempfile.TemporaryDirectory() as temporary:
        folders = [Path(temporary) / str(number) for number in range(2)]
        for folder, setting in zip(folders, settings, strict=True):
            if fresh:
                setting["KG2RAG_STORE"] = str(folder.with_suffix(".store"))
            run_compare([*arguments, "--out", str(folder)], setting)
        first, second = map(_checksums, folders)
    names = sorted({*first, *second})
    return Verification(
        {name: (first.get(name), second.get(name)) for name in names},
        ("hash seed 0, 1 thread", f"hash seed 1, {many} threads"),
    )


def run_compare(arguments: Sequence[str], setting: Mapping[str, str]) -> None:
    """Run `kg2rag compare ARGUMENTS` in a process of its own under some environment variables.

    RuntimeError: it failed; the message is its own.
    """
    command = [sys.executable, "-c", "from kg2rag.cli import main; main()", "compare", *arguments]
    done = subprocess.run(command, env={**os.environ, **setting}, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise RuntimeError(f"kg2rag compare {' '.join(arguments)} failed: {done.stderr.strip() or done.stdout.strip()}")


def _checksums(folder: Path) -> dict[str, str]:
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.name not in UNEQUAL)
    return {file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
