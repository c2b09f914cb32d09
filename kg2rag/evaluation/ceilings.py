"""A graph, or a system, and gold -> how much of the gold it could bring in at best. The definitions are ours.

`graph_report`: does a walk of so many triples from a question's entities arrive at an entity that a gold passage names?
In a very dense graph it always does, so each share stands beside its cost: that of all passages reached, and of random
pairs linked.

`oracle_ladder`: the scores of a system with one stage after another made perfect. Each rung is given the gold, so it is
no system. A rung that does not apply to a system, or whose gold the questions lack, is blank and says why.

- gold seeds: a search from seeds, started at gold passages.
- gold entities: a walk over the triple graph that starts at the entities the question needs: perfect linking.
- gold rerank: gold first among a system's first hits: what any reranker of that depth could reach.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from kg2rag.evaluation.metrics import Metrics, evaluate, parse_metrics
from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.pagerank import NodeWeights, WalkGraph, walks
from kg2rag.knowledge.graph.paths import entity_hops, passage_hops
from kg2rag.knowledge.graph.report import GraphReport
from kg2rag.report import plots
from kg2rag.report.html import HtmlPage, render
from kg2rag.retrievers.contract import Pipeline, Retriever
from kg2rag.retrievers.dense import dense_fallback
from kg2rag.retrievers.linking.linkers import ChainLinker, EmbeddingLinker, Linker, NGramLinker
from kg2rag.text.normalisation import normalise
from kg2rag.types import IntArray, QADataset, Query, Question, Ranking, require_dataset

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure

_EVERY = "all"
"""The type of all questions together."""
_DAMPING = 0.5
"""Of the walk from gold entities."""
FromSeeds = Callable[[Sequence[Query], Sequence[IntArray]], list[Ranking]]
"""A search that starts also at given passages, rows of the corpus for each query."""


@dataclass(frozen=True, eq=False, repr=False)
class GraphCeiling:
    """What a graph contains, and what it could do for some questions; displays in Jupyter and in a terminal.

    `graph` : sizes, hubs and relations. `reach` : see `graph_reach`. `links` : see `link_kinds`.
    """

    graph: GraphReport
    reach: pd.DataFrame
    links: pd.DataFrame

    def figure(self) -> Figure:
        """Gold and passages reached against hops, one panel per type."""
        return plots.graph_reach(self.reach)

    def __repr__(self) -> str:
        tables = (one.round(3).to_string(index=False) for one in (self.reach, self.links))
        return "\n\n".join((repr(self.graph), *tables))

    def _repr_html_(self) -> str:
        tables = (one.to_html(index=False, float_format="{:.3f}".format) for one in (self.reach, self.links))
        return "".join((self.graph._repr_html_(), *tables))


def graph_report(
    kb: KnowledgeBase, data: QADataset, *, hops: int = 3, linker: Linker | None = None, seed: int = 0
) -> GraphCeiling:
    """How much of the gold of some questions the graph of a knowledge base over their corpus could bring in.

    hops : triples walked from the question's entities, at most.
    linker : finds these; where not given, names spelt out in the question (at most ten), else the nearest by vector.
    seed : of the random pairs.

    Raises ValueError: the knowledge base is over another corpus, or `hops` is negative.
    """
    return GraphCeiling(kb.graph.report(), graph_reach(kb, data, hops, linker), link_kinds(kb, data, seed=seed))


def graph_reach(kb: KnowledgeBase, data: QADataset, hops: int, linker: Linker | None = None) -> pd.DataFrame:
    """What lies within so many triples of the questions' entities, by type of question; see `graph_report`.

    A passage is h triples away where it names an entity that is. Where questions have candidates of their own, only
    these count and only their triples are walked. Gold that names documents is reached with any of their passages.

    Returns one row per type and hop: questions, linked (those with an entity), gold, all_gold and passages, each a
    share of 0 to 1 over all questions, those without an entity, from which no walk begins, included.
    """
    _require_corpus(kb, data)
    if hops < 0:
        raise ValueError(f"hops must be at least 0, not {hops}.")
    linker = linker or ChainLinker((NGramLinker(kb, limit=10), EmbeddingLinker(kb)))
    links, masks, rows = linker.link_batch(data.queries), kb.candidates(data.queries), []
    for question, linked, mask in zip(data.questions, links, masks, strict=True):
        allowed = None if mask is None else np.isin(np.arange(len(kb.corpus)), mask)
        every = np.arange(len(kb.corpus)) if mask is None else np.unique(mask)
        gold = [np.intersect1d(own, every) for own in data.gold_rows(question).values()]
        away = passage_hops(kb.graph, entity_hops(kb.graph, [link.entity for link in linked], hops, allowed), allowed)
        for hop in range(hops + 1):
            reached = (away >= 0) & (away <= hop)
            found = sum(bool(reached[own].any()) for own in gold) / len(gold)
            price = int(reached.sum()) / len(every)
            rows.append((question.type or _EVERY, hop, 1, float(bool(linked)), found, float(found == 1), price))
    columns = ["type", "hops", "questions", "linked", "gold", "all_gold", "passages"]
    table = pd.DataFrame(rows, columns=columns).sort_values(["type", "hops"], kind="stable")
    if len(set(table["type"])) > 1:
        table = pd.concat([table, table.assign(type=_EVERY)])
    counted = dict.fromkeys(columns[2:], "mean") | {"questions": "sum"}
    return table.groupby(["type", "hops"], sort=False).agg(counted).reset_index()


def link_kinds(kb: KnowledgeBase, data: QADataset, *, draws: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Which share of the pairs of gold passages the graph links, by kind of link, beside pairs drawn at random.

    Returns a row for each kind: `kind`, `gold` and `random`, shares of 0 to 1. A kind is a type of the graph's entities
    ("title", "name", "term"; "entity" where it has none): both passages name such an entity, by a triple or without,
    and a passage names its own title. "neighbour": they are next to each other in their document. "any": one of these.
    A pair may be of several kinds. Gold that names documents counts as their passages. Empty where no question has two
    gold passages.

    ValueError : the knowledge base is over another corpus.
    """
    _require_corpus(kb, data)
    sets = (np.unique(np.concatenate(list(data.gold_rows(one).values()))).tolist() for one in data.questions)
    gold = np.array([pair for rows in sets for pair in combinations(rows, 2)], dtype=np.int64).reshape(-1, 2)
    if not len(gold):
        return pd.DataFrame(columns=["kind", "gold", "random"])
    mentions, drawn = kb.graph.mentions, np.random.default_rng(seed).integers(0, len(kb.corpus), (draws, 2))
    pairs = np.concatenate([gold, drawn[drawn[:, 0] != drawn[:, 1]]])
    types = np.array([type_ or "entity" for type_ in kb.graph.types], dtype=object)[mentions.owners]
    linked: dict[str, np.ndarray] = {}
    for kind in dict.fromkeys(types.tolist()):
        columns = mentions.others[types == kind], mentions.owners[types == kind]
        names = csr_array((np.ones(len(columns[0]), np.int32), columns), shape=(len(kb.corpus), kb.graph.n_entities))
        linked[kind] = (names[pairs[:, 0]] * names[pairs[:, 1]]).sum(axis=1) > 0
    document, first, second = pd.factorize(np.array(kb.corpus.doc_ids))[0], *pairs.T
    place = np.argsort(np.lexsort((kb.corpus.table["position"].to_numpy(), document)))
    linked["neighbour"] = (np.abs(place[first] - place[second]) == 1) & (document[first] == document[second])
    linked["any"] = np.any(list(linked.values()), axis=0)
    rows = [(kind, found[: len(gold)].mean(), found[len(gold) :].mean()) for kind, found in linked.items()]
    return pd.DataFrame(rows, columns=["kind", "gold", "random"])


