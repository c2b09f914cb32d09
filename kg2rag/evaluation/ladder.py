"""A system and gold -> its score with one stage after another made perfect: where there is something to gain.

Each rung is a ceiling, by an oracle: it is given the gold, so it is no system, not in the catalogue, and its rankings
have `OracleNotes`. A rung that does not apply to a system, or whose gold the questions lack, is blank and says why.
The definitions are ours.

- gold seeds: a search from seeds, started at gold passages.
- gold entities: a walk over the triple graph that starts at the entities the question needs: perfect linking.
- gold rerank: gold first among a system's first hits: what any reranker of that depth could reach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from rich.table import Table

from kg2rag.evaluation.metric_names import Metrics, parse_metrics
from kg2rag.evaluation.metrics import evaluate
from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.pagerank import NodeWeights, WalkGraph, walks
from kg2rag.report import plots, text_table
from kg2rag.report.html import HtmlPage, render
from kg2rag.retrievers.contract import Pipeline, Retriever, Stage
from kg2rag.retrievers.dense import dense_fallback
from kg2rag.text.normalisation import normalise
from kg2rag.types import FloatArray, IntArray, Notes, QADataset, Query, Ranking, require_dataset, rescored

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure

Gold = Mapping[str, Iterable[str]]
FromSeeds = Callable[[Sequence[Query], Sequence[IntArray]], list[Ranking]]
"""A search that starts also at given passages, rows of the corpus for each query."""
DAMPING = 0.5
"""Of the walk from gold entities."""


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

    def figure(self) -> Figure:
        """One bar per rung, by the first metric."""
        first = self.metrics[0]
        return plots.oracle_ladder(self.frame, first, f"{self.system}: {first} with perfect stages, per cent")

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
        "gold seeds": (OracleSeeded(system, data.qrels), "each gold passage sought with the other ones among the seeds")
        if _from_seeds(system) is not None
        else (None, "this system does not expand from seed passages"),
        "gold entities": _linked(kb, data),
        "gold rerank": (system >> OracleGoldFirst(data.qrels, depth), f"gold first among its first {depth} hits"),
    }
    for rung, (run, note) in rungs.items():
        scores = dict.fromkeys(names, float("nan"))
        if run is not None:
            frame = evaluate(run.retrieve_batch(data.queries, depth), data, metrics, name=f"{called} {rung}")
            scores = {metric: float(frame[metric].mean()) for metric in names}
        rows.append({"rung": rung, **scores, "questions": len(data) if run is not None else 0, "note": note})
    return OracleLadder(called, pd.DataFrame(rows), data.name)


def _linked(kb: KnowledgeBase, data: QADataset) -> tuple[Retriever | None, str]:
    lacking = sum(1 for question in data.questions if not question.triples)
    if lacking:
        return None, f"{lacking} of {len(data)} questions have no gold triples"
    entities: dict[str, list[str]] = {}
    for question in data.questions:
        answers = {normalise(answer) for answer in question.answers}
        ends = [end for head, _, tail in question.triples for end in (head, tail)]
        entities[question.id] = [end for end in ends if normalise(end) not in answers]
    found = OracleGoldEntities(kb, entities)
    return found, "PageRank over the graph from the ends of the gold triples, less the answer"


@dataclass(frozen=True)
class OracleNotes(Notes):
    """Which oracle made the ranking; how much gold it found, the names that the graph lacks, where it looks for any."""

    oracle: str = ""
    gold_found: int | None = None
    not_in_the_graph: tuple[str, ...] | None = None


@dataclass(frozen=True)
class OracleGoldFirst(Stage):
    """The ceiling of reranking: a ranking's first `depth` hits, gold ones first, otherwise in their order.

    `gold` : query id -> its gold passages. The score is 1 / rank.
    """

    gold: Gold = field(repr=False, hash=False)
    depth: int = 100

    def apply(self, queries: Sequence[Query], rankings: Sequence[Ranking]) -> list[Ranking]:
        """Reorder; the score that a hit came with is its part "retriever"."""
        reordered = []
        for query, ranking in zip(queries, rankings, strict=True):
            gold = gold_of(self.gold, query)
            is_gold = np.array([id_ in gold for id_ in ranking.passage_ids], dtype=bool)
            places = np.empty(len(ranking))
            places[np.argsort(~is_gold, kind="stable")] = np.arange(1, len(ranking) + 1)
            parts = {"place": places, "retriever": ranking.scores, "gold": is_gold.astype(np.float64)}
            notes = OracleNotes(oracle="gold rerank", gold_found=int(is_gold.sum()))
            options: dict[str, Any] = {"formula": "1 / place", "score_parts": parts, "notes": notes}
            reordered.append(rescored(ranking, ranking.rows, 1 / places, max(len(ranking), 1), **options))
        return reordered


@dataclass(frozen=True)
class OracleGoldEntities(Retriever):
    """The ceiling of linking: PageRank over entities and passages from a query's gold entities, in equal parts.

    `entities` : query id -> names, such as the ends of its gold triples, less the answer; the notes list those that
    the graph lacks.
    """

    kb: KnowledgeBase = field(repr=False)
    entities: Gold = field(repr=False, hash=False)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One walk per query; where the graph has none of the entities, the dense ranking, as its notes say."""
        graph, n = self.kb.graph, self.kb.graph.n_entities
        restarts, lacking = np.zeros((len(queries), n + graph.n_passages)), []
        for restart, query in zip(restarts, queries, strict=True):
            codes = {name: graph.find(name) for name in gold_of(self.entities, query)}
            restart[[code for code in codes.values() if code is not None]] = 1.0
            lacking.append(tuple(name for name, code in codes.items() if code is None))
        starts = list(map(NodeWeights.of_dense, restarts))
        found = [walk.shares for walk in walks(self._walk(), starts, DAMPING)]
        masks = self.kb.candidates(queries)
        rankings = []
        for query, walk, absent, mask in zip(queries, found, lacking, masks, strict=True):
            rows = np.flatnonzero(walk[n:]) if mask is None else mask[walk[n + mask] > 0]
            ranking = Ranking.of(query.id, rows, walk[n + rows], self.kb.corpus.ids, stages=("pagerank",)).top(k)
            if not walk.any():
                ranking = dense_fallback(self.kb, [query], k, "no gold entity is in the graph")[0]
            rankings.append(marked(ranking, OracleNotes(oracle="gold entities", not_in_the_graph=absent)))
        return rankings

    def _walk(self) -> WalkGraph:
        """Entities, then passages; one for each triple between two entities and one for each mention."""
        graph = self.kb.graph
        table, mentions = graph.triples, graph.mentions
        sources = np.concatenate([table.heads, mentions.owners]).astype(np.int64)
        targets = np.concatenate([table.tails, graph.n_entities + mentions.others]).astype(np.int64)
        return WalkGraph.undirected(sources, targets, np.ones(len(sources)), graph.n_entities + graph.n_passages)


