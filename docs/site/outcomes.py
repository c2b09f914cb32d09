"""The comparisons in `eval/results` -> what each says about one system: tables, and sentences made from them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from kg2rag.evaluation.placebo import SUFFIX, against_placebo

METRIC, ALL = "recall@5", "all_recall@5"
CERTAIN = 0.05
FEWEST = 10
"""Questions of a group, at least, for a sentence on it."""


@dataclass(frozen=True)
class Outcome:
    """One committed comparison."""

    folder: Path

    @property
    def name(self) -> str:
        """The folder's name, which the commands of docs/results.md use."""
        return self.folder.name

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """What its numbers depend on."""
        config: Mapping[str, Any] = json.loads((self.folder / "config.json").read_text(encoding="utf-8"))
        return config

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One row per system and metric."""
        return pd.read_csv(self.folder / "scores.csv").set_index(["system", "metric"])

    @cached_property
    def per_query(self) -> pd.DataFrame:
        """One row per system and question."""
        return pd.read_csv(self.folder / "per_query.csv.xz", dtype={"type": str, "hops": "Int64"})

    @property
    def systems(self) -> list[str]:
        """The systems in it."""
        return list(self.scores.index.unique("system"))

    @property
    def graph(self) -> str:
        """The graph that its systems read, in a word or two."""
        sources = {str(one["graph"]["source"]).partition("(")[0] for one in self.config["knowledge"] if "graph" in one}
        return ", ".join(sorted(GRAPHS.get(source, source) for source in sources)) or "–"

    @property
    def baseline(self) -> str:
        """The system that the tests are against."""
        return str(self.config["baseline"])

    def gain(self, system: str) -> pd.Series:
        """Mean, tests and `gain` over the baseline in points, by recall@5."""
        row = self.scores.loc[(system, METRIC)]
        return row.copy() if system == self.baseline else pd.concat([row, pd.Series({"gain": self._gain(row)})])

    def _gain(self, row: pd.Series) -> float:
        return 100 * float(row["mean"] - self.scores.loc[(self.baseline, METRIC), "mean"])

    def by(self, column: str, system: str) -> pd.DataFrame:
        """Questions and gain over the baseline in points, by a column of the questions."""
        wide = self.per_query.pivot_table(index="query_id", columns="system", values=METRIC)
        groups = self.per_query.drop_duplicates("query_id").set_index("query_id")[column].loc[wide.index]
        gains = 100 * (wide[system] - wide[self.baseline])
        return gains.groupby(groups.dropna()).agg(["size", "mean"]).rename(columns={"size": "n", "mean": "gain"})

    def placebos(self) -> pd.DataFrame:
        """Each strategy over a graph against the graph's shufflings."""
        file = self.folder / "per_seed.csv"
        return against_placebo(self.per_query, pd.read_csv(file) if file.is_file() else None, METRIC)


GRAPHS = {
    "Mentions": "mentions",
    "HippoRAGOpenIE": "triples of an LLM (OpenIE)",
    "KG2RAGSubgraphs": "triples of an LLM (KG2RAG's)",
    "TriplesFile": "triples of an LLM (file)",
}
PLAIN = "all-", ""
"""Prefixes of the folders in which every system stands under its own name; the first is preferred."""


def read(results: Path) -> list[Outcome]:
    """Every comparison that is kept with its configuration."""
    return [Outcome(file.parent) for file in sorted(results.glob("*/config.json"))]


