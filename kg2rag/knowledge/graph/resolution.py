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
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kg2rag.knowledge.graph.editing import merged
from kg2rag.knowledge.graph.spellings import acronym, compound_key, frame, initials, near_spellings, plain_key
from kg2rag.text.normalisation import entity_key, normalise, without_brackets
from kg2rag.types import IntArray

if TYPE_CHECKING:
    import pandas as pd

    from kg2rag.knowledge.graph import KnowledgeGraph
Pairs = Iterable[tuple[int, int, float]]


class Clusters:
    """Which entities are one by now: each cluster is known by its most mentioned entity, of equal ones the first.

    `places` are those of the entities by (-mentions, code): of two that are one, the lower keeps its name. `fuzzy` is
    that of `resolve`.
    """

    def __init__(self, graph: KnowledgeGraph, fuzzy: float) -> None:
        self.graph, self.fuzzy = graph, fuzzy
        self.into: IntArray = np.arange(graph.n_entities, dtype=np.int64)
        self.types = [normalise(type_) for type_ in graph.types]
        self.notes: Counter[str] = Counter()
        self.places: list[int] = np.argsort(np.argsort(-graph.mention_counts, kind="stable")).tolist()

    def join(self, source: int, target: int) -> bool:
        """Let one cluster go into another, unless both have a type and these differ; whether it did."""
        if self.types[source] and self.types[target] and self.types[source] != self.types[target]:
            self.notes["merges held back: different types"] += 1
            return False
        self.into[self.into == source] = target
        self.types[target] = self.types[target] or self.types[source]
        return True

    def names(self) -> Iterator[tuple[int, str]]:
        """Every name of every cluster, with the entity that the cluster is known by."""
        return zip(self.into.tolist(), self.graph.names, strict=True)

    def by(self, key: Callable[[str], str]) -> dict[str, list[int]]:
        """Key of a name -> the clusters that have it, each once, by place."""
        groups: defaultdict[str, set[int]] = defaultdict(set)
        for entity, name in self.names():
            groups[key(name)].add(entity)
        return {key: sorted(group, key=self.places.__getitem__) for key, group in groups.items()}

    def passages(self, entities: Iterable[int]) -> dict[int, set[int]]:
        """The corpus rows that name each of these clusters."""
        wanted = {entity: set[int]() for entity in entities}
        for member, entity in enumerate(self.into.tolist()):
            if entity in wanted:
                wanted[entity].update(self.graph.mentions.of(member)[0].tolist())
        return wanted


def _exact(clusters: Clusters) -> Pairs:
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
    for key, owners in claims.items():
        if len(owners) == 1:
            (owner,) = owners
            yield from ((owner, other, 1.0) for other in named.get(key, ()))


def _normalised(clusters: Clusters) -> Pairs:
    """Names of one key; each is paired with the foremost of every type, which keeps long lists linear."""
    for group in clusters.by(lambda name: compound_key(plain_key(name))).values():
        foremost: dict[str, int] = {}
        for entity in group:
            foremost.setdefault(clusters.types[entity], entity)
        yield from ((target, entity, 1.0) for entity in group for target in foremost.values())


def _acronym(clusters: Clusters) -> Pairs:
    """An acronym and its long form, where exactly one long form is named in a passage with it.

    The score is the share of the acronym's passages that name the long form too.
    """
    short: dict[int, str] = {}
    for entity, name in clusters.names():
        if letters := acronym(name):
            short.setdefault(entity, letters)
    long_forms: dict[str, dict[int, None]] = {letters: {} for letters in short.values()}
    for entity, name in clusters.names():
        for letters in initials(name) if entity not in short else ():
            if letters in long_forms:
                long_forms[letters][entity] = None
    rows = clusters.passages([*short, *(entity for forms in long_forms.values() for entity in forms)])
    for entity, letters in short.items():
        near = [form for form in long_forms[letters] if rows[form] & rows[entity]]
        if len(near) == 1:
            yield near[0], entity, len(rows[near[0]] & rows[entity]) / len(rows[entity])


