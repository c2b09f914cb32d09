"""A system and a data set -> for each gold passage of each question, the step that lost it.

The system is run again and reports its steps (`trace_batch`); where its earlier ranking is known, the new one must be
equal. The values of `lost_at` are defined in `kg2rag.types.trace.LOST_AT`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from kg2rag.report import plots
from kg2rag.report.html import HtmlPage, render
from kg2rag.retrievers.contract import Retriever
from kg2rag.types import LOST_AT, LostAt, QADataset, Query, Question, Ranking, Trace, require_dataset, require_k

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Waterfall(HtmlPage):
    """What became of the gold of a system. Displays in Jupyter as a page to click through, and in a terminal.

    frame : one row per gold passage: query_id, type, question, gold, title, lost_at, step, why, rank (blank: none).
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

    def figure(self) -> Figure:
        """All gold, less what each stage lost, down to what was found; below, the same by question type."""
        return plots.waterfall(self.totals(), f"{self.system}: where the gold went, k = {self.k}")

    @property
    def title(self) -> str:
        """The heading of the page."""
        return f"{self.system}: where the gold went"

    def body(self) -> Markup:
        """The counts, the figure, and every lost passage by step and reason."""
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
        """The gold passages lost at one step by reason, the most frequent first."""
        members = self.frame[self.frame["lost_at"] == lost_at]
        titles, reasons = self.frame.groupby("query_id")[["title", "gold"]].agg(set), []
        for why, own in members.groupby("why", sort=False):
            cases = own.to_dict("records")
            for case in cases:
                case["title"] = case["title"] if case["title"] != case["gold"] else ""
                case["rank"] = "" if pd.isna(case["rank"]) else int(case["rank"])
                wanted = set.union(*titles.loc[case["query_id"]])
                case["returned"] = [(title, title in wanted) for title in self.returned[case["query_id"]]]
            reasons.append((why, cases))
        reasons.sort(key=lambda reason: -len(reason[1]))
        return {"lost_at": lost_at, "count": len(members), "reasons": reasons}

    def _shown(self) -> pd.DataFrame:
        totals = self.totals()
        return totals.loc[:, [name for name in totals.columns if name in ("found", "gold") or totals[name].any()]]

    def __repr__(self) -> str:
        return f"Waterfall of {self.system} on {self.data}, k = {self.k}\n{self._shown().to_string()}"


DEEPEST = 10_000
"""The most hits requested to find a rank: in larger corpora, gold below counts as "not retrieved"."""


def waterfall(
    name: str,
    system: Retriever,
    data: QADataset,
    *,
    k: int = 5,
    run: Sequence[Ranking] | None = None,
    batch_size: int = 100,
) -> Waterfall:
    """Trace a system on a question set.

    k : hits that count as found; where gold names documents, documents.
    run : the earlier rankings of the system, compared with those of the trace.

    Raises ValueError: k below 1, or a trace with other hits than `run`; TypeError: a system that cannot be traced.
    """
    require_dataset(data)
    require_k(k)
    if not callable(getattr(system, "trace_batch", None)):
        raise TypeError(f"System {name!r} has no trace_batch(queries, k). Derive it from kg2rag.Retriever.")
    queries, records, returned = data.queries, [], {}
    depth = max(k, min(len(data.corpus), DEEPEST))
    for start in range(0, len(queries), batch_size):
        batch = slice(start, start + batch_size)
        for at, trace in enumerate(system.trace_batch(queries[batch], depth), start=start):
            question = data.questions[at]
            if run is not None and trace.ranking.top(k).passage_ids != run[at].top(k).passage_ids:
                raise ValueError(
                    f"System {name!r}, query {question.id!r}: its trace returns other passages than the comparison "
                    "has. Was the system, its graph or its corpus changed since? Compare again."
                )
            records += _records(question, queries[at], trace, data, k)
            hits = trace.ranking.rows[:k].tolist()
            returned[question.id] = [data.corpus.titles[row] or data.corpus.ids[row] for row in hits]
    columns = ["query_id", "type", "question", "gold", "title", "lost_at", "step", "why", "rank"]
    frame = pd.DataFrame(records, columns=columns).astype({"rank": "Int64"})
    return Waterfall(name, frame, returned, data.name, k)


def _records(question: Question, query: Query, trace: Trace, data: QADataset, k: int) -> list[tuple[object, ...]]:
    corpus, documents = data.corpus, data.unit == "document"
    ranked = [corpus.doc_ids[row] if documents else corpus.ids[row] for row in trace.ranking.rows.tolist()]
    places = {id_: at for at, id_ in enumerate(dict.fromkeys(ranked), start=1)}
    allowed = None if query.candidates is None else frozenset(corpus.rows(query.candidates).tolist())
    records: list[tuple[object, ...]] = []
    for gold, rows in data.gold_rows(question).items():
        fate = _fate([row for row in rows if allowed is None or row in allowed], trace, places.get(gold), k)
        about = question.id, question.type, question.text, gold, corpus.titles[rows[0]]
        records.append((*about, *fate, None if fate[0] == "not a candidate" else places.get(gold)))
    return records


def _fate(rows: Sequence[int], trace: Trace, place: int | None, k: int) -> tuple[LostAt, str, str]:
    """What became of a gold document: see `LOST_AT`; the step and its reason, of the passage that came farthest."""
    if not rows:
        return "not a candidate", "candidates", "the question may not return it"
    if place is not None and place <= k:
        return "found", "found", f"among the first {k}"
    steps = [trace.lost_by(row) for row in rows]
    if None in steps:
        return "ranked below k", "ranking", f"in the ranking, below the first {k}"
    lost = max((each for each in steps if each is not None), key=lambda each: LOST_AT.index(each.lost_at))
    return lost.lost_at, lost.name, lost.why
