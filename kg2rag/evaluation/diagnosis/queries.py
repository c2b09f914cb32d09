"""Two systems and their scores -> the questions on which they differ most, with both explanations side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kg2rag.evaluation.diagnosis import page
from kg2rag.types.explanation import Explanation, side_by_side
from kg2rag.types.questions import QADataset, Question
from kg2rag.types.rankings import Ranking

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Group

    from kg2rag.evaluation.comparison import Comparison

GOLD = "◆ gold"
_EXCERPT = 160  # characters of a passage that are shown


@dataclass(frozen=True, eq=False, repr=False)
class QueryComparison:
    """The questions on which two systems differ most. Shows itself in Jupyter and in a terminal.

    Attributes
    ----------
    systems : the two names. metric : by which they differ.
    frame : one row a question, largest difference first: query_id, type, question, one score a system, difference (the
        first less the second). Questions on which they score the same are left out.
    explanations : question id -> one explanation a system, in which gold passages are marked.
    gold : question id -> what should have been found.
    """

    systems: tuple[str, str]
    metric: str
    frame: pd.DataFrame
    explanations: Mapping[str, tuple[Explanation, Explanation]]
    gold: Mapping[str, Sequence[str]]
    data: str = ""

    def __len__(self) -> int:
        return len(self.frame)

    def to_html(self) -> str:
        """A self-contained page."""
        return page.render("pairs.html.j2", alone=True, **page.of_pairs(self))

    def _repr_html_(self) -> str:
        return page.render("pairs.html.j2", alone=False, **page.of_pairs(self))

    def __repr__(self) -> str:
        return f"{' and '.join(self.systems)} differ most by {self.metric}\n{self.frame.to_string(index=False)}"

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.rule import Rule
        from rich.text import Text

        parts: list[object] = []
        for row in self.frame.to_dict("records"):
            scores = ", ".join(f"{name} {row[name]:.3g}" for name in self.systems)
            parts.append(Rule(style="dim"))
            parts.append(Text.assemble((str(row["question"]), "bold"), f"\n{self.metric}: {scores}"))
            parts.append(Text(f"gold: {', '.join(self.gold[row['query_id']])}", style="green"))
            explained = (replace(each, title="") for each in self.explanations[row["query_id"]])
            parts.append(side_by_side(dict(zip(self.systems, explained, strict=True))))
        return Group(*parts or [Text("The two score the same on every question.")])  # type: ignore[arg-type]


def compare_queries(
    comparison: Comparison,
    a: str,
    b: str,
    data: QADataset,
    *,
    metric: str | None = None,
    limit: int = 10,
    hits: int = 5,
) -> QueryComparison:
    """The questions of a comparison on which two of its systems differ most.

    Parameters
    ----------
    metric : one of the comparison's; its first where not given.
    limit : questions, at most. hits : shown of each ranking.
    data : what was compared on; says what is gold and what the passages are called.

    Raises
    ------
    ValueError : an unknown system or metric, a system compared with itself, or data with other questions.
    """
    metric = metric or comparison.metrics[0]
    _check(comparison, (a, b), metric, data, min(limit, hits))
    wide = comparison.per_query.pivot_table(index="query_id", columns="system", values=metric, sort=False)
    difference = wide[a] - wide[b]
    order = difference.abs().sort_values(ascending=False, kind="stable").index
    chosen = [id_ for id_ in order if difference[id_] != 0][:limit]
    questions = {question.id: (at, question) for at, question in enumerate(data.questions)}
    explanations, rows, gold = {}, [], {}
    for id_ in chosen:
        at, question = questions[id_]
        explanations[id_] = tuple(
            _explained(comparison.rankings[name][at], question, data, hits, name) for name in (a, b)
        )
        rows.append((id_, question.type, question.text, wide[a][id_], wide[b][id_], difference[id_]))
        gold[id_] = tuple(question.gold)
    return QueryComparison((a, b), metric, _frame(rows, a, b), explanations, gold, data.name)  # type: ignore[arg-type]


def _frame(rows: Sequence[tuple[object, ...]], a: str, b: str) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows, columns=["query_id", "type", "question", a, b, "difference"])


def _explained(ranking: Ranking, question: Question, data: QADataset, hits: int, name: str) -> Explanation:
    corpus, texts = data.corpus, {}
    for id_ in ranking.passage_ids[:hits]:  # by id: the rows of a loaded run are not the corpus's
        passage = corpus[corpus.row(id_)]
        unit = passage.id if data.unit == "passage" else passage.doc_id
        words = passage.text if len(passage.text) <= _EXCERPT else f"{passage.text[: _EXCERPT - 1]}…"
        title = f"{passage.title}: " if passage.title and passage.title != passage.id else ""
        texts[passage.id] = f"{GOLD + '  ' if unit in question.gold else ''}{title}{words}"
    return ranking.explain(hits, texts, name)


def _check(comparison: Comparison, names: tuple[str, str], metric: str, data: QADataset, least: int) -> None:
    for name in names:
        if name not in comparison.systems:
            raise ValueError(f"Unknown system {name!r}. This comparison has: {', '.join(comparison.systems)}.")
    if names[0] == names[1]:
        raise ValueError(
            f"System {names[0]!r} cannot differ from itself. Name two of: {', '.join(comparison.systems)}."
        )
    if metric not in comparison.metrics:
        raise ValueError(f"Unknown metric {metric!r}. This comparison has: {', '.join(comparison.metrics)}.")
    if least < 1:
        raise ValueError("limit and hits must be at least 1.")
    if [ranking.query_id for ranking in comparison.rankings[names[0]]] != [question.id for question in data.questions]:
        raise ValueError(f"{data.name} has other questions than the comparison. Pass the data it was made of.")
