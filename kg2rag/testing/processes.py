"""Systems -> their rankings in a process whose strings have other hashes, where sets come in another order."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kg2rag.retrievers.contract import Retriever
from kg2rag.testing.trial import facts, named
from kg2rag.types import Query, Ranking

UNKNOWN_CLASS = 3  # the exit code of a process that cannot import a system's class


def differing(
    systems: Mapping[str, Retriever], rankings: Mapping[str, Sequence[Ranking]], queries: Sequence[Query], k: int
) -> Iterator[tuple[str, str]]:
    """The name of each system that ranks otherwise in another process, and the first query for which it does.

    Yields nothing where a class cannot be imported there, as one that a notebook defines.
    """
    with tempfile.TemporaryDirectory() as folder:
        given, written = Path(folder, "systems.pickle"), Path(folder, "rankings.json")
        given.write_bytes(pickle.dumps((dict(systems), list(queries), k)))
        seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        command = [sys.executable, "-m", "kg2rag.testing.processes", str(given), str(written)]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
        if run.returncode == UNKNOWN_CLASS:
            return
        if run.returncode:
            raise RuntimeError(f"Another process cannot retrieve:\n{run.stderr[-2000:]}")
        elsewhere = json.loads(written.read_text(encoding="utf-8"))
    for name, own in rankings.items():
        here = json.loads(json.dumps([facts(ranking) for ranking in own]))
        for query, one, other in zip(queries, here, elsewhere[name], strict=True):
            if one != other:
                yield name, f"{named(query)}: another PYTHONHASHSEED gives another ranking. Does it iterate a set?"
                break


def main(given: str, written: str) -> int:
    """Retrieve with the systems of one file and write their rankings to another."""
    try:
        systems, queries, k = pickle.loads(Path(given).read_bytes())  # noqa: S301 (our parent's, of a moment ago)
    except (ImportError, AttributeError):
        return UNKNOWN_CLASS
    found = {name: [facts(each) for each in system.retrieve_batch(queries, k)] for name, system in systems.items()}
    Path(written).write_text(json.dumps(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
