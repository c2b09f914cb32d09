"""Mutated files of every format, read one after another -> what came of each.

Permitted are an equal result, another valid result (an error where the format has checksums) and a
`DataError` that names the file. Anything else is a finding: an exception of another kind, one
without the file.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from fuzz.formats import FORMATS, seed_of
from fuzz.mutations import mutate
from fuzz.seeds import signed

from kg2rag.text.records import DataError

EQUAL, OTHER, CLEAR, PLAIN, FOREIGN, UNNAMED, WRONG = (
    "equal", "other", "clear error", "ValueError with file", "foreign exception", "error without file", "wrong",
)  # fmt: skip
PERMITTED = (EQUAL, OTHER, CLEAR)
Case = dict[str, Any]


def attack(cases: Iterable[tuple[str, int]]) -> Iterator[Case]:
    """Run cases, each a format and a number that seeds the mutation; one result a case."""
    with tempfile.TemporaryDirectory() as folder:
        for name, number in cases:
            yield one(name, number, Path(folder) / "case")


def one(name: str, number: int, folder: Path) -> Case:
    """Read the mutated files of one case."""
    random, format_ = Random(f"{name} {number}"), FORMATS[name]
    files = dict(seed_of(name))
    target = random.choice(format_.mutated or sorted(files))
    files[target], how = mutate(files[target], Path(target).suffix, random)
    came, why = came_of(name, signed(files) if format_.signs else files, folder)
    return {
        "format": name,
        "number": number,
        "file": target,
        "how": how,
        "came": came,
        "why": why,
    }


def came_of(name: str, files: dict[str, bytes], folder: Path) -> tuple[str, str]:
    """What comes of reading these files as a format."""
    named = {str(folder), "custom", *(Path(file).name for file in files)}
    try:
        found = _read(name, files, folder)
    except DataError as error:
        return (CLEAR if any(one in str(error) for one in named) else UNNAMED), str(
            error
        )[:300]
    except BaseException as error:  # noqa: BLE001 (what it is, is the finding)
        plain = type(error) is ValueError and any(one in str(error) for one in named)
        return (PLAIN if plain else FOREIGN), _described(error)
    if found == _expected(name, folder):
        return EQUAL, ""
    return (WRONG if FORMATS[name].exact else OTHER), ""


def _read(name: str, files: dict[str, bytes], folder: Path) -> str:
    shutil.rmtree(folder, ignore_errors=True)
    for file, data in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return repr(FORMATS[name].read(folder))


@cache
def _expected(name: str, folder: Path) -> str:
    return _read(name, dict(seed_of(name)), folder)


def _described(error: BaseException) -> str:
    trace, place = error.__traceback__, ""
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if "kg2rag" in file.parts:
            place = f"{file.name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__} at {place}: {str(error)[:200]}"


def counts(cases: Iterable[Case]) -> dict[str, Counter[str]]:
    """Format -> how often each thing came of its cases."""
    found: dict[str, Counter[str]] = {}
    for case in cases:
        found.setdefault(case["format"], Counter())[case["came"]] += 1
    return found
