"""The results in `eval` -> the tables, figures and numbers of the README, docs and notebooks, at their markers.

python eval/pages.py          writes them
python eval/pages.py --check  fails where a page says something else, where it asserts what does not hold, and where a
                              number of its prose is neither filled nor excused (eval/typed.toml)

Markers: page_markers. What they may ask for: page_numbers. Notebooks and docs/decisions.md may have markers, too, but
their prose is not read for typed numbers: most are those of a notebook's own outputs, or of a paper.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import internet_scale
import ledger_pages
import page_designs
import page_processors
import page_tables
import pandas as pd
import scaling
from matplotlib import rc_context
from page_data import Results, known
from page_files import render
from page_markers import HELP, Exceptions, Page, Table, unused

from kg2rag import plots
from kg2rag.report import stars

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "eval" / "results"
MEASURED = RESULTS / "scale" / "measurements.jsonl"
COEFFICIENTS = ROOT / "kg2rag" / "retrievers" / "mention_chains" / "coefficients.toml"
SETS = {"musique-100": "MuSiQue", "hotpotqa-300": "HotpotQA", "2wiki-1000": "2WikiMultihopQA"}
SHOWN = ("recall@5", "all_recall@5")
METRICS = ("recall@2", "recall@5", "recall@10", "all_recall@5", "mrr@10")
LEDGER = ROOT / "eval" / "ledger"
REGISTER = ROOT / "kg2rag" / "retrievers" / "tuning.toml"
TYPED = ROOT / "eval" / "typed.toml"
PUBLISHED = (
    ("hipporag2", "NV-Embed-v2 (7B)"),
    ("gfmrag", "GFM-RAG"),
    ("hipporag2", "HippoRAG 2 without the LLM filter"),
    ("hipporag2", "HippoRAG 2"),
    ("proprag", "PropRAG"),
)
OURS = ("dense", "mention_ppr", "mention_chains")
READ = ("README.md", "docs/newcomer.md", "docs/results.md", "docs/scale.md")  # where no number may be typed
FILLED = ("docs/decisions.md", "docs/trust.md", "notebooks/*.ipynb")
BASELINE = "dense"


def main() -> None:
    """Write the pages and the figures, or check the pages."""
    results, allowed = Results(ROOT / "eval"), Exceptions.of(tomllib.loads(TYPED.read_text(encoding="utf-8")))
    pages = rendered(ROOT, results, tables(results), allowed)
    if "--check" not in sys.argv:
        for file, page in pages.items():
            file.write_text(page.text, encoding="utf-8")
        figures()
        scaling.figure(scaling.read(MEASURED), ROOT / "docs" / "scale.svg")
    found = problems(pages, allowed)
    if found:
        sys.exit("\n".join([*found, HELP]))


def rendered(root: Path, results: Results, made: Mapping[str, Table], allowed: Exceptions) -> dict[Path, Page]:
    """Each page under a folder as it should be."""
    return {
        file: render(file, file.relative_to(root).as_posix(), results, made, allowed if pattern in READ else None)
        for pattern in (*READ, *FILLED)
        for file in sorted(root.glob(pattern))
    }


def problems(pages: Mapping[Path, Page], allowed: Exceptions) -> list[str]:
    """What is wrong with the pages as they are: a marker, a number of their prose, a value, an exception."""
    found = [problem for page in pages.values() for problem in page.problems]
    changed = [file for file, page in pages.items() if file.read_text(encoding="utf-8") != page.text]
    found += [f"{file.name}: a value is not that of eval/results. Run: python eval/pages.py" for file in changed]
    return found + unused(allowed, pages.values())


def tables(results: Results) -> dict[str, Table]:
    """The tables that a marker can ask for, by the marker's first word; each takes the second, which most lack."""
    measured = {"parts": scaling.parts, "systems": scaling.systems}
    forecasts = {"vectors": internet_scale.vectors, "parts": lambda: internet_scale.parts(scaling.read(MEASURED))}
    return {
        "results": lambda _: first(),
        "ablation": lambda _: ablation(),
        "overlap": lambda _: overlap(),
        "coefficients": lambda _: coefficients(),
        "static": lambda _: static(),
        "hops": lambda _: hops(),
        "published": lambda _: published(),
        "floors": lambda _: floors(),
        "tuning": lambda _: tuning(),
        "systems": systems,
        "graphs": graphs,
        "scale": lambda name: measured[known("table of scale", name, measured)](scaling.read(MEASURED)),
        "forecast": lambda name: forecasts[known("forecast", name, forecasts)]() + "\n",
        "kinds": lambda _: page_tables.kinds(results),
        "query_kinds": lambda _: page_tables.query_kinds(results),
        "newcomer": lambda _: page_tables.newcomer(results),
        "reach": lambda _: page_tables.reach(results),
        "ledger": ledger_pages.table,
        "remade": lambda _: page_processors.remade_table(results),
        "across": lambda _: page_processors.across_table(results),
        "torture": lambda _: page_tables.torture(results),
        "torture_before": lambda _: page_tables.torture_before(results),
        "long_queries": lambda _: page_tables.long_queries(results),
        "endurance": lambda _: page_tables.endurance(results),
        "weights": lambda side: page_tables.weights(results, side),
        "code": lambda name: page_designs.code(results, name),
        "code_kinds": lambda name: page_designs.code_kinds(results, name),
        "linkers": lambda name: page_designs.linkers(results, name),
        "parameters": lambda _: page_designs.parameters(results, ""),
        "designs": lambda _: page_designs.designs(results, ""),
        "before": lambda _: page_designs.before(results, ""),
    }


