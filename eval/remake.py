"""`eval/kept.toml` -> `eval/results`: every kept comparison, made by its command, and the pages of all of them.

    python eval/remake.py DATA                  all but the blind sets, the ledger, docs/results and the README
    python eval/remake.py DATA musique-100      this comparison, and the pages

All comparisons are made in the folder `--work` before the first is kept, so that each records a
clean commit. A later run with the same folder goes on with the comparisons that it lacks. A
comparison whose files are missing or that fails is named at the end, with exit code 1, and its
former result stays. Blind sets are remade only by name, since they are run once. Texts of questions
and passages are not kept, since the data sets have other licences.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pages
import studies
import typer

from kg2rag import Comparison
from kg2rag.cli import app
from kg2rag.text.registry import unknown

LEDGER = "ledger.csv"
REPRODUCE = "kg2rag reproduce eval/ledger --data DATA"


def main(
    data: Annotated[Path, typer.Argument(help="The folder of the public sets.")],
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Tables of kept.toml; by default all but blind."),
    ] = None,
    work: Annotated[
        Path, typer.Option(help="The folder in which comparisons are made.")
    ] = Path("reports/remade"),
    changed: Annotated[
        bool, typer.Option(help="Also with files that are not committed.")
    ] = False,
) -> None:
    """Make the comparisons, keep them, and write the pages."""
    commands = commands_of(names)
    if not changed and (files := uncommitted()):
        raise ValueError(
            f"These files are not committed: {', '.join(files)}. Commit them, or pass --changed."
        )
    root = data.resolve()
    failures = make(commands, root, work)
    for name, command in commands.items():
        if name not in failures:
            keep(work / name, studies.RESULTS / name, root, command)
    if not names:
        run(REPRODUCE, root, "--out", work / LEDGER)
        shutil.copyfile(work / LEDGER, studies.RESULTS / LEDGER)
    pages.main()
    for name, reason in failures.items():
        typer.echo(f"Not remade: {name}: {reason}", err=True)
    raise typer.Exit(bool(failures))


def commands_of(names: Sequence[str] | None) -> dict[str, str]:
    """Name of each wanted comparison -> its command; by default all but the blind ones."""
    entries = studies.kept()
    for name in names or ():
        if name not in entries:
            raise ValueError(unknown("kept comparison", name, entries))
    chosen = names or [
        name for name, entry in entries.items() if entry["page"] != "blind"
    ]
    return {name: entries[name]["command"] for name in chosen}


def make(commands: Mapping[str, str], data: Path, work: Path) -> dict[str, str]:
    """Run the commands whose comparisons the folder lacks; name of each comparison that was not made -> the reason."""
    failures = {}
    for number, (name, command) in enumerate(commands.items(), 1):
        missing = [
            path
            for path in re.findall(r"DATA/([\w./-]+)", command)
            if not (data / path).exists()
        ]
        if (work / name / "config.json").is_file():
            typer.echo(f"{number} of {len(commands)}: {name} is in {work}")
        elif missing:
            failures[name] = f"{data} lacks {', '.join(missing)}"
        else:
            typer.echo(f"{number} of {len(commands)}: {name}: {command}")
            try:
                run(command, data, "--out", work / name)
            except Exception as error:  # noqa: BLE001 (the other comparisons are made)
                failures[name] = f"{type(error).__name__}: {error}"
    return failures


def uncommitted() -> list[str]:
    """Tracked files that differ from the commit."""
    diff = subprocess.run(
        ["git", "diff", "--name-only", "HEAD"],
        capture_output=True,
        text=True,
        check=True,
    )
    return diff.stdout.split()


def run(command: str, data: Path, *options: object) -> None:
    """Run a command of kept.toml in this process, with further options. RuntimeError: it ended with an exit code."""
    words = shlex.split(command.replace("\\\n", " ").replace("DATA", str(data)))
    if code := app([*words[1:], *map(str, options)], standalone_mode=False):
        raise RuntimeError(f"exit code {code}")


def keep(source: Path, folder: Path, data: Path, command: str) -> None:
    """A saved comparison without texts; its configuration has the command and names no path of this machine."""
    result = Comparison.load(source)
    config = json.loads(json.dumps(dict(result.config)).replace(str(data), "DATA"))
    config["command"] = shlex.join(shlex.split(command.replace("\\\n", " ")))
    shutil.rmtree(folder, ignore_errors=True)
    replace(result, config=config).save(folder, texts=False)
    commit = config.get("commit", {})
    typer.echo(
        f"Kept {folder.name}, made at {commit.get('id')}{' with changes' * bool(commit.get('changed'))}."
    )


if __name__ == "__main__":
    typer.run(main)
