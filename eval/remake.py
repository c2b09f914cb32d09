"""`eval/kept.toml` -> `eval/results`: every kept comparison made by its own command, and the pages of all of them.

    python eval/remake.py DATA                  all that kept.toml names, the ledger, docs/results and the README
    python eval/remake.py DATA musique-100      these, and the pages

All are made in `--work` before any is kept, so that each says of itself that it was made from a clean commit; what was
made there before is opened, so that an interrupted run goes on. Kept are tables, configuration, the scores of each
question and the runs: texts of questions and passages stay with the data sets, whose licences are their own.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pages
import studies
import typer

from kg2rag import Comparison
from kg2rag.cli import app
from kg2rag.text.registry import unknown


def main(
    data: Annotated[Path, typer.Argument(help="The folder of the public sets.")],
    names: Annotated[list[str] | None, typer.Argument(help="Tables of kept.toml; all where none is given.")] = None,
    work: Annotated[Path, typer.Option(help="Where the comparisons are made.")] = Path("reports/remade"),
    changed: Annotated[bool, typer.Option(help="Also from files that are not committed.")] = False,
) -> None:
    """Make, keep and show."""
    commands = {name: about["command"] for name, about in studies.kept().items()}
    for name in names or ():
        if name not in commands:
            raise ValueError(unknown("kept comparison", name, commands))
    if not changed and (files := uncommitted()):
        raise ValueError(f"These files are not committed: {', '.join(files)}. Commit them, or pass --changed.")
    root = data.resolve()
    for name in names or commands:
        if not (work / name / "config.json").is_file():
            typer.echo(f"{name}: {commands[name]}")
            run(commands[name], root, "--out", work / name)
    for name in names or commands:
        keep(work / name, studies.RESULTS / name, root, commands[name])
    if not names:
        run("kg2rag reproduce eval/ledger --data DATA", root, "--out", work / "ledger.csv")
        shutil.copyfile(work / "ledger.csv", studies.RESULTS / "ledger.csv")
    pages.main()


def uncommitted() -> list[str]:
    """Tracked files that differ from the commit."""
    found = subprocess.run(["git", "diff", "--name-only", "HEAD"], capture_output=True, text=True, check=True)
    return found.stdout.split()


def run(command: str, data: Path, *more: object) -> None:
    """A command of kept.toml, in this process."""
    words = shlex.split(command.replace("\\\n", " ").replace("DATA", str(data)))
    app([*words[1:], *map(str, more)], standalone_mode=False)


def keep(made: Path, folder: Path, data: Path, command: str) -> None:
    """A saved comparison without texts; its configuration has the command and names no path of this machine."""
    result = Comparison.load(made)
    config = json.loads(json.dumps(dict(result.config)).replace(str(data), "DATA"))
    config["command"] = shlex.join(shlex.split(command.replace("\\\n", " ")))
    shutil.rmtree(folder, ignore_errors=True)
    replace(result, config=config).save(folder, texts=False)
    commit = config.get("commit", {})
    typer.echo(f"Kept {folder.name}, made at {commit.get('id')}{' with changes' * bool(commit.get('changed'))}.")


if __name__ == "__main__":
    typer.run(main)
