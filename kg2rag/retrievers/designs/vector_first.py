"""Query -> dense hits, and the best passages of documents related to the query's entities.

The vector-first design: the graph adds to the vector search and displaces none of its hits. Theirs:
every default, the document step, source and relationship path of each hit. Ours:

- The weight of strength and confidence. The design's boost is the constant 1 + 0.1 ("plain"), yet both should count.
- A document that several related entities lead to is attributed to the one with the greatest strength · confidence.
- The token limit: a hit that does not fit is skipped, the next one is tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd

from kg2rag.compute import counter_of, cut
from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.neighbourhood import Hops
from kg2rag.knowledge.graph.paths import triple_paths
from kg2rag.retrievers import linking
from kg2rag.retrievers.contract import DesignAliases
from kg2rag.retrievers.dense import Dense, VectorRetriever
from kg2rag.retrievers.linking.linkers import (
    ChainLinker,
    Link,
    Linker,
    linked_entities,
    unlinked_names,
)
from kg2rag.retrievers.neighbour_passages import (
    LinksEntities,
    Related,
    components,
    passages_naming,
    related_entities,
)
from kg2rag.text.normalisation import entity_key
from kg2rag.types import (
    Count,
    FloatArray,
    IntArray,
    Notes,
    ParameterError,
    Paths,
    Query,
    Ranking,
    Step,
    Weight,
    number,
    step,
)

COLOUR = "#009E73"  # in plots
ALIASES = DesignAliases(
    "vector-first",
    (
        ("vector_top_k, top_k", "depth", "dense hits"),
        ("graph_expansion_depth, max_hops", "hops", "its depth is steps in the graph"),
        ("limit", "limit", "of the related entities of each"),
        ("max_augmented_chunks", "max_augmented", ""),
        ("max_total_chunks", "max_total", ""),
        ("graph_boost", "boost", ""),
        ("domain_schema", "types", "they reach a language model that links, too"),
        (
            "mode",
            "linker",
            '"ngram(limit=1000)+llm(MODEL@BASE_URL)"; no model by default',
        ),
        ("enabled, graph_enabled", "use_graph", ""),
        (
            "retrieval_strategy, relationship_path",
            "VectorFirstNotes",
            "its fields of these names",
        ),
        ("source_type", "Hit.stage", '"vector" or "graph_augmented"'),
        ("kb_id", "kb", "the knowledge base itself"),
        ("graph_context", "kg2rag.context(…).graph_context", ""),
    ),
)


@dataclass(frozen=True)
class VectorFirstNotes(Notes):
    """The design's record of a query.

    `retrieval_strategy` : "vector_only" or "vector_first_graph_augmented". `relationship_paths` : id -> `A -[R]-> B`.
    """

    retrieval_strategy: str = ""
    expanded_entities: tuple[str, ...] = ()
    relationship_paths: Mapping[str, str] = field(default_factory=dict)


@ALIASES
@dataclass(frozen=True)
class VectorFirst(LinksEntities, VectorRetriever):
    """Dense hits first, then passages of related documents, merged by similarity and relatedness.

    The score of an augmented passage is similarity · (1 + boost · strength · confidence), or that of
    `scoring`; the score of a dense hit is its similarity. Stages are the design's sources, "vector" and
    "graph_augmented". The notes (`VectorFirstNotes`) have the reason for "vector_only" as `warning`,
    and the hits that a token limit left out.

    Parameters
    ----------
    depth : the number of dense hits.
    types : the domain schema: the linked types, without case and punctuation; None for all. Unknown ones are refused.
    entities : the maximum of entities per query; the longest names count.
    hops : the maximum distance of related entities, 1 to 3.
    limit : the maximum of related entities per entity, nearest and strongest first.
    max_augmented : the maximum of augmented passages, the most similar.
    max_total : the maximum of hits.
    boost : the boost of related passages, at least 0.
    scoring : "boost"; "plain", similarity · (1 + boost); "product", that times strength times confidence.
    max_tokens : the token limit of all hits together, by the encoder's tokenizer; None for no limit.
    use_graph : False is only the vector search.
    linker : finds the query's entities, an object or a name of `retrievers.linking.LINKERS`; by default every name in
        its words. In a chain, "ngram(limit=1000)+llm(MODEL@BASE_URL)", the first linker with links of the types
        decides.
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
    # Larger than any number of entities in a query: `entities` limits those with the types.
    linker: str | Linker = "ngram(limit=1000)"

    def __post_init__(self) -> None:
        if self.types is not None:
            types = (self.types,) if isinstance(self.types, str) else tuple(self.types)
            if not types:
                raise ParameterError(
                    "types is empty, so no entity could be linked: name types, or leave it out for all."
                )
            object.__setattr__(self, "types", types)
        super().__post_init__()

    @cached_property
    def entity_linker(self) -> Linker:
        """The linker, or each linker of a chain, restricted to the types."""
        linker = linking.of(self.linker, self.kb)
        members = linker.linkers if isinstance(linker, ChainLinker) else (linker,)
        typed = [
            TypedLinker(member, self.kb, self.types, self.entities)
            for member in members
        ]
        return ChainLinker(tuple(typed))

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One dense search and one token count for the batch."""
        dense = Dense(self.kb).retrieve_batch(queries, self.depth)
        candidates = self.kb.candidates(queries)
        merged = list(
            map(self._augment, queries, dense, self._link(queries), candidates)
        )
        if self.max_tokens is not None:
            counter = counter_of(self.kb.embedder)
            merged = cut(merged, self.kb.corpus.contents, counter, self.max_tokens)
        return [ranking.top(k) for ranking in merged]

    def _link(self, queries: Sequence[Query]) -> list[list[Link]]:
        return (
            self.entity_linker.link_batch(queries)
            if self.use_graph
            else [[] for _ in queries]
        )

    def _related(self, links: Sequence[Link]) -> list[Related]:
        return related_entities(
            self.kb,
            links,
            self.hops,
            lambda near: near.strength * near.confidence,
            limit=self.limit,
        )

    def _augment(
        self,
        query: Query,
        dense: Ranking,
        links: Sequence[Link],
        candidate_rows: IntArray | None,
    ) -> Ranking:
        related = self._related(links)
        """The dense hits of a query, then the augmented passages."""
        entity_of, rows = self._documents(related, dense.rows, candidate_rows)
        similarity = self.kb.dense.cosines(self.kb.encode_queries([query])[0], rows)
        nearest = np.lexsort((rows, -similarity))[: self.max_augmented]
        rows = rows[nearest]
        similarity = similarity[nearest]
        related_of = {
            row: entity_of[self.kb.corpus.doc_ids[row]] for row in rows.tolist()
        }
        strength = np.array([near.strength for near in related_of.values()])
        confidence = np.array([near.confidence for near in related_of.values()])
        scores, formula = self._score(similarity, strength * confidence)
        paths: Paths = {}
        if related_of:  # else the graph is not read
            path_of = {row: near.path for row, near in related_of.items()}
            paths = triple_paths(self.kb.graph, path_of)
        notes = VectorFirstNotes(
            {"vector": "similarity", "graph_augmented": formula},
            {"vector": "dense", "graph_augmented": "graph"},
            warning="" if links else self._why_vector_only(),
            entities=linked_entities(self.kb, links),
            unlinked=unlinked_names(query, links),
            retrieval_strategy="vector_first_graph_augmented"
            if links
            else "vector_only",
            expanded_entities=tuple(
                self.kb.graph.names[near.entity] for near in related
            ),
            relationship_paths={
                dense.ids[row]: "; ".join(map(str, paths.get(row, ())))
                for row in related_of
            },
        )
        parts = {
            "similarity": similarity,
            "strength": strength,
            "confidence": confidence,
        }
        groups = {
            "vector": (dense.rows, dense.scores, {"similarity": dense.scores}),
            "graph_augmented": (rows, scores, parts),
        }
        return Ranking.from_groups(query.id, groups, dense.ids, paths, notes).top(
            self.max_total
        )

    def _score(
        self, similarity: FloatArray, relatedness: FloatArray
    ) -> tuple[FloatArray, str]:
        """The scores of augmented passages, (n_passages,), and their formula.

        `relatedness` : strength · confidence.
        """
        if self.scoring == "boost":
            formula = f"similarity · (1 + {number(self.boost)} · strength · confidence)"
            return similarity * (1 + self.boost * relatedness), formula
        formula = f"similarity · {number(1 + self.boost)}"
        if self.scoring == "plain":
            return similarity * (1 + self.boost), formula
        return similarity * (
            1 + self.boost
        ) * relatedness, f"{formula} · strength · confidence"

    def _documents(
        self,
        related: Sequence[Related],
        retrieved: IntArray,
        candidate_rows: IntArray | None,
    ) -> tuple[dict[str, Related], IntArray]:
        """New document id -> the first related entity that it names; and the rows of these documents.

        `related` : in descending order. `retrieved` : the rows of the dense hits.
        """
        ids = self.kb.corpus.doc_ids
        rows_of = self.kb.cached(
            "rows_by_document",
            lambda: pd.Series(ids).groupby(np.array(ids, object)).indices,
        )
        retrieved_ids = {ids[row] for row in retrieved.tolist()}
        documents: dict[str, Related] = {}
        for near in related:
            for row in passages_naming(self.kb, near.entity, candidate_rows)[
                0
            ].tolist():
                if ids[row] not in retrieved_ids:
                    documents.setdefault(ids[row], near)
        rows = np.concatenate(
            [np.empty(0, dtype=np.int64), *map(rows_of.__getitem__, documents)]
        )
        if candidate_rows is not None:
            rows = rows[np.isin(rows, candidate_rows)]
        return documents, rows

    def _why_vector_only(self) -> str:
        if not self.use_graph:
            return "use_graph is False"
        if not self.kb.graph.n_entities:
            return "the graph has no entity"
        if self.types is None:
            return "the query names no entity of the graph"
        return (
            f"the query names no entity of the types {', '.join(map(repr, self.types))}"
        )

    @property
    def trace_depth(self) -> int:
        """The maximum of hits."""
        return self.max_total

    def steps(self, query: Query, ranking: Ranking) -> tuple[Step, ...]:
        """The steps: linking to a passage's entity, to its document, and the limits."""
        (links,) = self._link([query])
        (candidate_rows,) = self.kb.candidates([query])
        (dense,) = Dense(self.kb).retrieve_batch([query], self.depth)
        (uncut,) = replace(self, max_tokens=None).retrieve_batch(
            [query], self.max_total
        )
        linked = components(self.kb).rows_with(link.entity for link in links)
        _, related = self._documents(self._related(links), dense.rows, candidate_rows)
        unread = f"not among the first {self.depth} dense hits, and "
        why = "no entity of the query leads to it" if links else self._why_vector_only()
        unrelated = f"{unread}no related entity is named in its document"
        limits = f"beyond the {self.max_augmented} augmented or the {self.max_total} passages in all"
        budget = f"beyond max_tokens = {self.max_tokens}"
        return (
            step(
                "linked", "entity not linked", unread + why, linked, related, uncut.rows
            ),
            step("related", "not expanded", unrelated, related, uncut.rows),
            step("added", "pruned", limits, uncut.rows),
            step("within the tokens", "cut by budget", budget, ranking.rows),
        )


