"""`eval/kept.toml` and `eval/results` -> the kept comparisons, each with its tables: `Study`."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pandas as pd
from markdown import page, percent, shell, starred, table

import kg2rag.retrievers
from kg2rag.evaluation.significance import SHUFFLED
from kg2rag.report.markup import pipe_table
from kg2rag.retrievers.contract import TuningRecord

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "eval" / "results"
KEPT = ROOT / "eval" / "kept.toml"
TEXTS = tomllib.loads((ROOT / "eval" / "pages.toml").read_text(encoding="utf-8"))
METRICS = (
    "recall@2",
    "recall@5",
    "recall@10",
    "recall@500tokens",
    "all_recall@5",
    "mrr@10",
)
MARK = "†"
MIN_QUESTIONS = 20
"""Questions of a number of hops that a table shows."""


@dataclass(frozen=True)
class Study:
    """A kept comparison: its entry in kept.toml, its configuration and its scores."""

    folder: Path
    about: Mapping[str, str]

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The configuration behind its numbers."""
        return json.loads((self.folder / "config.json").read_text(encoding="utf-8"))

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One row per system and metric."""
        return pd.read_csv(self.folder / "scores.csv")

    @cached_property
    def per_query(self) -> pd.DataFrame:
        """One row per system and question."""
        return pd.read_parquet(self.folder / "per_query.parquet")

    @property
    def recall(self) -> pd.DataFrame:
        """The rows of recall@5, by system."""
        return self.scores.query("metric == 'recall@5'").set_index("system", drop=False)

    @property
    def marked(self) -> set[str]:
        """The systems with a parameter that was chosen with access to this set, as declared at the run and today."""
        marked = set()
        for system, rows in self.config.get("tuning", {}).items():
            if any(self.is_of(row["sets"]) for row in rows):
                marked.add(system)
        for system in self.config.get("systems", ()):
            if any(
                self.is_of(row.sets)
                for row in register()
                if row.system == without_graph(system)
            ):
                marked.add(system)
        return marked

    def is_of(self, sets: Iterable[str]) -> bool:
        """Whether the comparison is on one of these sets, by the end of its name."""
        return self.folder.name.endswith(tuple(sets))

    @property
    def size(self) -> str:
        """Numbers of questions and passages."""
        data = self.config["data"]
        return f"{data['questions']:,} questions over {data['passages']:,} passages"

    def cell(self, system: str, metric: str) -> str:
        """A mean with its stars, in bold if it is significantly the best."""
        rows = self.scores[
            (self.scores["system"] == system) & (self.scores["metric"] == metric)
        ]
        if rows.empty:
            return ""
        row = rows.iloc[0]
        text = starred(row["mean"], row["p_holm"])
        return f"**{text}**" if row["p_best"] < 0.05 else text

    def name(self, system: str) -> str:
        """The name of a system as code, with its mark."""
        is_marked = without_graph(system) in set(map(without_graph, self.marked))
        return f"`{system}`\N{NO-BREAK SPACE}{MARK}" if is_marked else f"`{system}`"

    def section(self) -> str:
        """Its section of a page: size, command, tables and origin."""
        about = [line for line in (self.about.get("about"), self.setting()) if line]
        return page(
            f"## {self.about['title']}",
            about,
            shell(self.about["command"]),
            *self.tables(),
            self.origin(),
        )

    def tables(self) -> list[str | list[str]]:
        """Graphs beside their shuffled versions, results by number of hops, or one row per system."""
        if any(name.endswith(SHUFFLED) for name in self.scores["system"]):
            return [self.graphs(), TEXTS["shuffled"]["about"]]
        if "last_hop@5" in self.per_query:
            return self.by_hops()
        return [self.table()]

    def setting(self) -> str:
        """Size, setting, encoders and baseline, in a sentence."""
        encoders = [entry.get("encoder", {}) for entry in self.config["knowledge"]]
        models = dict.fromkeys(
            f"{encoder['model']} ({encoder['dtype']})" for encoder in encoders
        )
        setting, baseline = self.config["data"]["setting"], self.config["baseline"]
        return f"{self.size}, {setting}; {', '.join(models)}; baseline `{baseline}`."

    def origin(self) -> str:
        """Date, commit and folder, in a sentence."""
        commit = self.config.get("commit", {})
        state = " with changes" if commit.get("changed") else ""
        date = str(self.config["started"])[:10]
        made = f"Made {date} at commit `{str(commit.get('id'))[:10]}`{state}"
        return f"{made}; files in `eval/results/{self.folder.name}`."

    def table(self) -> list[str]:
        """One row per system, ordered by recall@5."""
        systems = self.by_recall()
        compared = [
            metric for metric in METRICS if metric in set(self.scores["metric"])
        ]
        cells = {
            metric: [self.cell(system, metric) for system in systems]
            for metric in compared
        }
        return table("system", pd.DataFrame(cells, systems), self.name)

    def by_hops(self) -> list[str | list[str]]:
        """Complete evidence and the last hop, in whole per cent, by number of hops."""
        with_hops = self.per_query.dropna(subset="hops")
        sizes = with_hops.groupby("hops")["query_id"].nunique()
        sizes = sizes[sizes >= MIN_QUESTIONS]
        means = with_hops.pivot_table(["all_recall@5", "last_hop@5"], "system", "hops")
        means = means.loc[
            self.by_recall(), [column for column in means if column[1] in sizes.index]
        ]
        means.columns = [f"{metric}, {hops} hops" for metric, hops in means]
        counts = "; ".join(
            f"{size} questions of {hops} hops" for hops, size in sizes.items()
        )
        about = f"{counts}. Numbers of hops with fewer than {MIN_QUESTIONS} questions are left out."
        return [about, table("system", means.mul(100).map("{:.0f}".format), self.name)]

    def by_recall(self) -> pd.Index:
        """The systems, highest recall@5 first."""
        return self.recall["mean"].sort_values(ascending=False, kind="stable").index

    def graphs(self) -> list[str]:
        """One row per strategy and graph: recall@5, recall@5 over the shuffled graphs, and the difference."""
        rows = []
        for name in self.recall.index:
            strategy, _, graph = name.partition(".")
            row = [self.name(strategy), f"`{graph}`", self.cell(name, "recall@5")]
            if f"{name}{SHUFFLED}" in self.recall.index:
                rows.append([*row, *self.gain(name)])
            elif not graph:
                rows.append([row[0], "", row[2], "", ""])
        head = ["strategy", "graph", "recall@5", "over shuffled graphs", "gain"]
        return pipe_table(head, rows, head[2:])

    def gain(self, name: str) -> list[str]:
        """Recall@5 over the shuffled graphs with its deviation, and the points above it."""
        real = self.recall.loc[name]
        placebo = self.recall.loc[f"{name}{SHUFFLED}"]
        deviation = f"{percent(placebo['mean'])} ± {percent(placebo['seed_sd'])}"
        return [deviation, f"{100 * (real['mean'] - placebo['mean']):+.1f}"]


def kept() -> dict[str, dict[str, str]]:
    """Name of each kept comparison -> its page, title, text and command."""
    return tomllib.loads(KEPT.read_text(encoding="utf-8"))


def read() -> dict[str, Study]:
    """The kept comparisons in the order of kept.toml. ValueError: a folder that kept.toml does not name."""
    entries = kept()
    folders = {path.parent.name for path in RESULTS.glob("*/scores.csv")}
    unlisted = sorted(folders - set(entries))
    if unlisted:
        raise ValueError(
            f"eval/kept.toml does not list {', '.join(unlisted)} of eval/results."
        )
    return {
        name: Study(RESULTS / name, entries[name])
        for name in entries
        if name in folders
    }


@cache
def register() -> list[TuningRecord]:
    """The parameters that each strategy declares as chosen with access to questions."""
    rows: list[TuningRecord] = []
    for module in walk_packages(kg2rag.retrievers.__path__, "kg2rag.retrievers."):
        if ".adapters" not in module.name:
            rows += getattr(import_module(module.name), "TUNING", ())
    return rows


def without_graph(system: str) -> str:
    """The name of a system without its graph."""
    return system.partition(".")[0]
