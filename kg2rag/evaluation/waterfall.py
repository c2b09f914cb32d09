"""A system and a data set -> for each gold passage of each question, the stage that lost it.

The system is run again and reports its stages (`trace_batch`); an earlier ranking, if it is passed,
must be equal. The values of `lost_at` are defined in `kg2rag.types.trace.LOST_AT`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from kg2rag.report import plots
from kg2rag.report.html import HtmlPage, render
from kg2rag.retrievers.contract import Retriever
from kg2rag.text.cells import visible
from kg2rag.types import (
    LOST_AT,
    LostAt,
    QADataset,
    Query,
    Question,
    Ranking,
    Trace,
    require_dataset,
    require_k,
)

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Waterfall(HtmlPage):
    """The stage at which a system lost each gold passage.

    Displays in Jupyter as a page with details, and in a terminal.

    Parameters
    ----------
    frame : one row per gold passage or document: query_id, type, question, gold (its id), title,
        lost_at (one of `LOST_AT`), step (the name of the stage), why (the reason), rank (blank if
        it was not returned).
    returned : question id -> titles of the first k hits, ids for hits without a title.
    data : name of the data set.
    """

    system: str
    frame: pd.DataFrame
    returned: Mapping[str, Sequence[str]] = field(default_factory=dict)
    data: str = ""
    k: int = 5

    def totals(self) -> pd.DataFrame:
        """The numbers of gold passages by question type (rows) and `LOST_AT` (columns).

        The column "gold" has the sums of the rows; the last row, "all", has those of the columns.
        """
        types = self.frame["type"].replace("", "unknown")
        table = pd.crosstab(types, self.frame["lost_at"])
        table = table.reindex(columns=list(LOST_AT), fill_value=0)
        if len(table) > 1:
            table.loc["all"] = table.sum()
        else:
            table.index = pd.Index(["all"])
        return table.rename_axis(index="type", columns=None).assign(
            gold=table.sum(axis=1)
        )

    def figure(self) -> Figure:
        """A chart of all gold less the losses of each stage; below it, the shares by question type."""
        return plots.waterfall(
            self.totals(), f"{self.system}: where the gold went, k = {self.k}"
        )

    @property
    def title(self) -> str:
        """The heading of the page."""
        return f"{self.system}: where the gold went"

    def body(self) -> Markup:
        """The counts, the figure, and every lost passage by stage and reason."""
        shown = self._shown()
        return render(
            "waterfall.html.j2",
            title=self.title,
            lead=f"{self.data}: {len(self.returned)} questions, {len(self.frame)} gold passages, k = {self.k}",
            lost_at=list(shown)[:-1],
            totals=[(name, counts, gold) for name, *counts, gold in shown.itertuples()],
            figure=plots.to_svg(self.figure(), f"waterfall-{self.system}-{self.k}"),
            groups=[self._group(str(name)) for name in list(shown)[:-1]],
        )

    def _group(self, lost_at: str) -> dict[str, Any]:
        """The gold passages lost at one stage, for the template.

        Keys: lost_at, count, and reasons, a list of (reason, its passages), the most frequent
        reason first.
        """
        lost = self.frame[self.frame["lost_at"] == lost_at]
        names = self.frame.groupby("query_id")[["title", "gold"]].agg(set)
        reasons = []
        for why, rows in lost.groupby("why", sort=False):
            passages = []
            for row in rows.to_dict("records"):
                gold_names = set.union(*names.loc[row["query_id"]])
                passages.append(self._shown_passage(row, gold_names))
            reasons.append((why, passages))
        reasons.sort(key=lambda reason: -len(reason[1]))
        return {"lost_at": lost_at, "count": len(lost), "reasons": reasons}

    def _shown_passage(
        self, row: dict[Any, Any], gold_names: set[str]
    ) -> dict[Any, Any]:
        """A row of the frame as the page shows it.

        The title is "" if it equals the id, the rank is "" if there is none, and `returned` has the
        question's hits, each with a flag for gold.
        """
        title = "" if row["title"] == row["gold"] else row["title"]
        rank = "" if pd.isna(row["rank"]) else int(row["rank"])
        returned = [(hit, hit in gold_names) for hit in self.returned[row["query_id"]]]
        return {**row, "title": title, "rank": rank, "returned": returned}

    def _shown(self) -> pd.DataFrame:
        """The totals without stages that lost nothing."""
        totals = self.totals()
        is_shown = totals.any() | totals.columns.isin(["found", "gold"])
        return totals.loc[:, is_shown]

    def __repr__(self) -> str:
        return visible(
            f"Waterfall of {self.system} on {self.data}, k = {self.k}\n{self._shown().to_string()}"
        )


MAX_DEPTH = 10_000
"""Hits requested to find a rank: in larger corpora, gold below counts as "not retrieved"."""
COLUMNS = (
    "query_id",
    "type",
    "question",
    "gold",
    "title",
    "lost_at",
    "step",
    "why",
    "rank",
)


def waterfall(
    name: str,
    system: Retriever,
    data: QADataset,
    *,
    k: int = 5,
    run: Sequence[Ranking] | None = None,
    batch_size: int = 100,
) -> Waterfall:
    """Trace a system on a question set: for each gold passage the stage that lost it.

    Parameters
    ----------
    name : of the system, for headings and messages.
    k : hits that count as found; if gold names documents, documents.
    run : the earlier rankings of the system, which those of the trace must equal.
    batch_size : queries traced at once.

    Raises ValueError: k below 1, or a trace with other hits than `run`; TypeError: a system that
    cannot be traced.
    """
    require_dataset(data)
    require_k(k)
    if not callable(getattr(system, "trace_batch", None)):
        raise TypeError(
            f"System {name!r} has no trace_batch(queries, k). Derive it from kg2rag.Retriever."
        )
    depth = max(k, min(len(data.corpus), MAX_DEPTH))
    records: list[tuple[object, ...]] = []
    returned = {}
    titles = data.corpus.titles
    ids = data.corpus.ids
    for start in range(0, len(data), batch_size):
        queries = data.queries[start : start + batch_size]
        for i, trace in enumerate(system.trace_batch(queries, depth), start=start):
            question, query = data.questions[i], data.queries[i]
            if (
                run is not None
                and trace.ranking.top(k).passage_ids != run[i].top(k).passage_ids
            ):
                raise ValueError(
                    f"System {name!r}, query {query.id!r}: its trace returns other passages than the comparison has. "
                    "Was the system, its graph or its corpus changed since? Compare again."
                )
            records += _records(question, query, trace, data, k)
            returned[question.id] = [
                titles[row] or ids[row] for row in trace.ranking.rows[:k].tolist()
            ]
    frame = pd.DataFrame(records, columns=list(COLUMNS)).astype({"rank": "Int64"})
    return Waterfall(name, frame, returned, data.name, k)


def _records(
    question: Question, query: Query, trace: Trace, data: QADataset, k: int
) -> list[tuple[object, ...]]:
    """The rows of `Waterfall.frame` for a question, one per gold passage or document."""
    ids = data.corpus.ids if data.unit == "passage" else data.corpus.doc_ids
    ranked = dict.fromkeys(ids[row] for row in trace.ranking.rows.tolist())
    rank_of = {unit_id: rank for rank, unit_id in enumerate(ranked, start=1)}
    candidates: Collection[int] = range(len(data.corpus))
    if query.candidates is not None:
        candidates = frozenset(data.corpus.rows(query.candidates).tolist())
    records: list[tuple[object, ...]] = []
    for gold, rows in data.gold_rows(question).items():
        candidate_rows = [row for row in rows if row in candidates]
        rank = rank_of.get(gold)
        lost_at, step, why = _loss_of(candidate_rows, trace, rank, k)
        title = data.corpus.titles[rows[0]]
        shown_rank = None if lost_at == "not a candidate" else rank
        records.append(
            (
                question.id,
                question.type,
                question.text,
                gold,
                title,
                lost_at,
                step,
                why,
                shown_rank,
            )
        )
    return records


def _loss_of(
    candidate_rows: Sequence[int], trace: Trace, rank: int | None, k: int
) -> tuple[LostAt, str, str]:
    """The value of `lost_at`, the name of the stage, and the reason for the loss of a gold unit.

    A document is lost where the last of its passages is lost.

    candidate_rows : the rows of the unit's passages that the question may return.
    rank : the rank of the unit; None if it was not returned.
    """
    if not candidate_rows:
        return "not a candidate", "candidates", "the question may not return it"
    if rank is not None and rank <= k:
        return "found", "found", f"among the first {k}"
    losses = []
    for row in candidate_rows:
        step = trace.lost_by(row)
        if step is None:
            return "ranked below k", "ranking", f"in the ranking, below the first {k}"
        losses.append(step)
    last = max(losses, key=lambda step: LOST_AT.index(step.lost_at))
    return last.lost_at, last.name, last.why
