"""The five designs in the committed comparisons: as they were at a commit, and as they are.

    python eval/before.py COMMIT      writes eval/results/before.csv

Nothing is run: both columns are read from `eval/results/*/scores.csv`, those of the commit by git.
"""

from __future__ import annotations

import io
import subprocess
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from designs import DESIGNS, METRICS

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "eval" / "results"
FOLDERS = ("musique-100", "hotpotqa-300", "2wiki-1000", "all-musique-100", "all-hotpotqa-300", "all-2wiki-kg-500")


def main(commit: Annotated[str, typer.Argument(help="Before the designs were changed.")]) -> None:
    """Read, join, write and show."""
    full = _git("rev-parse", commit).strip()
    rows = []
    for folder in FOLDERS:
        then = pd.read_csv(io.StringIO(_git("show", f"{full}:eval/results/{folder}/scores.csv")))
        now = pd.read_csv(RESULTS / folder / "scores.csv")
        before, after = (frame.set_index(["system", "metric"])["mean"] for frame in (then, now))
        for system in DESIGNS:
            if (system, METRICS[0]) in after.index:
                scores = {
                    f"{metric} {when}": part[system, metric]
                    for metric in METRICS
                    for when, part in (("before", before), ("now", after))
                }
                rows.append({"folder": folder, "system": system, **scores, "commit": full})
    table = pd.DataFrame(rows).sort_values("system", kind="stable")
    table.to_csv(RESULTS / "before.csv", index=False, float_format="%.6f")
    typer.echo(table.drop(columns="commit").round(3).to_string(index=False))


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    typer.run(main)