def marked(ranking: Ranking, notes: OracleNotes) -> Ranking:
    """The ranking with an oracle's notes."""
    own = ranking.notes
    return replace(ranking, notes=replace(notes, formula=own.formula, source=own.source, inputs=(own,)))


def gold_of(gold: Gold, query: Query) -> tuple[str, ...]:
    """The gold of a query, each once; KeyError names a query whose gold was not given."""
    try:
        return tuple(dict.fromkeys(gold[query.id]))
    except KeyError:
        raise KeyError(f"An oracle needs the gold of query {query.id!r}; it was given that of {len(gold)}.") from None


@dataclass(frozen=True)
class OracleSeeded(Retriever):
    """The ceiling of seeding: a system run for each gold passage, from the *other* gold passages and its own seeds.

    The system is a pipeline whose first stage expands seeds, or has `from_seeds`.

    A search that starts at all of the gold would return it. So a gold passage scores what the run without it as a seed
    gives it (the system's own seeds may include it), every other passage the mean of the runs. A query with a single
    gold passage gets the system's own ranking, as its notes say.
    """

    system: Retriever
    gold: Gold = field(repr=False, hash=False)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One run for each query and gold passage, all in one batch."""
        search = _from_seeds(self.system)
        if search is None:
            raise TypeError(f"{self.system!r} does not expand from seed passages, so no gold can be among them.")
        plain = self.system.retrieve_batch(queries, k)
        place = {id_: row for row, id_ in enumerate(plain[0].ids)} if plain else {}
        golds = [sorted(place[id_] for id_ in gold_of(self.gold, query)) for query in queries]
        variants, seeds = list[Query](), list[IntArray]()
        for query, rows in zip(queries, golds, strict=True):
            for left_out in rows if len(rows) > 1 else ():
                variants.append(query)
                seeds.append(np.array([row for row in rows if row != left_out], dtype=np.int64))
        runs = iter([(ranking.rows, ranking.scores) for ranking in search(variants, seeds)])
        return [
            _left_out_in_turn(query, rows, [next(runs) for _ in rows], ranking.ids, k)
            if len(rows) > 1
            else marked(ranking, OracleNotes(oracle="gold seeds", warning="one gold passage: as it is"))
            for query, ranking, rows in zip(queries, plain, golds, strict=True)
        ]


def _from_seeds(system: Retriever) -> FromSeeds | None:
    """How a system searches from seeds; None where it does not."""
    if isinstance(system, Pipeline):
        return partial(_expanded, system) if system.stages[0].expands else None
    found: FromSeeds | None = getattr(system, "from_seeds", None)
    return found


def _expanded(system: Pipeline, queries: Sequence[Query], seeds: Sequence[IntArray]) -> list[Ranking]:
    """What the stages make of the seeds, followed by the retriever's hits; scored 1 / place."""
    depth, rankings = system.stages[0].depth, list[Ranking]()
    for own, hits in zip(seeds, system.retriever.retrieve_batch(queries, depth), strict=True):
        rows = np.concatenate([own, hits.rows[~np.isin(hits.rows, own)]])[:depth]
        scores = 1 / np.arange(1, len(rows) + 1)
        rankings.append(Ranking.of(hits.query_id, rows, scores, hits.ids, stages=("gold seeds",)).top(depth))
    for stage in system.stages:
        rankings = stage.apply(queries, [ranking.top(stage.depth) for ranking in rankings])
    return rankings


def _left_out_in_turn(
    query: Query,
    gold: Sequence[int],
    runs: Sequence[tuple[IntArray, FloatArray]],
    ids: Sequence[str],
    k: int,
) -> Ranking:
    """A gold passage's score is that of the run that left it out; of any other passage the mean of all runs."""
    scores = np.zeros(len(ids))
    for left_out, (rows, values) in zip(gold, runs, strict=True):
        share = np.zeros(len(ids))
        share[rows] = values
        seen, share[list(gold)] = share[left_out], 0.0
        scores += share / len(runs)
        scores[left_out] = seen
    found = np.flatnonzero(scores)
    return Ranking.of(query.id, found, scores[found], ids, notes=OracleNotes(oracle="gold seeds")).top(k)