def of(system: str, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The comparisons with a system under its own name."""
    return [one for one in outcomes if system in one.systems]


def table(system: str, found: Sequence[Outcome], marked: Mapping[str, str]) -> list[str]:
    """One row a comparison."""
    head = ["comparison", "graph", METRIC, ALL, "over `dense`", "won–tied–lost", "p"]
    rows = [head, ["---", "---", *["--:"] * (len(head) - 2)]]
    for one in found:
        row, every = one.gain(system), one.scores.loc[(system, ALL)]
        cells = [f"`{one.name}`{marked.get(one.name, '')}", one.graph, _mean(row), f"{100 * every['mean']:.1f}"]
        tested = "gain" in row and pd.notna(row["p_holm"])
        record = f"{int(row['wins'])}–{int(row['ties'])}–{int(row['losses'])}" if tested else ""
        cells += [f"{row['gain']:+.1f}", record, probability(row["p_holm"])] if tested else ["", "", ""]
        rows.append(cells)
    return [f"| {' | '.join(cells)} |" for cells in rows]


def verdicts(system: str, found: Sequence[Outcome]) -> Iterator[str]:
    """When it wins and when not: one sentence a verdict, one a kind of question, one a placebo."""
    tested = [(one, one.gain(system)) for one in found if system != one.baseline]
    sure = [(one, row) for one, row in tested if row["p_holm"] < CERTAIN]
    groups = {
        "Significantly above `dense`": [pair for pair in sure if pair[1]["gain"] > 0],
        "Significantly below `dense`": [pair for pair in sure if pair[1]["gain"] < 0],
        "No difference from `dense` that these questions could show": [
            pair for pair in tested if not pair[1]["p_holm"] < CERTAIN
        ],
    }
    for verdict, pairs in groups.items():
        if pairs:
            where = [f"`{one.name}` ({row['gain']:+.1f} points)" for one, row in pairs]
            yield f"{verdict}: {'; '.join(where)}."


def kinds(system: str, found: Sequence[Outcome]) -> Iterator[str]:
    """Where among the questions it gains most and least."""
    for one in found:
        for column, label in (("hops", "hops"), ("type", "type")):
            groups = one.by(column, system) if system != one.baseline else pd.DataFrame()
            groups = groups[groups["n"] >= FEWEST] if len(groups) else groups
            if len(groups) > 1:
                parts = [
                    f"{_kind(name, label)} {row['gain']:+.1f} ({int(row['n'])})" for name, row in groups.iterrows()
                ]
                yield f"`{one.name}`: {', '.join(parts)}."


def placebo(system: str, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """What its graphs bring beyond their shufflings."""
    for one in outcomes:
        if any(name.startswith(f"{system}.") and name.endswith(SUFFIX) for name in one.systems):
            rows = one.placebos()
            for _, row in rows[rows["strategy"] == system].iterrows():
                sure = "significant" if row["p_holm"] < CERTAIN else "not significant"
                yield (
                    f"`{one.name}`, graph `{row['graph']}`: {100 * row['mean']:.1f} against {100 * row['placebo']:.1f} "
                    f"over its shufflings, {100 * row['gain']:+.1f} points ({100 * row['ci_low']:.1f} to "
                    f"{100 * row['ci_high']:.1f}), {sure}."
                )


def costs(system: str, found: Sequence[Outcome], timings: Path) -> Iterator[str]:
    """Milliseconds a query, as measured alone and as each comparison took them."""
    record = tomllib.loads(timings.read_text(encoding="utf-8"))
    for group in ("strategies_batch", "chains_batch"):
        if system in record[group]["values"]:
            about = record[group]
            yield f"{about['values'][system]} {about['unit']} ({about['processor']})."
    times = [f"`{one.name}` {one.config['ms_per_query'][system]:.1f}" for one in found]
    if times:
        yield f"In the comparisons, ms a query beside whatever else the machine did: {', '.join(times)}."


def probability(value: float) -> str:
    """A p-value to three places, and no zero."""
    return "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def _mean(row: pd.Series) -> str:
    return f"{100 * row['mean']:.1f} ({100 * row['ci_low']:.1f}–{100 * row['ci_high']:.1f})"


def _kind(name: object, column: str) -> str:
    return f"{name} {'hop' if name == 1 else 'hops'}" if column == "hops" else f"`{name}`"
