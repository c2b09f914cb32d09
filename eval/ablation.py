"""What each signal and each step of `mention_chains` is worth, on every public set.

    python eval/ablation.py DATA                 writes eval/results/ablation.csv
    python eval/ablation.py DATA --only cosqa-500

Runs the sweep `eval/sweeps/mention_chains.toml` on each set (what is in the store is not run again) and
compares every configuration with the first on all questions. Run it from the root of the repository.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from public_sets import ENCODER, REPORTED, reported

from kg2rag.experiments.sweep import read_sweep

ROOT = Path(__file__).resolve().parent.parent
SWEEP = ROOT / "eval" / "sweeps" / "mention_chains.toml"
RESULTS = ROOT / "eval" / "results" / "ablation.csv"
METRICS = ("recall@5", "all_recall@5")
FULL = 1  # the number of the first configuration
WORDS = {
    "max_phrases=0": "no sub-phrases",
    "phrase_weight=0.0": "no walk from sub-phrases",
    "backward=0.0": "no edges backward",
    "name_weight=0.0": "no edges by shared names",
    "title_weight=0.0": "no walk from titles",
    "query_name_weight=0.0": "no walk from the question's names",
    "dense_seeds=1": "walk from one nearest passage",
    "walk_depth=1": "no candidates of the walk",
    "dense_depth=1": "no nearest candidates",
    "bm25_depth=1": "no candidates by BM25",
    "chain_phrases=1000000": "no chains",
    "sources=1": "chains from one passage",
    "beam=1": "one set continued",
    "member_bonus=0.0": "no bonus of members",
}


def main(
    data: Annotated[Path, typer.Argument(help="The folder of the public sets.")],
    only: Annotated[list[str] | None, typer.Option(help="Run these sets; the others keep their rows.")] = None,
    jobs: Annotated[int, typer.Option(help="Processes; 0: as many as there are processors.")] = 0,
) -> None:
    """Run, compare and write."""
    parts = dict(tuple(pd.read_csv(RESULTS).groupby("set", sort=False))) if RESULTS.is_file() else {}
    for folder in only or REPORTED:
        parts[folder] = rows(data, folder, jobs)
        pd.concat([parts[name] for name in REPORTED if name in parts]).to_csv(RESULTS, index=False)
    typer.echo(f"Written to {RESULTS}.")


def rows(data: Path, folder: str, jobs: int) -> pd.DataFrame:
    """One row a metric and configuration of one set."""
    out = ROOT / "reports" / "sweeps" / f"mention_chains-{folder}"
    sweep = replace(read_sweep(SWEEP), data=reported(data, folder), encoders={"float32": ENCODER})
    result = sweep.run(out, jobs=jobs)
    if len(result.failed):
        raise SystemExit(f"{folder}: {result.failed['error'].iloc[0]}")
    tables = {metric: result.against(FULL, metric) for metric in METRICS}
    for metric, table in tables.items():
        table.insert(0, "metric", metric)
    found = pd.concat(tables.values()).drop(columns=["number", "system"])
    found["changed"] = [named(changed) for changed in found["changed"]]
    found.insert(0, "set", folder)
    return found


def named(changed: str) -> str:
    """What a row leaves out, in words: of a signal by its file, without_bm25.toml, and of a step by `WORDS`."""
    if "without_" in changed:
        return "without " + Path(changed.partition("=")[2]).stem.removeprefix("without_")
    return WORDS[changed] if changed else ""


if __name__ == "__main__":
    typer.run(main)
