"""The files of `eval/results`, `eval/ledger` and `eval/coefficients` -> rows and values, for the pages.

What is asked for and is not there raises `UnknownError`, which names what there is.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
import scaling


class UnknownError(ValueError):
    """A folder, system, metric, column or key that is in no committed file."""


def known(kind: str, name: str, names: Iterable[str]) -> str:
    """The name, if it is one of them.

    >>> known("metric", "recall@5", ["recall@5", "mrr@10"])
    'recall@5'
    """
    choices = sorted(map(str, names))
    if name not in choices:
        raise UnknownError(f"Unknown {kind} {name!r}. Known: {', '.join(choices) or 'none'}.")
    return name


class Results:
    """The committed numbers under one folder, `eval` of the repository; each file is read once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._csv: Callable[[str], pd.DataFrame] = lru_cache(None)(self._read_csv)
        self._toml: Callable[[str], dict[str, Any]] = lru_cache(None)(self._read_toml)

    @cached_property
    def folders(self) -> list[str]:
        """The comparisons, by the names of their folders."""
        return sorted(file.parent.name for file in (self.root / "results").glob("*/scores.csv"))

    def scores(self, folder: str) -> pd.DataFrame:
        """A comparison's scores, by system and metric."""
        known("folder", folder, self.folders)
        return self._csv(f"{folder}/scores").set_index(["system", "metric"])

    def score(self, folder: str, system: str, metric: str) -> pd.Series:
        """The row of one system and metric."""
        frame = self.scores(folder)
        known(f"system of {folder}", system, frame.index.unique("system"))
        known(f"metric of {folder}", metric, frame.index.unique("metric"))
        return frame.loc[(system, metric)]

    def config(self, folder: str) -> Mapping[str, Any] | None:
        """What a comparison depended on; None where it was not committed."""
        known("folder", folder, self.folders)
        file = self.root / "results" / folder / "config.json"
        return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None

    def row(self, file: str, column: str, given: Mapping[str, str]) -> Any:
        """The value of a column of `results/FILE.csv` in the one row that has the given values."""
        frame = self.rows(file, given)
        if len(frame) != 1:
            raise UnknownError(f"{len(frame)} rows of {file}.csv have {dict(given)}; one is needed.")
        return frame.iloc[0][known(f"column of {file}.csv", column, frame.columns)]

    def rows(self, file: str, given: Mapping[str, str]) -> pd.DataFrame:
        """The rows of `results/FILE.csv` that have the given values, of which there is at least one."""
        frame = self._csv(file)
        for name, value in given.items():
            known(f"column of {file}.csv", name, frame.columns)
            known(f"{name} of {file}.csv", value, frame[name].astype(str).unique())
            frame = frame[frame[name].astype(str) == value]
        return frame

    def table(self, name: str) -> pd.DataFrame:
        """A table of `results/NAME.csv`."""
        return self._csv(name)

    def ablation(self, name: str, changed: str) -> pd.Series:
        """What recall@5 a change of `mention_chains` costs on a set."""
        frame = self.changes()
        known("set of ablation.csv", name, frame["set"].unique())
        known("change of ablation.csv", changed, frame["changed"].unique())
        return frame[(frame["set"] == name) & (frame["changed"] == changed)].iloc[0]

    def changes(self) -> pd.DataFrame:
        """All changes of `mention_chains`, by recall@5."""
        frame = self._csv("ablation")
        return frame[(frame["metric"] == "recall@5") & frame["changed"].notna()]

    def value(self, file: str, *keys: str) -> Any:
        """The value under some keys of a TOML file, named by its path under `eval` without the ending."""
        found: Any = self._toml(file)
        for key in keys:
            found = found[known(f"key of {file}.toml", key, found)]
        return found

    def measurements(self) -> pd.DataFrame:
        """The lines of `eval/bench/scale.py`."""
        return scaling.read(self.root / "results" / "scale" / "measurements.jsonl")

    def measured(self, name: str, size: int, column: str) -> float:
        """A cost of a part or system at a number of passages: the last line that was measured."""
        frame = self.measurements()
        frame = frame[frame["label"] == "now"]
        frame = frame[frame["name"] == known("part or system of measurements.jsonl", name, frame["name"].unique())]
        known(f"size of {name!r}", str(size), map(str, frame["passages"].unique()))
        values = frame.loc[frame["passages"] == size, known("cost", column, frame.columns)].dropna()
        if values.empty:
            raise UnknownError(f"{column} of {name!r} was not measured at {size:,} passages.")
        return float(values.iloc[0])

    def _read_csv(self, name: str) -> pd.DataFrame:
        tables = sorted(file.stem for file in (self.root / "results").glob("*.csv"))
        if "/" not in name:
            known("file of eval/results", name, tables)
        return pd.read_csv(self.root / "results" / f"{name}.csv", dtype={"floor": str})

    def _read_toml(self, name: str) -> dict[str, Any]:
        files = [*self.root.glob("results/*.toml"), *self.root.glob("coefficients/*.toml")]
        files += self.root.glob("ledger/*.toml")
        known("file of eval", name, [file.relative_to(self.root).with_suffix("").as_posix() for file in files])
        return tomllib.loads((self.root / f"{name}.toml").read_text(encoding="utf-8"))
