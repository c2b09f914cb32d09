"""Mutated files of every format, read one after another in processes that may die -> what came of each.

Permitted are an equal result, another valid result (an error where the format has checksums) and a `DataError` that
names the file. Anything else is a finding: an exception of another kind, one without the file, a dead process.
"""

from __future__ import annotations

import faulthandler
import json
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

HANG = 1800  # seconds after which a case counts as one that hangs; a guard, no measurement
EQUAL, OTHER, CLEAR, PLAIN, FOREIGN, UNNAMED, WRONG, DIED = (
    "equal", "other", "clear error", "ValueError with file", "foreign exception", "error without file", "wrong",
    "process died",
)  # fmt: skip
PERMITTED = (EQUAL, OTHER, CLEAR)
Case = dict[str, Any]


def attack(cases: Iterable[tuple[str, int]]) -> Iterator[Case]:
    """Run cases, each a format and a number that seeds the mutation, in child processes; one result a case."""
    left = list(cases)
    while left:
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as errors:
            command = [sys.executable, "-m", "fuzz.campaign", folder]
            with subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=_TESTS
            ) as child:
                assert child.stdin is not None
                assert child.stdout is not None
                child.stdin.write(json.dumps(left))
                child.stdin.close()
                begun = 0
                for line in child.stdout:
                    if line.startswith("{"):
                        yield json.loads(line)
                        begun += 1
            if begun < len(left):  # the process died in the case after the last one that it reported
                errors.seek(0)
                name, number = left[begun]
                said = errors.read().decode(errors="replace")
                yield {
                    "format": name,
                    "number": number,
                    "came": DIED,
                    "why": f"status {child.returncode}: {said[:2000]}",
                }
            left = left[begun + 1 :]


_TESTS = Path(__file__).resolve().parents[1]


def one(name: str, number: int, folder: Path) -> Case:
    """Read the mutated files of one case."""
    from fuzz.formats import FORMATS, seed_of
    from fuzz.mutations import mutate
    from fuzz.seeds import signed

    random, format_ = Random(f"{name} {number}"), FORMATS[name]
    files = dict(seed_of(name))
    target = random.choice(format_.mutated or sorted(files))
    files[target], how = mutate(files[target], Path(target).suffix, random)
    came, why = came_of(name, signed(files) if format_.signs else files, folder)
    return {"format": name, "number": number, "file": target, "how": how, "came": came, "why": why}


def came_of(name: str, files: dict[str, bytes], folder: Path) -> tuple[str, str]:
    from fuzz.formats import FORMATS

    from kg2rag.text.records import DataError

    shutil.rmtree(folder, ignore_errors=True)
    for file, data in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(data)
    named = {str(folder), "custom", *(Path(file).name for file in files)}
    try:
        found = repr(FORMATS[name].read(folder))
    except DataError as error:
        return (CLEAR if any(one in str(error) for one in named) else UNNAMED), str(error)[:300]
    except BaseException as error:  # noqa: BLE001 (what it is, is the finding)
        plain = type(error) is ValueError and any(one in str(error) for one in named)
        return (PLAIN if plain else FOREIGN), _described(error)
    if found == _expected(name, folder):
        return EQUAL, ""
    return (WRONG if FORMATS[name].exact else OTHER), ""


_known: dict[str, str] = {}


def _expected(name: str, folder: Path) -> str:
    from fuzz.formats import FORMATS, seed_of

    if name not in _known:
        shutil.rmtree(folder)
        for file, data in seed_of(name).items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes(data)
        _known[name] = repr(FORMATS[name].read(folder))
    return _known[name]


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


def main() -> None:
    """Read cases from stdin, write a line of JSON for each; the folder is the argument."""
    warnings.simplefilter("ignore")
    out, folder = sys.stdout, Path(sys.argv[1]) / "case"
    sys.stdout = sys.stderr
    for name, number in json.load(sys.stdin):
        faulthandler.dump_traceback_later(HANG, exit=True)
        print(json.dumps(one(name, number, folder)), file=out, flush=True)


if __name__ == "__main__":
    main()
