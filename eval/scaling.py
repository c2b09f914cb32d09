"""The lines of `eval/bench/scale.py` -> tables and a figure: what grows how fast with the corpus.

Times are processor seconds, which other work on the machine changes less than the clock's; on one thread and an idle
machine they are the same. A cost that is c·n^e is a straight line on logarithmic axes; e is fitted by least squares
over the sizes measured. Rows labelled "before" are those of the commit named in them. Of a measurement that was made
twice, the later one counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

KEY = ("label", "passages", "kind", "name", "step")
USUAL = 3  # triples a passage; other numbers are told apart by name
MARKS = "osD^vP*X"


def read(file: Path) -> pd.DataFrame:
    """The measurements, one row each; those that failed have no numbers."""
    lines = file.read_text(encoding="utf-8").splitlines()
    frame = pd.DataFrame(map(json.loads, lines)).drop_duplicates([*KEY, "triples", "encoder"], keep="last")
    more = frame["triples"] != USUAL
    frame.loc[more, "name"] += ", " + frame.loc[more, "triples"].astype(str) + " triples a passage"
    return frame


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The e of c·n^e, by least squares over the logarithms; NaN for fewer than two sizes or a cost of 0.

    >>> round(exponent([10, 100, 1000], [3.0, 30.0, 300.0]), 6)
    1.0
    """
    if len(sizes) < 2 or min(costs) <= 0:
        return float("nan")
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def parts(frame: pd.DataFrame) -> str:
    """One row a part: seconds to build it at each size, how fast they grow; opening, memory and disk at the largest."""
    frame = frame[frame["kind"] == "part"]
    sizes, earlier = _sizes(frame, "now"), _sizes(frame, "before")
    head = [
        *(f"{power(size)}, s" for size in sizes), "exponent", *(f"before: {power(size)}, s" for size in earlier),
        "opened again, s", "peak, GB", "on disk, MB",
    ]  # fmt: skip
    rows = {}
    for name in dict.fromkeys(frame["name"]):
        built = _costs(frame, "now", name, "build", "seconds_cpu")
        largest = max(built, default=0)
        opened = _costs(frame, "now", name, "open", "seconds_cpu").get(largest)
        memory = _costs(frame, "now", name, "build", "peak_gb").get(largest)
        disk = _costs(frame, "now", name, "build", "disk_bytes").get(largest)
        before = _costs(frame, "before", name, "build", "seconds_cpu")
        rows[name] = [
            *_cells(built, sizes), _slope(built), *_cells(before, earlier),
            shown(opened), shown(memory), shown(None if disk is None else disk / 1e6),
        ]  # fmt: skip
    return _table("part", head, rows)


def systems(frame: pd.DataFrame) -> str:
    """One row a system: milliseconds a query in a batch and alone at each size, how fast they grow, memory."""
    frame = frame[frame["kind"] == "system"]
    sizes, earlier = _sizes(frame, "now"), _sizes(frame, "before")
    head = []
    for kind in ("batch", "alone"):
        head += [f"{kind}, {power(size)}, ms" for size in sizes] + ["exponent"]
        head += [f"before: {power(size)}, ms" for size in earlier]
    head += ["first answer, s", "peak, GB"]
    rows = {}
    for name in dict.fromkeys(frame["name"]):
        cells: list[str] = []
        for kind in ("batch_ms_cpu", "alone_ms_cpu"):
            now = _costs(frame, "now", name, "query", kind)
            cells += [*_cells(now, sizes), _slope(now)]
            cells += _cells(_costs(frame, "before", name, "query", kind), earlier)
        first, peak = (_costs(frame, "now", name, "query", what) for what in ("first_answer_s_cpu", "peak_gb"))
        largest = max(first, default=0)
        rows[name] = [*cells, shown(first.get(largest)), shown(peak.get(largest))]
    return _table("system", head, rows)


def figure(frame: pd.DataFrame, file: Path) -> None:
    """Both costs over the number of passages, on logarithmic axes."""
    drawn = Figure(figsize=(10, 4.2), layout="constrained")
    panels = (
        ("part", "build", "seconds_cpu", "processor seconds to build"),
        ("system", "query", "alone_ms_cpu", "processor ms, one query"),
    )
    for axes, (kind, step, cost, label) in zip(drawn.subplots(1, 2), panels, strict=True):
        names = dict.fromkeys(frame.query(f"kind == '{kind}'")["name"])
        for number, name in enumerate(names):
            found = _costs(frame, "now", name, step, cost)
            colour, mark = f"C{number % 10}", MARKS[number % len(MARKS)]
            axes.loglog(list(found), list(found.values()), color=colour, marker=mark, markersize=4, label=name)
            earlier = _costs(frame, "before", name, step, cost)
            axes.loglog(list(earlier), list(earlier.values()), color=colour, marker=mark, markersize=3, ls=":", lw=0.8)
        axes.set(xlabel="passages", ylabel=label)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    with rc_context({"svg.hashsalt": "kg2rag"}):  # ids are drawn at random otherwise
        drawn.savefig(file, metadata={"Date": None})


def power(size: int) -> str:
    """A number of passages.

    >>> power(100000), power(25000)
    ('10⁵', '25,000')
    """
    digits = len(str(size)) - 1
    return (
        "10" + str(digits).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")) if size == 10**digits else f"{size:,}"
    )


def shown(value: float | None) -> str:
    """Three digits that matter; a dash where nothing was measured.

    >>> shown(0.01234), shown(12.34), shown(1234.5), shown(None)
    ('0.012', '12.3', '1,234', '–')
    """
    if value is None or np.isnan(value):
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.{2 if value >= 1 else 3}f}"


def _sizes(frame: pd.DataFrame, label: str) -> list[int]:
    return sorted(set(frame.loc[frame["label"] == label, "passages"]))


def _costs(frame: pd.DataFrame, label: str, name: str, step: str, cost: str) -> dict[int, float]:
    """Size -> cost, ascending."""
    rows = frame[(frame["label"] == label) & (frame["name"] == name) & (frame["step"] == step)]
    if cost not in rows:
        return {}
    rows = rows.dropna(subset=cost).sort_values("passages", kind="stable")
    return dict(zip(rows["passages"].tolist(), rows[cost].tolist(), strict=True))


def _cells(costs: Mapping[int, float], sizes: Iterable[int]) -> list[str]:
    return [shown(costs.get(size)) for size in sizes]


def _slope(costs: Mapping[int, float]) -> str:
    return shown(exponent(list(costs), list(costs.values()))) if len(costs) > 1 else "–"


def _table(corner: str, head: Sequence[str], rows: Mapping[str, Sequence[str]]) -> str:
    lines = [f"| {corner} | {' | '.join(head)} |", "|---|" + "--:|" * len(head)]
    return "\n".join([*lines, *(f"| `{name}` | {' | '.join(cells)} |" for name, cells in rows.items())]) + "\n"
