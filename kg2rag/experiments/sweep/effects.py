"""Dev scores of configurations -> the effect of each parameter of a system, as table and figure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from kg2rag.evaluation.metrics import bounds
from kg2rag.evaluation.statistics import LEVEL, holm, interval_of_mean, p_values
from kg2rag.report.plots import GREY, INK, PALETTE
from kg2rag.report.plots.style import bare, panels
from kg2rag.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")
PANELS_IN_A_ROW, PANEL_INCHES = 3, 2.7
SLANTED_CHARACTERS = 30
"""Characters in all labels of a panel above which the labels are slanted."""


def effects(
    configurations: pd.DataFrame, scores: FloatArray, objective: str
) -> pd.DataFrame:
    """The mean scores of each value of each parameter, over all values of the other parameters.

    configurations : one row per configuration, one column per parameter.
    scores : scores in the `objective`, (n_configurations, n_questions).

    Returns one row per parameter and value, the parameter with the largest spread first: parameter,
    value, n (number of configurations), mean, low and high (95 % interval over questions), p_holm
    (paired randomisation test of the parameter's best against its worst value, corrected over the
    parameters) and says ("no difference" if p_holm is .05 or more, else ""). A parameter with a
    single value is left out.
    """
    values = {}
    for name in configurations:
        scores_of = _scores_by_value(configurations[name], scores)
        if len(scores_of) > 1:
            values[str(name)] = scores_of
    p_holm = _p_of_best_against_worst(values)
    rows = []
    for name in sorted(values, key=lambda name: -_spread(values[name])):
        counts = configurations[name].map(value_text).value_counts()
        means = np.array(list(values[name].values()))
        low, high = interval_of_mean(means.T, bounds=bounds(objective))
        says = "no difference" if p_holm[name] >= LEVEL else ""
        for i, text in enumerate(values[name]):
            interval = (float(means[i].mean()), float(low[i]), float(high[i]))
            rows.append((name, text, int(counts[text]), *interval, p_holm[name], says))
    return pd.DataFrame(
        rows, columns="parameter value n mean low high p_holm says".split()
    )


def _scores_by_value(values: pd.Series, scores: FloatArray) -> dict[str, FloatArray]:
    """Text of each value -> mean scores of the configurations with that value, (n_questions,)."""
    texts = values.map(value_text).to_numpy()
    return {text: scores[texts == text].mean(axis=0) for text in _ordered_texts(values)}


def _p_of_best_against_worst(
    values: Mapping[str, Mapping[str, FloatArray]],
) -> dict[str, float]:
    """Parameter -> p-value of its best against its worst value, corrected over the parameters.

    values : parameter -> text of a value -> scores, (n_questions,).
    """
    if not values:
        return {}
    tests = []
    for scores in values.values():
        by_mean = sorted(scores.values(), key=lambda part: float(part.mean()))
        tests.append(float(p_values(by_mean[-1] - by_mean[0])))
    return dict(zip(values, map(float, holm(tests)), strict=True))


def _spread(scores: Mapping[str, FloatArray]) -> float:
    """The difference of the largest and the smallest mean."""
    means = [float(questions.mean()) for questions in scores.values()]
    return max(means) - min(means)


def value_text(value: Any) -> str:
    """The text of a parameter's value in a table; "default" for a missing value (NaN)."""
    if not isinstance(value, float):
        return str(value)
    return "default" if np.isnan(value) else f"{value:g}"


def _ordered_texts(values: pd.Series) -> list[str]:
    """The distinct texts of values: numbers by size, then other texts in alphabetical order."""
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
    """Whether a text is a number."""
    return _NUMBER.fullmatch(text) is not None


def main_effects(table: pd.DataFrame, objective: str) -> Figure:
    """A figure of one panel per parameter: the mean dev score of each value, with its interval.

    Values that are numbers are joined by a line; other values have a bar each. The title states "no
    difference" if the test finds none.

    table : the result of `effects`.
    """
    names = list(dict.fromkeys(table["parameter"]))
    n_columns = min(PANELS_IN_A_ROW, len(names))
    figure, axes = panels(len(names), n_columns, PANEL_INCHES)
    for axis, name in zip(axes, names, strict=True):
        _draw_parameter(axis, name, table[table["parameter"] == name])
    axes[0].set_ylabel(f"dev {objective}, per cent", fontsize=9, color=INK)
    return figure


def _draw_parameter(axis: Axes, name: str, rows: pd.DataFrame) -> None:
    """Draw the panel of one parameter; `rows` has its values."""
    positions = np.arange(len(rows))
    low = 100 * rows["low"].to_numpy(dtype=float)
    high = 100 * rows["high"].to_numpy(dtype=float)
    mean = 100 * rows["mean"].to_numpy(dtype=float)
    if all(map(is_number, rows["value"])):
        axis.fill_between(
            positions, low, high, color=PALETTE[0], alpha=0.12, linewidth=0
        )
        axis.plot(
            positions, mean, color=PALETTE[0], marker="o", markersize=4.5, linewidth=1.6
        )
    else:
        axis.vlines(positions, low, high, color=PALETTE[0], alpha=0.25, linewidth=7)
        axis.scatter(positions, mean, color=PALETTE[0], s=24, zorder=3)
    axis.set_xlim(-0.5, len(rows) - 0.5)
    slant: dict[str, Any] = {}
    if sum(len(value) + 2 for value in rows["value"]) > SLANTED_CHARACTERS:
        slant = {"rotation": 30, "ha": "right"}
    axis.set_xticks(positions, list(rows["value"]), parse_math=False, **slant)
    says = rows["says"].iloc[0]
    title = f"{name}: {says}" if says else name
    axis.set_title(
        title, loc="left", fontsize=10, color=INK, fontweight="bold", parse_math=False
    )
    bare(axis)
    axis.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.7)
