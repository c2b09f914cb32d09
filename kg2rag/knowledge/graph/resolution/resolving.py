"""A knowledge graph -> the same graph with the entities merged that are one thing under several names.

Methods, from the surest to the boldest: a name that the source gives another entity as an alias ("exact"); names that
differ in articles, full stops, "&" and spaces ("normalised"); an acronym and the one long form that a passage names
with it ("acronym"); a misspelt word ("fuzzy"); similar vectors ("embedding"). Each is one round over the entities that
earlier rounds left, and compares all names that an entity has by then; within a round an entity is merged only into one
that it was compared with. Entities of different types are never merged. The name kept is the one that the corpus names
most often, then the first.

All of it is ours; the guards (see `spellings`) and the thresholds were chosen on an LLM's triples of MuSiQue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Generic

import numpy as np

from kg2rag.knowledge.graph.data import Graph, GraphData
from kg2rag.knowledge.graph.editing import merged
from kg2rag.knowledge.graph.resolution.candidates import METHODS, Clusters, Pair
from kg2rag.types import IntArray, Matrix

if TYPE_CHECKING:
    import pandas as pd

DEFAULT = ("exact", "normalised", "acronym", "fuzzy")


@dataclass(frozen=True, slots=True)
class Merge:
    """One entity that became another: codes of the original graph, the method, and how sure it was, in (0, 1]."""

    source: int
    target: int
    method: str
    score: float


@dataclass(frozen=True, eq=False, repr=False)
class Resolution(Generic[Graph]):
    """The merges, the graph before them and the graph after.

    Attributes
    ----------
    original : the graph as it was.
    merges : in the order made; the target of one may be the source of a later one.
    notes : what was not merged, by cause ("merges held back: different types": 3).
    """

    original: Graph
    merges: tuple[Merge, ...]
    notes: dict[str, int] = field(default_factory=dict)

    @cached_property
    def graph(self) -> Graph:
        """The graph with these merges made; the original itself where there is none."""
        return merged(self.original, self.into) if self.merges else self.original

    @property
    def into(self) -> IntArray:
        """(n_entities,) the entity of the original that each entity of the original has become."""
        into = np.arange(self.original.n_entities, dtype=np.int64)
        # A merge looks no further back than its source, and whatever went into that has been listed before.
        for merge in reversed(self.merges):
            into[merge.source] = into[merge.target]
        return into

    def undo(self, merges: Iterable[int] | None = None) -> Resolution[Graph]:
        """The resolution without some of its merges, by their rows in `table`; without all where none are named."""
        rows = set(range(len(self.merges)) if merges is None else merges)
        if beyond := [row for row in sorted(rows) if not 0 <= row < len(self.merges)]:
            raise IndexError(f"There is no merge {beyond[0]}; there are {len(self.merges)}, counted from 0.")
        left = tuple(merge for row, merge in enumerate(self.merges) if row not in rows)
        return Resolution(self.original, left, self.notes)

    @property
    def table(self) -> pd.DataFrame:
        """One row a merge: from, to, method, score, and how often the corpus names each of the two."""
        import pandas as pd

        names, counts = self.original.names, self.original.mention_counts
        rows = [
            (names[m.source], names[m.target], m.method, m.score, counts[m.source], counts[m.target])
            for m in self.merges
        ]
        return pd.DataFrame(rows, columns=["from", "to", "method", "score", "mentions_from", "mentions_to"])

    @property
    def summary(self) -> dict[str, int]:
        """How many merges each method made, then what was held back."""
        return dict(Counter(merge.method for merge in self.merges)) | self.notes

    def __len__(self) -> int:
        return len(self.merges)

    def __repr__(self) -> str:
        made = ", ".join(f"{what}: {count:,}" for what, count in self.summary.items()) or "none"
        return f"Resolution({len(self):,} merges of {self.original.n_entities:,} entities; {made})"

    def _repr_html_(self) -> str:
        from html import escape

        html: str = self.table.to_html(index=True, max_rows=20, float_format="{:.3f}".format)
        return f"<p>{escape(repr(self))}</p>{html}"


def resolve(
    graph: Graph,
    methods: Sequence[str] = DEFAULT,
    *,
    fuzzy: float = 0.93,
    embedding: float = 0.97,
    vectors: Matrix | None = None,
) -> Resolution[Graph]:
    """Find the entities that are one, and merge them.

    Parameters
    ----------
    methods : any of "exact", "normalised", "acronym", "fuzzy", "embedding", in the order to be tried.
    fuzzy : least agreement of two spellings, in [0.8, 1]; see `spellings`.
    embedding : least cosine of two names, in (0, 1].
    vectors : (n_entities, dim), rows of norm 1, of the graph's names; "embedding" needs them (`kb.entities.vectors`).

    Raises
    ------
    ValueError : an unknown or repeated method, a threshold out of range, or vectors that are missing or of other size.
    """
    _check(graph, methods, vectors)
    clusters = Clusters(graph, fuzzy, embedding, vectors)
    merges: list[Merge] = []
    for method in methods:
        merges += _round(method, clusters, METHODS[method](clusters))
    return Resolution(graph, tuple(merges), dict(clusters.notes))


def _check(graph: GraphData, methods: Sequence[str], vectors: Matrix | None) -> None:
    if isinstance(methods, str):
        raise ValueError(f"methods is a sequence of names, not the name {methods!r}: write ({methods!r},).")
    for method in methods:
        if method not in METHODS:
            raise ValueError(f"Unknown method {method!r}. Known: {', '.join(METHODS)}.")
    if len(set(methods)) < len(methods):
        raise ValueError(f"A method is given twice in {tuple(methods)}.")
    if "embedding" in methods and vectors is not None and len(vectors) != graph.n_entities:
        raise ValueError(f"There are {len(vectors)} vectors for {graph.n_entities} entities. Encode graph.names.")


def _round(method: str, clusters: Clusters, pairs: Sequence[Pair]) -> list[Merge]:
    """Merge every entity, the most mentioned first, into its best partner that is mentioned more and not merged yet."""
    partners: dict[int, dict[int, float]] = {}
    for one, other, score in pairs:
        target, source = sorted((one, other), key=clusters.place)
        if target != source:
            known = partners.setdefault(source, {})
            known[target] = max(known.get(target, 0.0), score)
    made = []
    for source in sorted(partners, key=clusters.place):
        open_ = {target: score for target, score in partners[source].items() if clusters.into[target] == target}
        for target in sorted(open_, key=lambda target: (-open_[target], clusters.place(target))):
            if clusters.agree(source, target):
                clusters.join(source, target)
                made.append(Merge(source, target, method, min(open_[target], 1.0)))
                break
            clusters.notes["merges held back: different types"] += 1
    return made
