"""The rows of a reproduction -> counts of verdicts, and tables for a page, a terminal and a notebook.

What others published, and our own runs of released code, stand in tables of their own and are never counted together.
Rows that nobody can run here are counted by what they need, not listed, unless that is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from kg2rag.experiments.reproduction import effects, verdicts
from kg2rag.report.markup import pipe_table

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table

COLUMNS = (
    "ledger",
    "against",
    "baseline",
    "published",
    "source",
    "set",
    "metric",
    "theirs",
    "ours",
    "difference",
    "sd",
    "questions",
    "tolerance",
    "verdict",
    "system",
    "primary",
    "why",
    "command",
)
TEXTS = ("baseline", "source", "system", "why", "command")
"""Columns that are empty where there is nothing to say."""
JUDGED = (
    "ledger",
    "published",
    "set",
    "metric",
    "theirs",
    "ours",
    "difference",
    "tolerance",
    "verdict",
    "system",
    "why",
)
UNJUDGED = ("ledger", "published", "set", "metric", "theirs", "ours", "difference", "verdict", "system", "why")
UNRUN = ("ledger", "published", "set", "metric", "theirs", "why")
NEEDS = ("needs", "numbers", "ledgers")
NUMBERS = ("theirs", "ours", "difference", "tolerance", "numbers", *effects.NUMBERS)
SIGNED = ("difference", "their gain", "our gain")
STYLES = {"ok": "green", "same": "green", "close": "yellow", "off": "bold red", "differs": "bold red"}


@dataclass(frozen=True, eq=False)
class Reproduction:
    """One row a published number and run of ours, columns `COLUMNS`.

    `verdict` is one of `verdicts.PUBLISHED` or `verdicts.RELEASED`, or "sensitivity" (a run beside the one that is
    judged), "not comparable" (`why` says what forbids a verdict), "not run" (`why` says what it needs). `sd` is the
    standard deviation of our score between our `questions`; `tolerance` is what the verdict rests on, see `verdicts`.
    """

    frame: pd.DataFrame

    @classmethod
    def load(cls, path: Path | str) -> Reproduction:
        """What `kg2rag reproduce --out FILE.csv` wrote."""
        frame = pd.read_csv(path, dtype={"questions": "Int64"})
        return cls(frame.assign(**frame[list(TEXTS)].fillna("")))

    def summary(self) -> dict[str, dict[str, int]]:
        """The verdicts against published numbers, those on released code, and what has none -> kind -> rows."""
        counts = self.frame["verdict"].value_counts()
        kinds = {
            "published": verdicts.PUBLISHED,
            "released": verdicts.RELEASED,
            "no verdict": ("sensitivity", "not comparable", "not run"),
        }
        return {group: {name: int(counts.get(name, 0)) for name in names} for group, names in kinds.items()}

    def counts(self) -> str:
        """The summary in a line."""
        groups = self.summary().items()
        return "; ".join(
            f"{group}: {', '.join(f'{count} {name}' for name, count in part.items())}" for group, part in groups
        )

    def of(self, *wanted: str) -> pd.DataFrame:
        """The rows with one of some verdicts."""
        return self.frame[self.frame["verdict"].isin(wanted)]

    def effects(self) -> pd.DataFrame:
        """Improvements over each paper's baseline, and the order of its systems, of the runs that are `primary`."""
        both = self.frame["primary"] & self.frame["ours"].notna()
        return effects.effects(self.frame[both])

    def needs(self) -> pd.DataFrame:
        """What was not run, by the first thing it needs, most numbers first: columns `NEEDS`."""
        first = self.frame["why"].str.removeprefix("needs ").str.partition(";")[0]
        grouped = self.of("not run").groupby(first, sort=False)
        rows = [(need, len(part), ", ".join(dict.fromkeys(part["ledger"]))) for need, part in grouped]
        return pd.DataFrame(rows, columns=list(NEEDS)).sort_values(
            "numbers", ascending=False, kind="stable", ignore_index=True
        )

    def sections(self, *, every: bool = False) -> Iterator[tuple[str, pd.DataFrame]]:
        """Title and texts of each table that is not empty; `every` lists what was not run one by one."""
        counted = self.summary()
        unrun = self.of("not run")[list(UNRUN)] if every else self.needs()
        tables = (
            (
                f"Against published numbers ({_counted(counted['published'])})",
                self.of(*verdicts.PUBLISHED)[list(JUDGED)],
                1,
            ),
            (
                f"Our runs of released code ({_counted(counted['released'])})",
                self.of(*verdicts.RELEASED)[list(JUDGED)],
                2,
            ),
            ("Without a verdict", self.of("sensitivity", "not comparable")[list(UNJUDGED)], 1),
            (f"Not run ({counted['no verdict']['not run']})", unrun, 1),
            ("Whole tables: gains over the baseline, and the order of the systems", self.effects(), 1),
        )
        for title, table, decimals in tables:
            if len(table):
                yield title, pd.DataFrame({name: texts(table[name], decimals) for name in table})

    def to_markdown(self, *, every: bool = False) -> str:
        """The tables of `sections`, each under its title."""
        lines: list[str] = []
        for title, table in self.sections(every=every):
            lines += [
                f"### {title}",
                "",
                *pipe_table([str(name) for name in table], table.to_numpy().tolist(), NUMBERS),
                "",
            ]
        return "\n".join([*lines, verdicts.NOTE, ""])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from terminal_tables(self)

    def __repr__(self) -> str:
        return f"Reproduction of {len(self.frame)} numbers: {self.counts()}"

    def _repr_html_(self) -> str:
        parts = (f"<h4>{title}</h4>{table.to_html(index=False, escape=True)}" for title, table in self.sections())
        return "\n".join([*parts, f"<p>{verdicts.NOTE}</p>"])


def terminal_tables(result: Reproduction, *, every: bool = False) -> Iterator[Table | str]:
    """What `rich` prints: the tables of `Reproduction.sections`."""
    from rich import box
    from rich.table import Table

    for title, part in result.sections(every=every):
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for name in part:
            table.add_column(str(name), justify="right" if name in NUMBERS else "left", overflow="fold")
        for row in part.to_dict("records"):
            table.add_row(*map(str, row.values()), style=STYLES.get(str(row.get("verdict"))))
        yield table
    yield verdicts.NOTE


def texts(column: pd.Series, decimals: int) -> list[str]:
    """A column's texts: points with `decimals`, a tolerance with one more, ratios with two; what is missing blank."""
    if not pd.api.types.is_float_dtype(column):
        return [str(value) for value in column]
    name = str(column.name)
    digits = 2 if name in ("effect ratio", "tau") else decimals + (name == "tolerance")
    sign = "+" if name in SIGNED else ""
    rounded = (round(value, digits) + 0.0 for value in column)  # adding 0 leaves no -0.0
    return ["" if value != value else f"{value:{sign}.{digits}f}" for value in rounded]


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
