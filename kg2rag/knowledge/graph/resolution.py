"""A knowledge graph -> the same graph with the entities merged that are one thing under several names.

Methods, from the surest to the boldest: a name that the source gives another entity as an alias ("exact"); names that
differ in articles, full stops, "&" and spaces ("normalised"); an acronym and the one long form that a passage names
with it ("acronym"); a misspelt word ("fuzzy"). Each is one round over the entities that earlier rounds left, and
compares all names that an entity has by then; within a round an entity is merged only into one that it was compared
with. Entities of different types are never merged. The name kept is the one that the corpus names
most often, then the first.

All of it is ours; the guards (see `spellings`) and the thresholds were chosen on an LLM's triples of MuSiQue.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Generic

import numpy as np

from kg2rag.knowledge.graph.data import Graph, GraphData
from kg2rag.knowledge.graph.editing import merged
from kg2rag.knowledge.graph.spellings import (
    acronym,
    compound_key,
    frame,
    initials,
    near_spellings,
    plain_key,
)
from kg2rag.text.normalisation import entity_key, normalise, without_brackets
from kg2rag.types import IntArray

if TYPE_CHECKING:
    import pandas as pd

Pair = tuple[int, int, float]


class Clusters:
    """Which entities are one by now: each cluster is known by its most mentioned entity, of equal ones the first.

    `fuzzy` is that of `resolve`.
    """

    def __init__(self, graph: GraphData, fuzzy: float) -> None:
        self.graph, self.fuzzy = graph, fuzzy
        self.into: IntArray = np.arange(graph.n_entities, dtype=np.int64)
        self.types = [normalise(type_) for type_ in graph.types]
        self.notes: Counter[str] = Counter()
        places = np.empty(graph.n_entities, dtype=np.int64)
        places[np.lexsort((self.into, -graph.mention_counts))] = self.into
        self._places: list[int] = places.tolist()

    def place(self, entity: int) -> int:
        """The place of an entity by (-mentions, code), from 0: of two that are one, the lower keeps its name."""
        return self._places[entity]

    def agree(self, source: int, target: int) -> bool:
        """Whether the types of two clusters are equal, or one is not known."""
        return not self.types[source] or not self.types[target] or self.types[source] == self.types[target]

    def join(self, source: int, target: int) -> None:
        """Let one cluster go into another."""
        self.into[self.into == source] = target
        self.types[target] = self.types[target] or self.types[source]

    def names(self) -> Iterator[tuple[int, str]]:
        """Every name of every cluster, with the entity that the cluster is known by."""
        return zip(self.into.tolist(), self.graph.names, strict=True)

    def by(self, key: Callable[[str], str]) -> dict[str, list[int]]:
        """Key of a name -> the clusters that have it, each once, by place."""
        groups: defaultdict[str, set[int]] = defaultdict(set)
        for entity, name in self.names():
            groups[key(name)].add(entity)
        return {key: sorted(group, key=self.place) for key, group in groups.items()}

    def passages(self, entities: Iterable[int]) -> dict[int, set[int]]:
        """The corpus rows that name each of these clusters."""
        wanted = {entity: set[int]() for entity in entities}
        for member, entity in enumerate(self.into.tolist()):
            if entity in wanted:
                wanted[entity].update(self.graph.mentions.of(member)[0].tolist())
        return wanted


def _exact(clusters: Clusters) -> list[Pair]:
    """Where one cluster alone claims an alias, the cluster of that name is the same.

    Not so where the alias is the name without its brackets: "Rebecca (1940 film)" is no other Rebecca.
    """
    graph = clusters.graph
    claims: defaultdict[str, dict[int, None]] = defaultdict(dict)
    for entity, name, aliases in zip(clusters.into.tolist(), graph.names, graph.aliases, strict=True):
        for alias in aliases:
            if entity_key(alias) != entity_key(without_brackets(name)):
                claims[entity_key(alias)][entity] = None
    named = clusters.by(entity_key)
    return [
        (owner, other, 1.0) for key, owners in claims.items() if len(owners) == 1 for owner in owners
        for other in named.get(key, ())
    ]  # fmt: skip


def _normalised(clusters: Clusters) -> list[Pair]:
    """Names of one key; each is paired with the foremost of every type, which keeps long lists linear."""
    pairs = []
    for group in clusters.by(lambda name: compound_key(plain_key(name))).values():
        foremost: dict[str, int] = {}
        for entity in group:
            foremost.setdefault(clusters.types[entity], entity)
        pairs += [(target, entity, 1.0) for entity in group for target in foremost.values()]
    return pairs


def _acronym(clusters: Clusters) -> list[Pair]:
    """An acronym and its long form, where exactly one long form is named in a passage with it.

    The score is the share of the acronym's passages that name the long form too.
    """
    short: dict[int, str] = {}
    for entity, name in clusters.names():
        if letters := acronym(name):
            short.setdefault(entity, letters)
    wanted = set(short.values())
    long_forms: defaultdict[str, dict[int, None]] = defaultdict(dict)
    for entity, name in clusters.names():
        for letters in initials(name):
            if letters in wanted and entity not in short:
                long_forms[letters][entity] = None
    rows = clusters.passages([*short, *(entity for forms in long_forms.values() for entity in forms)])
    pairs = []
    for entity, letters in short.items():
        near = [form for form in long_forms[letters] if rows[form] & rows[entity]]
        if len(near) == 1:
            pairs.append((near[0], entity, len(rows[near[0]] & rows[entity]) / len(rows[entity])))
    return pairs


def _fuzzy(clusters: Clusters) -> list[Pair]:
    """Names that agree in their frame, and nearly so in their letters."""
    # Of the clusters of one key the foremost represents all: the types of the others differ.
    foremost = {key: group[0] for key, group in clusters.by(plain_key).items()}
    frames: defaultdict[str, list[str]] = defaultdict(list)
    for key in foremost:
        frames[frame(key)].append(key)
    pairs = []
    for keys in frames.values():
        near = near_spellings(keys, clusters.fuzzy)
        pairs += [(foremost[keys[left]], foremost[keys[right]], score) for left, right, score in near]
    return pairs


METHODS: Mapping[str, Callable[[Clusters], list[Pair]]] = {
    "exact": _exact,
    "normalised": _normalised,
    "acronym": _acronym,
    "fuzzy": _fuzzy,
}


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


def resolve(graph: Graph, methods: Sequence[str] = tuple(METHODS), *, fuzzy: float = 0.93) -> Resolution[Graph]:
    """Find the entities that are one, and merge them.

    Parameters
    ----------
    methods : any of "exact", "normalised", "acronym", "fuzzy", in the order to be tried.
    fuzzy : least agreement of two spellings, in [0.8, 1]; see `spellings`.

    Raises
    ------
    ValueError : an unknown or repeated method, or a threshold out of range.
    """
    if isinstance(methods, str):
        raise ValueError(f"methods is a sequence of names, not the name {methods!r}: write ({methods!r},).")
    if unknown := [method for method in methods if method not in METHODS]:
        raise ValueError(f"Unknown method {unknown[0]!r}. Known: {', '.join(METHODS)}.")
    if len(set(methods)) < len(methods):
        raise ValueError(f"A method is given twice in {tuple(methods)}.")
    clusters = Clusters(graph, fuzzy)
    merges: list[Merge] = []
    for method in methods:
        merges += _round(method, clusters, METHODS[method](clusters))
    return Resolution(graph, tuple(merges), dict(clusters.notes))


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