def scores(folder: str) -> pd.DataFrame:
    """The committed scores of one comparison."""
    known("folder", folder, (file.parent.name for file in RESULTS.glob("*/scores.csv")))
    return pd.read_csv(RESULTS / folder / "scores.csv")


def first() -> str:
    """The README's table: one row a system, two columns a set."""
    parts = [scores(name).set_index(["system", "metric"]) for name in SETS]
    names = parts[0].xs("recall@5", level="metric")["mean"].sort_values(kind="stable").index
    head = [f"{label} {metric}" for label in SETS.values() for metric in SHOWN]
    marks = [seen(folder) for folder in SETS]
    rows = {
        name: [
            cell(part.loc[name, metric]) + marked.get(name, "")
            for part, marked in zip(parts, marks, strict=True)
            for metric in SHOWN
        ]
        for name in names
    }
    return table("system", head, rows)


def register() -> list[dict[str, Any]]:
    """What was chosen by looking at questions."""
    numbers: list[dict[str, Any]] = tomllib.loads(REGISTER.read_text(encoding="utf-8"))["number"]
    return numbers


def seen(folder: str) -> dict[str, str]:
    """The systems of which a number was fitted or chosen with questions of a set in view -> the sign for it.

    A comparison's folder may have something before the name of its set: all-musique-100.
    """
    return {row["system"]: " †" for row in register() if any(folder.endswith(name) for name in row["sets"])}


def tuning() -> str:
    """One row a number that was chosen by looking at questions."""
    rows = [
        f"| `{row['system']}` | {row['what']} | {row['kind']} | {', '.join(row['training']) or '–'} | "
        f"{', '.join(row['sets']) or '–'} |"
        for row in register()
    ]
    lines = ["| system | what | how | training questions | reported sets in view |", "|---|---|---|---|---|"]
    return "\n".join([*lines, *rows]) + "\n"


def systems(folder: str) -> str:
    """One row a system, best recall@5 first."""
    wide, marks = scores(folder).set_index(["system", "metric"]), seen(folder)
    names = wide.xs("recall@5", level="metric")["mean"].sort_values(ascending=False, kind="stable").index
    rows = {name: [cell(wide.loc[name, metric]) for metric in METRICS] for name in names}
    return table("system", METRICS, rows, marks)