def _require_corpus(kb: KnowledgeBase, data: QADataset) -> None:
    if kb.corpus.ids != data.corpus.ids:
        raise ValueError(f"{data.name}: the knowledge base is over another corpus. Build it over data.corpus.")


@dataclass(frozen=True, eq=False, repr=False)
class OracleLadder(HtmlPage):
    """The headroom of each stage of a system.

    `frame` : one row per rung: rung, one column per metric (NaN where it was not measured), questions judged, note.
    """

    system: str
    frame: pd.DataFrame
    data: str = ""

    def figure(self) -> Figure:
        """One bar per rung, by the first metric."""
        first = str(self.frame.columns[1])
        return plots.oracle_ladder(self.frame, first, f"{self.system}: {first} with perfect stages, per cent")

    @property
    def title(self) -> str:
        """The heading of the page."""
        return f"{self.system}: what a perfect stage would be worth"

    def body(self) -> Markup:
        """The table and the figure."""
        means = self.frame.drop(columns=["rung", "questions", "note"])
        texts = (100 * means).map("{:.1f}".format).where(means.notna(), "").to_numpy().tolist()
        return render(
            "ladder.html.j2",
            title=self.title,
            lead=f"{self.data}; per cent. Every rung but the first is given the gold: a ceiling, not a result.",
            metrics=list(means),
            rungs=list(zip(self.frame["rung"], texts, self.frame["note"], strict=True)),
            figure=plots.to_svg(self.figure(), f"ladder-{self.system}"),
        )

    def __repr__(self) -> str:
        return f"Oracle ladder of {self.system} on {self.data}\n{self.frame.round(4).to_string(index=False)}"


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

    Gold entities are the ends of the questions' gold triples, without the answer, and start a PageRank over the graph,
    whatever the system's own walk: a rung of another system, so it may be below the first.

    depth : hits that the gold reranker reads; no metric may read deeper.
    name : of the system, for the table; its own where not given.

    Raises ValueError: gold names documents, not passages; an unknown metric; a metric deeper than `depth`.
    """
    require_dataset(data)
    if data.unit != "passage":
        raise ValueError(f"{data.name}: the gold names documents; oracles need passages.")
    names = [metric.name for metric in parse_metrics(metrics, depth)]
    search: FromSeeds | None = getattr(system, "from_seeds", None)
    if isinstance(system, Pipeline):
        search = partial(_expanded, system) if system.stages[0].expands else None
    plain, queries = system.retrieve_batch(data.queries, depth), data.queries
    golds = [np.sort(data.corpus.rows(question.gold)) for question in data.questions]
    lacking = sum(not question.triples for question in data.questions)
    rungs: dict[str, tuple[list[Ranking] | None, str]] = {  # rankings, and what they are or why there are none
        "as it is": (plain, ""),
        "gold seeds": (None, "this system does not expand from seed passages"),
        "gold entities": (None, f"{lacking} of {len(data)} questions have no gold triples"),
        "gold rerank": (list(map(gold_first, plain, golds)), f"gold first among its first {depth} hits"),
    }
    if search is not None:
        found = [one.top(depth) for one in from_gold_seeds(search, plain, queries, golds)]
        rungs["gold seeds"] = found, "each gold passage sought with the other ones among the seeds"
    if not lacking:
        found = from_gold_entities(kb, queries, list(map(_gold_entities, data.questions)), depth)
        rungs["gold entities"] = found, "PageRank over the graph from the ends of the gold triples, less the answer"
    called, rows = name or type(system).__name__, []
    for rung, (rankings, note) in rungs.items():
        scores: dict[Any, float] = dict.fromkeys(names, float("nan"))
        if rankings is not None:
            scores = evaluate(rankings, data, metrics, name=f"{called} {rung}")[names].mean().to_dict()
        rows.append({"rung": rung, **scores, "questions": len(rankings or ()), "note": note})
    return OracleLadder(called, pd.DataFrame(rows), data.name)


def gold_first(ranking: Ranking, gold: IntArray) -> Ranking:
    """The hits of a ranking, those in the rows of `gold` first, otherwise in their order; scored 1 / rank."""
    rows = ranking.rows[np.argsort(~np.isin(ranking.rows, gold), kind="stable")]
    return Ranking.from_scores(ranking.query_id, rows, 1 / np.arange(1, len(rows) + 1), ranking.ids)


def _gold_entities(question: Question) -> list[str]:
    answers = set(map(normalise, question.answers))
    ends = dict.fromkeys(end for head, _, tail in question.triples for end in (head, tail))
    return [end for end in ends if normalise(end) not in answers]


def from_gold_entities(
    kb: KnowledgeBase, queries: Sequence[Query], entities: Sequence[Sequence[str]], k: int
) -> list[Ranking]:
    """PageRank over entities and passages from the names of each query's gold entities, in equal parts.

    The graph has an edge for each triple between two entities and one for each mention. Where it has none of the
    entities, the dense ranking, as its notes say.
    """
    graph, n = kb.graph, kb.graph.n_entities
    table, mentions = graph.triples, graph.mentions
    sources = np.concatenate([table.heads, mentions.owners]).astype(np.int64)
    targets = np.concatenate([table.tails, n + mentions.others]).astype(np.int64)
    walked = WalkGraph.undirected(sources, targets, np.ones(len(sources)), n + graph.n_passages)
    starts, rankings = [], []
    for names in entities:
        nodes = np.unique([code for code in map(graph.find, names) if code is not None]).astype(np.int64)
        starts.append(NodeWeights(nodes, np.ones(len(nodes))))
    for query, walk, mask in zip(queries, walks(walked, starts, _DAMPING), kb.candidates(queries), strict=True):
        shares = walk.shares[n:]
        rows = np.flatnonzero(shares) if mask is None else mask[shares[mask] > 0]
        ranking = Ranking.from_scores(query.id, rows, shares[rows], kb.corpus.ids).top(k)
        if not walk.shares.any():
            ranking = dense_fallback(kb, [query], k, "no gold entity is in the graph")[0]
        rankings.append(ranking)
    return rankings


def _expanded(system: Pipeline, queries: Sequence[Query], seeds: Sequence[IntArray]) -> list[Ranking]:
    """What the stages make of the seeds, followed by the retriever's hits; scored 1 / place."""
    depth, rankings = system.stages[0].depth, list[Ranking]()
    for own, hits in zip(seeds, system.retriever.retrieve_batch(queries, depth), strict=True):
        rows = np.concatenate([own, hits.rows[~np.isin(hits.rows, own)]])[:depth]
        rankings.append(Ranking.from_scores(hits.query_id, rows, 1 / np.arange(1, len(rows) + 1), hits.ids).top(depth))
    for stage in system.stages:
        rankings = stage.apply(queries, [ranking.top(stage.depth) for ranking in rankings])
    return rankings


