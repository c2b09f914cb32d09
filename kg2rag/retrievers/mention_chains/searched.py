"""What a query's search found -> its order, its notes, the paths of its hits and the steps of its trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from kg2rag.retrievers.mention_chains.candidates import ALONE, Evidence, Searches
from kg2rag.retrievers.mention_chains.chains import Chains, Linear
from kg2rag.retrievers.mention_ppr.graph import WalkedPaths
from kg2rag.types import Corpus, FloatArray, Notes, Step, Triple, step

WITHOUT_TOKENS = "the encoder gives no token vectors that the coefficients know: ranked without them"
SHOWN = 3  # pairs in a ranking's notes


@dataclass(frozen=True)
class ChainPaths(Mapping[int, tuple[Triple, ...]]):
    """Corpus row -> what joins it to the passage that it continues; where nothing does, what the walk followed to it.

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
        """The edge between two passages, or the two edges over the rarest name that both have; empty without one."""
        graph = self.walked.graph
        leaving = np.arange(graph.indptr[source], graph.indptr[source + 1])
        direct = leaving[graph.targets[leaving] == target]
        if len(direct):
            return (int(direct[0]),)
        arriving = np.arange(graph.indptr[target], graph.indptr[target + 1])
        names, here, there = np.intersect1d(graph.targets[leaving], graph.targets[arriving], return_indices=True)
        named = np.flatnonzero(names >= graph.n_passages)
        if not len(named):
            return ()
        rarest = named[np.argmin(np.diff(graph.indptr)[names[named]])]
        return int(leaving[here[rarest]]), int(arriving[there[rarest]])


@dataclass(frozen=True)
class ChainsNotes(Notes):
    """Notes of a ranking by chains.

    Attributes
    ----------
    trust : how far chains are trusted, in [0, 1]; the rest of the score is that of a passage alone.
    chains : the best pairs by title, with their shares.
    """

    trust: float | None = None
    chains: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Searched:
    """A query's candidates: what is known of them, their order, and the paths that the walk took to them.

    Attributes
    ----------
    trust : see `Ranker`. order : the sum of which it is a part.
    start : (m,) log-odds that a candidate is needed, by itself.
    chains : None where there are less than `LEAST` candidates.
    """

    found: Searches
    evidence: Evidence
    trust: float
    order: Linear
    start: FloatArray
    chains: Chains | None
    walked: WalkedPaths

    @property
    def levels(self) -> dict[str, FloatArray]:
        """What the order may add up, (m,) each."""
        alone = {name: self.evidence.alone[name] for name in ALONE if name in self.evidence.alone}
        return {**alone, "start": self.start, **(self.chains.levels if self.chains else {})}

    @property
    def scores(self) -> FloatArray:
        """(m,) what candidates are ordered by."""
        return self.order(self.levels)

    @property
    def continued(self) -> dict[int, int]:
        """Corpus row of a candidate -> that of the passage that it continues."""
        if self.chains is None:
            return {}
        rows, source = self.evidence.rows, self.chains.source
        at = np.flatnonzero(source >= 0)
        return dict(zip(rows[at].tolist(), rows[source[at]].tolist(), strict=True))

    def notes(self, corpus: Corpus, temperature: float) -> ChainsNotes:
        """The arithmetic, how far chains are trusted, and the best pairs; `temperature` is their shares'."""
        best: tuple[str, ...] | None = None
        if self.chains is not None:
            rows, pairs = self.evidence.rows, self.chains.pairs
            shares = pairs.shares(temperature)[:SHOWN].tolist()
            named = [[corpus.titles[row] or corpus.ids[row] for row in rows[pair].tolist()] for pair in pairs.members]
            best = tuple(f"{a} + {b} ({share:.2f})" for (a, b), share in zip(named, shares, strict=False))
        return ChainsNotes(
            {"chains": self.order.formula, "dense": "least score - place"},
            {"chains": "graph", "dense": "dense"},
            warning=WITHOUT_TOKENS if self.evidence.max_sim is None else "",
            trust=round(self.trust, 4),
            chains=best,
        )

    def steps(self, k: int, depths: str, sources: int) -> tuple[Step, ...]:
        """What each step of the system let pass; `depths` says how candidates are chosen."""
        known, rows = self.evidence, self.evidence.rows
        steps = [step("candidate", "not retrieved", f"not among the first {depths}", rows)]
        if self.chains is not None:
            first = np.argsort(-self.start, kind="stable")[:sources]
            shared = np.maximum(known.shared_word, known.title_words)[first].max(axis=0)
            named = np.union1d(np.flatnonzero(shared > 0), first)
            why = f"no naming word in common with the {sources} likeliest"
            steps.append(step("named", "entity not linked", why, rows[named]))
            orders = [np.argsort(-level, kind="stable")[:k] for level in self.levels.values()]
            why = f"below {k} alone, and as second and third passage"
            steps.append(step("in a chain", "pruned", why, rows[np.unique(orders)]))
        ordered = rows[np.argsort(-self.scores, kind="stable")[:k]]
        return (*steps, step("ordered", "ranked below k", f"below {k} in the sum", ordered))
