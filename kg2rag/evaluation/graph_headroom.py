"""A graph and questions with gold -> an upper bound of the gold that the graph can add (ours).

Gold is reached if a walk of some triples from a question's entities arrives at an entity of a gold
passage. In a very dense graph it always does. So each share has its cost beside it: the share of
all passages that is reached, or of random pairs that is linked.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.announcement import announce
from kg2rag.knowledge.graph.paths import entity_hops, passage_hops
from kg2rag.knowledge.graph.report import GraphReport
from kg2rag.report import plots
from kg2rag.retrievers.linking.linkers import (
    ChainLinker,
    EmbeddingLinker,
    Linker,
    NGramLinker,
)
from kg2rag.retrievers.system_parts import workloads
from kg2rag.text.cells import visible
from kg2rag.types import IntArray, QADataset, Question

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALL_TYPES = "all"
"""The type in rows over all questions."""
REACH_COLUMNS = ("type", "hops", "questions", "linked", "gold", "all_gold", "passages")


@dataclass(frozen=True, eq=False, repr=False)
class GraphCeiling:
    """The contents of a graph, and its reach on some questions.

    Attributes
    ----------
    graph : sizes, hubs and relations.
    reach : the result of `graph_reach`.
    links : the result of `link_kinds`.
    """

    graph: GraphReport
    reach: pd.DataFrame
    links: pd.DataFrame

    def figure(self) -> Figure:
        """A chart of the gold and passages that are reached against hops, one panel per type."""
        return plots.graph_reach(self.reach)

    def __repr__(self) -> str:
        tables = (
            table.round(3).to_string(index=False) for table in (self.reach, self.links)
        )
        return visible("\n\n".join((repr(self.graph), *tables)))

    def _repr_html_(self) -> str:
        digits = "{:.3f}".format
        tables = [
            frame.to_html(index=False, float_format=digits)
            for frame in (self.reach, self.links)
        ]
        return "".join((self.graph._repr_html_(), *tables))


def graph_report(
    kb: KnowledgeBase,
    data: QADataset,
    *,
    hops: int = 3,
    linker: Linker | None = None,
    seed: int = 0,
) -> GraphCeiling:
    """An upper bound of the gold that the graph of a knowledge base can add to a text search.

    Parameters
    ----------
    hops : the largest number of triples from the question's entities.
    linker : the linker that finds these entities; by default up to ten names in the question,
        otherwise the nearest by vector.
    seed : seed of the random pairs.

    Raises ValueError: the knowledge base is over another corpus, or `hops` is negative.
    """
    reach = graph_reach(kb, data, hops, linker)
    return GraphCeiling(kb.graph.report(), reach, link_kinds(kb, data, seed=seed))


def graph_reach(
    kb: KnowledgeBase, data: QADataset, hops: int, linker: Linker | None = None
) -> pd.DataFrame:
    """The shares of gold and passages within `hops` triples of the questions' entities.

    A passage is h triples away if it mentions an entity that is. If questions have candidates, only
    these count, and only their triples are walked. A gold document is reached if any of its
    passages is. See `graph_report` for the parameters.

    Returns one row per question type and number of hops: questions (their number), linked (the
    share with an entity), gold and passages (mean shares that are reached), all_gold (the share of
    questions whose gold is all reached). All questions count, also those without an entity.
    """
    _require_corpus(kb, data)
    if hops < 0:
        raise ValueError(f"hops must be at least 0, not {hops}.")
    linker = linker or ChainLinker((NGramLinker(kb, limit=10), EmbeddingLinker(kb)))
    announce(data.name, workloads(linker, data.queries))
    rows = []
    links_of_queries = linker.link_batch(data.queries)
    candidates = kb.candidates(data.queries)
    for question, links, candidate_rows in zip(
        data.questions, links_of_queries, candidates, strict=True
    ):
        entities = [link.entity for link in links]
        is_linked = float(bool(entities))
        shares = _reach_of_question(kb, data, question, entities, candidate_rows, hops)
        for hop, (gold, passages) in enumerate(shares):
            row = (
                question.type or ALL_TYPES,
                hop,
                1,
                is_linked,
                gold,
                float(gold == 1),
                passages,
            )
            rows.append(row)
    table = pd.DataFrame(rows, columns=list(REACH_COLUMNS))
    table = table.sort_values(["type", "hops"], kind="stable")
    if len(set(table["type"])) > 1:
        table = pd.concat([table, table.assign(type=ALL_TYPES)])
    means = dict.fromkeys(REACH_COLUMNS[2:], "mean") | {"questions": "sum"}
    return table.groupby(["type", "hops"], sort=False).agg(means).reset_index()


def _reach_of_question(
    kb: KnowledgeBase,
    data: QADataset,
    question: Question,
    entities: list[int],
    candidate_rows: IntArray | None,
    hops: int,
) -> list[tuple[float, float]]:
    """For 0, 1, … `hops` triples from entities, the reached shares of gold and of candidates.

    candidate_rows : the rows of the question's candidates; None for the whole corpus.
    """
    all_rows = np.arange(len(kb.corpus))
    allowed = None
    candidates = all_rows
    if candidate_rows is not None:
        allowed = np.isin(all_rows, candidate_rows)
        candidates = np.unique(candidate_rows)
    gold = [
        np.intersect1d(rows, candidates) for rows in data.gold_rows(question).values()
    ]
    distances = passage_hops(
        kb.graph, entity_hops(kb.graph, entities, hops, allowed), allowed
    )
    shares = []
    for hop in range(hops + 1):
        in_reach = (distances >= 0) & (distances <= hop)
        gold_share = sum(bool(in_reach[rows].any()) for rows in gold) / len(gold)
        shares.append((gold_share, int(in_reach.sum()) / len(candidates)))
    return shares


def link_kinds(
    kb: KnowledgeBase, data: QADataset, *, draws: int = 10_000, seed: int = 0
) -> pd.DataFrame:
    """The shares of gold pairs and of random pairs of passages that are linked, by kind of link.

    Returns one row per kind: kind, gold and random, shares of 0 to 1. A kind is a type of the
    graph's entities ("title", "name", "term", or "entity" without types): both passages mention one
    entity of that type; a passage mentions its own title. The kind "neighbour" links passages that
    are next to each other in a document, and "any" those with a link of some kind. Gold pairs are
    two gold passages of one question; a gold document counts as its passages. The table is empty if
    no question has two gold passages.

    Raises ValueError: the knowledge base is over another corpus.
    """
    _require_corpus(kb, data)
    gold = _gold_pairs(data)
    if not len(gold):
        return pd.DataFrame(columns=["kind", "gold", "random"])
    random_pairs = np.random.default_rng(seed).integers(0, len(kb.corpus), (draws, 2))
    random_pairs = random_pairs[random_pairs[:, 0] != random_pairs[:, 1]]
    pairs = np.concatenate([gold, random_pairs])
    is_linked = _links_by_entity_type(kb, pairs)
    is_linked["neighbour"] = _are_neighbours(kb, pairs)
    is_linked["any"] = np.any(list(is_linked.values()), axis=0)
    rows = []
    for kind, links in is_linked.items():
        rows.append((kind, links[: len(gold)].mean(), links[len(gold) :].mean()))
    return pd.DataFrame(rows, columns=["kind", "gold", "random"])


def _gold_pairs(data: QADataset) -> IntArray:
    """The rows of every two gold passages of a question, (n_pairs, 2)."""
    pairs: list[tuple[int, int]] = []
    for question in data.questions:
        rows = np.unique(np.concatenate(list(data.gold_rows(question).values())))
        pairs += combinations(rows.tolist(), 2)
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _links_by_entity_type(kb: KnowledgeBase, pairs: IntArray) -> dict[str, np.ndarray]:
    """Type of entity -> whether both passages of a pair mention one entity of that type, (n_pairs,)."""
    mentions = kb.graph.mentions
    types = np.array([type_ or "entity" for type_ in kb.graph.types], dtype=object)
    type_of_mention = types[mentions.owners]
    shape = (len(kb.corpus), kb.graph.n_entities)
    is_linked = {}
    for kind in dict.fromkeys(type_of_mention.tolist()):
        is_kind = type_of_mention == kind
        indices = mentions.others[is_kind], mentions.owners[is_kind]
        mentioned = csr_array((np.ones(is_kind.sum(), np.int32), indices), shape=shape)
        shared = mentioned[pairs[:, 0]] * mentioned[pairs[:, 1]]
        is_linked[kind] = shared.sum(axis=1) > 0
    return is_linked


def _are_neighbours(kb: KnowledgeBase, pairs: IntArray) -> np.ndarray:
    """Whether the passages of a pair are next to each other in one document, (n_pairs,)."""
    document = pd.factorize(np.array(kb.corpus.doc_ids))[0]
    order = np.argsort(np.lexsort((kb.corpus.table["position"].to_numpy(), document)))
    first, second = pairs.T
    adjacent = np.abs(order[first] - order[second]) == 1
    return np.asarray(adjacent & (document[first] == document[second]))


def _require_corpus(kb: KnowledgeBase, data: QADataset) -> None:
    """Raise ValueError if a knowledge base is over another corpus than that of the data."""
    if kb.corpus.ids != data.corpus.ids:
        raise ValueError(
            f"{data.name}: the knowledge base is over another corpus. Build it over data.corpus."
        )
