"""A comparison and a choice -> the chosen questions in order, and two systems' rankings of one of them, explained.

No widgets here: the panel makes a `Choice`, a `Board` answers it.
"""

# ruff: noqa: D102 (the members of `Compared` are described in `kg2rag.evaluation.Comparison`)

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from kg2rag.report.question_explanation import QuestionExplanation, check_same_questions, explain_rankings
from kg2rag.types import QADataset, Ranking

if TYPE_CHECKING:
    import pandas as pd

Order = Literal["difference", "right ahead", "left ahead", "as asked"]
ORDERS: tuple[Order, ...] = get_args(Order)
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

    def to_frame(self) -> pd.DataFrame: ...


@dataclass(frozen=True)
class Choice:
    """What the user has chosen.

    Attributes
    ----------
    left, right : two systems. metric : by which they are compared.
    order : of the questions: by absolute difference; the right system's lead first, or the left one's; or as in the
        data.
    kind : a type of question; all where empty.
    words : a question is listed where its text or id contains each of them, in any case.
    hits : shown of each ranking.
    """

    left: str
    right: str
    metric: str
    order: Order = "difference"
    kind: str = ""
    words: str = ""
    hits: int = 5


@dataclass(frozen=True)
class Board:
    """A comparison and the data it was made of; ValueError where they do not belong together."""

    result: Compared
    data: QADataset

    def __post_init__(self) -> None:
        check_same_questions(self.result.rankings, self.data)

    @cached_property
    def _at(self) -> Mapping[str, int]:
        return {question.id: at for at, question in enumerate(self.data.questions)}

    @cached_property
    def _scores(self) -> Mapping[str, pd.DataFrame]:
        """System -> its score on every question: index query_id, one column per metric."""
        parts = self.result.per_query.groupby("system", sort=False)
        return {name: parts.get_group(name).set_index("query_id")[self.result.metrics] for name in self.result.systems}

    @cached_property
    def about(self) -> pd.DataFrame:
        """Index query_id, in the order of the data; type, question, and `sought`, in which words are searched."""
        first = self.result.per_query.drop_duplicates("query_id").set_index("query_id")
        kinds = first["type"].fillna("").replace("", UNKNOWN)
        frame = first[["question"]].assign(type=kinds)
        frame["sought"] = (frame["question"] + " " + frame.index.astype(str)).str.casefold()
        return frame

    def kinds(self) -> dict[str, int]:
        """Type of question -> how many there are, in the order of their first question."""
        return dict(Counter(self.about["type"]))

    def questions(self, choice: Choice) -> pd.DataFrame:
        """The chosen questions, in order: index query_id; type, question, left, right, difference (right - left)."""
        left, right = (self._scores[name][choice.metric] for name in (choice.left, choice.right))
        frame = self.about.assign(left=left, right=right)  # aligned by question
        frame["difference"] = frame["right"] - frame["left"]
        if choice.kind:
            frame = frame[frame["type"] == choice.kind]
        for word in choice.words.casefold().split():
            frame = frame[frame["sought"].str.contains(word, regex=False)]
        frame = frame.drop(columns="sought")
        if choice.order == "as asked":
            return frame
        by = frame["difference"].abs() if choice.order == "difference" else frame["difference"]
        order = by.sort_values(ascending=choice.order == "left ahead", kind="stable").index
        return frame.loc[order]

    def explained(self, choice: Choice, query_id: str) -> QuestionExplanation:
        """The two rankings of a question, each hit explained, headed by the systems' scores on it."""
        at = self._at[query_id]
        names = (choice.left, choice.right)
        rankings = {name: self.result.rankings[name][at] for name in names}
        found = explain_rankings(rankings, self.data, self.data.questions[at], k=choice.hits)
        each = {name: replace(one, title=self._scores_line(name, query_id)) for name, one in found.explanations.items()}
        return replace(found, explanations=each)

    def _scores_line(self, system: str, query_id: str) -> str:
        scores = self._scores[system].loc[query_id]
        line = ", ".join(f"{metric} {scores[metric]:.3g}" for metric in self.result.metrics)
        runs = self.result.per_seed
        several = runs is not None and system in set(runs["system"])
        return f"{line} (means over seeds; the ranking is the first seed's)" if several else line

    def caveat(self) -> str:
        """What loaded rankings lack, in words; empty for others."""
        if self.result.inputs is not None:
            return ""
        return "Loaded from files: rankings have ids and scores alone, no stages, parts of scores or paths."
