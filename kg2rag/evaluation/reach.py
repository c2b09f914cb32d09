"""A graph and gold -> what of the gold it reaches, and which pairs of gold passages it links.

`graph_report`: does a walk of so many triples from a question's entities arrive at an entity that a gold passage names?
In a very dense graph it always does, so each share stands beside its cost: that of all passages reached, and of random
pairs linked. The definitions are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.paths import entity_hops, passage_hops
from kg2rag.knowledge.graph.report import GraphReport
from kg2rag.report import plots
from kg2rag.retrievers.linking.linkers import ChainLinker, EmbeddingLinker, Linker, NGramLinker
from kg2rag.types import QADataset

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EVERY = "all"


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
            rows.append((question.type or EVERY, hop, 1, float(bool(linked)), found, float(found == 1), price))
    columns = ["type", "hops", "questions", "linked", "gold", "all_gold", "passages"]
    table = pd.DataFrame(rows, columns=columns).sort_values(["type", "hops"], kind="stable")
    if len(set(table["type"])) > 1:
        table = pd.concat([table, table.assign(type=EVERY)])
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
