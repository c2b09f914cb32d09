"""The fates of the gold passages -> counts, a figure, a page to click through, a table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.table import Table

from kg2rag.report import plots, text_table
from kg2rag.report.html import HtmlPage, render
from kg2rag.types import LOST_AT, LostAt

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Waterfall(HtmlPage):
    """What became of the gold of a system. Displays in Jupyter as a page to click through, and in a terminal.

    Attributes
    ----------
    frame : one row per gold passage: query_id, type, question, gold (its id), title, lost_at, step, why, rank (blank
        where it has none).
    returned : question id -> titles (or ids) of the first k hits.
    data : name of the data set.
    """

    system: str
    frame: pd.DataFrame
    returned: Mapping[str, Sequence[str]] = field(default_factory=dict)
    data: str = ""
    k: int = 5

    def totals(self) -> pd.DataFrame:
        """Gold passages by question type and `lost_at`: "all" last; a column for each of `LOST_AT`."""
        types = self.frame["type"].replace("", "unknown")
        table = pd.crosstab(types, self.frame["lost_at"]).reindex(columns=list(LOST_AT), fill_value=0)
        if len(table) > 1:
            table.loc["all"] = table.sum()
        else:
            table.index = pd.Index(["all"])
        return table.rename_axis(index="type", columns=None).assign(gold=table.sum(axis=1))

    def reasons(self) -> pd.DataFrame:
        """Gold passages by where they were lost and why, in the order of the steps: columns lost_at, why, gold."""
        counts = self.frame.groupby(["lost_at", "why"], sort=False).size().rename("gold").reset_index()
        order = counts["lost_at"].map({name: at for at, name in enumerate(LOST_AT)}).sort_values(kind="stable").index
        return counts.loc[order].reset_index(drop=True)

    def questions(self, lost_at: LostAt) -> pd.DataFrame:
        """The gold passages lost there; ValueError names the known ones."""
        if lost_at not in LOST_AT:
            raise ValueError(f"Unknown lost_at {lost_at!r}. Known: {', '.join(LOST_AT)}.")
        return self.frame[self.frame["lost_at"] == lost_at].reset_index(drop=True)

    def figure(self) -> Figure:
        """All gold, less what each stage lost, down to what was found; below, the same by question type."""
        return plots.waterfall(self.totals(), f"{self.system}: where the gold went, k = {self.k}")

    @property
    def title(self) -> str:
        """The heading of the page."""
        return f"{self.system}: where the gold went"

    def body(self) -> Markup:
        """The counts, the figure, and every lost passage by step and reason."""
        totals = self.totals()
        shown = [name for name in LOST_AT if totals[name].any() or name == "found"]
        return render(
            "waterfall.html.j2",
            title=self.title,
            lead=f"{self.data}: {len(self.returned)} questions, {len(self.frame)} gold passages, k = {self.k}",
            lost_at=shown,
            totals=[(name, [int(row[lost]) for lost in shown], int(row["gold"])) for name, row in totals.iterrows()],
            figure=plots.to_svg(self.figure(), f"waterfall-{self.system}-{self.k}"),
            groups=[self._group(lost_at) for lost_at in shown],
        )

    def _group(self, lost_at: str) -> dict[str, Any]:
        """The gold passages lost at one step by reason, the most frequent first."""
        members = self.frame[self.frame["lost_at"] == lost_at]
        reasons = [
            (why, [self._gold(row) for row in own.itertuples()]) for why, own in members.groupby("why", sort=False)
        ]
        reasons.sort(key=lambda reason: -len(reason[1]))
        return {"lost_at": lost_at, "count": len(members), "reasons": reasons}

    def _gold(self, row: Any) -> dict[str, Any]:
        own = self.frame[self.frame["query_id"] == row.query_id]
        titles = set(own["title"]) | set(own["gold"])
        return {
            "query_id": row.query_id,
            "type": row.type,
            "question": row.question,
            "gold": row.gold,
            "title": row.title if row.title != row.gold else "",
            "rank": "" if pd.isna(row.rank) else int(row.rank),
            "returned": [(title, title in titles) for title in self.returned[row.query_id]],
        }

    def __repr__(self) -> str:
        return f"Waterfall of {self.system} on {self.data}, k = {self.k}\n{_shown(self.totals()).to_string()}"

    def __rich__(self) -> Table:
        totals = _shown(self.totals())
        title = f"{self.system}: gold passages by where they were lost, k = {self.k}"
        return text_table(title, ("type", *totals.columns), (map(str, row) for row in totals.itertuples()))


def _shown(totals: pd.DataFrame) -> pd.DataFrame:
    """Without the columns in which nothing was lost."""
    return totals.loc[:, [name for name in totals.columns if name in ("found", "gold") or totals[name].any()]]
