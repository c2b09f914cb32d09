"""The candidates and chains of a query -> scores, notes, loss stages and paths of its ranking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kg2rag.retrievers.mention_chains.candidates import Searches
from kg2rag.retrievers.mention_chains.chains import Chains
from kg2rag.retrievers.mention_chains.coefficients import Linear
from kg2rag.retrievers.mention_chains.signals import SINGLE, Evidence
from kg2rag.retrievers.mention_ppr.graph import WalkedPaths
from kg2rag.types import (
    Corpus,
    FloatArray,
    Notes,
    Step,
    Triple,
    step,
)

WITHOUT_TOKENS = "the embedder gives no token vectors: ranked without them"
SHOWN = 3  # pairs in a ranking's notes


@dataclass(frozen=True)
class ChainsNotes(Notes):
    """Notes of a ranking by chains.

    Attributes
    ----------
    chain_weight : in [0, 1]; the rest is the weight of the single passage.
    chains : the best pairs by title, with their shares.
    """

    chain_weight: float | None = None
    chains: tuple[str, ...] | None = None


@dataclass(frozen=True)
class ChainPaths(Mapping[int, tuple[Triple, ...]]):
    """Corpus row -> the edges to the passage that it continues, else the path of the walk.

    `sources` maps a row to the row that it continues.
    """

    walked: WalkedPaths
    sources: Mapping[int, int]

    def __getitem__(self, row: int) -> tuple[Triple, ...]:
        joining = self._joining(self.sources[row], row) if row in self.sources else ()
        return tuple(map(self.walked.triple, joining)) or self.walked[row]

    def __iter__(self) -> Iterator[int]:
        return iter(dict.fromkeys([*self.sources, *self.walked]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _joining(self, source: int, target: int) -> tuple[int, ...]:
        """The edge between two passages, or the two edges over their rarest common name; or ()."""
        graph = self.walked.graph
        leaving = np.arange(graph.indptr[source], graph.indptr[source + 1])
        direct = leaving[graph.targets[leaving] == target]
        if len(direct):
            return (int(direct[0]),)
        arriving = np.arange(graph.indptr[target], graph.indptr[target + 1])
        names, here, there = np.intersect1d(
            graph.targets[leaving], graph.targets[arriving], return_indices=True
        )
        named = np.flatnonzero(names >= graph.n_passages)
        if not len(named):
            return ()
        rarest = named[np.argmin(np.diff(graph.indptr)[names[named]])]
        return int(leaving[here[rarest]]), int(arriving[there[rarest]])


@dataclass(frozen=True)
class ChainSearch:
    """The candidates of a query: evidence, order, and the paths of the walk to them.

    Attributes
    ----------
    chain_weight : see `Ranker`. order : the sum whose parts are weighted by it.
    start : (m,) log-odds that a candidate is needed, by itself.
    chains : None for less than `LEAST` candidates.
    only_walked : (m,) whether only the walk found a candidate.
    """

    searches: Searches
    evidence: Evidence
    chain_weight: float
    order: Linear
    start: FloatArray
    chains: Chains | None
    walked: WalkedPaths
    only_walked: NDArray[np.bool_]

    @property
    def levels(self) -> dict[str, FloatArray]:
        """The signals that the order may use, (m,) each."""
        signals = self.evidence.single
        single = {name: signals[name] for name in SINGLE if name in signals}
        chained = {} if self.chains is None else self.chains.levels
        return {**single, "start": self.start, **chained}

    @property
    def scores(self) -> FloatArray:
        """(m,) the scores of the candidates."""
        return self.order(self.levels)

    @property
    def continued(self) -> dict[int, int]:
        """Corpus row of a candidate -> row of the passage that it continues."""
        if self.chains is None:
            return {}
        rows = self.evidence.rows
        source = self.chains.source
        continuing = np.flatnonzero(source >= 0)
        return dict(
            zip(
                rows[continuing].tolist(),
                rows[source[continuing]].tolist(),
                strict=True,
            )
        )

    def notes(self, corpus: Corpus, temperature: float) -> ChainsNotes:
        """The notes: formulas, the weight of the chains, and the best pairs with their shares at a `temperature`."""
        best: tuple[str, ...] | None = None
        if self.chains is not None:
            rows = self.evidence.rows
            pairs = self.chains.pairs
            shares = pairs.shares(temperature)[:SHOWN].tolist()
            labels = []
            for pair, share in zip(pairs.members, shares, strict=False):
                first, second = [
                    corpus.titles[row] or corpus.ids[row] for row in rows[pair]
                ]
                labels.append(f"{first} + {second} ({share:.2f})")
            best = tuple(labels)
        return ChainsNotes(
            {
                "chains": self.order.formula,
                "walk": self.order.formula,
                "dense": "least score - place",
            },
            {"chains": "dense and bm25", "walk": "graph", "dense": "dense"},
            warning=WITHOUT_TOKENS if self.evidence.max_sim is None else "",
            chain_weight=round(self.chain_weight, 4),
            chains=best,
        )

    def steps(self, k: int, depths: str, sources: int) -> tuple[Step, ...]:
        """The steps of the system; `depths` describes the choice of candidates."""
        evidence = self.evidence
        rows = evidence.rows
        steps = [
            step("candidate", "not retrieved", f"not among the first {depths}", rows)
        ]
        if self.chains is not None:
            first = np.argsort(-self.start, kind="stable")[:sources]
            shared = np.maximum(evidence.shared_word, evidence.title_words)[first].max(
                axis=0
            )
            linked = np.union1d(np.flatnonzero(shared > 0), first)
            why = f"no naming word in common with the {sources} likeliest"
            steps.append(step("named", "entity not linked", why, rows[linked]))
            orders = [
                np.argsort(-level, kind="stable")[:k] for level in self.levels.values()
            ]
            why = f"below {k} as a single passage, and as second and third passage"
            steps.append(step("in a chain", "pruned", why, rows[np.unique(orders)]))
        ordered = rows[np.argsort(-self.scores, kind="stable")[:k]]
        return (
            *steps,
            step("ordered", "ranked below k", f"below {k} in the sum", ordered),
        )
