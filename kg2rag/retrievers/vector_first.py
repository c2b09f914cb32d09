"""Query -> dense hits, and the best passages of documents that the graph relates to the query's entities.

The vector-first design: the graph adds to the vector search and displaces none of its hits. Theirs: every default,
the document step, source and relationship path of each hit. Ours:

- How strength and confidence count. The design boosts an augmented passage by the constant 1 + 0.1, yet requires that
  both count, similarity first. "boost" scales the 0.1 by them; "product" multiplies by them; "plain" is the constant.
- A document that several related entities lead to is attributed to the one with the greatest strength · confidence.
- The token limit: a hit that does not fit is left out, the next one is tried.

What an augmented passage can reach is bounded: no passage outside the dense hits' documents is nearer to the query than
the last dense hit, so with a boost of 10 % it climbs a few ranks at most, and the first ranks stay those of dense.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import Literal

import numpy as np

from kg2rag.compute import counter_of, cut
from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.neighbourhood import Hops
from kg2rag.knowledge.graph.paths import Components, TriplePaths
from kg2rag.retrievers import linking
from kg2rag.retrievers.around import Related, passages_naming, related_entities
from kg2rag.retrievers.dense import Dense, VectorRetriever
from kg2rag.retrievers.linking.linkers import ChainLinker, Link, Linker, linked_entities
from kg2rag.text.normalisation import entity_key
from kg2rag.types import (
    Count,
    FloatArray,
    IntArray,
    Notes,
    ParameterError,
    Query,
    Ranking,
    Trace,
    Weight,
    check,
    number,
    step,
)

COLOUR = "#009E73"  # in plots

EVERY_LINK = 1_000  # more than a query names: the limit applies to what is left after the types


@dataclass(frozen=True)
class VectorFirstNotes(Notes):
    """The design's record of a query.

    `retrieval_strategy` : "vector_only" or "vector_first_graph_augmented". `relationship_paths` : passage id -> how the
    graph led there, such as `Server -[HOSTS]-> Service`.
    """

    retrieval_strategy: str = ""
    expanded_entities: tuple[str, ...] = ()
    relationship_paths: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class VectorFirst(VectorRetriever):
    """Dense hits first, then passages of related documents, merged by similarity and relatedness.

    An augmented passage scores similarity · (1 + boost · strength · confidence), or as `scoring` says; a dense hit its
    similarity. Stages are the design's sources, "vector" and "graph_augmented"; of "vector_only" the notes
    (`VectorFirstNotes`) have the reason as `warning`, and of a token limit the hits left out.

    Parameters
    ----------
    depth : dense hits.
    types : the domain schema: only entities of these types are linked; case and punctuation do not matter. None takes
        all of the graph's. A type that the graph lacks is refused at the first query.
    entities : of a query, at most; the longest names.
    hops : how far related entities may be, 1 to 3.
    limit : related entities of each, at most, nearest and strongest first.
    max_augmented : augmented passages, the most similar.
    max_total : hits in all.
    boost : of related passages, at least 0.
    scoring : "boost"; "plain", similarity · (1 + boost); "product", that times strength times confidence.
    max_tokens : of all hits' contents together, counted by the encoder's tokenizer; None for no limit.
    use_graph : False is the vector search alone, the other side of `ab`.
    linker : finds the query's entities, as such or by name (`retrievers.linking.LINKERS`); every name in its words.
    fallback : the same for queries in which that finds none of the types, such as "llm(MODEL@BASE_URL)".
    """

    kb: KnowledgeBase = field(repr=False)
    depth: Count = 10
    types: Sequence[str] | None = None
    entities: Count = 5
    hops: Hops = 1
    limit: Count = 20
    max_augmented: Count = 5
    max_total: Count = 15
    boost: Weight = 0.1
    scoring: Literal["boost", "plain", "product"] = "boost"
    max_tokens: Count | None = 4000
    use_graph: bool = True
    linker: str | Linker = f"ngram(limit={EVERY_LINK})"
    fallback: str | Linker | None = None

    def __post_init__(self) -> None:
        if self.types is not None:
            given = (self.types,) if isinstance(self.types, str) else tuple(self.types)
            object.__setattr__(self, "types", given)
        check(self)
        _ = self._linker  # refuses a name that is not known before any work

    @cached_property
    def _linker(self) -> Linker:
        given = (self.linker,) if self.fallback is None else (self.linker, self.fallback)
        return ChainLinker(
            tuple(OfTypes(linking.of(one, self.kb), self.kb, self.types, self.entities) for one in given)
        )

    def ab(self) -> dict[str, VectorFirst]:
        """Two systems, without and with the graph: `kg2rag.compare(VectorFirst(kb).ab(), data)` is the A/B test."""
        return {"vector_only": replace(self, use_graph=False), "vector_first": replace(self, use_graph=True)}

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One dense search and one token count for the batch."""
        if not queries:
            return []
        dense = Dense(self.kb).retrieve_batch(queries, self.depth)
        columns = zip(queries, dense, self._link(queries), self.kb.candidates(queries), strict=True)
        merged = [self._augment(*column) for column in columns]
        if self.max_tokens is not None:
            merged = cut(merged, self.kb.corpus.contents, counter_of(self.kb.embedder), self.max_tokens)
        return [ranking.top(k) for ranking in merged]

    def _link(self, queries: Sequence[Query]) -> list[list[Link]]:
        if not self.use_graph:
            return [[] for _ in queries]
        require_types(self.kb, self.types)
        return self._linker.link_batch(queries)

    def _related(self, links: Sequence[Link]) -> list[Related]:
        return related_entities(self.kb, links, self.hops, _certainty, limit=self.limit)

    def _augment(self, query: Query, dense: Ranking, links: Sequence[Link], mask: IntArray | None) -> Ranking:
        related = self._related(links)
        sources = related_documents(self.kb, related, dense.rows, mask)
        rows, similarity = self._nearest(query, list(sources), mask)
        leading = [sources[self.kb.corpus.doc_ids[row]] for row in rows.tolist()]
        strength = np.array([near.strength for near in leading])
        confidence = np.array([near.confidence for near in leading])
        augmented, formula = self._combined(similarity, strength * confidence)
        blank, graph = np.full(len(dense), np.nan), self.kb.graph
        paths = TriplePaths(graph, dict(zip(rows.tolist(), leading, strict=True)), attrgetter("path"))
        formulas = {"vector": "similarity", "graph_augmented": formula}
        return Ranking.of(
            query.id,
            np.concatenate([dense.rows, rows]),
            np.concatenate([dense.scores, augmented]),
            dense.ids,
            stages=("vector", "graph_augmented"),
            stage_codes=np.repeat([0, 1], [len(dense), len(rows)]),
            score_parts={
                "similarity": np.concatenate([dense.scores, similarity]),
                "strength": np.concatenate([blank, strength]),
                "confidence": np.concatenate([blank, confidence]),
            },
            paths=paths,
            notes=VectorFirstNotes(
                formulas,
                {"vector": "dense", "graph_augmented": "graph"},
                warning="" if links else self._why_vector_only(),
                entities=linked_entities(self.kb, links),
                retrieval_strategy="vector_first_graph_augmented" if links else "vector_only",
                expanded_entities=tuple(graph.names[near.entity] for near in related),
                relationship_paths={dense.ids[row]: "; ".join(map(str, path)) for row, path in paths.items()},
            ),
        ).top(self.max_total)

    def _combined(self, similarity: FloatArray, certainty: FloatArray) -> tuple[FloatArray, str]:
        """The scores of augmented passages and their formula."""
        if self.scoring == "boost":
            formula = f"similarity · (1 + {number(self.boost)} · strength · confidence)"
            return similarity * (1 + self.boost * certainty), formula
        plain, formula = similarity * (1 + self.boost), f"similarity · {number(1 + self.boost)}"
        return (
            (plain, formula) if self.scoring == "plain" else (plain * certainty, f"{formula} · strength · confidence")
        )

    def _nearest(self, query: Query, documents: Sequence[str], mask: IntArray | None) -> tuple[IntArray, FloatArray]:
        """The passages of some documents most similar to the query."""
        if not documents:
            return np.empty(0, dtype=np.int64), np.empty(0)
        rows = rows_of(self.kb, documents)
        if mask is not None:
            rows = rows[np.isin(rows, mask)]
        similarity = self.kb.dense.cosines(self.kb.encode_queries([query])[0], rows)
        order = np.lexsort((rows, -similarity))[: self.max_augmented]
        return rows[order], similarity[order]

    def _why_vector_only(self) -> str:
        return why_none(self.kb, self.types) if self.use_graph else "use_graph is False"

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """Whether the query's entities lead to a passage, to its document, and whether the limits let it in."""
        whole, joined = replace(self, max_tokens=None), Components.of_graph(self.kb.graph)
        uncut, cut_ = whole.retrieve_batch(queries, self.max_total), self.retrieve_batch(queries, self.max_total)
        unread, traces = f"not among the first {self.depth} dense hits, and ", []
        unrelated = f"{unread}no related entity is named in its document"
        limits = f"beyond the {self.max_augmented} augmented or the {self.max_total} passages in all"
        columns = zip(
            queries, Dense(self.kb).retrieve_batch(queries, self.depth), self._link(queries), uncut, cut_, strict=True
        )
        for query, dense, links, before, after in columns:
            names = [link.entity for link in links]
            related = self._related(links)
            sources = related_documents(self.kb, related, dense.rows, self.kb.candidates([query])[0])
            met = rows_of(self.kb, list(sources))
            why = "no entity of the query leads to it" if links else self._why_vector_only()
            steps = (
                step("linked", "entity not linked", unread + why, joined.rows_with(names), met, before.rows),
                step("related", "not expanded", unrelated, met, before.rows),
                step("added", "pruned", limits, before.rows),
                step("within the tokens", "cut by budget", f"beyond max_tokens = {self.max_tokens}", after.rows),
            )
            traces.append(Trace(after.top(k), steps))
        return traces


