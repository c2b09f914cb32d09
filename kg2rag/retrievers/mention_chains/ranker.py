"""A TOML file of coefficients -> the linear models that score candidates, continuations and the final order.

`eval/fit.py` writes the file, from training questions alone, and says in it what it was fitted on.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from math import isfinite
from pathlib import Path

import numpy as np

from kg2rag.retrievers.mention_chains.signals import OF_TOKENS, START, STEP, Signals
from kg2rag.types import FloatArray, ParameterError, number

DEFAULT = "default"
FORMAT = 1
ORDER = ("start", "second", "third", "fourth")
KINDS = ("one_passage", "one_chain", "two_chains")
"""What a question is taken to ask for, each with an order of its own."""
WITH, WITHOUT = "with_tokens", "without_tokens"


@dataclass(frozen=True)
class Linear:
    """intercept + sum of coefficient · signal."""

    coefficients: Mapping[str, float]
    intercept: float = 0.0

    def __call__(self, signals: Signals) -> FloatArray:
        """The sum, in the order of the coefficients, for every entry of the signals' arrays."""
        total: FloatArray = np.full(next(iter(signals.values())).shape, self.intercept)
        for name, coefficient in self.coefficients.items():
            if coefficient:  # a signal that does not count may be missing
                total += coefficient * signals[name]
        return total

    @property
    def formula(self) -> str:
        """The sum as `types.formulas` writes it; a coefficient below 0 as (0 - …), none that is 0."""
        signed = {name: number(c) if c > 0 else f"(0 - {number(-c)})" for name, c in self.coefficients.items() if c}
        terms = [f"{shown} · {name}" if shown != "1" else name for name, shown in signed.items()]
        return " + ".join([*terms, *([number(self.intercept)] if self.intercept else [])])


@dataclass(frozen=True)
class Ranker:
    """The models of a candidate alone and of a continuation, and the final order for each kind of question."""

    start: Linear
    step: Linear
    orders: Mapping[str, Linear]


@dataclass(frozen=True)
class Coefficients:
    """A file of coefficients; `fitted` says when and on what."""

    rankers: Mapping[str, Ranker]
    fitted: Mapping[str, object]

    def ranker(self, *, tokens: bool) -> Ranker:
        """The models for an encoder with token vectors, or without."""
        return self.rankers[WITH if tokens else WITHOUT]


def read_coefficients(name: str) -> Coefficients:
    """The coefficients of the package ("default") or of a file.

    Raises
    ------
    ParameterError : there is no such file, or it is not as `eval/fit.py` writes it; the message names what is wrong.
    """
    if name == DEFAULT:
        return _read(name, 0)
    path = Path(name).expanduser()
    if not path.is_file():
        raise ParameterError(f'coefficients must be "{DEFAULT}" or a file written by `eval/fit.py`, not {name!r}.')
    return _read(str(path), path.stat().st_mtime_ns)


@lru_cache(maxsize=32)
def _read(name: str, modified: int) -> Coefficients:  # noqa: ARG001 (a file that is written again is another)
    source = files(__package__) / "coefficients.toml" if name == DEFAULT else Path(name)
    try:
        record = tomllib.loads(source.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"coefficients {name!r}: not TOML: {error}") from None
    if record.get("format") != FORMAT:
        raise ParameterError(f"coefficients {name!r}: format is {record.get('format')!r}, not {FORMAT}. Fit them anew.")
    table = record.get("order")
    orders = {kind: _linear(table, f"order.{kind}", ORDER, name) for kind in KINDS}
    rankers = {}
    for section in (WITH, WITHOUT):
        wanted = {model: names_of(model, tokens=section == WITH) for model in ("start", "step")}
        models = {
            model: _linear(record.get(section), f"{section}.{model}", names, name) for model, names in wanted.items()
        }
        rankers[section] = Ranker(models["start"], models["step"], orders)
    return Coefficients(rankers, dict(record.get("fitted", {})))


def names_of(model: str, *, tokens: bool) -> tuple[str, ...]:
    """The signals that a model reads."""
    names = {"start": START, "step": STEP}[model]
    return tuple(name for name in names if tokens or name not in OF_TOKENS)


def _linear(section: object, table: str, names: tuple[str, ...], file: str) -> Linear:
    """The model in a table that has a finite number for each of its signals and for the intercept, and no more."""
    given = section.get(table.rpartition(".")[2]) if isinstance(section, Mapping) else None
    if not isinstance(given, Mapping):
        raise ParameterError(f"coefficients {file!r}: there is no table [{table}]. Fit them anew.")
    allowed = ("intercept", *names)
    for key in (*given, *allowed):
        if key not in allowed:
            raise ParameterError(f"coefficients {file!r}: [{table}] has {key!r}. Known: {', '.join(allowed)}.")
        value = given.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise ParameterError(f"coefficients {file!r}: {key} in [{table}] must be a finite number, not {value!r}.")
    return Linear({name: float(given[name]) for name in names}, float(given["intercept"]))
