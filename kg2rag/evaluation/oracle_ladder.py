"""A system and gold -> its scores if one stage were perfect. The definitions are ours.

Each rung of the ladder reads the gold, so it is no system. A rung that does not apply to a system,
or needs gold that the questions lack, is blank, and a note has the reason.

- gold seeds: a search from seeds that starts at gold passages.
- gold entities: perfect linking, a walk over the triple graph from the entities of the gold triples.
- gold rerank: the gold first among the first hits, the best ranking of any reranker of that depth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from kg2rag.evaluation.metrics import Metrics, evaluate, parse_metrics
from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.pagerank import NodeWeights, WalkGraph, walks
from kg2rag.report import plots
from kg2rag.report.html import HtmlPage, render
from kg2rag.retrievers.contract import Pipeline, Retriever
from kg2rag.retrievers.dense import dense_fallback
from kg2rag.text.cells import visible
from kg2rag.text.normalisation import normalise
from kg2rag.types import (
    FloatArray,
    IntArray,
    QADataset,
    Query,
    Question,
    Ranking,
    require_dataset,
)

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure

DAMPING = 0.5
"""Damping of the walk from gold entities."""
FromSeeds = Callable[[Sequence[Query], Sequence[IntArray]], list[Ranking]]
"""A function (queries, rows of seed passages for each) -> rankings of a search from these seeds."""


class Rung(NamedTuple):
    """The rankings of a rung, and a note; for a blank rung None, and the reason."""

    rankings: list[Ranking] | None
    note: str


@dataclass(frozen=True, eq=False, repr=False)
class OracleLadder(HtmlPage):
    """The headroom of each stage of a system.

    frame : one row per rung: rung, one column per metric (NaN for a blank rung), questions (number
    of judged ones), note.
    """

    system: str
    frame: pd.DataFrame
    data: str = ""

    def figure(self) -> Figure:
        """A chart of one bar per rung, by the first metric."""
        metric = str(self.frame.columns[1])
        title = f"{self.system}: {metric} with perfect stages, per cent"
        return plots.oracle_ladder(self.frame, metric, title)

    @property
    def title(self) -> str:
        """The heading of the page."""
        return f"{self.system}: scores with perfect stages"

    def body(self) -> Markup:
        """The table and the figure."""
        means = self.frame.drop(columns=["rung", "questions", "note"])
        texts = (
            (100 * means)
            .map("{:.1f}".format)
            .where(means.notna(), "")
            .to_numpy()
            .tolist()
        )
        return render(
            "ladder.html.j2",
            title=self.title,
            lead=f"{self.data}; per cent. Every rung but the first reads the gold: an upper bound, not a result.",
            metrics=list(means),
            rungs=list(zip(self.frame["rung"], texts, self.frame["note"], strict=True)),
            figure=plots.to_svg(self.figure(), f"ladder-{self.system}"),
        )

    def __repr__(self) -> str:
        table = self.frame.round(4).to_string(index=False)
        return visible(f"Oracle ladder of {self.system} on {self.data}\n{table}")


def oracle_ladder(
    kb: KnowledgeBase,
    data: QADataset,
    system: Retriever,
    *,
    metrics: Metrics = ("recall@5", "all_recall@5"),
    depth: int = 100,
    name: str | None = None,
) -> OracleLadder:
    """Run a system over `kb` as it is, then with gold seeds, gold entities and a gold reranking.

    Gold entities are the heads and tails of a question's gold triples, without the answer. The walk
    from them is PageRank for every system. It may score below the system, whose walk differs.

    Parameters
    ----------
    depth : hits that the gold reranker reads; no metric may read deeper.
    name : name of the system in the table; the default is its class.

    Raises ValueError: gold names documents, not passages; an unknown metric; a metric deeper than
    `depth`.
    """
    require_dataset(data)
    if data.unit != "passage":
        raise ValueError(
            f"{data.name}: the gold names documents; oracles need passages."
        )
    metric_names = [metric.name for metric in parse_metrics(metrics, depth)]
    plain = system.retrieve_batch(data.queries, depth)
    golds = [np.sort(data.corpus.rows(question.gold)) for question in data.questions]
    reranked = [
        gold_first(ranking, gold) for ranking, gold in zip(plain, golds, strict=True)
    ]
    rungs = {
        "as it is": Rung(plain, ""),
        "gold seeds": _gold_seeds_rung(system, plain, data, golds, depth),
        "gold entities": _gold_entities_rung(kb, data, depth),
        "gold rerank": Rung(reranked, f"gold first among its first {depth} hits"),
    }
    system_name = name or type(system).__name__
    rows = []
    for label, (rankings, note) in rungs.items():
        means: dict[Any, float] = dict.fromkeys(metric_names, float("nan"))
        if rankings is not None:
            scores = evaluate(rankings, data, metrics, name=f"{system_name} {label}")
            means = scores[metric_names].mean().to_dict()
        rows.append(
            {"rung": label, **means, "questions": len(rankings or ()), "note": note}
        )
    return OracleLadder(system_name, pd.DataFrame(rows), data.name)


def gold_first(ranking: Ranking, gold: IntArray) -> Ranking:
    """The hits of a ranking with the gold first, otherwise in their order; the score is 1 / rank."""
    rows = ranking.rows[np.argsort(~np.isin(ranking.rows, gold), kind="stable")]
    return Ranking.from_scores(
        ranking.query_id, rows, 1 / np.arange(1, len(rows) + 1), ranking.ids
    )


def _gold_seeds_rung(
    system: Retriever,
    plain: Sequence[Ranking],
    data: QADataset,
    golds: Sequence[IntArray],
    depth: int,
) -> Rung:
    """The rung of a search from gold passages; blank for a system without seeds."""
    search: FromSeeds | None = getattr(system, "from_seeds", None)
    if isinstance(system, Pipeline):
        search = partial(_expand_seeds, system) if system.stages[0].expands else None
    if search is None:
        return Rung(None, "this system does not expand from seed passages")
    rankings = from_gold_seeds(search, plain, data.queries, golds)
    note = "each gold passage is searched from the other gold passages"
    return Rung([ranking.top(depth) for ranking in rankings], note)


def _gold_entities_rung(kb: KnowledgeBase, data: QADataset, depth: int) -> Rung:
    """The rung of a walk from gold entities; blank if a question has no gold triples."""
    n_missing = sum(not question.triples for question in data.questions)
    if n_missing:
        return Rung(None, f"{n_missing} of {len(data)} questions have no gold triples")
    entities = [_gold_entities(question) for question in data.questions]
    rankings = from_gold_entities(kb, data.queries, entities, depth)
    note = (
        "PageRank over the graph from the ends of the gold triples, without the answer"
    )
    return Rung(rankings, note)


def _gold_entities(question: Question) -> list[str]:
    """The distinct heads and tails of a question's gold triples, without its answers."""
    answers = {normalise(answer) for answer in question.answers}
    ends = dict.fromkeys(
        end for head, _, tail in question.triples for end in (head, tail)
    )
    return [end for end in ends if normalise(end) not in answers]


