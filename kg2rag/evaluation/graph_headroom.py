"""A graph and questions with gold -> an upper bound of the gold that the graph can add (ours).

Does a walk of so many triples from a question's entities arrive at an entity that a gold passage
names? In a very dense graph it always does, so each share stands beside its cost: the share of all
passages reached, and of random pairs linked.
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
"""The type of all questions together."""
REACH_COLUMNS = ("type", "hops", "questions", "linked", "gold", "all_gold", "passages")


@dataclass(frozen=True, eq=False, repr=False)
class GraphCeiling:
    """The content of a graph and its reach on some questions.

    Displays in Jupyter and in a terminal.

    `graph` : sizes, hubs and relations. `reach` : see `graph_reach`. `links` : see `link_kinds`.
    """

    graph: GraphReport
    reach: pd.DataFrame
    links: pd.DataFrame

    def figure(self) -> Figure:
        """Gold and passages reached against hops, one panel per type."""
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
    hops : triples walked from the question's entities, at most.
    linker : finds these entities. Default: names spelt out in the question (at most ten), otherwise
        the nearest by vector.
    seed : of the random pairs.

    Raises ValueError: the knowledge base is over another corpus, or `hops` is negative.
    """
    reach = graph_reach(kb, data, hops, linker)
    return GraphCeiling(kb.graph.report(), reach, link_kinds(kb, data, seed=seed))


def graph_reach(
    kb: KnowledgeBase, data: QADataset, hops: int, linker: Linker | None = None
) -> pd.DataFrame:
    """The gold and passages within `hops` triples of the questions' entities, by question type.

    See `graph_report`.

    A passage is h triples away if it names an entity that is. If questions have candidates, only
    these count and only their triples are walked. Gold that names documents is reached with any of
    their passages.

    Returns one row per type and hop: questions, linked (those with an entity), gold, all_gold and
    passages, each a share of 0 to 1 over all questions. Questions without an entity, from which no
    walk starts, are included.
    """
    _require_corpus(kb, data)
    if hops < 0:
        raise ValueError(f"hops must be at least 0, not {hops}.")
    linker = linker or ChainLinker((NGramLinker(kb, limit=10), EmbeddingLinker(kb)))
    announce(data.name, workloads(linker, data.queries))
    rows = []
    links_of_queries = linker.link_batch(data.queries)
    masks = kb.candidates(data.queries)
    for question, links, mask in zip(
        data.questions, links_of_queries, masks, strict=True
    ):
        entities = [link.entity for link in links]
        is_linked = float(bool(entities))
        shares = _reach_of_question(kb, data, question, entities, mask, hops)
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
    mask: IntArray | None,
    hops: int,
) -> list[tuple[float, float]]:
    """The shares of gold and of candidates within 0, 1, … `hops` triples of some entities."""
    candidates = np.arange(len(kb.corpus)) if mask is None else np.unique(mask)
    allowed = None if mask is None else np.isin(np.arange(len(kb.corpus)), mask)
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
    """The share of pairs of gold passages that the graph links, and that of random pairs, by kind.

    Returns a row for each kind: `kind`, `gold` and `random`, shares of 0 to 1. A kind is a type of
    the graph's entities ("title", "name", "term"; "entity" if it has no types): both passages name
    such an entity, by a triple or without, and a passage names its own title. "neighbour": they are
    next to each other in their document. "any": one of these. A pair may be of several kinds. Gold
    that names documents counts as their passages. Empty if no question has two gold passages.

    Raises ValueError: the knowledge base is over another corpus.
    """
    _require_corpus(kb, data)
    gold = _gold_pairs(data)
    if not len(gold):
        return pd.DataFrame(columns=["kind", "gold", "random"])
    drawn = np.random.default_rng(seed).integers(0, len(kb.corpus), (draws, 2))
    drawn = drawn[drawn[:, 0] != drawn[:, 1]]
    pairs = np.concatenate([gold, drawn])
    linked = _linked_by_entities(kb, pairs)
    linked["neighbour"] = _are_neighbours(kb, pairs)
    linked["any"] = np.any(list(linked.values()), axis=0)
    rows = []
    for kind, is_linked in linked.items():
        of_gold, of_random = np.split(is_linked, [len(gold)])
        rows.append((kind, of_gold.mean(), of_random.mean()))
    return pd.DataFrame(rows, columns=["kind", "gold", "random"])


def _gold_pairs(data: QADataset) -> IntArray:
    """(n_pairs, 2) rows of the corpus: every two gold passages of a question."""
    pairs: list[tuple[int, int]] = []
    for question in data.questions:
        rows = np.unique(np.concatenate(list(data.gold_rows(question).values())))
        pairs += combinations(rows.tolist(), 2)
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _linked_by_entities(kb: KnowledgeBase, pairs: IntArray) -> dict[str, np.ndarray]:
    """Type of entity -> (n_pairs,) whether both passages of a pair name one of that type."""
    mentions = kb.graph.mentions
    types = np.array([type_ or "entity" for type_ in kb.graph.types], dtype=object)[
        mentions.owners
    ]
    linked = {}
    for kind in dict.fromkeys(types.tolist()):
        of_kind = types == kind
        indices = mentions.others[of_kind], mentions.owners[of_kind]
        values = np.ones(len(indices[0]), np.int32)
        names = csr_array(
            (values, indices), shape=(len(kb.corpus), kb.graph.n_entities)
        )
        linked[kind] = (names[pairs[:, 0]] * names[pairs[:, 1]]).sum(axis=1) > 0
    return linked


def _are_neighbours(kb: KnowledgeBase, pairs: IntArray) -> np.ndarray:
    """(n_pairs,) whether the passages of a pair are next to each other in one document."""
    document = pd.factorize(np.array(kb.corpus.doc_ids))[0]
    order = np.argsort(np.lexsort((kb.corpus.table["position"].to_numpy(), document)))
    first, second = pairs.T
    adjacent = np.abs(order[first] - order[second]) == 1
    return np.asarray(adjacent & (document[first] == document[second]))


def _require_corpus(kb: KnowledgeBase, data: QADataset) -> None:
    if kb.corpus.ids != data.corpus.ids:
        raise ValueError(
            f"{data.name}: the knowledge base is over another corpus. Build it over data.corpus."
        )
