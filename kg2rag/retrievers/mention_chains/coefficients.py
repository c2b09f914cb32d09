"""A file of coefficients -> the linear models of candidates and chains; `eval/fit.py` fits them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from math import isfinite
from pathlib import Path

import numpy as np

from kg2rag.retrievers.mention_chains.signals import MODELS, Signals, names_of
from kg2rag.text.normalisation import normalise
from kg2rag.types import (
    FloatArray,
    ParameterError,
    number,
)

DEFAULT = "default"
FORMAT = 4
WITH = "with_tokens"
WITHOUT = "without_tokens"


@dataclass(frozen=True)
class Linear:
    """A linear model of signals: intercept + sum of coefficient · signal.

    `coefficients` : name of a signal -> its coefficient.
    """

    coefficients: Mapping[str, float]
    intercept: float = 0.0

    def __call__(self, signals: Signals) -> FloatArray:
        """The values of the model, an array of the shape of each signal."""
        total: FloatArray = np.full(next(iter(signals.values())).shape, self.intercept)
        for name, coefficient in self.coefficients.items():
            if coefficient:  # a signal with coefficient 0 may be missing
                total += coefficient * signals[name]
        return total

    @property
    def formula(self) -> str:
        """The model as a formula of score parts; "(0 - 2) · name" has a negative coefficient.

        Signals with coefficient 0 are left out.
        """
        terms = [
            _term(coefficient, name)
            for name, coefficient in self.coefficients.items()
            if coefficient
        ]
        if self.intercept:
            terms.append(number(self.intercept))
        return " + ".join(terms)


def _term(coefficient: float, name: str) -> str:
    """The product of a coefficient and a signal in a formula."""
    if coefficient < 0:
        return f"(0 - {number(-coefficient)}) · {name}"
    if number(coefficient) == "1":
        return name
    return f"{number(coefficient)} · {name}"


@dataclass(frozen=True)
class Ranker:
    """The fitted models of candidates; the score is a mixture of the experts `single` and `chain`.

    score = (1 - chain_weight) · single + chain_weight · chain, with chain_weight = sigmoid(gate).

    Attributes
    ----------
    start : the log-odds that a candidate is needed, by itself.
    step : the log-odds that a candidate continues a set.
    single, chain : the scores of a candidate as a single passage and as a member of chains.
    gate : the log-odds of the weight of the chains.
    """

    start: Linear
    step: Linear
    single: Linear
    chain: Linear
    gate: Linear

    def chain_weight(self, signals: Mapping[str, float]) -> float:
        """The weight of the chains of a question, in (0, 1), given the signals of the gate."""
        arrays = {name: np.asarray(value) for name, value in signals.items()}
        return float(1 / (1 + np.exp(-self.gate(arrays))))

    def order(self, chain_weight: float) -> Linear:
        """The score as one linear model; its coefficients are rounded as its formula shows them."""
        coefficients = {
            name: (1 - chain_weight) * coefficient
            for name, coefficient in self.single.coefficients.items()
        }
        for name, coefficient in self.chain.coefficients.items():
            coefficients[name] = chain_weight * coefficient
        return Linear({name: float(number(c)) for name, c in coefficients.items()})


@dataclass(frozen=True)
class Coefficients:
    """The fitted models of a file.

    Attributes
    ----------
    rankers : `WITH` and `WITHOUT` -> the models for encoders with and without token vectors.
    fitted : the encoder, date and data of the fit.
    seen : the `digest` of each training question.
    """

    rankers: Mapping[str, Ranker]
    fitted: Mapping[str, object]
    seen: frozenset[str]

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
        raise ParameterError(
            f'coefficients must be "{DEFAULT}" or a file written by `eval/fit.py`, not {name!r}.'
        )
    return _read(str(path), path.stat().st_mtime_ns)


@lru_cache(maxsize=32)
def _read(name: str, modified: int) -> Coefficients:  # noqa: ARG001 (a rewritten file is read again)
    """The coefficients of a file, which is read once for each time of modification."""
    source = files(__package__) / "coefficients.toml" if name == DEFAULT else Path(name)
    try:
        record = tomllib.loads(source.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"coefficients {name!r}: not TOML: {error}") from None
    if record.get("format") != FORMAT:
        raise ParameterError(
            f"coefficients {name!r}: format is {record.get('format')!r}, not {FORMAT}. Fit them anew."
        )
    rankers = {section: _ranker(record, section, name) for section in (WITH, WITHOUT)}
    seen = frozenset(str(record.get("seen", "")).split())
    return Coefficients(rankers, dict(record.get("fitted", {})), seen)


def _ranker(record: Mapping[str, object], section: str, file: str) -> Ranker:
    """The models of a section, one for each of its tables."""
    models = []
    for model in MODELS:
        names = names_of(model, tokens=section == WITH)
        models.append(_linear(record.get(section), f"{section}.{model}", names, file))
    return Ranker(*models)


def _linear(section: object, table: str, names: tuple[str, ...], file: str) -> Linear:
    """The model of a table, which has one finite number for each signal and for the intercept.

    `section` : the tables of the section. `names` : the signals.
    """
    model = (
        section.get(table.rpartition(".")[2]) if isinstance(section, Mapping) else None
    )
    if not isinstance(model, Mapping):
        raise ParameterError(
            f"coefficients {file!r}: there is no table [{table}]. Fit them anew."
        )
    allowed = ("intercept", *names)
    for key in (*model, *allowed):
        if key not in allowed:
            raise ParameterError(
                f"coefficients {file!r}: [{table}] has {key!r}. Known: {', '.join(allowed)}."
            )
        value = model.get(key)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not isfinite(value)
        ):
            raise ParameterError(
                f"coefficients {file!r}: {key} in [{table}] must be a finite number, not {value!r}."
            )
    return Linear(
        {name: float(model[name]) for name in names}, float(model["intercept"])
    )


def digest(question: str) -> str:
    """A hash of a question, eight hexadecimal digits, without case and punctuation."""
    return sha256(normalise(question).encode()).hexdigest()[:8]
