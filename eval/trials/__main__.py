"""The trials of eval/trials on this checkout, or on another -> a table of findings by kind of misuse.

    python eval/trials                              all, about half an hour on two cores
    python eval/trials --only "run cache" --only keys
    python eval/trials --code ../older-checkout     the same trials on other code

Exit code 1 if there are findings. Needs fork and /proc limits: Linux.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
MODULES = (
    "run_cache",
    "vectors",
    "flips",
    "documents",
    "strangers",
    "keys",
    "endpoints",
    "processes",
)


def main() -> int:
    """Run the trials; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", action="append", default=[], help="points or names that contain this"
    )
    parser.add_argument(
        "--code",
        type=Path,
        default=FOLDER.parents[1],
        help="checkout whose kg2rag is tried",
    )
    parser.add_argument(
        "--list", action="store_true", help="name the trials and run none"
    )
    options = parser.parse_args()
    sys.path[:0] = [str(options.code.resolve()), str(FOLDER.parents[1] / "tests")]
    os.environ.update(
        TQDM_DISABLE="1",
        NUMBA_THREADING_LAYER="workqueue",
        TOKENIZERS_PARALLELISM="false",
    )
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads do not survive a fork
    for name in MODULES:
        importlib.import_module(name)
    import harness

    trials = [trial for trial in harness.TRIALS if trial.has_part(options.only)]
    if options.list:
        print(*(f"{trial.point}: {trial.name}" for trial in trials), sep="\n")
        return 0
    preload("kg2rag.cli", "pandas", "pyarrow.parquet")
    if not options.only:
        preload("numba", "torch", "sentence_transformers", "ranx", "openai")
    rows = []
    for trial in trials:
        kind, evidence = harness.judge(trial)
        rows.append((trial.point, kind))
        if kind:
            print(
                f"{trial.point}: {trial.name}: {kind}: {evidence}",
                file=sys.stderr,
                flush=True,
            )
    print_table(rows, harness.KINDS)
    return int(any(kind for _, kind in rows))


def preload(*names: str) -> None:
    """Import here what the trials import, so that not each of their processes does."""
    for name in names:
        importlib.import_module(name)
    import kg2rag

    for name in kg2rag.__all__:
        getattr(kg2rag, name)


def print_table(rows: list[tuple[str, str]], kinds: tuple[str, ...]) -> None:
    """Print the number of trials of each point, and the number of its findings of each kind."""
    import pandas as pd  # after the number of threads was set

    frame = pd.DataFrame(rows, columns=["point", "kind"])
    trials = frame.groupby("point", sort=False).size()
    counts = pd.crosstab(frame["point"], frame["kind"]).reindex(
        index=trials.index, columns=kinds, fill_value=0
    )
    counts.insert(0, "trials", trials)
    counts.loc["all"] = counts.sum()
    print(counts.rename_axis(index=None, columns=None).to_string())


if __name__ == "__main__":
    sys.exit(main())
