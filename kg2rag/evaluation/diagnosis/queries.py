"""Two systems and their scores -> the questions on which they differ most, with both explanations side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pandas as pd
from rich.console import Group
from rich.rule import Rule
from rich.text import Text

from kg2rag.report.html import HtmlPage, render
from kg2rag.report.question_explanation import check_same_questions, excerpts
from kg2rag.types import GOLD, Explanation, QADataset, Question, Ranking, side_by_side

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True, eq=False, repr=False)
class QueryComparison(HtmlPage):
    """The questions on which two systems differ most. Displays in Jupyter and in a terminal.

    Attributes
    ----------
    systems : the two names. metric : by which they differ.
    frame : one row per question, largest difference first: query_id, type, question, one score per system, difference
        (first minus second). Questions with equal scores are left out.
    explanations : question id -> one explanation per system, in which gold passages are marked.
    gold : question id -> its gold ids.
    scale : by which scores are multiplied where they are shown, 100 for per cent; `frame` has them as they are.
    """

    systems: tuple[str, str]
    metric: str
    frame: pd.DataFrame
    explanations: Mapping[str, tuple[Explanation, ...]]
    gold: Mapping[str, Sequence[str]]
    data: str = ""
    scale: float = 1.0

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def title(self) -> str:
        """The heading of the page."""
        return f"Where {self.systems[0]} and {self.systems[1]} differ most"

    def body(self) -> Markup:
        """A section for each question, with both explanations."""
        from markupsafe import Markup

        differences = [
            {
                "question": row["question"],
                "type": row["type"],
                "scores": [self._shown(row[name]) for name in self.systems],
                "gold": self.gold[row["query_id"]],
                # An explanation escapes its own texts.
                "explained": [Markup(each.html()) for each in self.explanations[row["query_id"]]],  # noqa: S704
            }
            for row in self.frame.to_dict("records")
        ]
        return render(
            "pairs.html.j2",
            title=self.title,
            lead=f"{self.data}, by {self.metric}; ◆ marks gold",
            names=self.systems,
            metric=self.metric,
            differences=differences,
        )

    def _shown(self, score: float) -> str:
        """A score as the tables print it: one decimal in per cent, two elsewhere."""
        return f"{score * self.scale:.{1 if self.scale == 100 else 2}f}"

    def __repr__(self) -> str:
        return f"{' and '.join(self.systems)} differ most by {self.metric}\n{self.frame.to_string(index=False)}"

    def __rich__(self) -> Group:
        lines: list[object] = []
        for row in self.frame.to_dict("records"):
            scores = ", ".join(f"{name} {self._shown(row[name])}" for name in self.systems)
            lines.append(Rule(style="dim"))
            lines.append(Text.assemble((str(row["question"]), "bold"), f"\n{self.metric}: {scores}"))
            lines.append(Text(f"gold: {', '.join(self.gold[row['query_id']])}", style="green"))
            explained = (replace(each, title="") for each in self.explanations[row["query_id"]])
            lines.append(side_by_side(dict(zip(self.systems, explained, strict=True))))
        return Group(*lines or [Text("The two score the same on every question.")])  # type: ignore[arg-type]


def compare_queries(
    rankings: Mapping[str, Sequence[Ranking]],
    per_query: pd.DataFrame,
    data: QADataset,
    *,
    metric: str,
    limit: int = 10,
    hits: int = 5,
    scale: float = 1.0,
) -> QueryComparison:
    """The questions on which two systems differ most; `Comparison.compare_queries` calls it.

    Parameters
    ----------
    rankings : the two systems -> their rankings, in the order of the questions.
    per_query : columns query_id, system and the metric.
    limit : questions, at most. hits : shown of each ranking.
    data : the data set that was compared on: its gold, titles and texts are shown.
    scale : 100 where scores are to be shown in per cent, as the tables have them.

    Raises
    ------
    ValueError : data with other questions, or a number below 1.
    """
    if min(limit, hits) < 1:
        raise ValueError(f"limit and hits must be at least 1, not {limit} and {hits}.")
    check_same_questions(rankings, data)
    a, b = rankings
    wide = per_query.pivot_table(index="query_id", columns="system", values=metric, sort=False)
    difference = wide[a] - wide[b]
    order = difference.abs().sort_values(ascending=False, kind="stable").index
    places = {question.id: place for place, question in enumerate(data.questions)}
    shown = {id_: data.questions[places[id_]] for id_ in [id_ for id_ in order if difference[id_] != 0][:limit]}
    explanations = {
        id_: tuple(_explained(rankings[name][places[id_]], question, data, hits, name) for name in (a, b))
        for id_, question in shown.items()
    }
    rows = [(id_, q.type, q.text, wide[a][id_], wide[b][id_], difference[id_]) for id_, q in shown.items()]
    gold = {id_: tuple(question.gold) for id_, question in shown.items()}
    frame = pd.DataFrame(rows, columns=["query_id", "type", "question", a, b, "difference"])
    return QueryComparison((a, b), metric, frame, explanations, gold, data.name, scale)


def _explained(ranking: Ranking, question: Question, data: QADataset, hits: int, name: str) -> Explanation:
    texts = excerpts(ranking, data, hits)
    gold = {data.corpus.ids[row] for rows in data.gold_rows(question).values() for row in rows}
    return ranking.explain(hits, {id_: f"{GOLD}  {text}" if id_ in gold else text for id_, text in texts.items()}, name)
