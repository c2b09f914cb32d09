"""What a corpus of a whole encyclopaedia takes -> the tables of docs/scale.md: sizes by arithmetic, hours from rates.

    python eval/internet_scale.py

Hours, memory and disk are those of the largest corpus in eval/results/scale/measurements.jsonl (`eval/bench/scale.py`),
multiplied by (passages / its passages)^e, with e fitted over the sizes measured. A part that was measured at one size
alone has no forecast: much of the memory of a small corpus is that of the process. They are forecasts: nothing of these
sizes was built. Without measurements their table says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from scaling import exponent, power, read, shown

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "scale.md"
MEASURED = ROOT / "eval" / "results" / "scale" / "measurements.jsonl"

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


def page(text: str, tables: Mapping[str, str]) -> str:
    r"""The page with what stands between `<!-- name -->` and `<!-- /name -->` replaced.

    >>> page("a <!-- x -->old<!-- /x --> b", {"x": "new"})
    'a <!-- x -->\nnew\n<!-- /x --> b'
    """
    for name, made in tables.items():
        pattern = re.compile(rf"(<!-- {name} -->).*?(<!-- /{name} -->)", re.DOTALL)
        text, found = pattern.subn(lambda at, made=made: f"{at[1]}\n{made}\n{at[2]}", text)
        if found != 1:
            raise ValueError(f"{PAGE.name} has {found} places for the table {name!r}; one is needed.")
    return text


def main() -> None:
    """Write the tables into the page."""
    missing = "Not yet made: eval/results/scale/measurements.jsonl is missing."
    made = {"vectors": vectors(), "parts": parts(read(MEASURED)) if MEASURED.is_file() else missing}
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), made), encoding="utf-8")


if __name__ == "__main__":
    main()
