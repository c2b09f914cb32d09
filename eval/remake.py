"""What eval/results keeps of comparisons, by the commands that made it, on this processor -> how far the numbers move.

    python eval/remake.py DATA --work reports/remade                  all that a `kg2rag` command made
    python eval/remake.py DATA --work reports/remade musique-100      these

Writes a row a comparison and processor into eval/results/remade.csv: the largest change of a mean, in points, questions
and first tens that changed (per cent), stars that changed. A comparison that `--work` holds is opened, not run again.
"""

from __future__ import annotations

import json
import platform
import re
import shlex
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from keep import RESULTS

from kg2rag import Comparison
from kg2rag.cli import app
from kg2rag.compute import processor
from kg2rag.experiments.reproduction.instruction_sets import moved

TABLE = RESULTS / "remade.csv"
KEY = ["comparison", "processor"]


def main(
    data: Annotated[Path, typer.Argument(help="The folder of the public sets.")],
    names: Annotated[list[str] | None, typer.Argument(help="Folders of eval/results; all where none is given.")] = None,
    work: Annotated[Path, typer.Option(help="Where the comparisons are made, and found again.")] = Path(
        "reports/remade"
    ),
) -> None:
    """Run each comparison's own command, and say how far its numbers are from those that are kept."""
    for name in names or sorted(file.parent.name for file in RESULTS.glob("*/config.json")):
        command = json.loads((RESULTS / name / "config.json").read_text(encoding="utf-8"))["command"]
        if not command.startswith("kg2rag "):
            typer.echo(f"{name}: made by `{command}`, which is to be run by hand.")
            continue
        made = work / name
        if not (made / "config.json").is_file():
            typer.echo(f"{name}: {command}")
            arguments = shlex.split(command.replace("DATA/", f"{data}/"))[1:]
            app([*arguments, "--out", str(made)], standalone_mode=False)
        note(name, Comparison.load(made), Comparison.load(RESULTS / name))


def note(name: str, made: Comparison, kept: Comparison) -> None:
    """Write the row of a comparison, in place of an older one of the same processor."""
    row = {"comparison": name, "processor": f"{vendor()} {processor()}", "kept_on": str(kept.config["processor"])}
    row |= {"rows": len(kept.scores), **moved(made, kept)}
    typer.echo(f"{name}: {row}")
    before = pd.read_csv(TABLE) if TABLE.is_file() else pd.DataFrame(columns=list(row))
    others = before[(before[KEY] != [row[key] for key in KEY]).any(axis=1)]
    table = pd.concat([*([others] if len(others) else []), pd.DataFrame([row])]).sort_values(KEY)
    table.to_csv(TABLE, index=False, float_format="%.6f", lineterminator="\n")


def vendor() -> str:
    """Who made the processor, as it says itself."""
    about = Path("/proc/cpuinfo")
    found = re.search(r"^vendor_id\s*: (\S+)", about.read_text(encoding="utf-8"), re.M) if about.is_file() else None
    return found[1] if found else platform.processor() or platform.machine()


if __name__ == "__main__":
    typer.run(main)
