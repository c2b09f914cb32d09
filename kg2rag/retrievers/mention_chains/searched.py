"""What a query's search found -> its order, its metadata and the steps of its trace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kg2rag.retrievers.mention_chains.candidates import Found
from kg2rag.retrievers.mention_chains.chains import Chains
from kg2rag.retrievers.mention_chains.ranker import Linear
from kg2rag.retrievers.mention_chains.signals import Evidence
from kg2rag.retrievers.mention_ppr.graph import WalkedPaths
from kg2rag.types import Corpus, FloatArray, Step, arithmetic, step

WITHOUT_TOKENS = "the encoder gives no token vectors that the coefficients know: ranked without them"
SHOWN = 3  # pairs in a ranking's metadata
UNLINKED = "unlinked"
"""The kind of a question that names nothing and whose likeliest passages name no other."""
NEAREST = Linear({"cosine": 1.0})
"""The order of that kind, which is that of `dense`."""


@dataclass(frozen=True)
class Searched:
    """A query's candidates: what is known of them, their order, and the paths that the walk took to them.

    Attributes
    ----------
    kind : one of `ranker.KINDS`, or `UNLINKED`. order : its sum.
    start : (m,) log-odds that a candidate is needed, by itself.
    chains : None for the kinds "one_passage" and `UNLINKED`.
    """

    found: Found
    evidence: Evidence
    kind: str
    order: Linear
    start: FloatArray
    chains: Chains | None
    walked: WalkedPaths

    @property
    def levels(self) -> dict[str, FloatArray]:
        """What the order may add up, (m,) each."""
        if self.kind == UNLINKED:
            return {"start": self.start, "cosine": self.found.cosine[self.evidence.rows]}
        return {"start": self.start, **(self.chains.levels if self.chains else {})}

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

    def metadata(self, corpus: Corpus, temperature: float) -> dict[str, object]:
        """The arithmetic, what the question is taken to ask for, and the best pairs by title with their shares."""
        formulas = {"chains": self.order.formula, "dense": "least score - place"}
        metadata = arithmetic(formulas, {"chains": "graph", "dense": "dense"}) | {"question": self.kind}
        if self.chains is not None:
            rows, pairs = self.evidence.rows, self.chains.pairs
            shares = pairs.shares(temperature)[:SHOWN].tolist()
            named = [[corpus.titles[row] or corpus.ids[row] for row in rows[pair].tolist()] for pair in pairs.members]
            metadata["chains"] = tuple(f"{a} + {b} ({share:.2f})" for (a, b), share in zip(named, shares, strict=False))
        if self.evidence.max_sim is None:
            metadata["note"] = WITHOUT_TOKENS
        return metadata

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
            why = f"below {k} alone, and as second, third and fourth passage"
            steps.append(step("in a chain", "pruned", why, rows[np.unique(orders)]))
        ordered = rows[np.argsort(-self.scores, kind="stable")[:k]]
        return (*steps, step("ordered", "ranked below k", f"below {k} in the sum", ordered))
