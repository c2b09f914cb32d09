"""A score table -> the texts of its cells and the notes on how to read them; the same for every format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, cast

import pandas as pd

TUNED, LARGER = "†", "‡"
"""Mark a system of which a number was chosen with this set in view, and one that returns more than the others."""
MACRO = "macro-average"
"""Heads the mean over several data sets."""
_NOT_A_SHARE = ("dcg", "dcg_burges", "hits")  # named metrics that may exceed 1; own ones are judged by their scores
EQUAL = 1e-9  # by which rounding may leave [0, 1]
LEVEL = 0.05


def scales(scores: pd.DataFrame, shown: str = "") -> dict[str, float]:
    """Metric -> the factor of its numbers where they are shown: 100 for metrics in [0, 1], 1 for others.

    `shown` : the one metric of all rows, where "metric" names data sets; they then have one scale.
    """
    numbers = scores[["mean", "ci_low", "ci_high"]]
    numbers = numbers.T.fillna(numbers["mean"]).T  # an end that is not known
    inside = ((numbers >= -EQUAL) & (numbers <= 1 + EQUAL)).all(axis=1).groupby(scores["metric"]).all()
    columns: list[str] = scores["metric"].unique().tolist()
    together = {name: inside.all() if shown else inside[name] for name in columns}
    return {
        name: 100.0 if together[name] and (shown or name).split("@")[0] not in _NOT_A_SHARE else 1.0 for name in columns
    }


@dataclass(frozen=True)
class Sheet:
    """The content of a printed table.

    scores : one row per system and metric: system, metric, mean, ci_low, ci_high, p_holm, wins, ties, losses,
        detectable, p_best, seed_sd; the tests against the baseline are blank (NaN) in its own row.
    ms_per_query : system -> milliseconds.
    config : `data` names the data set, its setting and sizes; may be empty.
    larger : system -> in words, how much more it returns than the others; only those that do.
    metric : what every column shows, where the columns are data sets; empty where they are metrics.
    build_seconds : system -> seconds that its indexes and graphs took, NaN where that is not known; may be empty.
    """

    scores: pd.DataFrame
    ms_per_query: Mapping[str, float]
    baseline: str
    config: Mapping[str, Any] = field(default_factory=dict)
    larger: Mapping[str, str] = field(default_factory=dict)
    metric: str = ""
    build_seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def metrics(self) -> list[str]:
        """The metrics, in their order."""
        return list(dict.fromkeys(self.scores["metric"]))

    @property
    def systems(self) -> list[str]:
        """The systems, in their order."""
        return list(dict.fromkeys(self.scores["system"]))

    @property
    def tuned(self) -> dict[str, list[str]]:
        """System -> its numbers that were chosen with questions, or scores, of this public set in view."""
        name, register = self.config.get("data", {}).get("name", ""), self.config.get("tuning", {})
        found = {
            system: [one["what"] for one in numbers if any(name.startswith(each.split("-")[0]) for each in one["sets"])]
            for system, numbers in register.items()
        }
        return {system: numbers for system, numbers in found.items() if numbers and system in self.systems}

    def scale(self, metric: str) -> float:
        """100 for metrics in [0, 1], which are shown in per cent, 1 for others."""
        return self._scales[metric]

    _scales = cached_property(lambda self: scales(self.scores, self.metric))

    def digits(self, metric: str) -> int:
        """Decimals of a printed score: one in per cent, two elsewhere."""
        return 1 if self.scale(metric) == 100 else 2


class Cell(NamedTuple):
    """One system's score in one metric, as it is printed; `spread` is the standard deviation between seeds."""

    mean: str
    low: str
    high: str
    stars: str
    counts: str
    p: str
    spread: str
    bold: bool


class Row(NamedTuple):
    """One system of the table, its `name` with its marks; `larger` says how much more it returns than the others."""

    system: str
    name: str
    is_baseline: bool
    cells: list[Cell]
    ms: str
    larger: str
    build: str


def stars(p: float) -> str:
    """`*` below .05, `**` below .01, `***` below .001; nothing for a blank."""
    return "***" if p < 0.001 else "**" if p < 0.01 else "*" if p < 0.05 else ""