def from_gold_entities(
    kb: KnowledgeBase,
    queries: Sequence[Query],
    entities: Sequence[Sequence[str]],
    k: int,
) -> list[Ranking]:
    """Rankings by PageRank over entities and passages, restarted equally at each query's entities.

    The graph has an edge for each triple between two entities, and one for each mention. A query
    whose entities are not in the graph has its dense ranking, which its notes state.
    """
    graph = kb.graph
    starts = []
    for names in entities:
        present = [node for node in map(graph.find, names) if node is not None]
        nodes = np.unique(np.array(present, dtype=np.int64))
        starts.append(NodeWeights(nodes, np.ones(len(nodes))))
    rankings = []
    results = walks(_entity_passage_graph(kb), starts, DAMPING)
    for query, walk, candidate_rows in zip(
        queries, results, kb.candidates(queries), strict=True
    ):
        shares = walk.shares[graph.n_entities :]
        if walk.shares.any():
            rows = np.flatnonzero(shares)
            if candidate_rows is not None:
                rows = candidate_rows[shares[candidate_rows] > 0]
            rankings.append(
                Ranking.from_scores(query.id, rows, shares[rows], kb.corpus.ids).top(k)
            )
        else:
            rankings += dense_fallback(kb, [query], k, "no gold entity is in the graph")
    return rankings