def static() -> str:
    """One row a system and encoder, recall with its interval, two columns a set."""
    parts = {label: RESULTS / f"static-{name}" / "scores.csv" for name, label in SETS.items()}
    frames = {
        label: pd.read_csv(file).set_index(["system", "metric"]) for label, file in parts.items() if file.is_file()
    }
    shown = ("recall@5", "recall@10")
    names = dict.fromkeys(name for frame in frames.values() for name, _ in frame.index)
    rows = {
        name: [
            f"{cell(row)} ({100 * row['ci_low']:.1f}–{100 * row['ci_high']:.1f})"
            for frame in frames.values()
            for row in (frame.loc[name, metric] for metric in shown)
        ]
        for name in names
    }
    return table("system and encoder", [f"{label} {metric}" for label in frames for metric in shown], rows)


def graphs(folder: str) -> str:
    """One row a strategy, a column a graph: recall@5, and beside it that of the shuffled graph (mean over seeds)."""
    means = scores(folder).query("metric == 'recall@5'").set_index("system")
    split = [name.split(".", 1) for name in means.index if "." in name]
    kinds = list(dict.fromkeys(graph for _, graph in split if not graph.endswith("-shuffled")))
    rows: dict[str, list[str]] = {}
    for strategy in dict.fromkeys(strategy for strategy, _ in split):
        rows[strategy] = []
        for kind in kinds:
            real, placebo = means.loc[f"{strategy}.{kind}"], means.loc[f"{strategy}.{kind}-shuffled"]
            spread = f"{100 * placebo['mean']:.1f} ± {100 * placebo['seed_sd']:.1f}"
            rows[strategy] += [f"{100 * real['mean']:.1f}", spread]
    head = [column for kind in kinds for column in (kind, "shuffled")]
    alone = 100 * means.loc[BASELINE, "mean"]
    whole = table("strategy", head, rows, seen(folder)) + f"\n`{BASELINE}`, which reads no graph: {alone:.1f}.\n"
    return whole + page_tables.gains(RESULTS / folder)


def ablation() -> str:
    """One row a change, a column a set: the difference of recall@5 in points, bold where significant (Holm)."""
    frame = pd.read_csv(RESULTS / "ablation.csv", keep_default_na=False, na_values={"p_holm": [""]})
    frame = frame[frame["metric"] == "recall@5"]
    full = frame[frame["changed"] == ""].set_index("set")["mean"]
    rows = {"everything": [f"{100 * mean:.1f}" for mean in full]}
    for changed, part in frame[frame["changed"] != ""].groupby("changed", sort=False):
        rows[str(changed)] = [point(row) for _, row in part.set_index("set").loc[full.index].iterrows()]
    return table("left out or changed", list(full.index), rows)


def point(row: pd.Series) -> str:
    """A difference in points with its interval."""
    text = f"{100 * row['difference']:+.1f}"
    shown = f"**{text}**" if row["p_holm"] < 0.05 else text
    return f"{shown} ({100 * row['low']:.1f} to {100 * row['high']:.1f})"


def hops() -> str:
    """One row a system, two columns a number of hops."""
    frame = pd.read_csv(RESULTS / "hops.csv").set_index(["hops", "system"])
    groups = {number: int(part["n"].iloc[0]) for number, part in frame.groupby(level="hops")}
    rows = {
        name: [f"{100 * frame.loc[(number, name), metric]:.1f}" for number in groups for metric in SHOWN]
        for name in frame.index.get_level_values("system").unique()
    }
    head = [f"{number} hops ({questions}): {metric}" for number, questions in groups.items() for metric in SHOWN]
    return table("system", head, rows)


def floors() -> str:
    """One row a floor; recall@5, questions that won or lost, and rankings that stayed the same, a set each."""
    frame = pd.read_csv(RESULTS / "floors.csv", dtype={"floor": str}).set_index(["set", "floor"])
    sets, rows = list(frame.index.unique("set")), {}
    for floor in frame.index.unique("floor"):
        rows[floor] = []
        for name in sets:
            row = frame.loc[(name, floor)]
            changed = "" if floor == "whole" else f" (+{int(row['wins'])} −{int(row['losses'])})"
            rows[floor] += [f"{100 * row['mean']:.1f}{changed}", f"{100 * row['same_first']:.0f}"]
        rows[floor].append(f"{100 * frame.xs(floor, level='floor')['left_out'].mean():.2f}")
    head = [f"{name} {what}" for name in sets for what in ("recall@5", "same first ten")]
    return table("floor", [*head, "left out"], rows)


