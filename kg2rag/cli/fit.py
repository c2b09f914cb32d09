"""`kg2rag fit`: coefficients from training questions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def fit(
    system: Annotated[str, typer.Argument(help="The system to fit; mention_chains is the only one that is.")],
    data: Annotated[list[str], typer.Option(help="NAME=PATH of a training set; may be repeated. Each is pooled.")],
    out: Annotated[Path, typer.Option(help="The TOML file to write.")],
    leave_out: Annotated[
        list[str] | None,
        typer.Option(help="Questions not to fit on: NAME=PATH of a set, or a file of ids, one a line."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the folds.")] = 0,
) -> None:
    """Fit a system's coefficients on questions with gold; use them with --set SYSTEM.coefficients=FILE."""
    from kg2rag.datasets import load
    from kg2rag.experiments.fitting import fit_mention_chains
    from kg2rag.text.nearest import unknown

    if system != "mention_chains":
        raise ValueError(unknown("system to fit", system, ["mention_chains"]))
    sets = {name: load(name, path=path, setting="pooled") for name, path in map(_named_path, data)}
    if len(sets) < len(data):
        raise ValueError(f"--data names a set twice: {', '.join(data)}.")
    left = {id_ for given in leave_out or [] for id_ in _ids(given)}
    text = fit_mention_chains(sets, leave_out=left, seed=seed)
    out.write_text(text, encoding="utf-8")
    count = sum(question.id not in left for each in sets.values() for question in each.questions)
    typer.echo(f"Written to {out}: fitted on {count:,} questions of {', '.join(sets)}, {len(left):,} ids left out.")


def _named_path(given: str) -> tuple[str, Path]:
    name, equals, path = given.partition("=")
    if not (name and equals and path):
        raise ValueError(f"{given!r}: write NAME=PATH, such as musique=FOLDER.")
    return name, Path(path)


def _ids(given: str) -> list[str]:
    """The ids in a file of them, or of a set's questions."""
    from kg2rag.datasets import load

    if "=" not in given:
        return Path(given).read_text(encoding="utf-8").split()
    name, path = _named_path(given)
    return [question.id for question in load(name, path=path).questions]
