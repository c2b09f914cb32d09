"""A score table -> the texts of its cells, for HTML, Markdown, LaTeX and the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, cast

import pandas as pd

TUNED, LARGER = "†", "‡"
"""Marks of a system tuned with access to the set, and of one that returns more than the others."""
PRIVATE_LOADERS = ("from_folder", "from_texts", "from_frames")
"""Loaders of the user's documents, on which no parameter was chosen."""
MACRO = "macro-average"
"""Heading of the mean over several data sets."""
UNBOUNDED = ("dcg", "dcg_burges", "hits")
"""Named metrics that may exceed 1."""
ROUNDING = 1e-9
"""Tolerance for scores that rounding moves out of [0, 1]."""
LEVEL = 0.05
"""The level below which a p-value is called significant."""


def scales(scores: pd.DataFrame, shown_metric: str = "") -> dict[str, float]:
    """Metric -> the factor of its printed numbers: 100 for metrics in [0, 1], 1 for others.

    shown_metric : the metric of all rows, if the column "metric" has data sets, which then share
    one scale; "" otherwise.
    """
    numbers = scores[["mean", "ci_low", "ci_high"]]
    numbers = numbers.T.fillna(numbers["mean"]).T  # an unknown end of an interval
    is_in_range = ((numbers >= -ROUNDING) & (numbers <= 1 + ROUNDING)).all(axis=1)
    is_share = is_in_range.groupby(scores["metric"]).all()
    if shown_metric:
        is_share &= bool(is_share.all())
    factors = {}
    for name in scores["metric"].unique().tolist():
        base = (shown_metric or name).split("@")[0]
        factors[name] = 100.0 if is_share[name] and base not in UNBOUNDED else 1.0
    return factors


def decimals(scale: float) -> int:
    """The number of decimals of a printed score: one in per cent, otherwise two."""
    return 1 if scale == 100 else 2


@dataclass(frozen=True)
class ScoreSheet:
    """The contents of a printed table.

    Attributes
    ----------
    scores : one row per system and metric: system, metric, mean, ci_low, ci_high, p_holm, wins,
        ties, losses, detectable, p_best, seed_sd; the tests against the baseline are blank (NaN) in
        its own row.
    ms_per_query : system -> milliseconds.
    config : `data` names the data set, its setting and sizes; may be empty.
    larger : system -> the ratio of its results to those of the others, in words, for systems that
        return more.
    metric : the metric of every column, if the columns are data sets; "" if they are metrics.
    build_seconds : system -> seconds to build its indexes and graphs, NaN if unknown; may be empty.
    stored : system -> date and time (ISO) at which its run was computed, for runs from the store.
    bounds : untested rows below the systems, such as the answers of a reader without passages:
        system, metric, mean, ci_low, ci_high; None for none.
    reader_notes : notes on the answers of a reader.
    """

    scores: pd.DataFrame
    ms_per_query: Mapping[str, float]
    baseline: str
    config: Mapping[str, Any] = field(default_factory=dict)
    larger: Mapping[str, str] = field(default_factory=dict)
    metric: str = ""
    build_seconds: Mapping[str, float] = field(default_factory=dict)
    stored: Mapping[str, str] = field(default_factory=dict)
    bounds: pd.DataFrame | None = None
    reader_notes: Sequence[str] = ()

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
        """System -> its parameters that were chosen with access to this public set."""
        data = self.config.get("data", {})
        if data.get("source", {}).get("loader") in PRIVATE_LOADERS:
            return {}
        name = data.get("name", "")
        tuned = {}
        for system, numbers in self.config.get("tuning", {}).items():
            parameters = [
                number["what"] for number in numbers if _is_among(name, number["sets"])
            ]
            if parameters and system in self.systems:
                tuned[system] = parameters
        return tuned

    @cached_property
    def scales(self) -> dict[str, float]:
        """Metric -> the factor of its printed numbers."""
        return scales(self.scores, self.metric)

    def text(self, metric: str, score: float, sign: str = "") -> str:
        """The printed text of a score; "" for NaN. `sign` "+" also prints a positive sign."""
        if pd.isna(score):
            return ""
        scale = self.scales[metric]
        return f"{score * scale:{sign}z.{decimals(scale)}f}"


def _is_among(name: str, sets: list[str]) -> bool:
    """Whether a data set is one of `sets` or a part of one, such as "musique-100" of "musique"."""
    words = name.split("-")
    return any(word.startswith(known.split("-")[0]) for known in sets for word in words)


class Cell(NamedTuple):
    """The texts of a system's score in a metric.

    `low` and `high` are the ends of the interval, `counts` is wins/ties/losses, `p` the corrected
    p-value, `spread` the standard deviation between seeds; a text is "" if there is no value.
    """

    mean: str
    low: str
    high: str
    stars: str
    counts: str
    p: str
    spread: str
    bold: bool


BLANK = Cell("", "", "", "", "", "", "", bold=False)


class Row(NamedTuple):
    """A row of the table.

    `name` is the system with its marks, `ms` and `build` are times, `larger` is as in `ScoreSheet`.
    """

    system: str
    name: str
    is_baseline: bool
    cells: list[Cell]
    ms: str
    larger: str
    build: str

    @property
    def label(self) -> str:
        """The name, followed by "(baseline)" for the baseline."""
        if self.is_baseline:
            return f"{self.name} (baseline)"
        return self.name


