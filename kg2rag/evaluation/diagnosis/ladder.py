"""A system and gold -> its score with one stage after another made perfect: where there is something to gain.

Rungs are the oracles of `oracles.py`; a rung that does not apply to a system, or whose gold the questions lack, is
blank and says why. The oracles know the gold: no rung but the first is a result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import isnan
from typing import TYPE_CHECKING

import pandas as pd
from rich.table import Table

from kg2rag.evaluation.diagnosis.oracles import gold_entities, gold_rerank
from kg2rag.evaluation.diagnosis.seed_oracles import gold_seeds, seeded_with_gold
from kg2rag.evaluation.metric_names import Metrics, parse_metrics
from kg2rag.evaluation.metrics import evaluate
from kg2rag.knowledge import KnowledgeBase
from kg2rag.report import plots, text_table
from kg2rag.report.html import HtmlPage, render
from kg2rag.retrievers.contract import Pipeline, Retriever
from kg2rag.retrievers.kg2rag.expand import Expand
from kg2rag.retrievers.mention_ppr.retriever import MentionPPR
from kg2rag.text.normalisation import normalise
from kg2rag.types import QADataset, require_dataset

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class OracleLadder(HtmlPage):
    """The headroom of each stage of a system.

    `frame` : one row per rung: rung, one column per metric (NaN where it was not measured), questions judged, note.
    """

    system: str
    frame: pd.DataFrame
    data: str = ""

    @property
    def metrics(self) -> list[str]:
        """The metrics, in their order; the figure shows the first."""
        return [name for name in self.frame.columns if name not in ("rung", "questions", "note")]

    def figure(self, metric: str | None = None) -> Figure:
        """One bar per rung, by the first metric or the one named."""
        chosen = metric or self.metrics[0]
        if chosen not in self.metrics:
            raise ValueError(f"Unknown metric {chosen!r}. This ladder has: {', '.join(self.metrics)}.")
        return plots.oracle_ladder(self.frame, chosen, f"{self.system}: {chosen} with perfect stages, per cent")

    @property
    def title(self) -> str:
        """The heading of the page."""
        return f"{self.system}: what a perfect stage would be worth"

    def body(self) -> Markup:
        """The table and the figure."""
        rungs = [
            (row["rung"], [_per_cent(row[name]) for name in self.metrics], row["note"])
            for row in self.frame.to_dict("records")
        ]
        return render(
            "ladder.html.j2",
            title=self.title,
            lead=f"{self.data}; per cent. Every rung but the first is given the gold: a ceiling, not a result.",
            metrics=self.metrics,
            rungs=rungs,
            figure=plots.to_svg(self.figure(), f"ladder-{self.system}"),
        )

    def __repr__(self) -> str:
        return f"Oracle ladder of {self.system} on {self.data}\n{self.frame.round(4).to_string(index=False)}"

    def __rich__(self) -> Table:
        rows = (
            (_per_cent(value) if isinstance(value, float) else str(value) for value in row)
            for row in self.frame.itertuples(index=False)
        )
        return text_table(f"{self.system}: with perfect stages", self.frame.columns, rows, left=("questions", "note"))


def _per_cent(share: float) -> str:
    return "" if isnan(share) else f"{100 * share:.1f}"  # NaN where it was not measured


def oracle_ladder(
    kb: KnowledgeBase,
    data: QADataset,
    system: Retriever,
    *,
    metrics: Metrics = ("recall@5", "all_recall@5"),
    depth: int = 100,
    name: str | None = None,
) -> OracleLadder:
    """Run a system as it is, then with gold seeds, gold entities and a gold reranking.

    Parameters
    ----------
    system : a retriever over `kb`.
    depth : hits that the gold reranker reads; no metric may read deeper.
    name : of the system, for the table; its own where not given.

    Notes
    -----
    Gold seeds judge each gold passage by a run whose seeds include the *other* ones, beside the system's own. Gold
    entities are the ends of the questions' gold triples, without the answer, and start a PageRank over the graph,
    whatever the system's own walk: a rung of another system, so it may be below the first.

    Raises
    ------
    ValueError : gold names documents, not passages; an unknown metric; a metric deeper than `depth`.
    """
    require_dataset(data)
    if data.unit != "passage":
        raise ValueError(f"{data.name}: the gold names documents; oracles need passages.")
    names = [metric.name for metric in parse_metrics(metrics, depth)]
    called = name or type(system).__name__
    rows = []
    rungs = {  # what is run, and what it is or why nothing is
        "as it is": (system, ""),
        "gold seeds": _seeded(kb, system, data.qrels),
        "gold entities": _linked(kb, data),
        "gold rerank": (gold_rerank(system, data.qrels, depth), f"gold first among its first {depth} hits"),
    }
    for rung, (run, note) in rungs.items():
        scores = dict.fromkeys(names, float("nan"))
        if run is not None:
            frame = evaluate(run.retrieve_batch(data.queries, depth), data, metrics, name=f"{called} {rung}")
            scores = {metric: float(frame[metric].mean()) for metric in names}
        rows.append({"rung": rung, **scores, "questions": len(data) if run is not None else 0, "note": note})
    return OracleLadder(called, pd.DataFrame(rows), data.name)


def _seeded(
    kb: KnowledgeBase, system: Retriever, gold: Mapping[str, Mapping[str, int]]
) -> tuple[Retriever | None, str]:
    note = "each gold passage sought with the other ones among the seeds"
    if isinstance(system, MentionPPR):
        own = {each.name: getattr(system, each.name) for each in fields(system) if each.name != "kb"}
        return gold_seeds(kb, gold, own_starts=True, **own), note
    if isinstance(system, Pipeline) and isinstance(system.stages[0], Expand):
        return seeded_with_gold(system, gold), note
    return None, "this system does not expand from seed passages"


def _linked(kb: KnowledgeBase, data: QADataset) -> tuple[Retriever | None, str]:
    lacking = sum(1 for question in data.questions if not question.triples)
    if lacking:
        return None, f"{lacking} of {len(data)} questions have no gold triples"
    entities = {
        question.id: tuple(dict.fromkeys(end for head, _, tail in question.triples for end in (head, tail)))
        for question in data.questions
    }
    answers = {question.id: {normalise(answer) for answer in question.answers} for question in data.questions}
    kept = {id_: [name for name in names if normalise(name) not in answers[id_]] for id_, names in entities.items()}
    return gold_entities(kb, kept), "PageRank over the graph from the ends of the gold triples, less the answer"


def knowledge_base_of(system: object, name: str) -> KnowledgeBase:
    """The knowledge base of the first retriever in a pipeline or fusion; ValueError where there is none."""
    while not isinstance(kb := getattr(system, "kb", None), KnowledgeBase):
        members = getattr(system, "retrievers", None)
        system = members[0] if members else getattr(system, "retriever", None)
        if system is None:
            raise ValueError(f"System {name!r} has no KnowledgeBase. Call kg2rag.oracle_ladder(kb, data, system).")
    return kb
