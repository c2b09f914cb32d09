"""The results in `eval/results` -> the tables of docs/results.md, between its markers.

python eval/tables.py          writes them
python eval/tables.py --check  fails where the page says something else
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "results.md"
METRICS = ("recall@2", "recall@5", "recall@10", "all_recall@5", "mrr@10")
MARKED = re.compile(r"<!-- (systems|graphs) (\S+) -->\n.*?<!-- / -->", re.DOTALL)


def main() -> None:
    """Write the tables, or check them."""
    old = PAGE.read_text(encoding="utf-8")
    new = MARKED.sub(filled, old)
    if "--check" in sys.argv and old != new:
        sys.exit("docs/results.md: the tables are not those of eval/results. Run: python eval/tables.py")
    PAGE.write_text(new, encoding="utf-8")


def filled(marker: re.Match[str]) -> str:
    """A marker with the table it asks for."""
    kind, folder = marker.groups()
    scores = pd.read_csv(ROOT / "eval" / "results" / folder / "scores.csv")
    table = systems(scores) if kind == "systems" else graphs(scores)
    return f"<!-- {kind} {folder} -->\n{table}<!-- / -->"


def systems(scores: pd.DataFrame) -> str:
    """One row a system, best recall@5 first; stars by Holm, bold where above every other system."""
    wide = {name: part.set_index("metric") for name, part in scores.groupby("system", sort=False)}
    order = sorted(wide, key=lambda name: -wide[name].loc["recall@5", "mean"])
    lines = [f"| system | {' | '.join(METRICS)} |", "|---|" + "--:|" * len(METRICS)]
    for name in order:
        cells = [cell(wide[name].loc[metric]) for metric in METRICS]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def graphs(scores: pd.DataFrame) -> str:
    """One row a strategy, a column a graph: recall@5, and beside it that of the shuffled graph (mean over seeds)."""
    means = scores[scores["metric"] == "recall@5"].set_index("system")
    split = [name.split(".", 1) for name in means.index if "." in name]
    strategies = list(dict.fromkeys(strategy for strategy, _ in split))
    kinds = list(dict.fromkeys(graph for _, graph in split if not graph.endswith("-shuffled")))
    lines = [f"| strategy | {' | '.join(f'{kind} | shuffled' for kind in kinds)} |", "|---|" + "--:|" * 2 * len(kinds)]
    for strategy in strategies:
        cells = []
        for kind in kinds:
            real, placebo = means.loc[f"{strategy}.{kind}"], means.loc[f"{strategy}.{kind}-shuffled"]
            cells += [f"{100 * real['mean']:.1f}", f"{100 * placebo['mean']:.1f} ± {100 * placebo['seed_sd']:.1f}"]
        lines.append(f"| `{strategy}` | {' | '.join(cells)} |")
    dense = 100 * means.loc["dense", "mean"]
    return "\n".join(lines) + f"\n\n`dense`, which reads no graph: {dense:.1f}.\n"


def cell(row: pd.Series) -> str:
    """A mean in per cent with its stars."""
    stars = "" if pd.isna(row["p_holm"]) else "*" * sum(row["p_holm"] < limit for limit in (0.05, 0.01, 0.001))
    text = f"{100 * row['mean']:.1f}" + stars.replace("*", r"\*")
    return f"**{text}**" if row["p_best"] < 0.05 else text


if __name__ == "__main__":
    main()
