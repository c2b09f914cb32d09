"""Score tables -> HTML, Markdown, LaTeX and terminal tables. Presentation alone: what is shown was computed elsewhere.

One reading rule everywhere: means in per cent (counts and gains as they are), stars where a system differs from the
baseline by Holm-corrected p < .05, .01, .001, and the best mean bold only where it is significantly above the baseline.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kg2rag import plots

if TYPE_CHECKING:
    import pandas as pd
    from jinja2 import Environment
    from rich.table import Table

_NOT_A_SHARE = ("dcg", "dcg_burges", "hits")  # metrics that may exceed 1


@dataclass(frozen=True, slots=True)
class Cell:
    """One system's score in one metric, as it is printed."""

    mean: str
    low: str
    high: str
    stars: str
    counts: str
    p: str
    bold: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One system of the table."""

    system: str
    is_baseline: bool
    cells: tuple[Cell, ...]
    ms: str


def scale(metric: str) -> float:
    """100 for metrics in [0, 1], which are shown in per cent, 1 for others."""
    return 1.0 if metric.split("@")[0] in _NOT_A_SHARE else 100.0


def stars(p: float) -> str:
    """`*` below .05, `**` below .01, `***` below .001; nothing for a blank."""
    return "***" if p < 0.001 else "**" if p < 0.01 else "*" if p < 0.05 else ""


def rows(scores: pd.DataFrame, ms_per_query: Mapping[str, float], baseline: str) -> list[Row]:
    """The printed table, from columns system, metric, mean, ci_low, ci_high, p_holm, wins, ties, losses."""
    best = scores.groupby("metric")["mean"].max()
    reference = scores[scores["system"] == baseline].set_index("metric")["mean"]
    table: dict[str, list[Cell]] = {name: [] for name in dict.fromkeys(scores["system"])}
    records: Any = scores.itertuples(index=False)
    for record in records:
        above = record.mean > reference[record.metric]
        wins = record.mean >= best[record.metric] - 1e-12 and above and record.p_holm < 0.05
        table[record.system].append(_cell(record, bold=bool(wins)))
    return [
        Row(name, name == baseline, tuple(cells), _milliseconds(ms_per_query[name])) for name, cells in table.items()
    ]


def _milliseconds(ms: float) -> str:
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 1 else f"{ms:.2f}"


def _cell(record: Any, *, bold: bool) -> Cell:
    factor = scale(record.metric)
    digits = 1 if factor == 100 else 2
    tested = record.p_holm == record.p_holm  # NaN in the baseline's row
    return Cell(
        mean=f"{record.mean * factor:.{digits}f}",
        low=f"{record.ci_low * factor:.{digits}f}",
        high=f"{record.ci_high * factor:.{digits}f}",
        stars=stars(record.p_holm),
        counts=f"{record.wins}/{record.ties}/{record.losses}" if tested else "",
        p=("< .001" if record.p_holm < 0.001 else f"{record.p_holm:.3f}".lstrip("0")) if tested else "",
        bold=bold,
    )


def metrics_of(scores: pd.DataFrame) -> list[str]:
    """The metrics of a score table, in their order."""
    return list(dict.fromkeys(scores["metric"]))


def headline(config: Mapping[str, Any]) -> str:
    """One line that says what was compared on what: data set, setting, sizes."""
    data = config.get("data", {})
    if not data:
        return "an unnamed data set"
    return (
        f"{data['name']}, {data['setting']}: {data['questions']:,} questions, {data['passages']:,} passages, "
        f"judged by {data['unit']}"
    )


def note(baseline: str) -> str:
    """How to read the table."""
    return (
        f"Means in per cent with 95 % bootstrap intervals. Stars: differs from {baseline} (paired randomisation test, "
        "Holm-corrected within a metric; * p < .05, ** p < .01, *** p < .001). Wins / ties / losses count questions. "
        f"Bold: best, and significantly above {baseline}."
    )


def markdown(scores: pd.DataFrame, ms_per_query: Mapping[str, float], baseline: str) -> str:
    """A pipe table; what Markdown would read as markup is escaped."""
    header = ["system", *metrics_of(scores), "ms/query"]
    lines = [f"| {' | '.join(map(_plain, header))} |", f"|---|{'---:|' * (len(header) - 1)}"]
    for row in rows(scores, ms_per_query, baseline):
        cells = [f"{f'**{c.mean}**' if c.bold else c.mean}{_plain(c.stars)} ({c.low} to {c.high})" for c in row.cells]
        name = _plain(row.system) + (" (baseline)" if row.is_baseline else "")
        lines.append(f"| {' | '.join([name, *cells, row.ms])} |")
    return "\n".join([*lines, "", _plain(note(baseline)), ""])


def _plain(text: str) -> str:
    return "".join(f"\\{char}" if char in "\\`*_|<>[]" else char for char in text)


def latex(scores: pd.DataFrame, ms_per_query: Mapping[str, float], baseline: str) -> str:
    """A `booktabs` table; names are escaped."""
    import pandas as pd

    metrics = metrics_of(scores)
    table = {
        row.system: [*(_latex_cell(cell) for cell in row.cells), row.ms] for row in rows(scores, ms_per_query, baseline)
    }
    frame = pd.DataFrame.from_dict(table, orient="index", columns=[*metrics, "ms/query"])
    styler = frame.style.format_index(escape="latex", axis=0).format_index(escape="latex", axis=1)
    text: str = styler.to_latex(hrules=True, column_format="l" + "r" * len(frame.columns))
    return text


def _latex_cell(cell: Cell) -> str:
    mean = rf"\textbf{{{cell.mean}}}" if cell.bold else cell.mean
    return rf"{mean}{f'$^{{{cell.stars}}}$' if cell.stars else ''} {{\scriptsize [{cell.low}, {cell.high}]}}"


def rich_table(
    scores: pd.DataFrame, ms_per_query: Mapping[str, float], baseline: str, config: Mapping[str, Any]
) -> Table:
    """A table for the terminal: mean and stars, below them the interval, below that wins/ties/losses.

    Five metrics fit 80 columns; where a terminal is too narrow, cells are folded, never cut.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(headline(config)), caption=Text(note(baseline)), box=box.SIMPLE_HEAD, pad_edge=False)
    table.title_justify = table.caption_justify = "left"
    table.collapse_padding, table.show_edge = True, False
    table.add_column("system", overflow="fold")
    for metric in metrics_of(scores):
        table.add_column(Text(metric.replace("@", "\n@")), justify="right", overflow="fold")
    table.add_column("ms/\nquery", justify="right", overflow="fold")
    for row in rows(scores, ms_per_query, baseline):
        name = Text(row.system).append("\nbaseline", style="dim") if row.is_baseline else Text(row.system)
        table.add_row(name, *(_rich_cell(cell) for cell in row.cells), row.ms)
    return table