def _fuzzy(clusters: Clusters) -> Pairs:
    """Names that agree in their frame, and nearly so in their letters."""
    # Of the clusters of one key the foremost represents all: the types of the others differ.
    foremost = {key: group[0] for key, group in clusters.by(plain_key).items()}
    frames: defaultdict[str, list[str]] = defaultdict(list)
    for key in foremost:
        frames[frame(key)].append(key)
    for keys in frames.values():
        for left, right, score in near_spellings(keys, clusters.fuzzy):
            yield foremost[keys[left]], foremost[keys[right]], score


METHODS: Mapping[str, Callable[[Clusters], Pairs]] = {
    "exact": _exact,
    "normalised": _normalised,
    "acronym": _acronym,
    "fuzzy": _fuzzy,
}


class Merge(NamedTuple):
    """One entity that became another: codes of the original graph, the method, and how sure it was, in (0, 1]."""

    source: int
    target: int
    method: str
    score: float


@dataclass(frozen=True, eq=False, repr=False)
class Resolution:
    """The merges, the graph before them and the graph after.

    Attributes
    ----------
    original : the graph as it was.
    merges : in the order made; the target of one may be the source of a later one.
    notes : what was not merged, by cause ("merges held back: different types": 3).
    """

    original: KnowledgeGraph
    merges: tuple[Merge, ...]
    notes: dict[str, int] = field(default_factory=dict)

    @cached_property
    def graph(self) -> KnowledgeGraph:
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

    def undo(self, merges: Iterable[int] | None = None) -> Resolution:
        """The resolution without some of its merges, by their rows in `table`; without all where none are named."""
        rows = set(range(len(self)) if merges is None else merges)
        if beyond := rows.difference(range(len(self))):
            raise IndexError(f"There is no merge {min(beyond)}; there are {len(self)}, counted from 0.")
        left = tuple(merge for row, merge in enumerate(self.merges) if row not in rows)
        return Resolution(self.original, left, self.notes)

    @property
    def table(self) -> pd.DataFrame:
        """One row a merge: from, to, method, score, and how often the corpus names each of the two."""
        import pandas as pd

        names, counts = self.original.names, self.original.mention_counts
        rows = [
            (names[source], names[target], method, score, counts[source], counts[target])
            for source, target, method, score in self.merges
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
        html: str = self.table.to_html(index=True, max_rows=20, float_format="{:.3f}".format)
        return f"<p>{escape(repr(self))}</p>{html}"


def resolve(graph: KnowledgeGraph, methods: Sequence[str] = tuple(METHODS), *, fuzzy: float = 0.93) -> Resolution:
    """Find the entities that are one, and merge them.

    Parameters
    ----------
    methods : any of "exact", "normalised", "acronym", "fuzzy", in the order to be tried.
    fuzzy : least agreement of two spellings, in [0.8, 1]; see `spellings`.

    Raises
    ------
    ValueError : an unknown or repeated method, or a threshold out of range.
    """
    if isinstance(methods, str) or not set(methods) <= METHODS.keys() or len(set(methods)) < len(methods):
        raise ValueError(f"methods are {methods!r}; needed: a sequence of {', '.join(METHODS)}, each at most once.")
    clusters = Clusters(graph, fuzzy)
    merges = [merge for method in methods for merge in _round(method, clusters)]
    return Resolution(graph, tuple(merges), dict(clusters.notes))


def _round(method: str, clusters: Clusters) -> Iterator[Merge]:
    """Merge every entity, the most mentioned first, into its best partner that is mentioned more and not merged yet."""
    place = clusters.places.__getitem__
    partners: defaultdict[int, dict[int, float]] = defaultdict(dict)
    for one, other, score in METHODS[method](clusters):
        target, source = sorted((one, other), key=place)
        if target != source:
            partners[source][target] = max(partners[source].get(target, 0.0), score)
    for source in sorted(partners, key=place):
        for target, score in sorted(partners[source].items(), key=lambda found: (-found[1], place(found[0]))):
            if clusters.into[target] == target and clusters.join(source, target):
                yield Merge(source, target, method, min(score, 1.0))
                break
