"""The candidates and chains of a query -> scores, notes, loss stages and paths of its ranking."""

from __future__ import annotations

from collections.abc import Mapping
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
    IntArray,
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
    chain_weight : the weight of the chains in the score, in [0, 1]; the single passage has the rest.
    chains : the titles of the best pairs, with their shares.
    """

    chain_weight: float | None = None
    chains: tuple[str, ...] | None = None


@dataclass(frozen=True)
class ChainPaths:
    """The paths to passages: edges from the passage that it continues, else the walk; see `Paths`.

    `sources` : corpus row -> the row of the passage that it continues.
    """

    walked: WalkedPaths
    sources: Mapping[int, int]

    def get(self, row: int, default: tuple[Triple, ...] = ()) -> tuple[Triple, ...]:
        """The path to the passage in a row, or the default."""
        edges: tuple[int, ...] = ()
        if row in self.sources:
            edges = self._edges_between(self.sources[row], row)
        path = tuple(map(self.walked.triple, edges))
        return path or self.walked.get(row, default)

    def _edges_between(self, source: int, target: int) -> tuple[int, ...]:
        """The edge between two passages, else their two edges to their rarest common name, else ()."""
        graph = self.walked.graph
        source_edges = np.arange(graph.indptr[source], graph.indptr[source + 1])
        direct = source_edges[graph.targets[source_edges] == target]
        if len(direct):
            return (int(direct[0]),)
        target_edges = np.arange(graph.indptr[target], graph.indptr[target + 1])
        nodes, source_index, target_index = np.intersect1d(
            graph.targets[source_edges],
            graph.targets[target_edges],
            return_indices=True,
        )
        common_names = np.flatnonzero(nodes >= graph.n_passages)
        if not len(common_names):
            return ()
        degrees = np.diff(graph.indptr)[nodes[common_names]]
        rarest = common_names[np.argmin(degrees)]
        return (
            int(source_edges[source_index[rarest]]),
            int(target_edges[target_index[rarest]]),
        )


@dataclass(frozen=True)
class ChainSearch:
    """The m candidates of a query, their evidence and chains, and the model of their order.

    Attributes
    ----------
    searches : the hits of the searches that gave the candidates.
    chain_weight : the weight of the chains in the score, see `Ranker`.
    order : the model of the score, see `Ranker.order`.
    start : (m,) the log-odds that a candidate is needed, by itself.
    chains : the chains; None for fewer than `LEAST` candidates.
    walked : the paths of the walk to the candidates.
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
        """The signals that the model of the order may read, (m,) each."""
        signals = self.evidence.single
        levels = {name: signals[name] for name in SINGLE if name in signals}
        levels["start"] = self.start
        if self.chains is not None:
            levels |= self.chains.levels
        return levels

    @property
    def scores(self) -> FloatArray:
        """(m,) the scores of the candidates."""
        return self.order(self.levels)

    @property
    def sources(self) -> dict[int, int]:
        """Corpus row of a candidate -> corpus row of the passage that it continues."""
        if self.chains is None:
            return {}
        rows = self.evidence.rows
        source = self.chains.source
        has_source = source >= 0
        return dict(
            zip(
                rows[has_source].tolist(),
                rows[source[has_source]].tolist(),
                strict=True,
            )
        )

    def notes(self, corpus: Corpus, temperature: float) -> ChainsNotes:
        """The notes of the ranking; `temperature` is that of the shares of pairs."""
        return ChainsNotes(
            {
                "chains": self.order.formula,
                "walk": self.order.formula,
                "dense": "least score - place",
            },
            {"chains": "dense and bm25", "walk": "graph", "dense": "dense"},
            warning=WITHOUT_TOKENS if self.evidence.max_sim is None else "",
            chain_weight=round(self.chain_weight, 4),
            chains=self._pair_labels(corpus, temperature),
        )

    def _pair_labels(
        self, corpus: Corpus, temperature: float
    ) -> tuple[str, ...] | None:
        """The best `SHOWN` pairs as "title + title (share)"; None without chains."""
        if self.chains is None:
            return None
        pairs = self.chains.pairs
        shares = pairs.shares(temperature)[:SHOWN].tolist()
        labels = []
        for pair, share in zip(pairs.members, shares, strict=False):
            rows = self.evidence.rows[pair]
            first, second = [corpus.titles[row] or corpus.ids[row] for row in rows]
            labels.append(f"{first} + {second} ({share:.2f})")
        return tuple(labels)

    def steps(self, k: int, depths: str, n_sources: int) -> tuple[Step, ...]:
        """The steps of a trace: a candidate, linked to a source, in a chain, and in the first `k`.

        `depths` : the text that describes the choice of candidates. `n_sources` : the maximum of sources.
        """
        evidence = self.evidence
        rows = evidence.rows
        steps = [
            step("candidate", "not retrieved", f"not among the first {depths}", rows)
        ]
        if self.chains is not None:
            sources = _first(self.start, n_sources)
            shared = np.maximum(evidence.shared_word, evidence.title_words)[sources]
            linked = np.union1d(np.flatnonzero(shared.max(axis=0) > 0), sources)
            why = f"no naming word in common with the {n_sources} likeliest"
            steps.append(step("named", "entity not linked", why, rows[linked]))
            first_by_level = [_first(level, k) for level in self.levels.values()]
            why = f"below {k} as a single passage, and as second and third passage"
            steps.append(
                step("in a chain", "pruned", why, rows[np.unique(first_by_level)])
            )
        ordered = rows[_first(self.scores, k)]
        return (
            *steps,
            step("ordered", "ranked below k", f"below {k} in the sum", ordered),
        )


def _first(values: FloatArray, n: int) -> IntArray:
    """The indices of the `n` highest values, in descending order."""
    return np.argsort(-values, kind="stable")[:n]