def _rich_cell(cell: Cell) -> Any:
    from rich.text import Text

    # Stars stand in a fixed width, so that the numbers of a column stay in line.
    text = Text(cell.mean, style="bold" if cell.bold else "").append(f"{cell.stars:<3}", style="not bold")
    text.append(f"\n{cell.low}–{cell.high}", style="dim")
    return text.append(f"\n{cell.counts}", style="dim") if cell.counts else text


def table_html(
    scores: pd.DataFrame, ms_per_query: Mapping[str, float], baseline: str, config: Mapping[str, Any]
) -> str:
    """The table alone, with its own few styles, for a notebook cell."""
    template = _environment().get_template("table.html.j2")
    return template.render(alone=True, **_table(scores, ms_per_query, baseline), headline=headline(config))


def _table(scores: pd.DataFrame, ms_per_query: Mapping[str, float], baseline: str) -> dict[str, Any]:
    return {
        "rows": rows(scores, ms_per_query, baseline),
        "metrics": metrics_of(scores),
        "baseline": baseline,
        "note": note(baseline),
    }


def page(
    scores: pd.DataFrame,
    ms_per_query: Mapping[str, float],
    baseline: str,
    config: Mapping[str, Any],
    curve: pd.DataFrame,
    groups: Mapping[str, pd.DataFrame],
    differences: pd.DataFrame,
) -> str:
    """The whole report: one file that loads nothing from elsewhere, fit for screen (light or dark) and paper.

    Parameters
    ----------
    curve : index k, one column a system; mean recall.
    groups : "type" or "hops" -> index (group, system), column n, then means by metric.
    differences : columns query_id, question, system, score, baseline, difference.
    """
    from markupsafe import Markup

    # Markup: our own SVG, whose texts matplotlib has escaped.
    bars = plots.bars(scores, baseline, {metric: scale(metric) for metric in metrics_of(scores)})
    figures = {
        "bars": Markup(plots.to_svg(bars, "bars")),  # noqa: S704
        "curve": Markup(plots.to_svg(plots.recall_curve(curve, baseline), "curve")),  # noqa: S704
    }
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            alone=False,
            **_table(scores, ms_per_query, baseline),
            headline=headline(config),
            data=config.get("data", {}),
            config=config,
            figures=figures,
            groups={name: _breakdown(frame) for name, frame in groups.items()},
            differences=differences.to_dict("records"),
            config_text=json.dumps(dict(config), indent=2, ensure_ascii=False, default=str),
        )
    )


def _breakdown(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """A grouped table for the template: a group, its n, and per system the means, the group's best marked."""
    metrics = [column for column in frame.columns if column != "n"]
    groups = []
    for group, part in frame.groupby(level=0, sort=False):
        best = part[metrics].max()
        named: Any = part.iterrows()
        systems = [
            (
                name,
                [(f"{row[m] * scale(m):.1f}", bool(row[m] >= best[m] - 1e-12 and row[m] > 0)) for m in metrics],
            )
            for (_, name), row in named
        ]
        groups.append({"name": group, "n": int(part["n"].iloc[0]), "systems": systems})
    return groups


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("kg2rag", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
