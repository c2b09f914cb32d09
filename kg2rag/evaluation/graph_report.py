"""A knowledge base and a data set -> how much of the gold its graph could bring in: a ceiling for every graph strategy.

Two measurements per type of question. *Reach*: does a walk of so many triples from the question's entities arrive at an
entity that a gold passage names? *Chains*: are the gold passages of a question connected, by a shared entity or by a
triple between two of their entities? In a very dense graph both are always true, so each share is reported with its
cost: the share of all passages reached, and how often random passages are connected. The definitions are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.paths import connected, entity_hops, passage_hops
from kg2rag.knowledge.graph.report import GraphReport
from kg2rag.retrievers.linking.linkers import ChainLinker, EmbeddingLinker, Linker, NGramLinker
from kg2rag.types import QADataset

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EVERY = "all"
STEPS = (0, 1)  # triples between neighbours of a chain


@dataclass(frozen=True, eq=False, repr=False)
class GraphCeiling:
    """What a graph contains, and what it could do for some questions; displays in Jupyter and in a terminal.

    Attributes
    ----------
    graph : sizes, hubs and relations.
    per_question : query_id, type, entities (linked in it), gold (how many). For each hop h, `gold_h` and `passages_h`:
        the shares of the gold and of all passages within h triples of its entities. For each step s, `chain_s` and
        `random_s`: whether its chain is connected, and the share of random chains that are; blank (NaN) where there is
        but one gold passage, or nothing was drawn.
    """

    graph: GraphReport
    per_question: pd.DataFrame
    hops: int

    @cached_property
    def reach(self) -> pd.DataFrame:
        """One row per type and hop: questions, linked, gold, all_gold and passages, each a share of 0 to 1.

        `linked` is the share of questions with an entity; the other means are over all questions, those without an
        entity (from which no walk begins) included.
        """
        rows = []
        for (type_, part), hop in product(self._parts(), range(self.hops + 1)):
            gold, passages = part[f"gold_{hop}"], part[f"passages_{hop}"]
            linked = (part["entities"] > 0).mean()
            rows.append((type_, hop, len(part), linked, gold.mean(), (gold == 1).mean(), passages.mean()))
        columns = ["type", "hops", "questions", "linked", "gold", "all_gold", "passages"]
        return pd.DataFrame(rows, columns=columns)

    @cached_property
    def chains(self) -> pd.DataFrame:
        """One row per type: chains (questions of two or more gold passages), and the shares that are connected.

        `shared_entity` by an entity that two passages share, `one_triple` by at most a triple between entities of
        theirs; `random_…` is the same of as many passages drawn at random.
        """
        shares = ["chain_0", "random_0", "chain_1", "random_1"]
        rows = [
            (type_, int(part["chain_0"].notna().sum()), *part[shares].astype(float).mean())
            for type_, part in self._parts()
        ]
        columns = ["type", "chains", "shared_entity", "random_shared_entity", "one_triple", "random_one_triple"]
        return pd.DataFrame(rows, columns=columns)

    def figure(self) -> Figure:
        """Gold and passages reached against hops, one panel per type."""
        from kg2rag.report.plots import graph_reach

        return graph_reach(self.reach)

    def _parts(self) -> list[tuple[str, pd.DataFrame]]:
        """The questions of each type, in order of type, and all of them where there are several types."""
        types = sorted(set(self.per_question["type"]))
        parts = [(type_, self.per_question[self.per_question["type"] == type_]) for type_ in types]
        return parts if len(types) == 1 else [*parts, (EVERY, self.per_question)]

    def __repr__(self) -> str:
        tables = (self.reach.round(3).to_string(index=False), self.chains.round(3).to_string(index=False))
        return "\n\n".join((repr(self.graph), *tables))

    def _repr_html_(self) -> str:
        shown = "{:.3f}".format
        tables: list[str] = [part.to_html(index=False, float_format=shown) for part in (self.reach, self.chains)]
        return "".join((self.graph._repr_html_(), *tables))


def graph_report(
    kb: KnowledgeBase, data: QADataset, *, hops: int = 3, linker: Linker | None = None, draws: int = 10, seed: int = 0
) -> GraphCeiling:
    """How much of the gold of some questions the graph of a knowledge base could bring in.

    Parameters
    ----------
    kb : over the corpus of `data`.
    hops : triples walked from the question's entities, at most.
    linker : finds these; where not given, names spelt out in the question (at most ten), else the nearest by vector.
    draws : random chains for each question; 0 draws none.
    seed : of the draws.

    Notes
    -----
    A passage is h triples away where it names an entity that is. Where questions have candidates of their own, only
    these count and only their triples are walked. Gold that names documents is reached with any of their passages.

    Raises
    ------
    ValueError : the knowledge base is over another corpus, or `hops` or `draws` is negative.
    """
    if kb.corpus.ids != data.corpus.ids:
        raise ValueError(f"{data.name}: the knowledge base is over another corpus. Build it over data.corpus.")
    for name, value in (("hops", hops), ("draws", draws)):
        if value < 0:
            raise ValueError(f"{name} must be at least 0, not {value}.")
    chosen = linker or ChainLinker((NGramLinker(kb, limit=10), EmbeddingLinker(kb)))
    links, masks, n = chosen.link_batch(data.queries), kb.candidates(data.queries), len(kb.corpus)
    records = []
    for number, (question, linked, rows) in enumerate(zip(data.questions, links, masks, strict=True)):
        allowed = None if rows is None else np.isin(np.arange(n), rows)
        every = np.arange(n) if rows is None else np.unique(rows)
        gold = [np.intersect1d(own, every) for own in data.gold_rows(question).values()]
        away = passage_hops(kb.graph, entity_hops(kb.graph, [link.entity for link in linked], hops, allowed), allowed)
        random = np.random.default_rng([seed, number])
        record = {"query_id": question.id, "type": question.type or EVERY, "entities": len(linked), "gold": len(gold)}
        for hop in range(hops + 1):
            reached = (away >= 0) & (away <= hop)
            record[f"gold_{hop}"] = sum(bool(reached[own].any()) for own in gold) / len(gold)
            record[f"passages_{hop}"] = int(reached.sum()) / len(every)
        drawn = [
            [row.reshape(1) for row in random.choice(every, size=min(len(gold), len(every)), replace=False)]
            for _ in range(draws if len(gold) > 1 else 0)
        ]
        for step in STEPS:
            linked_by_chance = [connected(kb.graph, one, step, allowed) for one in drawn]
            chained = float(connected(kb.graph, gold, step, allowed)) if len(gold) > 1 else np.nan
            record[f"chain_{step}"] = chained
            record[f"random_{step}"] = float(np.mean(linked_by_chance)) if drawn else np.nan
        records.append(record)
    return GraphCeiling(kb.graph.report(), pd.DataFrame(records), hops)


def link_kinds(kb: KnowledgeBase, data: QADataset, *, draws: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Which share of the pairs of gold passages the graph links, by kind of link, beside pairs drawn at random.

    Returns a row for each kind: `kind`, `gold` and `random`, shares of 0 to 1. A kind is a type of the graph's entities
    ("title", "name", "term"; "entity" where it has none): both passages name such an entity, by a triple or without,
    and a passage names its own title. "neighbour": they are next to each other in their document. "any": one of these.
    A pair may be of several kinds. Gold that names documents counts as their passages.

    ValueError : the knowledge base is over another corpus, or no question has two gold passages.
    """
    if kb.corpus.ids != data.corpus.ids:
        raise ValueError(f"{data.name}: the knowledge base is over another corpus. Build it over data.corpus.")
    sets = (np.unique(np.concatenate(list(data.gold_rows(one).values()))).tolist() for one in data.questions)
    gold = np.array([pair for rows in sets for pair in combinations(rows, 2)], dtype=np.int64).reshape(-1, 2)
    if not len(gold):
        raise ValueError(f"{data.name}: no question has two gold passages, so that there is no pair to link.")
    n, mentions = len(kb.corpus), kb.graph.mentions
    drawn = np.random.default_rng(seed).integers(0, n, (draws, 2))
    pairs = np.concatenate([gold, drawn[drawn[:, 0] != drawn[:, 1]]])
    types = np.array([type_ or "entity" for type_ in kb.graph.types])[mentions.owners]
    linked: dict[str, np.ndarray] = {}
    for kind in dict.fromkeys(types.tolist()):
        of = types == kind
        columns = (mentions.others[of], mentions.owners[of])
        names = csr_array((np.ones(of.sum(), dtype=np.int32), columns), shape=(n, kb.graph.n_entities))
        linked[kind] = (names[pairs[:, 0]] * names[pairs[:, 1]]).sum(axis=1) > 0
    document = pd.factorize(np.array(kb.corpus.doc_ids))[0]
    order = np.lexsort((kb.corpus.table["position"].to_numpy(), document))
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    first, second = pairs.T
    linked["neighbour"] = (np.abs(place[first] - place[second]) == 1) & (document[first] == document[second])
    linked["any"] = np.any(list(linked.values()), axis=0)
    rows = [(kind, found[: len(gold)].mean(), found[len(gold) :].mean()) for kind, found in linked.items()]
    return pd.DataFrame(rows, columns=["kind", "gold", "random"])
