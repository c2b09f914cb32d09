"""A knowledge base -> HippoRAG's phrases, facts, their vectors, and the graph of both.

A phrase is an end of a triple under HippoRAG's normalisation, which merges fewer spellings than
`KnowledgeGraph`: phrases come from the source's triples, not from the graph's. Importers drop blank
parts and parts that are no strings, and count them in their notes; HippoRAG keeps these. All
settings of both systems share the built parts.

Edge weights follow the released code (commit c617143f) of [1]: 2 between the ends of a fact for each
statement; 1 between a passage and its phrases; between synonyms their cosine for each direction,
which replaces a fact's weight. Ours: a statement without a passage joins only its ends; passages of
equal contents remain separate.

[1] Gutiérrez et al., "From RAG to Memory: Non-Parametric Continual Learning for Large Language
Models", ICML 2025.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import groupby, pairwise, starmap
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from kg2rag.compute.code_version import code_version
from kg2rag.knowledge import DenseIndex, KnowledgeBase
from kg2rag.knowledge.graph.csr import Incidence, gather, incidence
from kg2rag.knowledge.graph.pagerank import WalkGraph
from kg2rag.types import Corpus, FloatArray, IntArray, Matrix, Triple

# The maximum of edges in an explaining path; the rank of farther passages has other causes.
MAX_STEPS = 3
MAX_SYNONYMS = 101  # per phrase, as in the released code
BLOCK_ROWS = (
    256  # rows that are compared together: with 100,000 others, 100 MB of cosines
)
SLACK = (
    1e-4  # the margin below the threshold within which float32 cosines are recomputed
)
_PUNCTUATION = re.compile(r"[^A-Za-z0-9 ]")


def phrase_of(name: str) -> str:
    """A name in lower case; other characters than ASCII letters and digits become spaces.

    >>> phrase_of("S. R. Puttanna (director)")
    's  r  puttanna  director'
    """
    return _PUNCTUATION.sub(" ", name.lower()).strip()


@dataclass(frozen=True, eq=False)
class PhraseTable:
    """Phrases, the facts between them, and the passages that state these.

    Attributes
    ----------
    phrases : the distinct ends of facts, sorted.
    facts : the distinct triples of normalised parts, in the order of their first statements. Their `repr` is encoded.
    ends : (n_facts, 2) the phrases at the head and tail of each fact.
    statements : the triples as spelled; a triple that two passages state is two statements.
    fact_of : (n_statements,) the fact of each statement.
    rows : (n_statements,) the corpus row of each statement; -1 for a statement without a passage.
    """

    phrases: list[str]
    facts: list[tuple[str, str, str]]
    ends: IntArray
    statements: list[Triple]
    fact_of: IntArray
    rows: IntArray
    n_passages: int

    @classmethod
    def build(cls, triples: Iterable[Triple], corpus: Corpus) -> PhraseTable:
        """The table of a corpus's triples; exact repetitions within a passage count once."""
        first: dict[tuple[str, ...], Triple] = {}
        for triple in triples:
            first.setdefault(
                (triple.passage_id, triple.head, triple.relation, triple.tail), triple
            )
        fact_code: dict[tuple[str, str, str], int] = {}
        fact_of = []
        rows = []
        for triple in first.values():
            fact = (
                phrase_of(triple.head),
                phrase_of(triple.relation),
                phrase_of(triple.tail),
            )
            fact_of.append(fact_code.setdefault(fact, len(fact_code)))
            rows.append(corpus.row(triple.passage_id) if triple.passage_id else -1)
        ends = np.array(
            [(head, tail) for head, _, tail in fact_code], dtype=object
        ).reshape(-1, 2)
        phrases, end_codes = np.unique(ends, return_inverse=True)
        return cls(
            phrases.tolist(),
            list(fact_code),
            end_codes.reshape(-1, 2).astype(np.int64),
            list(first.values()),
            np.array(fact_of, dtype=np.int64),
            np.array(rows, dtype=np.int64),
            len(corpus),
        )

    @cached_property
    def by_phrase(self) -> Incidence:
        """Phrase -> the statements that have it as an end."""
        owners = self.ends[self.fact_of].ravel()
        return incidence(
            owners,
            np.repeat(np.arange(len(self.fact_of)), 2),
            np.ones_like(owners),
            len(self.phrases),
        )

    @cached_property
    def passages(self) -> Incidence:
        """Phrase -> the corpus rows whose triples have it as an end."""
        rows = self.rows[self.by_phrase.others]
        is_stated = rows >= 0
        owners = self.by_phrase.owners[is_stated]
        return incidence(
            owners, rows[is_stated], np.ones_like(rows[is_stated]), len(self.phrases)
        )

    @cached_property
    def specificity(self) -> FloatArray:
        """(n_phrases,) the specificity of each phrase: 1 / number of its passages, or 1."""
        return 1.0 / np.maximum(np.diff(self.passages.indptr), 1)

    def stated_in(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """The facts that the passages in `rows` state, and the phrases of these facts, ascending."""
        facts = np.unique(self.fact_of[np.isin(self.rows, rows)])
        return facts, np.unique(self.ends[facts])


class Synonyms(NamedTuple):
    """Ordered pairs of similar phrases, (n_pairs,) each, by source, descending cosine, and target."""

    sources: IntArray
    targets: IntArray
    cosines: FloatArray

    def save(self, folder: Path) -> None:
        """Write the columns as .npy files."""
        for name, column in self._asdict().items():
            np.save(folder / f"{name}.npy", column)

    @classmethod
    def load(cls, folder: Path) -> Synonyms:
        """Read what `save` wrote."""
        return cls(*(np.load(folder / f"{name}.npy") for name in cls._fields))


def synonyms(
    vectors: Matrix,
    threshold: float,
    sources: IntArray,
    targets: IntArray,
    limit: int = MAX_SYNONYMS,
) -> Synonyms:
    """The pairs of a source and a target with a cosine of at least `threshold`; O(n_rows²).

    Matrix products propose the pairs, block by block. The cosines of these are computed again in
    float64, pair by pair, so that no cosine depends on the block or the number of threads.

    Parameters
    ----------
    vectors : (n_rows, dim) of norm 1.
    sources, targets : ascending rows.
    limit : the maximum of pairs per source, the most similar; ties by row.
    """
    results = [Synonyms(sources[:0], targets[:0], np.empty(0))]
    target_vectors = np.ascontiguousarray(vectors[targets].T, dtype=np.float32)
    for first in range(0, len(sources), BLOCK_ROWS):
        block = sources[first : first + BLOCK_ROWS]
        products = vectors[block].astype(np.float32) @ target_vectors
        for row, near in zip(
            block.tolist(), products >= threshold - SLACK, strict=True
        ):
            results.append(_nearest(vectors, row, targets[near], threshold, limit))
    return Synonyms(*map(np.concatenate, zip(*results, strict=True)))


def _nearest(
    vectors: Matrix, row: int, candidates: IntArray, threshold: float, limit: int
) -> Synonyms:
    """The pairs of one row with its most similar candidates, at most `limit`."""
    targets = candidates[candidates != row]
    cosines = np.einsum(
        "ij,j->i", vectors[targets].astype(np.float64), vectors[row].astype(np.float64)
    )
    best = np.lexsort((targets, -cosines))
    best = best[cosines[best] >= threshold][:limit]
    return Synonyms(np.full(len(best), row), targets[best], cosines[best])


@dataclass(frozen=True, eq=False)
class PhraseGraph:
    """The graph of the walk: node i is phrase i, node n_phrases + row is a passage."""

    table: PhraseTable
    synonyms: Synonyms

    @property
    def n_phrases(self) -> int:
        """The number of phrases, which are the first nodes."""
        return len(self.table.phrases)

    @cached_property
    def walk(self) -> WalkGraph:
        """The graph of phrases and passages."""
        return WalkGraph.undirected(
            *self.edges(), self.n_phrases + self.table.n_passages
        )

    @cached_property
    def _phrases_only(self) -> WalkGraph:
        return self.walk.induced(np.arange(self.n_phrases, dtype=np.int64))

    def walked(self, passages: bool) -> WalkGraph:
        """The graph, or without `passages` its phrases only, as in the first HippoRAG."""
        return self.walk if passages else self._phrases_only

    def scope(
        self, candidate_rows: IntArray | None, passages: bool = True
    ) -> NDArray[np.bool_] | None:
        """(n_nodes,) whether a walk may enter a node: a candidate passage, or a phrase of one.

        None allows all nodes.
        """
        if candidate_rows is None:
            return None
        nodes = self.table.stated_in(candidate_rows)[1]
        if passages:
            nodes = np.append(nodes, self.n_phrases + candidate_rows)
        return self.walked(passages).mask(nodes)

    def edges(self) -> tuple[IntArray, IntArray, FloatArray]:
        """The sources, targets and weights of the edges, (n_edges,) each, without self-loops.

        An ordered pair is one edge; the weights of both directions are added for walks.
        """
        table = self.table
        n_nodes = self.n_phrases + table.n_passages
        heads, tails = table.ends[table.fact_of].T
        fact_keys, counts = np.unique(
            np.append(heads * n_nodes + tails, tails * n_nodes + heads),
            return_counts=True,
        )
        synonym_keys = self.synonyms.sources * n_nodes + self.synonyms.targets
        is_fact = ~np.isin(fact_keys, synonym_keys)
        member_keys = (
            self.n_phrases + table.passages.others.astype(np.int64)
        ) * n_nodes + table.passages.owners
        keys = np.concatenate([fact_keys[is_fact], synonym_keys, member_keys])
        weights = np.concatenate(
            [counts[is_fact], self.synonyms.cosines, np.ones(len(member_keys))]
        ).astype(np.float64)
        sources, targets = np.divmod(keys, n_nodes)
        is_loop = sources == targets
        return sources[~is_loop], targets[~is_loop], weights[~is_loop]

    def node_paths(
        self, starts: IntArray, rows: IntArray, candidate_rows: IntArray | None
    ) -> dict[int, list[int]]:
        """Corpus row -> the nodes of a shortest path from a start to it, over the heaviest edges.

        The path explains a hit; the score comes from all walks. `candidate_rows` : the passages that the
        path may enter; None for all.
        """
        parents = self._parents(starts, candidate_rows)
        node_paths: dict[int, list[int]] = {}
        for row in rows[parents[self.n_phrases + rows] >= 0].tolist():
            path = [self.n_phrases + row]
            while parents[path[-1]] != path[-1]:
                path.append(int(parents[path[-1]]))
            node_paths[row] = path[::-1]
        return node_paths

    def _parents(self, starts: IntArray, candidate_rows: IntArray | None) -> IntArray:
        """(n_nodes,) the predecessor of each node on a shortest path from a start.

        The predecessor of a start is the start; that of a node beyond `MAX_STEPS` is -1.
        """
        walk = self.walk
        parents = np.full(walk.n_nodes, -1, dtype=np.int64)
        is_open = self.scope(candidate_rows)
        if is_open is None:
            is_open = np.ones(walk.n_nodes, dtype=bool)
        parents[starts] = starts
        frontier = starts
        for _ in range(MAX_STEPS):
            edges = gather(walk.indptr, frontier)[0]
            edges = edges[
                (parents[walk.sources[edges]] < 0) & is_open[walk.sources[edges]]
            ]
            nodes = walk.sources[edges].astype(np.int64)
            order = np.lexsort((walk.targets[edges], -walk.weights[edges], nodes))
            frontier, first = np.unique(nodes[order], return_index=True)
            parents[frontier] = walk.targets[edges][order][first]
        return parents

    def triples(self, nodes: Sequence[int]) -> tuple[Triple, ...]:
        """The triples of a path, one per step; equal successive triples count once."""
        return tuple(
            triple for triple, _ in groupby(starmap(self._step, pairwise(nodes)))
        )

    def _step(self, a: int, b: int) -> Triple:
        """The triple of a step: the first statement that joins its nodes, else their synonymy.

        A statement joins two phrases if these are its ends, and a phrase and a passage that states it.
        """
        table = self.table
        phrase, node = sorted((a, b))  # passages come after all phrases
        statements = table.by_phrase.of(phrase)[0]
        if node >= self.n_phrases:
            joins = table.rows[statements] == node - self.n_phrases
        else:
            joins = (table.ends[table.fact_of[statements]] == node).any(axis=1)
        if joins.any():
            return table.statements[int(statements[joins][0])]
        sources, targets, cosines = self.synonyms
        is_pair = (np.minimum(sources, targets) == phrase) & (
            np.maximum(sources, targets) == node
        )
        strength = 10 * min(float(cosines[is_pair][0]), 1.0)
        return Triple(table.phrases[a], "synonym of", table.phrases[b], "", strength)


def phrases(kb: KnowledgeBase) -> PhraseTable:
    """HippoRAG's phrases and facts from the source's triples, which the store keeps."""

    def write(folder: Path) -> None:
        columns = {
            field.name: list(map(attrgetter(field.name), kb.extraction.triples))
            for field in fields(Triple)
        }
        pq.write_table(pa.table(columns), folder / "triples.parquet")

    def built() -> PhraseTable:
        key = {
            "corpus": kb.corpus.fingerprint,
            "source": kb.source.fingerprint,
            "rules": code_version("types", "text", "extraction", "llm"),
        }
        stored = pq.read_table(
            kb.store.entry("phrases", key, write) / "triples.parquet"
        )
        return PhraseTable.build(
            (Triple(**row) for row in stored.to_pylist()), kb.corpus
        )

    return kb.cached("phrases", built, from_graph=True)


def phrase_vectors(kb: KnowledgeBase) -> DenseIndex:
    """The index for exact cosine search over `phrases(kb).phrases`."""
    return kb.cached(
        "phrase_vectors", lambda: DenseIndex(kb.encode(phrases(kb).phrases))
    )


def fact_vectors(kb: KnowledgeBase) -> DenseIndex:
    """The index for exact cosine search over `phrases(kb).facts`."""
    return kb.cached("fact_vectors", lambda: DenseIndex(kb.encode(fact_texts(kb))))


def fact_texts(kb: KnowledgeBase) -> list[str]:
    """The text of each fact for the encoder."""
    return list(map(repr, phrases(kb).facts))


def phrase_graph(kb: KnowledgeBase, threshold: float) -> PhraseGraph:
    """The graph of HippoRAG's walk; phrases with a cosine of `threshold` or more are synonyms."""

    def built() -> PhraseGraph:
        table = phrases(kb)
        digest = hashlib.sha256("\n".join(table.phrases).encode()).hexdigest()
        key = {
            "phrases": digest,
            "encoder": kb.embedder.fingerprint(kb.store),
            "threshold": threshold,
        }

        # A phrase of one or two characters is no source of synonyms, an empty one no target.
        def write(folder: Path) -> None:
            lengths = np.array(
                [len(phrase.replace(" ", "")) for phrase in table.phrases]
            )
            starts, ends = np.flatnonzero(lengths > 2), np.flatnonzero(lengths)
            synonyms(phrase_vectors(kb).vectors, threshold, starts, ends).save(folder)

        return PhraseGraph(table, Synonyms.load(kb.store.entry("synonyms", key, write)))

    return kb.cached(("phrase_graph", threshold), built)
