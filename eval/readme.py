"""The results in `eval/results` -> the README's table and figure.

python eval/readme.py          writes the table between the README's markers, and docs/results.svg
python eval/readme.py --check  fails where the README says something else
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from kg2rag import plots
from kg2rag.report import stars

ROOT = Path(__file__).resolve().parent.parent
SETS = {"musique-100": "MuSiQue", "hotpotqa-300": "HotpotQA", "2wiki-1000": "2WikiMultihopQA"}
METRICS = ("recall@5", "all_recall@5")
BASELINE = "dense"
START, END = "<!-- results -->\n", "<!-- /results -->"


def main() -> None:
    """Write the table and the figure, or check them."""
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    before, rest = text.split(START)
    old, after = rest.split(END)
    scores = {name: pd.read_csv(ROOT / "eval" / "results" / name / "scores.csv") for name in SETS}
    new = table(scores)
    if "--check" in sys.argv:
        if old != new:
            sys.exit("README.md: the table is not that of eval/results. Run: python eval/readme.py")
        return
    readme.write_text(before + START + new + END + after, encoding="utf-8")
    figure(scores)


def table(scores: dict[str, pd.DataFrame]) -> str:
    """One row a system, two columns a set; bold where significantly above every other system."""
    systems = list(dict.fromkeys(scores["musique-100"]["system"]))
    systems.sort(key=lambda name: mean(scores["musique-100"], name, "recall@5"))
    head = ["system", *(f"{label} {metric}" for label in SETS.values() for metric in METRICS)]
    lines = ["| " + " | ".join(head) + " |", "|---" * 1 + "|--:" * (len(head) - 1) + "|"]
    for name in systems:
        cells = [cell(scores[part], name, metric) for part in SETS for metric in METRICS]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def mean(scores: pd.DataFrame, system: str, metric: str) -> float:
    """The mean of one system and metric."""
    return float(scores.set_index(["system", "metric"]).loc[(system, metric), "mean"])


def cell(scores: pd.DataFrame, system: str, metric: str) -> str:
    """Mean in per cent with its stars."""
    part = scores[scores["metric"] == metric].set_index("system")
    row = part.loc[system]
    text = f"{100 * row['mean']:.1f}" + (stars(row["p_holm"]) if system != BASELINE else "").replace("*", r"\*")
    # p_best: the greatest of the best system's p-values against every other, Holm-corrected over all pairs.
    return f"**{text}**" if row["p_best"] < 0.05 else text


def figure(scores: dict[str, pd.DataFrame]) -> None:
    """Recall@5 with 95 % intervals, one panel a set."""
    parts = [part[part["metric"] == "recall@5"].assign(metric=SETS[name]) for name, part in scores.items()]
    every = pd.concat(parts)
    drawn = plots.bars(every, BASELINE, dict.fromkeys(SETS.values(), 100.0))
    drawn.savefig(ROOT / "docs" / "results.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
