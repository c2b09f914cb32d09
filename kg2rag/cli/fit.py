"""`kg2rag fit`: coefficients from training questions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SYSTEMS = ("mention_chains", "mention_chains+cross")


def fit(
    system: Annotated[str, typer.Argument(help="mention_chains, or mention_chains+cross (trains a network).")],
    data: Annotated[list[str], typer.Option(help="NAME=PATH of a training set; may be repeated. Each is pooled.")],
    out: Annotated[Path, typer.Option(help="The TOML file to write.")],
    leave_out: Annotated[
        list[str] | None,
        typer.Option(help="Questions not to fit on: NAME=PATH of a set, or a file of ids, one a line."),
    ] = None,
    ablation: Annotated[
        Path | None, typer.Option(help="A folder for one more file per signal: the fit without it.")
    ] = None,
    coefficients: Annotated[
        str, typer.Option(help="For +cross: the coefficients of mention_chains, default or a file.")
    ] = "default",
    seed: Annotated[int, typer.Option(min=0, help="Of the folds.")] = 0,
    dtype: Annotated[str, typer.Option(help="Of the encoder: float32, which every processor has; bfloat16, auto.")] = (
        "float32"
    ),
) -> None:
    """Fit a system on questions with gold; use the file with --set SYSTEM.coefficients=FILE, or .weights of +cross.

    The weights of mention_chains+cross go into the store; a training that was interrupted goes on when run again.
    """
    from kg2rag.compute import SentenceEncoder, write
    from kg2rag.datasets import load
    from kg2rag.experiments.fitting import SIGNALS, fit_cross, fit_mention_chains
    from kg2rag.text.nearest import unknown

    if system not in SYSTEMS:
        raise ValueError(unknown("system to fit", system, SYSTEMS))
    if ablation and system != SYSTEMS[0]:
        raise ValueError(f"--ablation is for {SYSTEMS[0]} alone: {system} has no signals to leave out.")
    if coefficients != "default" and system == SYSTEMS[0]:
        raise ValueError(f"--coefficients is for {SYSTEMS[1]} alone: {system} is what they are fitted for.")
    for folder in (out.parent, ablation):
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    sets = {name: load(name, path=path, setting="pooled") for name, path in map(_named_path, data)}
    if len(sets) < len(data):
        raise ValueError(f"--data names a set twice: {', '.join(data)}.")
    left = {id_ for given in leave_out or [] for id_ in _ids(given)}
    known = {question.id for each in sets.values() for question in each.questions}
    if left and not left & known:
        raise ValueError(f"--leave-out: none of its {len(left):,} ids, such as {min(left)!r}, is a question of --data.")
    encoder = SentenceEncoder(dtype=dtype)
    if system == SYSTEMS[0]:
        texts = fit_mention_chains(
            sets, leave_out=left, without=SIGNALS if ablation else (), seed=seed, embedder=encoder
        )
    else:
        texts = {"": fit_cross(sets, leave_out=left, seed=seed, coefficients=coefficients, embedder=encoder)}
    for signal, text in texts.items():
        write(ablation / f"without_{signal}.toml" if ablation and signal else out, text.encode())
    counts = f"{len(known - left):,} questions of {', '.join(sets)}, {len(known & left):,} left out"
    typer.echo(f"Written to {out}: fitted on {counts}.")


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
