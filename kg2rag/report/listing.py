"""A comparison and a choice -> the chosen questions in order, with two systems' scores in the unit of the tables.

What is shown of one of them is left to who shows it: `widgets` in a notebook, `kg2rag.serving` on a page.
"""

# ruff: noqa: D102 (the members of `Compared` are described in `kg2rag.evaluation.Comparison`)

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from kg2rag.report.table import EQUAL, Sheet
from kg2rag.types import Ranking

if TYPE_CHECKING:
    import pandas as pd

Order = Literal["difference", "right ahead", "left ahead", "as asked"]
ORDERS: tuple[Order, ...] = get_args(Order)
Ahead = Literal["", "left", "right", "neither", "either"]
AHEAD: tuple[Ahead, ...] = get_args(Ahead)
"""Which of the two systems scores higher; "" takes every question."""
PAGE = 50
"""Questions per page of the list: browsers are slow with thousands of options."""
UNKNOWN = "unknown"  # the type of a question whose set names none, as in Comparison.compare_by


class Compared(Protocol):
    """What is read of a `kg2rag.Comparison`."""

    @property
    def rankings(self) -> Mapping[str, Sequence[Ranking]]: ...

    @property
    def per_query(self) -> pd.DataFrame: ...

    @property
    def per_seed(self) -> pd.DataFrame | None: ...

    @property
    def inputs(self) -> Any: ...

    @property
    def systems(self) -> list[str]: ...

    @property
    def metrics(self) -> list[str]: ...

    @property
    def baseline(self) -> str: ...

    @property
    def sheet(self) -> Sheet: ...

    def to_frame(self) -> pd.DataFrame: ...


@dataclass(frozen=True)
class Choice:
    """What the user has chosen.

    Attributes
    ----------
    left, right : two systems. metric : by which they are compared.
    order : of the questions: by absolute difference; the right system's lead first, or the left one's; or as in the
        data.
    kind : a type of question; all where empty. hops : likewise a number of hops, as text, or "unknown".
    ahead : which of the two scores higher by the metric.
    words : a question is listed where its text or id contains each of them, in any case.
    hits : shown of each ranking.
    """

    left: str
    right: str
    metric: str
    order: Order = "difference"
    kind: str = ""
    hops: str = ""
    ahead: Ahead = ""
    words: str = ""
    hits: int = 5


def first_choice(result: Compared, metric: str | None = None) -> Choice:
    """The baseline beside the best other system by a metric, the first one where none is named."""
    metric = metric or result.metrics[0]
    others = result.to_frame()[metric].drop(result.baseline, errors="ignore")
    right = str(others.idxmax()) if others.notna().any() else result.baseline
    left = result.baseline if result.baseline in result.systems else result.systems[0]
    return Choice(left, right, metric)


@dataclass(frozen=True)
class Listing:
    """The questions of a comparison, to be filtered and ordered."""

    result: Compared

    @cached_property
    def sheet(self) -> Sheet:
        """The content of the printed tables, which has the unit of each metric."""
        return self.result.sheet

    @cached_property
    def _scores(self) -> Mapping[str, pd.DataFrame]:
        """System -> its score on every question: index query_id, one column per metric."""
        parts = self.result.per_query.groupby("system", sort=False)
        return {name: parts.get_group(name).set_index("query_id")[self.result.metrics] for name in self.result.systems}

    @cached_property
    def about(self) -> pd.DataFrame:
        """Index query_id, in the order of the data; type, hops, question, and `sought`, in which words are searched."""
        first = self.result.per_query.drop_duplicates("query_id").set_index("query_id")
        named = {name: _named(first[name]) for name in ("type", "hops")}
        frame = first[["question"]].assign(**named)
        frame["sought"] = (frame["question"] + " " + frame.index.astype(str)).str.casefold()
        return frame

    def kinds(self) -> dict[str, int]:
        """Type of question -> how many there are, in the order of their first question."""
        return dict(Counter(self.about["type"]))

    def hops(self) -> dict[str, int]:
        """Number of hops -> how many questions there are, fewest hops first."""
        counts = Counter(self.about["hops"])
        return {name: counts[name] for name in sorted(counts, key=lambda name: int(name) if name.isdigit() else 1000)}

    def questions(self, choice: Choice) -> pd.DataFrame:
        """The chosen questions, in order: index query_id; type, hops, question, left, right, difference (right - left).

        Scores are in the unit of the tables: per cent, where the metric is a share.
        """
        left, right = (self._scores[name][choice.metric] for name in (choice.left, choice.right))
        factor = self.sheet.scale(choice.metric)
        frame = self.about.assign(left=factor * left, right=factor * right)  # aligned by question
        frame["difference"] = frame["right"] - frame["left"]
        for name, wanted in (("type", choice.kind), ("hops", choice.hops)):
            frame = frame[frame[name] == wanted] if wanted else frame
        for word in choice.words.casefold().split():
            frame = frame[frame["sought"].str.contains(word, regex=False)]
        frame = _ahead(frame, choice.ahead).drop(columns="sought")
        if choice.order == "as asked":
            return frame
        by = frame["difference"].abs() if choice.order == "difference" else frame["difference"]
        order = by.sort_values(ascending=choice.order == "left ahead", kind="stable").index
        return frame.loc[order]

    def score(self, metric: str, value: float) -> str:
        """A score of `questions` as the tables print it."""
        return f"{value:.{self.sheet.digits(metric)}f}"

    def difference(self, metric: str, value: float) -> str:
        """A difference of `questions` as the tables print it, with its sign."""
        return f"{value:+.{self.sheet.digits(metric)}f}".replace("-", "−") if abs(value) > EQUAL else "="

    def scores_line(self, system: str, query_id: str) -> str:
        """All scores of a system on a question, in words."""
        scores: Any = self._scores[system].loc[query_id]
        sheet = self.sheet
        told = {name: self.score(name, sheet.scale(name) * float(scores[name])) for name in self.result.metrics}
        line = ", ".join(f"{name} {score}" for name, score in told.items())
        runs = self.result.per_seed
        several = runs is not None and system in set(runs["system"])
        return f"{line} (means over seeds; the ranking is the first seed's)" if several else line


def _named(column: pd.Series[Any]) -> pd.Series[str]:
    """Values as texts, those that are not known as "unknown"."""
    return column.astype("string").fillna("").replace("", UNKNOWN).astype(object)


def _ahead(frame: pd.DataFrame, ahead: Ahead) -> pd.DataFrame:
    """The questions on which the one named scores higher."""
    by = frame["difference"]
    kept = {"left": by < -EQUAL, "right": by > EQUAL, "neither": by.abs() <= EQUAL, "either": by.abs() > EQUAL}
    return frame[kept[ahead]] if ahead else frame