def published() -> str:
    """Recall@5 as papers print it, and ours on what is at hand: fewer questions over fewer passages."""
    rows = {}
    for name, system in PUBLISHED:
        record = tomllib.loads((LEDGER / f"{name}.toml").read_text(encoding="utf-8"))
        [values] = [row["values"] for row in record["published"] if row["system"] == system]
        rows[system] = [f"{values[known]['recall@5']:.1f}" for known in ("musique", "hotpotqa", "2wiki")]
    for system in OURS:
        found = [scores(name).set_index(["system", "metric"]).loc[system, "recall@5"] for name in SETS]
        rows[f"{system}, here"] = [
            f"{100 * row['mean']:.1f} ({100 * row['ci_low']:.1f}–{100 * row['ci_high']:.1f})"
            + seen(folder).get(system, "")
            for folder, row in zip(SETS, found, strict=True)
        ]
    return table("system", list(SETS.values()), rows)


def overlap() -> str:
    """One row a reported and a training set that share anything."""
    frame = pd.read_csv(RESULTS / "overlap.csv")
    counts = ["same_id", "near_duplicates", "shared_gold", "shared_hop"]
    found = frame[frame[counts].sum(axis=1) > 0]
    rows = {
        f"{row['reported']}, {row['training']}": [str(int(row[name])) for name in ("questions", "fitted", *counts)]
        for _, row in found.iterrows()
    }
    head = ["questions", "fitted on", "same id", "nearly the same text", "shared gold passage", "shared single hop"]
    return table("reported, training", head, rows)


def coefficients() -> str:
    """One row a signal of each model: its coefficient, and per standard deviation of the signal."""
    record = tomllib.loads(COEFFICIENTS.read_text(encoding="utf-8"))
    models, standard = record["with_tokens"], record["standardised"]["with_tokens"]
    rows = {
        f"{model}: {signal}": [f"{models[model][signal]:.2f}", f"{value:.2f}"]
        for model in ("start", "step")
        for signal, value in standard[model].items()
    }
    return table("model: signal", ["coefficient", "per standard deviation"], rows)


def table(
    corner: str,
    head: tuple[str, ...] | list[str],
    rows: dict[str, list[str]],
    marks: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """A pipe table with names in code type, behind them their marks."""
    lines = [f"| {corner} | {' | '.join(head)} |", "|---|" + "--:|" * len(head)]
    return (
        "\n".join(
            [*lines, *(f"| `{name}`{marks.get(name, '')} | {' | '.join(cells)} |" for name, cells in rows.items())]
        )
        + "\n"
    )


def cell(row: pd.Series) -> str:
    """A mean in per cent with its stars; bold where significantly above every other system."""
    text = f"{100 * row['mean']:.1f}" + stars(row["p_holm"]).replace("*", r"\*")
    return f"**{text}**" if row["p_best"] < 0.05 else text


def figures() -> None:
    """Recall@5 with 95 % intervals, one panel a set; what each part of `mention_chains` is worth, one panel a set."""
    parts = [scores(name).query("metric == 'recall@5'").assign(metric=label) for name, label in SETS.items()]
    drawn = plots.bar_chart(pd.concat(parts), BASELINE)
    left_out = pd.read_csv(RESULTS / "ablation.csv").query("metric == 'recall@5'").dropna(subset="changed")
    worth = plots.difference_plot(left_out.rename(columns={"set": "group", "changed": "name"}))
    with rc_context({"svg.hashsalt": "kg2rag"}):  # ids are drawn at random otherwise
        drawn.savefig(ROOT / "docs" / "results.svg", metadata={"Date": None})
        worth.savefig(ROOT / "docs" / "ablation.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