def p_text(p: float) -> str:
    """A p-value to three digits, as journals print it; nothing for a blank."""
    return "" if p != p else "< .001" if p < 0.001 else f"{p:.3f}".lstrip("0")


def rows(sheet: Sheet) -> list[Row]:
    """The printed table."""
    tuned, table, records = sheet.tuned, list[Row](), dict(iter(sheet.scores.groupby("system", sort=False)))
    for name in sheet.systems:
        marks = TUNED * (name in tuned) + LARGER * (name in sheet.larger)
        own: Any = records[name].itertuples(index=False)
        cells = [_cell(one, sheet.scale(one.metric), sheet.digits(one.metric)) for one in own]
        times = _short(sheet.ms_per_query[name]), _short(sheet.build_seconds.get(name, float("nan")))
        shown = f"{name} {marks}" if marks else name
        table.append(Row(name, shown, name == sheet.baseline, cells, times[0], sheet.larger.get(name, ""), times[1]))
    return table


def _short(time: float) -> str:
    """A time to about three digits; nothing where it is NaN, for what was computed elsewhere."""
    return "" if time != time else f"{time:.0f}" if time >= 100 else f"{time:.1f}" if time >= 1 else f"{time:.2f}"


def _cell(record: Any, factor: float, digits: int) -> Cell:
    low, high, spread = (
        "" if number != number else f"{number * factor:.{digits}f}"  # NaN
        for number in (record.ci_low, record.ci_high, record.seed_sd)
    )
    return Cell(
        mean=f"{record.mean * factor:.{digits}f}",
        low=low or "?",
        high=high or "?",
        stars=stars(record.p_holm),
        counts=f"{record.wins}/{record.ties}/{record.losses}" if record.p_holm == record.p_holm else "",
        p=p_text(record.p_holm),
        spread=f"± {spread}" if spread else "",
        bold=bool(record.p_best < LEVEL),
    )


def pair_rows(sheet: Sheet, pairs: pd.DataFrame, metric: str) -> Iterator[tuple[str, ...]]:
    """Pairs as they are printed: a, b, difference and stars, corrected p, effect size, wins/ties/losses."""
    factor, digits, records = sheet.scale(metric), sheet.digits(metric), cast(Any, pairs.itertuples(index=False))
    for r in records:
        difference = f"{r.difference * factor:+.{digits}f}{stars(r.p_holm):<3}"
        texts = (difference, p_text(r.p_holm), f"{r.effect_size:+.2f}")
        yield (r.a, r.b, *(text.replace("-", "−") for text in texts), f"{r.wins}/{r.ties}/{r.losses}")


def placebo_rows(sheet: Sheet, placebos: pd.DataFrame, metric: str) -> Iterator[tuple[str, ...]]:
    """Graphs against their placebos as printed: strategy, graph, mean, placebo, gain and stars, interval, p."""
    factor, digits, records = sheet.scale(metric), sheet.digits(metric), cast(Any, placebos.itertuples(index=False))
    for r in records:
        means = (f"{value * factor:.{digits}f}" for value in (r.mean, r.placebo))
        low, high = (f"{value * factor:+.{digits}f}" for value in (r.ci_low, r.ci_high))
        texts = (f"{r.gain * factor:+.{digits}f}{stars(r.p_holm):<3}", f"{low} to {high}", p_text(r.p_holm))
        yield (r.strategy, r.graph, *means, *(text.replace("-", "−") for text in texts))


def headline(config: Mapping[str, Any]) -> str:
    """One line on the data: name, setting, sizes."""
    data = config.get("data", {})
    if not data:
        return "an unnamed data set"
    return (
        f"{data['name']}, {data['setting']}: {data['questions']:,} questions, {data['passages']:,} passages, "
        f"judged by {data['unit']}{f'; {left_out(data)}' if left_out(data) else ''}"
    )


def left_out(data: Mapping[str, Any]) -> str:
    """The questions without gold, which are in no score; "" where there are none."""
    counts = data.get("without_gold", {"questions": 0, "judged": 0})
    judged, open_ = counts["judged"], counts["questions"] - counts["judged"]
    said = [f"{judged:,} judged without a relevant hit"] * bool(judged) + [f"{open_:,} not judged yet"] * bool(open_)
    return f"questions without gold, not scored: {', '.join(said)}" if said else ""
