"""What a corpus of a whole encyclopaedia takes -> the tables of docs/scale.md: sizes by arithmetic, hours from rates.

    python eval/pages.py

Hours, memory and disk are those of the largest corpus in eval/results/scale/measurements.jsonl (`eval/bench/scale.py`),
multiplied by (passages / its passages)^e, with e fitted over the sizes measured. A part that was measured at one size
alone has no forecast: much of the memory of a small corpus is that of the process. They are forecasts: nothing of these
sizes was built.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from scaling import exponent, power, shown

CORPORA: Mapping[str, int] = {"a generated world": 1_000_000, "HotpotQA, full wiki": 5_233_329, "DPR": 21_015_324}
"""Passages: abstracts of Yang et al. (2018), passages of 100 words of Karpukhin et al. (2020)."""
DIMENSIONS = {"all-MiniLM-L6-v2, float32": (384, 4), "a model of 1024 dimensions, float32": (1024, 4)}


def forecast(costs: Mapping[int, float], passages: int) -> float | None:
    """The cost at a number of passages, from those at others; None where fewer than two were measured.

    >>> forecast({10: 1.0, 100: 10.0}, 1000), forecast({10: 2.0}, 20)
    (100.0, None)
    """
    if len(costs) < 2:
        return None
    largest = max(costs)
    return round(costs[largest] * (passages / largest) ** exponent(list(costs), list(costs.values())), 9)


def vectors() -> str:
    """Gigabytes of the vectors alone."""
    head = ["vectors", *(f"{name}: {size:,} passages" for name, size in CORPORA.items())]
    rows = [
        [name, *(f"{size * dim * width / 1e9:.1f} GB" for size in CORPORA.values())]
        for name, (dim, width) in DIMENSIONS.items()
    ]
    return table(head, rows)


def parts(frame: pd.DataFrame) -> str:
    """One row a part: hours of one core, gigabytes of memory and of disk at each size."""
    now = frame[(frame["label"] == "now") & (frame["step"] == "build")]
    head = ["part", "measured at", *(f"{name}: hours of a core / GB of memory / GB on disk" for name in CORPORA)]
    rows = []
    for name in dict.fromkeys(now["name"]):
        sizes = sorted(set(now.loc[now["name"] == name, "passages"]))
        if len(sizes) < 2:
            continue
        cells = []
        for size in CORPORA.values():
            given = {
                cost: forecast(dict(own.dropna(subset=cost)[["passages", cost]].itertuples(index=False)), size)
                for cost in ("seconds_cpu", "peak_gb", "disk_bytes")
                for own in [now[now["name"] == name].sort_values("passages")]
            }
            scales = {"seconds_cpu": 3600, "peak_gb": 1, "disk_bytes": 1e9}
            cells.append(" / ".join(shown(None if (v := given[c]) is None else v / by) for c, by in scales.items()))
        rows.append([name, ", ".join(map(power, sizes)), *cells])
    return table(head, rows)


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table of Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])
