"""A sweep file (TOML) -> a `Sweep`; errors name the file, the key, the value and what is allowed."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kg2rag.compute.store import Store
from kg2rag.experiments.sweep.sweep import Sweep

KEYS = (
    "encoders",
    "graphs",
    "k",
    "metrics",
    "name",
    "objective",
    "samples",
    "search",
    "seed",
    "split",
    "systems",
)
DATA_KEYS = ("limit", "name", "passages", "revision", "setting")


def read_sweep(file: str | Path, *, path: str | Path | None = None, store: Store | None = None) -> Sweep:
    """The sweep of a file.

    Parameters
    ----------
    path : file or folder of the data; no sweep file contains it, because those are shared and data are not.

    Raises
    ------
    FileNotFoundError : no such file.
    ValueError : an error in it.
    """
    file = Path(file)
    if not file.is_file():
        raise FileNotFoundError(f"{file} does not exist or is no file.")
    try:
        given = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{file}: not a TOML file: {error}.") from error
    try:
        return Sweep(**_options(given), path=path, store=store, name=str(given.get("name", file.stem)))
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error


def _options(given: Mapping[str, object]) -> dict[str, Any]:
    for key in given:
        if key not in (*KEYS, "data"):
            raise ValueError(f"Unknown key {key!r}. Known: {', '.join(sorted((*KEYS, 'data')))}.")
    for key in ("data", "systems"):
        if key not in given:
            raise ValueError(f"The key {key!r} is missing.")
    about = given["data"]
    if isinstance(about, str):
        about = {"name": about}
    if not isinstance(about, Mapping) or "name" not in about:
        raise ValueError(f"data = {about!r}: expected the name of a set, or a table with {', '.join(DATA_KEYS)}.")
    for key in about:
        if key not in DATA_KEYS:
            hint = " Paths are given on the command line (--path)." if key == "path" else ""
            raise ValueError(f"Unknown key data.{key}. Known: {', '.join(DATA_KEYS)}.{hint}")
    rest = {key: value for key, value in given.items() if key not in ("data", "name")}
    _check_lists(rest)
    return {**rest, **{key: value for key, value in about.items() if key != "name"}, "data": about["name"]}


def _check_lists(given: Mapping[str, object]) -> None:
    if "metrics" in given and not _texts(given["metrics"]):
        raise ValueError(f'metrics = {given["metrics"]!r}: expected a list of names, such as ["recall@5"].')
    for key in ("graphs", "encoders"):
        value = given.get(key, "")
        named = isinstance(value, Mapping) and all(isinstance(one, str) for one in value.values())
        if not (isinstance(value, str) or named or _texts(value)):
            raise ValueError(f"{key} = {value!r}: expected a name, a list of names, or a table label = name.")


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
