"""A TOML file -> a `Sweep`; errors name the file, the key, the value and what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kg2rag.compute import Store
from kg2rag.experiments.sweep.scoring import known_keys
from kg2rag.experiments.sweep.sweep import Sweep
from kg2rag.text.records import DataError, read_toml

KEYS = ("encoders", "graphs", "k", "metrics", "name", "objective", "samples", "search", "seed", "split", "systems")
DATA_KEYS = ("limit", "name", "setting")


def read_sweep(file: str | Path, *, path: str | Path | None = None, store: Store | None = None) -> Sweep:
    """The sweep of a TOML file; errors name the file, the key, the value and what is allowed.

    Parameters
    ----------
    path : file or folder of the data; no sweep file contains it, because those are shared and data are not.
    """
    file = Path(file)
    if not file.is_file():
        raise FileNotFoundError(f"{file} does not exist or is no file.")
    given = read_toml(file)
    try:
        return Sweep(**_options(given), path=path, store=store, name=str(given.get("name", file.stem)))
    except ValueError as error:
        raise DataError(f"{file}: {error}") from error


def _options(given: Mapping[str, object]) -> dict[str, Any]:
    known_keys("", given, (*KEYS, "data"))
    for key in ("data", "systems"):
        if key not in given:
            raise ValueError(f"The key {key!r} is missing.")
    about = given["data"]
    if isinstance(about, str):
        about = {"name": about}
    if not isinstance(about, Mapping) or "name" not in about:
        raise ValueError(f"data = {about!r}: expected the name of a set, or a table with {', '.join(DATA_KEYS)}.")
    known_keys("data.", about, DATA_KEYS)  # a path is given on the command line (--path)
    if not _texts(given.get("metrics", [])):
        raise ValueError(f'metrics = {given["metrics"]!r}: expected a list of names, such as ["recall@5"].')
    for key in ("graphs", "encoders"):
        value = given.get(key, "")
        named = isinstance(value, Mapping) and all(isinstance(one, str) for one in value.values())
        if not (isinstance(value, str) or named or _texts(value)):
            raise ValueError(f"{key} = {value!r}: expected a name, a list of names, or a table label = name.")
    rest = {key: value for key, value in given.items() if key not in ("data", "name")}
    return {**rest, **{key: value for key, value in about.items() if key != "name"}, "data": about["name"]}


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