def from_gold_seeds(
    search: FromSeeds, plain: Sequence[Ranking], queries: Sequence[Query], golds: Sequence[IntArray]
) -> list[Ranking]:
    """A search run for each gold passage of a query, from the *other* gold passages and its own seeds.

    One that starts at all of the gold would return it. So a gold passage scores what the run without it as a seed gives
    it (the system's own seeds may include it), every other passage the mean of the runs. A query with a single gold
    passage keeps the `plain` ranking.
    """
    asked = [(query, gold[gold != one]) for query, gold in zip(queries, golds, strict=True) for one in gold]
    asked = [(query, seeds) for query, seeds in asked if len(seeds)]
    runs = iter(search(*map(list, zip(*asked, strict=True))) if asked else ())
    rankings = []
    for ranking, gold in zip(plain, golds, strict=True):
        if len(gold) > 1:
            each = np.zeros((len(gold), len(ranking.ids)))
            for scores, run in zip(each, runs, strict=False):
                scores[run.rows] = run.scores
            means = each.mean(axis=0)
            means[gold] = each[np.arange(len(gold)), gold]
            rows = np.flatnonzero(means)
            ranking = Ranking.from_scores(ranking.query_id, rows, means[rows], ranking.ids)
        rankings.append(ranking)
    return rankings