def _entity_passage_graph(kb: KnowledgeBase) -> WalkGraph:
    """The graph of entities and then passages; its edges are triples and mentions, of weight 1."""
    graph = kb.graph
    triples, mentions = graph.triples, graph.mentions
    sources = np.concatenate([triples.heads, mentions.owners]).astype(np.int64)
    targets = np.concatenate(
        [triples.tails, graph.n_entities + mentions.others]
    ).astype(np.int64)
    weights = np.ones(len(sources))
    return WalkGraph.undirected(
        sources, targets, weights, graph.n_entities + graph.n_passages
    )


def _expand_seeds(
    system: Pipeline, queries: Sequence[Query], seeds: Sequence[IntArray]
) -> list[Ranking]:
    """The rankings of a pipeline's stages on seeds followed by the other hits of its retriever.

    The score of an input is 1 / rank.
    """
    depth = system.stages[0].depth
    rankings: list[Ranking] = []
    for seed_rows, hits in zip(
        seeds, system.retriever.retrieve_batch(queries, depth), strict=True
    ):
        rows = np.concatenate([seed_rows, hits.rows[~np.isin(hits.rows, seed_rows)]])[
            :depth
        ]
        scores = 1 / np.arange(1, len(rows) + 1)
        rankings.append(Ranking.from_scores(hits.query_id, rows, scores, hits.ids))
    for stage in system.stages:
        rankings = stage.apply(
            queries, [ranking.top(stage.depth) for ranking in rankings]
        )
    return rankings


def from_gold_seeds(
    search: FromSeeds,
    plain: Sequence[Ranking],
    queries: Sequence[Query],
    golds: Sequence[IntArray],
) -> list[Ranking]:
    """The rankings of searches from gold passages, in which no passage is a seed for itself.

    A search that starts at a gold passage would return it. So each query runs once per gold
    passage, from the *other* gold passages. A gold passage has its score in the run without it as a
    seed; any other passage has the mean over the runs. A query with a single gold passage has its
    `plain` ranking.
    """
    seed_queries: list[Query] = []
    seeds: list[IntArray] = []
    for query, gold in zip(queries, golds, strict=True):
        if len(gold) > 1:
            seed_queries += [query] * len(gold)
            seeds += [gold[gold != row] for row in gold]
    runs = search(seed_queries, seeds) if seed_queries else []
    rankings = []
    start = 0
    for ranking, gold in zip(plain, golds, strict=True):
        if len(gold) > 1:
            ranking = _held_out_ranking(ranking, gold, runs[start : start + len(gold)])
            start += len(gold)
        rankings.append(ranking)
    return rankings


def _held_out_ranking(
    plain: Ranking, gold: IntArray, runs: Sequence[Ranking]
) -> Ranking:
    """The ranking of a query from its runs, one per gold passage; see `from_gold_seeds`."""
    scores: FloatArray = np.zeros((len(gold), len(plain.ids)))
    for run_scores, run in zip(scores, runs, strict=True):
        run_scores[run.rows] = run.scores
    means = scores.mean(axis=0)
    means[gold] = scores[np.arange(len(gold)), gold]
    rows = np.flatnonzero(means)
    return Ranking.from_scores(plain.query_id, rows, means[rows], plain.ids)