@dataclass(frozen=True)
class TypedLinker:
    """The first `limit` entities of some types that a linker finds.

    `types` : without case and punctuation; None for all.
    """

    linker: Linker
    kb: KnowledgeBase
    types: Sequence[str] | None
    limit: int

    def link_batch(self, queries: Sequence[Query]) -> list[list[Link]]:
        """The links of each query, in the linker's order; ParameterError: an unknown type."""
        graph, linker = self.kb.graph, self.linker
        if self.types is None or not graph.n_entities:
            return [links[: self.limit] for links in linker.link_batch(queries)]
        types = self._graph_types(self.types)
        if hasattr(linker, "with_types"):
            linker = linker.with_types(types)
        typed = []
        for links in linker.link_batch(queries):
            typed_links = [link for link in links if graph.types[link.entity] in types]
            typed.append(typed_links[: self.limit])
        return typed

    def _graph_types(self, types: Sequence[str]) -> tuple[str, ...]:
        """The types in the graph's spelling."""
        key_of = {kind: entity_key(kind) for kind in self.kb.graph.entity_types}
        keys = {entity_key(kind): kind for kind in types}
        for key, kind in keys.items():
            if key not in key_of.values():
                has = f"it has {', '.join(key_of) or 'none: leave `types` out'}"
                raise ParameterError(
                    f"types: the graph lacks the entity type {kind!r}; {has}."
                )
        return tuple(kind for kind, key in key_of.items() if key in keys)
