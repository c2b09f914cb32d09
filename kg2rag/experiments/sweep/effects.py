"""Scores of a sweep's configurations -> the effect of each parameter on the dev score."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import pandas as pd

from kg2rag.evaluation.metrics import bounds
from kg2rag.evaluation.statistics import LEVEL, holm, interval_of_mean, p_values
from kg2rag.retrievers.systems import parameters
from kg2rag.types import FloatArray

LABELS = ("setting", "graph", "encoder")
"""Columns beside the parameters in which configurations may differ."""
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")


class ScoredConfigurations(Protocol):
    """The part of a `SweepResult` that is read here; see there."""

    @property
    def objective(self) -> str:
        """The metric of the selection."""

    @property
    def numbers(self) -> list[int]:
        """The numbers of the configurations."""

    @property
    def settings(self) -> Mapping[int, Mapping[str, Any]]:
        """Number -> the parameters that the sweep sets."""

    @property
    def questions(self) -> Mapping[str, FloatArray]:
        """Split -> (n_configurations, n_questions) scores."""

    def to_frame(self) -> pd.DataFrame:
        """One row per configuration."""


def effects(result: ScoredConfigurations, system: str) -> pd.DataFrame:
    """The dev scores of each value of each parameter, over all values of the others.

    One row per parameter and value, the parameter with the largest spread first: parameter, value,
    n configurations, mean with its 95 % interval over questions (low, high), p_holm of the
    parameter's best against its worst value (paired randomisation test, corrected over the
    parameters), and `says`: "no difference" if that is .05 or more. ValueError: the sweep has no
    results of the system.
    """
    configurations = _configurations_of(result, system)
    values = {}
    for name in (*_parameter_names(result), *LABELS):
        scores_of = _scores_by_value(result, configurations[name])
        if len(scores_of) > 1:
            values[name] = scores_of
    p_holm = _p_of_best_against_worst(values)
    rows = []
    for name in sorted(values, key=lambda name: -_spread(values[name])):
        texts = configurations[name].map(value_text)
        counts = texts.value_counts()
        scores = np.array(list(values[name].values()))
        low, high = interval_of_mean(scores.T, bounds=bounds(result.objective))
        says = "no difference" if p_holm[name] >= LEVEL else ""
        for i, text in enumerate(values[name]):
            interval = (float(scores[i].mean()), float(low[i]), float(high[i]))
            rows.append((name, text, int(counts[text]), *interval, p_holm[name], says))
    return pd.DataFrame(
        rows, columns="parameter value n mean low high p_holm says".split()
    )


def _configurations_of(result: ScoredConfigurations, system: str) -> pd.DataFrame:
    """The configurations of a system; parameters that one leaves out have the system's defaults."""
    frame = result.to_frame()
    part = frame[frame["system"] == system]
    if part.empty:
        known = ", ".join(dict.fromkeys(frame["system"]))
        raise ValueError(
            f"The sweep has no results of system {system!r}. It has: {known or 'none'}."
        )
    rows = [
        {**parameters(system), **result.settings[number]}
        for number in part.index.tolist()
    ]
    full = pd.DataFrame(rows, index=part.index, dtype=object)
    return part.assign(
        **{name: full[name] for name in _parameter_names(result) if name in full}
    )


def _parameter_names(result: ScoredConfigurations) -> list[str]:
    return list(
        dict.fromkeys(
            name for settings in result.settings.values() for name in settings
        )
    )


def _scores_by_value(
    result: ScoredConfigurations, values: pd.Series
) -> dict[str, FloatArray]:
    """Value as text -> (n_dev_questions,) mean dev scores of the configurations with it."""
    texts = values.map(value_text)
    scores = {}
    for text in _ordered(values):
        rows = [
            result.numbers.index(number)
            for number in texts.index[texts == text].tolist()
        ]
        scores[text] = result.questions["dev"][rows].mean(axis=0)
    return scores


def _p_of_best_against_worst(
    values: Mapping[str, Mapping[str, FloatArray]],
) -> dict[str, float]:
    """Parameter -> p of its best against its worst value, corrected over the parameters."""
    if not values:
        return {}
    tests = []
    for scores in values.values():
        by_mean = sorted(scores.values(), key=lambda questions: float(questions.mean()))
        tests.append(float(p_values(by_mean[-1] - by_mean[0])))
    return dict(zip(values, map(float, holm(tests)), strict=True))


def _spread(scores: Mapping[str, FloatArray]) -> float:
    means = [float(questions.mean()) for questions in scores.values()]
    return max(means) - min(means)


def value_text(value: Any) -> str:
    """The value of a parameter as a table shows it; "default" for a missing one."""
    if not isinstance(value, float):
        return str(value)
    return "default" if np.isnan(value) else f"{value:g}"


def _ordered(values: pd.Series) -> list[str]:
    """The texts of the distinct values: numbers by size, then others by spelling."""
    numbers: dict[str, float] = {}
    other_texts = set()
    for value in values:
        text = value_text(value)
        if is_number(text):
            numbers[text] = float(value)
        else:
            other_texts.add(text)
    return [*sorted(numbers, key=numbers.__getitem__), *sorted(other_texts)]


def is_number(text: str) -> bool:
    """Whether the text of a value is a number."""
    return _NUMBER.fullmatch(text) is not None
