"""Saved comparisons and sweeps -> what `eval/results` keeps of them: scores, configuration, scores of questions, runs.

python eval/keep.py reports/musique musique-100 --data DATA
python eval/keep.py reports/sweeps/kg2rag_train sweep-kg2rag-train --data DATA

Of each run the first hits are kept, as many as any metric reads, compressed and headed by ir_metadata. Texts of
questions and gold stay with the data sets, whose licences are their own. Paths below DATA are written as DATA.
"""

from __future__ import annotations

import json
import lzma
import re
import shutil
from pathlib import Path
from typing import Annotated, Any

import typer

from kg2rag import Comparison, SweepResult
from kg2rag.evaluation import annotated
from kg2rag.retrievers.adapters import trec
from kg2rag.types import Ranking

RESULTS = Path(__file__).resolve().parent / "results"
TABLES = ("per_seed.csv", "curve.csv", "token_curve.csv", "sizes.csv")
SWEEP = ("results.parquet", "timings.csv", "sweep.json")
HITS = 20
"""Passages that hold the 500 tokens of a metric, or more."""


def main(
    saved: Annotated[Path, typer.Argument(help="What `kg2rag compare --out` wrote.")],
    name: Annotated[str, typer.Argument(help="The folder in eval/results.")],
    data: Annotated[Path, typer.Option(help="The folder of the public sets.")],
) -> None:
    """Keep a saved comparison, or a sweep."""
    if (saved / SWEEP[0]).is_file():
        keep_sweep(saved, RESULTS / name, data)
        return
    folder, result = RESULTS / name, Comparison.load(saved)
    config = without_paths(dict(result.config), data.resolve())
    for made in (config, *config.get("added", ())):
        if not made["command"]:
            raise ValueError(
                f"{saved} does not say which command made it, so nobody could remake it. Pass compare(command=…)."
            )
        made["command"] = re.sub(r" --out \S+", "", made["command"])
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "runs").mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    shutil.copy(saved / "scores.csv", folder / "scores.csv")
    for table in TABLES:
        if (saved / table).is_file():
            shutil.copy(saved / table, folder / table)
    scores = result.per_query.drop(columns=["question", "said"], errors="ignore")  # both hold texts of the set
    scores.to_csv(folder / "per_query.csv.xz", index=False, lineterminator="\n")  # shortest digits that read back equal
    for system, rankings in result.rankings.items():
        first = [Ranking(one.query_id, one.rows[:HITS], one.scores[:HITS], one.ids) for one in rankings]
        run = trec.dump(first, system, annotated.header(config, system))
        (folder / "runs" / f"{system}.trec.xz").write_bytes(lzma.compress(run.encode()))


def keep_sweep(saved: Path, folder: Path, data: Path) -> None:
    """A finished sweep: the scores of each question have ids, kinds and no texts."""
    result = SweepResult.load(saved)
    if len(result.failed) or (saved / "parts").is_dir():
        raise ValueError(f"{saved} is of a sweep that is not finished, or in which configurations failed.")
    folder.mkdir(parents=True, exist_ok=True)
    for file in SWEEP[:2]:
        shutil.copy(saved / file, folder / file)
    about = without_paths(json.loads((saved / SWEEP[2]).read_text(encoding="utf-8")), data.resolve())
    (folder / SWEEP[2]).write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def without_paths(value: Any, data: Path) -> Any:
    """A configuration as text of any machine."""
    if isinstance(value, dict):
        return {name: without_paths(one, data) for name, one in value.items()}
    if isinstance(value, list):
        return [without_paths(one, data) for one in value]
    return value.replace(str(data), "DATA") if isinstance(value, str) else value


if __name__ == "__main__":
    typer.run(main)