def stars(p: float) -> str:
    """The stars of a p-value: `*` below .05, `**` below .01, `***` below .001, otherwise ""."""
    if p < 0.001:
        return "***"
    if p < 0.01:
        return "**"
    if p < LEVEL:
        return "*"
    return ""


def p_text(p: float) -> str:
    """The text of a p-value with three decimals, such as ".012" or "< .001"; "" for NaN."""
    if pd.isna(p):
        return ""
    if p < 0.001:
        return "< .001"
    return f"{p:.3f}".lstrip("0")


def count_range(low: int, high: int) -> str:
    """The text of a range of counts, such as "73" or "1,210 to 1,950"."""
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def questions_text(count: int) -> str:
    """The text of a number of questions, such as "1 question" or "1,210 questions"."""
    return "1 question" if count == 1 else f"{count:,} questions"


def rows(sheet: ScoreSheet) -> list[Row]:
    """The rows of the printed table, those of the bounds last.

    A bound has no tests and no times, and a blank cell for a metric without a mean.
    """
    marked = {TUNED: sheet.tuned, LARGER: sheet.larger}
    scores = pd.concat([sheet.scores, sheet.bounds])
    table = []
    for system in scores["system"].unique().tolist():
        records: Any = scores[scores["system"] == system].itertuples(index=False)
        cells = {record.metric: _cell(sheet, record) for record in records}
        marks = "".join(mark for mark, systems in marked.items() if system in systems)
        row = Row(
            system=system,
            name=f"{system} {marks}".rstrip(),
            is_baseline=system == sheet.baseline,
            cells=[cells.get(metric, BLANK) for metric in sheet.metrics],
            ms=_time_text(sheet.ms_per_query.get(system, math.nan)),
            larger=sheet.larger.get(system, ""),
            build=_time_text(sheet.build_seconds.get(system, math.nan)),
        )
        table.append(row)
    return table


def _time_text(time: float) -> str:
    """The text of a time with about three digits; "" for NaN, the time of an imported run."""
    if pd.isna(time):
        return ""
    if time >= 100:
        return f"{time:.0f}"
    if time >= 1:
        return f"{time:.1f}"
    return f"{time:.2f}"


def _cell(sheet: ScoreSheet, record: Any) -> Cell:
    """The cell of a row of `scores`."""
    spread = sheet.text(record.metric, record.seed_sd)
    return Cell(
        mean=sheet.text(record.metric, record.mean),
        low=sheet.text(record.metric, record.ci_low) or "?",
        high=sheet.text(record.metric, record.ci_high) or "?",
        stars=stars(record.p_holm),
        counts=""
        if pd.isna(record.p_holm)
        else f"{record.wins}/{record.ties}/{record.losses}",
        p=p_text(record.p_holm),
        spread=f"± {spread}" if spread else "",
        bold=bool(record.p_best < LEVEL),
    )


def pair_rows(
    sheet: ScoreSheet, pairs: pd.DataFrame, metric: str
) -> Iterator[tuple[str, ...]]:
    """The texts of each pair: a, b, difference with stars, p, effect size, wins/ties/losses."""
    for record in cast(Any, pairs.itertuples(index=False)):
        difference = (
            f"{sheet.text(metric, record.difference, '+')}{stars(record.p_holm):<3}"
        )
        texts = (difference, p_text(record.p_holm), f"{record.effect_size:+z.2f}")
        counts = f"{record.wins}/{record.ties}/{record.losses}"
        yield record.a, record.b, *map(_with_minus, texts), counts


def placebo_rows(
    sheet: ScoreSheet, placebos: pd.DataFrame, metric: str
) -> Iterator[tuple[str, ...]]:
    """The texts of each placebo: strategy, graph, mean, placebo, gain with stars, interval, p."""
    for record in cast(Any, placebos.itertuples(index=False)):
        means = (sheet.text(metric, record.mean), sheet.text(metric, record.placebo))
        gain = sheet.text(metric, record.gain, "+")
        low = sheet.text(metric, record.ci_low, "+")
        high = sheet.text(metric, record.ci_high, "+")
        texts = (
            f"{gain}{stars(record.p_holm):<3}",
            f"{low} to {high}",
            p_text(record.p_holm),
        )
        yield record.strategy, record.graph, *means, *map(_with_minus, texts)


def _with_minus(text: str) -> str:
    """A text with minus signs in place of hyphens."""
    return text.replace("-", "−")


def headline(config: Mapping[str, Any]) -> str:
    """One line on the data: name, setting, sizes, unit of judgement."""
    data = config.get("data", {})
    if not data:
        return "an unnamed data set"
    sizes = f"{data['questions']:,} questions, {data['passages']:,} passages"
    text = f"{data['name']}, {data['setting']}: {sizes}, judged by {data['unit']}"
    return "; ".join(filter(None, (text, left_out(data))))


def left_out(data: Mapping[str, Any]) -> str:
    """A text on the questions without gold, which no score includes; "" if there are none."""
    counts = data.get("without_gold", {"questions": 0, "judged": 0})
    judged = counts["judged"]
    unmatched = counts.get("unmatched", 0)
    n_open = counts["questions"] - judged - unmatched
    parts = []
    if unmatched:
        parts.append(f"{unmatched:,} with gold that no passage holds")
    if judged:
        parts.append(f"{judged:,} judged without a relevant hit")
    if n_open:
        parts.append(f"{n_open:,} not judged yet")
    if not parts:
        return ""
    return f"questions without gold, not scored: {', '.join(parts)}"
