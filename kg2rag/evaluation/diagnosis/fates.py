"""A system and a data set -> for each gold passage of each question, the step that lost it.

The system is run once more and tells its steps (`trace_batch`); what it returns must be what it returned before, where
that is known. What `lost_at` may say is defined in `kg2rag.types.trace.LOST_AT`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kg2rag.evaluation.diagnosis import page
from kg2rag.evaluation.diagnosis.contexts import Formatter, left_out
from kg2rag.types.passages import Query
from kg2rag.types.questions import QADataset, Question
from kg2rag.types.rankings import Ranking
from kg2rag.types.trace import LOST_AT, LostAt, Trace

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.table import Table


DEEPEST = 10_000
"""Hits asked for, at most, so that a rank can be told: of larger corpora deeper gold counts as "not retrieved"."""


class Traced(Protocol):
    """A system that tells its steps; every `kg2rag.Retriever` is one."""

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """One trace a query, in the order of the queries."""
        ...


class Fate(NamedTuple):
    """What became of a gold passage: see `LOST_AT`; the step and its reason; its rank from 1, where it has one."""

    lost_at: LostAt
    step: str
    why: str
    rank: int | None


@dataclass(frozen=True, eq=False, repr=False)
class Waterfall:
    """Where the gold of a system went. Shows itself in Jupyter as a page to click through, and in a terminal.

    Attributes
    ----------
    frame : one row a gold passage: query_id, type, question, gold (its id), title, lost_at, step, why, rank (blank
        where it has none).
    returned : question id -> titles (or ids) of the first k hits.
    data, k : what was asked.
    """

    system: str
    frame: pd.DataFrame
    returned: Mapping[str, Sequence[str]] = field(default_factory=dict)
    data: str = ""
    k: int = 5

    def totals(self) -> pd.DataFrame:
        """Gold passages by question type and `lost_at`: "all" last; a column for each of `LOST_AT`."""
        import pandas as pd

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
        from kg2rag.report import plots

        return plots.waterfall(self.totals(), f"{self.system}: where the gold went, k = {self.k}")

    def to_html(self) -> str:
        """A self-contained page: table, figure, and every gold passage behind where and why it was lost."""
        return page.render("waterfall.html.j2", alone=True, **page.of_waterfall(self))

    def _repr_html_(self) -> str:
        return page.render("waterfall.html.j2", alone=False, **page.of_waterfall(self))

    def __repr__(self) -> str:
        return f"Waterfall of {self.system} on {self.data}, k = {self.k}\n{_shown(self.totals()).to_string()}"

    def __rich__(self) -> Table:
        from rich import box
        from rich.table import Table

        totals = _shown(self.totals())
        made = Table(
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            title=f"{self.system}: gold passages by where they were lost, k = {self.k}",
        )
        made.add_column("type", no_wrap=True)
        for name in totals.columns:
            made.add_column(name, justify="right")
        for row in totals.itertuples():
            made.add_row(*map(str, row))
        return made


def waterfall(
    name: str,
    system: Traced,
    data: QADataset,
    *,
    k: int = 5,
    formatter: Formatter | None = None,
    run: Sequence[Ranking] | None = None,
    batch_size: int = 100,
) -> Waterfall:
    """Trace a system on a question set.

    Parameters
    ----------
    k : hits that count as found; where gold names documents, documents.
    formatter : writes the context of the first k hits within its tokens; a gold passage that it leaves out is "cut by
        budget". None for no budget.
    run : the rankings that the system gave before, to be held against those of the trace.

    Raises
    ------
    ValueError : k below 1; the system's first k hits are not those of `run`.
    TypeError : the system cannot be traced.
    """
    import pandas as pd

    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}.")
    if not callable(getattr(system, "trace_batch", None)):
        raise TypeError(f"System {name!r} has no trace_batch(queries, k). Derive it from kg2rag.Retriever.")
    queries, records, returned = data.queries, [], {}
    depth = max(k, min(len(data.corpus), DEEPEST))
    for start in range(0, len(queries), batch_size):
        batch = slice(start, start + batch_size)
        for at, trace in enumerate(system.trace_batch(queries[batch], depth), start=start):
            question = data.questions[at]
            if run is not None:
                _check_same(name, trace.ranking.top(k), run[at].top(k))
            records += _records(question, queries[at], trace, data, k, formatter)
            titles = (data.corpus.titles[row] or data.corpus.ids[row] for row in trace.ranking.rows[:k].tolist())
            returned[question.id] = tuple(titles)
    columns = ["query_id", "type", "question", "gold", "title", "lost_at", "step", "why", "rank"]
    frame = pd.DataFrame(records, columns=columns).astype({"rank": "Int64"})
    return Waterfall(name, frame, returned, data.name, k)


def _check_same(name: str, traced: Ranking, given: Ranking) -> None:
    if traced.passage_ids != given.passage_ids:
        raise ValueError(
            f"System {name!r}, query {given.query_id!r}: its trace returns other passages than the comparison holds. "
            "Was the system, its graph or its corpus changed since? Compare again."
        )


def _records(
    question: Question, query: Query, trace: Trace, data: QADataset, k: int, formatter: Formatter | None
) -> list[tuple[object, ...]]:
    corpus, documents = data.corpus, data.unit == "document"
    ranked = [corpus.doc_ids[row] if documents else corpus.ids[row] for row in trace.ranking.rows.tolist()]
    places = {id_: at for at, id_ in enumerate(dict.fromkeys(ranked), start=1)}
    kept = None if formatter is None else left_out(trace.ranking, ranked, places, k, formatter)
    allowed = None if query.candidates is None else frozenset(corpus.rows(query.candidates).tolist())
    about = (question.id, question.type, question.text)
    records: list[tuple[object, ...]] = []
    for gold in question.gold:
        rows = _rows_of(data, gold)
        fate = _fate([row for row in rows if allowed is None or row in allowed], trace, places.get(gold), k)
        if fate.lost_at == "found" and kept is not None and gold in kept:
            fate = fate._replace(lost_at="cut by budget", step="context", why=kept[gold])
        records.append((*about, gold, corpus.titles[rows[0]], *fate))
    return records


def _rows_of(data: QADataset, gold: str) -> list[int]:
    if data.unit == "passage":
        return [data.corpus.row(gold)]
    return [row for row, document in enumerate(data.corpus.doc_ids) if document == gold]


def _fate(rows: Sequence[int], trace: Trace, place: int | None, k: int) -> Fate:
    """Of a gold document, the fate of the passage of it that came farthest."""
    if not rows:
        return Fate("not a candidate", "candidates", "the question may not return it", None)
    if place is not None and place <= k:
        return Fate("found", "found", f"among the first {k}", place)
    steps = [trace.lost_by(row) for row in rows]
    lost = max((each for each in steps if each is not None), key=lambda each: LOST_AT.index(each.lost_at), default=None)
    if lost is None or None in steps:
        return Fate("ranked below k", "ranking", f"in the ranking, below the first {k}", place)
    return Fate(lost.lost_at, lost.name, lost.why, place)


def _shown(totals: pd.DataFrame) -> pd.DataFrame:
    """Without the columns in which nothing was lost."""
    return totals.loc[:, [name for name in totals.columns if name in ("found", "gold") or totals[name].any()]]
