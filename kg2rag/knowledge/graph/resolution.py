"""A knowledge graph -> the graph with entities merged that are one thing under several names.

Methods, from the safest to the boldest: a name that the source lists as an alias of another entity
("exact"); names that differ in articles, full stops, "&" and spaces ("normalised"); an acronym and
the only long form in one of its passages ("acronym"); a misspelt word ("fuzzy"). Each method is one
round over the remaining entities and compares all names that an entity has by then; within a round,
an entity is merged only into one that it was compared with. Entities of different types are never
merged. The most frequent name is kept, then the first.

All rules are ours; the guards (see `spellings`) and the thresholds were chosen on an LLM's triples
of MuSiQue.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kg2rag.knowledge.graph.csr import incidence
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

    from kg2rag.knowledge.graph import KnowledgeGraph
Pairs = Iterable[tuple[int, int, float]]
MIN_AGREEMENT = 0.93  # the minimum similarity of two spellings, see `spellings`


class Clusters:
    """Clusters of merged entities, each identified by the code of the entity that the others join.

    Attributes
    ----------
    cluster_of : (n_entities,) the cluster of each entity.
    types : the normalised type of each cluster, "" if it has none.
    ranks : the rank of each entity by (-mentions, code).
    notes : the numbers of refused merges, by cause.
    """

    def __init__(self, graph: KnowledgeGraph) -> None:
        self.graph = graph
        self.cluster_of: IntArray = np.arange(graph.n_entities, dtype=np.int64)
        self.types = [normalise(type_) for type_ in graph.types]
        self.notes: Counter[str] = Counter()
        order = np.argsort(-graph.mention_counts, kind="stable")
        self.ranks: list[int] = np.argsort(order).tolist()

    def join(self, source: int, target: int) -> bool:
        """Merge one cluster into another unless their types differ; returns whether it did."""
        if (
            self.types[source]
            and self.types[target]
            and self.types[source] != self.types[target]
        ):
            self.notes["merges held back: different types"] += 1
            return False
        self.cluster_of[self.cluster_of == source] = target
        self.types[target] = self.types[target] or self.types[source]
        return True

    def group_by(self, key: Callable[[str], str]) -> dict[str, list[int]]:
        """Key -> the distinct clusters with a name of this key, by rank."""
        groups: defaultdict[str, set[int]] = defaultdict(set)
        for entity, name in zip(
            self.cluster_of.tolist(), self.graph.names, strict=True
        ):
            groups[key(name)].add(entity)
        return {
            key: sorted(group, key=self.ranks.__getitem__)
            for key, group in groups.items()
        }


def _exact_pairs(clusters: Clusters) -> Pairs:
    """Pairs of a cluster and each cluster whose name is an alias that only the first has.

    An alias that is the name without its brackets does not count: "Rebecca (1940 film)" is not the
    other Rebecca.
    """
    graph = clusters.graph
    claims: defaultdict[str, dict[int, None]] = defaultdict(dict)
    rows = zip(clusters.cluster_of.tolist(), graph.names, graph.aliases, strict=True)
    for entity, name, aliases in rows:
        for alias in aliases:
            if entity_key(alias) != entity_key(without_brackets(name)):
                claims[entity_key(alias)][entity] = None
    clusters_by_name = clusters.group_by(entity_key)
    for key, owners in claims.items():
        if len(owners) == 1:
            (owner,) = owners
            yield from ((owner, other, 1.0) for other in clusters_by_name.get(key, ()))


def _normalised_pairs(clusters: Clusters) -> Pairs:
    """Pairs of clusters with one key: each cluster with the most mentioned one of every type.

    All pairs would be quadratic in the number of clusters.
    """
    for group in clusters.group_by(lambda name: compound_key(plain_key(name))).values():
        foremost: dict[str, int] = {}
        for entity in group:
            foremost.setdefault(clusters.types[entity], entity)
        yield from (
            (target, entity, 1.0) for entity in group for target in foremost.values()
        )


def _acronym_pairs(clusters: Clusters) -> Pairs:
    """Pairs of an acronym and the only long form in one of its passages.

    The score is the share of the acronym's passages that name the long form.
    """
    letters_of = _acronyms(clusters)
    long_forms = _long_forms(clusters, letters_of)
    members = chain(letters_of, *long_forms.values())
    rows: dict[int, set[int]] = {entity: set() for entity in members}
    for member, entity in enumerate(clusters.cluster_of.tolist()):
        if entity in rows:
            rows[entity].update(clusters.graph.mentions.of(member)[0].tolist())
    for entity, letters in letters_of.items():
        near = [form for form in long_forms[letters] if rows[form] & rows[entity]]
        if len(near) == 1:
            yield near[0], entity, len(rows[near[0]] & rows[entity]) / len(rows[entity])


def _acronyms(clusters: Clusters) -> dict[int, str]:
    """Cluster -> the letters of its first name that is an acronym, if it has one."""
    letters_of: dict[int, str] = {}
    for entity, name in zip(
        clusters.cluster_of.tolist(), clusters.graph.names, strict=True
    ):
        letters = acronym(name)
        if letters:
            letters_of.setdefault(entity, letters)
    return letters_of


def _long_forms(
    clusters: Clusters, letters_of: Mapping[int, str]
) -> dict[str, dict[int, None]]:
    """Letters of an acronym -> the clusters without an acronym whose names have these initials."""
    long_forms: dict[str, dict[int, None]] = {
        letters: {} for letters in letters_of.values()
    }
    for entity, name in zip(
        clusters.cluster_of.tolist(), clusters.graph.names, strict=True
    ):
        if entity not in letters_of:
            for letters in initials(name):
                if letters in long_forms:
                    long_forms[letters][entity] = None
    return long_forms


def _fuzzy_pairs(clusters: Clusters) -> Pairs:
    """Pairs of clusters whose names have one frame and similar spellings."""
    # The most mentioned cluster of a key represents the others, which have other types.
    foremost = {key: group[0] for key, group in clusters.group_by(plain_key).items()}
    frames: defaultdict[str, list[str]] = defaultdict(list)
    for key in foremost:
        frames[frame(key)].append(key)
    for keys in frames.values():
        for left, right, score in near_spellings(keys, MIN_AGREEMENT):
            yield foremost[keys[left]], foremost[keys[right]], score


METHODS = {
    "exact": _exact_pairs,
    "normalised": _normalised_pairs,
    "acronym": _acronym_pairs,
    "fuzzy": _fuzzy_pairs,
}


class Merge(NamedTuple):
    """One merge: codes in the original graph, the method, and its confidence, in (0, 1]."""

    source: int
    target: int
    method: str
    score: float


@dataclass(frozen=True, eq=False, repr=False)
class Resolution:
    """The merges in their order, and the graph before them.

    The target of a merge may be the source of a later one.

    `notes` : the numbers of refused merges, by cause ("merges held back: different types": 3).
    """

    original: KnowledgeGraph
    merges: tuple[Merge, ...]
    notes: dict[str, int] = field(default_factory=dict)

    @cached_property
    def graph(self) -> KnowledgeGraph:
        """The graph after these merges; the original graph if there are none."""
        target_of = np.arange(self.original.n_entities, dtype=np.int64)
        # The target of a merge may be the source of a later one, which is therefore read first.
        for merge in reversed(self.merges):
            target_of[merge.source] = target_of[merge.target]
        return (
            merge_entities(self.original, target_of) if self.merges else self.original
        )

    @property
    def table(self) -> pd.DataFrame:
        """One row per merge: from, to, method, score, mentions of both in the corpus."""
        import pandas as pd

        merges = pd.DataFrame(list(self.merges), columns=Merge._fields)
        names = pd.Series(self.original.names, dtype=object)
        counts = pd.Series(self.original.mention_counts)
        return pd.DataFrame(
            {
                "from": merges["source"].map(names),
                "to": merges["target"].map(names),
                "method": merges["method"],
                "score": merges["score"],
                "mentions_from": merges["source"].map(counts),
                "mentions_to": merges["target"].map(counts),
            }
        )

    def __len__(self) -> int:
        return len(self.merges)

    def __repr__(self) -> str:
        counts = Counter(merge.method for merge in self.merges) | Counter(self.notes)
        causes = (
            ", ".join(f"{cause}: {count:,}" for cause, count in counts.items())
            or "none"
        )
        return f"Resolution({len(self):,} merges of {self.original.n_entities:,} entities; {causes})"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.table.to_html(max_rows=20, float_format='{:.3f}'.format)}"


def merge_entities(graph: KnowledgeGraph, target_of: IntArray) -> KnowledgeGraph:
    """The graph in which each entity is replaced by its target, which may be itself.

    `target_of`, (n_entities,), has the code of each entity's target.

    The remaining entities keep their names and order. The names and aliases of the others become
    aliases, and their first type and description fill empty ones. Equal triples are merged by
    `distinct`; a triple whose ends become one entity remains as a loop; mentions are added. `notes`
    counts both.
    """
    targets, new_codes = np.unique(target_of, return_inverse=True)
    code_of = new_codes.reshape(-1).astype(np.int32)
    members: list[list[int]] = [[code] for code in targets.tolist()]
    for code in np.flatnonzero(target_of != np.arange(len(target_of))).tolist():
        members[code_of[code]].append(code)
    table, mentions = graph.triples, graph.mentions
    triples = replace(table, heads=code_of[table.heads], tails=code_of[table.tails])
    distinct = triples.distinct()
    n_loops = np.count_nonzero(
        (triples.heads == triples.tails) & (table.heads != table.tails)
    )
    notes = Counter(graph.notes)
    notes["duplicate triples merged with their entities"] += len(table) - len(distinct)
    notes["triples between merged entities, now loops"] += int(n_loops)
    return replace(
        graph,
        names=tuple(graph.names[code] for code in targets.tolist()),
        types=tuple(_first_text(graph.types, codes) for codes in members),
        descriptions=tuple(_first_text(graph.descriptions, codes) for codes in members),
        aliases=tuple(_merged_aliases(graph, codes) for codes in members),
        triples=distinct,
        mentions=incidence(
            code_of[mentions.owners], mentions.others, mentions.counts, len(targets)
        ),
        notes={
            cause: count
            for cause, count in notes.items()
            if count or cause in graph.notes
        },
    )


def _first_text(texts: Sequence[str], codes: Sequence[int]) -> str:
    """The first non-empty text of some entities; "" if there is none."""
    return next((texts[code] for code in codes if texts[code]), "")


def _merged_aliases(graph: KnowledgeGraph, codes: Sequence[int]) -> tuple[str, ...]:
    """The aliases of the first entity after it absorbed the others."""
    if len(codes) == 1:
        return graph.aliases[codes[0]]
    key = entity_key(graph.names[codes[0]])
    names = [
        name for code in codes for name in (graph.names[code], *graph.aliases[code])
    ]
    return tuple(name for name in dict.fromkeys(names) if entity_key(name) != key)


def resolve(graph: KnowledgeGraph) -> Resolution:
    """The merges of entities that are one thing.

    Each entity, the most mentioned first, is merged into the best of its partners that is mentioned
    more often and not merged itself.
    """
    clusters = Clusters(graph)
    merges: list[Merge] = []
    for method, pairs in METHODS.items():
        merges += _merge_round(clusters, method, pairs(clusters))
    return Resolution(graph, tuple(merges), dict(clusters.notes))


def _merge_round(clusters: Clusters, method: str, pairs: Pairs) -> list[Merge]:
    """Merge the clusters that one method pairs, each at most once; returns the merges."""
    rank = clusters.ranks.__getitem__
    partners: defaultdict[int, dict[int, float]] = defaultdict(dict)
    for left, right, score in pairs:
        target, source = sorted((left, right), key=rank)
        if target != source:
            partners[source][target] = max(partners[source].get(target, 0.0), score)
    merges = []
    for source in sorted(partners, key=rank):
        targets = sorted(
            partners[source].items(), key=lambda item: (-item[1], rank(item[0]))
        )
        for target, score in targets:
            if clusters.cluster_of[target] == target and clusters.join(source, target):
                merges.append(Merge(source, target, method, min(score, 1.0)))
                break
    return merges