def _certainty(near: Related) -> float:
    return near.strength * near.confidence


@dataclass(frozen=True)
class OfTypes:
    """The first `limit` entities that a linker finds of some types.

    `types`: case and punctuation do not matter; None for all types.
    """

    linker: Linker
    kb: KnowledgeBase
    types: Sequence[str] | None
    limit: int

    def link_batch(self, queries: Sequence[Query]) -> list[list[Link]]:
        """The links of each query, in the linker's order."""
        keys = None if self.types is None else frozenset(map(entity_key, self.types))
        kinds = self.kb.graph.types
        return [
            [link for link in links if keys is None or entity_key(kinds[link.entity]) in keys][: self.limit]
            for links in self.linker.link_batch(queries)
        ]


def require_types(kb: KnowledgeBase, types: Sequence[str] | None) -> None:
    """ParameterError where the graph has entities and lacks a type: every query would get the dense ranking."""
    known = {entity_key(kind): kind for kind in kb.graph.entity_types}
    for kind in types or () if kb.graph.n_entities else ():
        if entity_key(kind) not in known:
            has = f"It has: {', '.join(known.values())}." if known else "Its entities have no types: leave `types` out."
            raise ParameterError(f"types: the graph lacks the entity type {kind!r}. {has}")


def why_none(kb: KnowledgeBase, types: Sequence[str] | None) -> str:
    """Why a query may name no entity of some types: the graph has none, or the query names none of them."""
    if not kb.graph.n_entities:
        return "the graph has no entity"
    if types is None:
        return "the query names no entity of the graph"
    return f"the query names no entity of the types {', '.join(map(repr, types))}"


def related_documents(
    kb: KnowledgeBase, related: Sequence[Related], retrieved: IntArray, mask: IntArray | None
) -> dict[str, Related]:
    """Documents that name a related entity and have no passage retrieved -> the entity that led there."""
    doc_ids = kb.corpus.doc_ids
    known = {doc_ids[row] for row in retrieved.tolist()}
    documents: dict[str, Related] = {}
    for near in related:
        for row in passages_naming(kb, near.entity, mask)[0].tolist():
            if doc_ids[row] not in known:
                documents.setdefault(doc_ids[row], near)
    return documents


def rows_of(kb: KnowledgeBase, documents: Sequence[str]) -> IntArray:
    """The passages of some documents, document by document."""

    def by_document() -> dict[str, list[int]]:
        rows = defaultdict[str, list[int]](list)
        for row, document in enumerate(kb.corpus.doc_ids):
            rows[document].append(row)
        return rows

    found = kb.cached("rows_by_document", by_document)
    return np.array([row for document in documents for row in found[document]], dtype=np.int64)
