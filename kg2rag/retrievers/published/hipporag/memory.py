"""A knowledge base -> what HippoRAG derives from it: phrases, facts, their vectors, and the graph that joins them.

A phrase is an end of a triple under HippoRAG's own normalisation, which merges fewer spellings than `KnowledgeGraph`:
phrases are made of the source's triples, not of the graph's. What the importers drop before (blank parts, parts that
are no strings) is counted in their notes; HippoRAG would keep it. All settings of both systems share what is built.

Edges (theirs [1], as the released code behaves, commit c617143f): between the ends of a fact 2 for each statement;
between a passage and its phrases 1; between synonyms their cosine in each direction found, replacing a fact's weight.
Ours: statements without a passage join their ends and no passage; passages of equal contents stay two.

[1] Gutiérrez et al., "From RAG to Memory: Non-Parametric Continual Learning for Large Language Models", ICML 2025.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import groupby, pairwise, starmap
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from kg2rag.knowledge import DenseIndex, KnowledgeBase
from kg2rag.knowledge.graph.csr import Incidence, gather, incidence
from kg2rag.knowledge.graph.pagerank import WalkGraph
from kg2rag.knowledge.graph.synonyms import Synonyms, synonyms
from kg2rag.types import Corpus, FloatArray, IntArray, Triple

VERSION = 2  # raise it when the rules change, so that stored tables are rebuilt
MAX_STEPS = 3  # edges from a start to the passage; the rank of a passage farther away has other causes
_PUNCTUATION = re.compile(r"[^A-Za-z0-9 ]")


def phrase_of(name: str) -> str:
    """Lower case, everything but ASCII letters and digits a space, the ends stripped; it may end up empty.

    >>> phrase_of("S. R. Puttanna (director)")
    's  r  puttanna  director'
    """
    return _PUNCTUATION.sub(" ", name.lower()).strip()


@dataclass(frozen=True, eq=False)
class PhraseTable:
    """Phrases, the facts between them, and the passages that state these.

    Attributes
    ----------
    phrases : sorted.
    facts : triples of normalised parts, each once in the corpus, by first statement; what is encoded is their repr.
    ends : (n_facts, 2) phrases.
    statements : triples of one passage each, as spelled. fact_of, rows : (n_statements,) the fact of each, and the
        corpus row; -1 where no passage states it.
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
        stated = {(t.passage_id, t.head, t.relation, t.tail): t for t in reversed(list(triples))}
        kept = list(reversed(stated.values()))
        parts = [(phrase_of(t.head), phrase_of(t.relation), phrase_of(t.tail)) for t in kept]
        phrases = sorted({end for head, _, tail in parts for end in (head, tail)})
        code = {phrase: number for number, phrase in enumerate(phrases)}
        facts = {fact: number for number, fact in enumerate(dict.fromkeys(parts))}
        ends = np.array([(code[head], code[tail]) for head, _, tail in facts], dtype=np.int64).reshape(-1, 2)
        fact_of = np.array([facts[fact] for fact in parts], dtype=np.int64)
        rows = np.array([corpus.row(t.passage_id) if t.passage_id else -1 for t in kept], dtype=np.int64)
        return cls(phrases, list(facts), ends, kept, fact_of, rows, len(corpus))

    @cached_property
    def by_phrase(self) -> Incidence:
        """Phrase -> the statements that have it as an end."""
        owners = self.ends[self.fact_of].ravel()
        return incidence(owners, np.repeat(np.arange(len(self.fact_of)), 2), np.ones_like(owners), len(self.phrases))

    @cached_property
    def passages(self) -> Incidence:
        """Phrase -> the corpus rows whose triples have it as an end."""
        owners, rows = self.by_phrase.owners, self.rows[self.by_phrase.others]
        return incidence(owners[rows >= 0], rows[rows >= 0], np.ones_like(rows[rows >= 0]), len(self.phrases))

    @cached_property
    def specificity(self) -> FloatArray:
        """(n_phrases,) one over the number of passages that have the phrase, its specificity; 1 where none has."""
        return 1.0 / np.maximum(np.diff(self.passages.indptr), 1)

    def stated_in(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """The facts that some of these passages state, and the phrases of these facts; ascending."""
        facts = np.unique(self.fact_of[np.isin(self.rows, rows)])
        return facts, np.unique(self.ends[facts])


@dataclass(frozen=True, eq=False)
class PhraseGraph:
    """The graph of the walk: node i is phrase i, node n_phrases + row is the passage at that row."""

    table: PhraseTable
    synonyms: Synonyms

    @property
    def n_phrases(self) -> int:
        """How many nodes are phrases; they come first."""
        return len(self.table.phrases)

    @cached_property
    def walk(self) -> WalkGraph:
        """Phrases and passages."""
        return WalkGraph.undirected(*self.edges(), self.n_phrases + self.table.n_passages)

    @cached_property
    def _phrases_only(self) -> WalkGraph:
        return self.walk.induced(np.arange(self.n_phrases, dtype=np.int64))

    def walked(self, passages: bool) -> WalkGraph:
        """The graph, or without `passages` as the first HippoRAG walks it."""
        return self.walk if passages else self._phrases_only

    def scope(self, mask: IntArray | None, passages: bool = True) -> NDArray[np.bool_] | None:
        """(n_nodes,) the phrases of some passages and, of `passages`, these themselves; None for None."""
        if mask is None:
            return None
        nodes = np.append(self.table.stated_in(mask)[1], self.n_phrases + mask if passages else [])
        return self.walked(passages).mask(nodes.astype(np.int64))

    def edges(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Sources, targets and weights, (n_edges,) each: an ordered pair once, no self-loop; walks add up both ways."""
        table, n = self.table, self.n_phrases + self.table.n_passages
        heads, tails = table.ends[table.fact_of].T
        facts, counts = np.unique(np.append(heads * n + tails, tails * n + heads), return_counts=True)
        alike = self.synonyms.sources * n + self.synonyms.targets
        kept = ~np.isin(facts, alike)
        members = (self.n_phrases + table.passages.others.astype(np.int64)) * n + table.passages.owners
        keys = np.concatenate([facts[kept], alike, members])
        weights = np.concatenate([counts[kept], self.synonyms.cosines, np.ones(len(members))]).astype(np.float64)
        sources, targets = np.divmod(keys, n)
        proper = sources != targets
        return sources[proper], targets[proper], weights[proper]

    def ways(self, starts: IntArray, rows: IntArray, mask: IntArray | None) -> dict[int, list[int]]:
        """Corpus row -> the nodes on a shortest way there from a start, over the heaviest edge where several are.

        It explains a hit, whose score adds up all walks. `mask` : the passages that may be entered; None for all.
        """
        walk, parents = self.walk, np.full(self.walk.n_nodes, -1, dtype=np.int64)
        open_ = self.scope(mask)
        parents[starts] = frontier = starts
        for _ in range(MAX_STEPS):
            edges = gather(walk.indptr, frontier)[0]
            edges = edges[(parents[walk.sources[edges]] < 0) & (open_ is None or open_[walk.sources[edges]])]
            reached, sources = walk.sources[edges].astype(np.int64), walk.targets[edges]
            order = np.lexsort((sources, -walk.weights[edges], reached))
            frontier, first = np.unique(reached[order], return_index=True)
            parents[frontier] = sources[order][first]
        found = {row: [self.n_phrases + row] for row in rows[parents[self.n_phrases + rows] >= 0].tolist()}
        for way in found.values():
            while (before := int(parents[way[0]])) != way[0]:
                way.insert(0, before)
        return found

    def triples(self, way: Sequence[int]) -> tuple[Triple, ...]:
        """One triple a step; a way through a passage that one triple of it makes is that triple, once."""
        return tuple(triple for triple, _ in groupby(starmap(self._step, pairwise(way))))

    def _step(self, a: int, b: int) -> Triple:
        table, (phrase, other) = self.table, sorted((a, b))  # a passage would be the other
        stated, passage = table.by_phrase.of(phrase)[0], other - self.n_phrases
        at_ends = (table.ends[table.fact_of[stated]] == other).any(axis=1)
        if len(between := stated[at_ends if passage < 0 else table.rows[stated] == passage]):
            return table.statements[int(between[0])]
        sources, targets, cosines = self.synonyms
        alike = (np.minimum(sources, targets) == phrase) & (np.maximum(sources, targets) == other)
        strength = 10 * min(float(cosines[alike][0]), 1.0)
        return Triple(table.phrases[a], "synonym of", table.phrases[b], "", strength)


def phrases(kb: KnowledgeBase) -> PhraseTable:
    """HippoRAG's phrases and facts, of the source's triples, which the store keeps: extracting them may take long."""

    def write(folder: Path) -> None:
        columns = {each.name: [getattr(t, each.name) for t in kb.extraction.triples] for each in fields(Triple)}
        pq.write_table(pa.table(columns), folder / "triples.parquet")

    def built() -> PhraseTable:
        key = {"corpus": kb.corpus.fingerprint, "source": kb.source.fingerprint, "rules": VERSION}
        kept = pq.read_table(kb.store.entry("phrases", key, write) / "triples.parquet")
        return PhraseTable.build((Triple(**row) for row in kept.to_pylist()), kb.corpus)

    return kb.cached("phrases", built, from_graph=True)


def phrase_vectors(kb: KnowledgeBase) -> DenseIndex:
    """Exact cosine search over `phrases(kb).phrases`."""
    return kb.cached("phrase_vectors", lambda: DenseIndex(kb.encode(phrases(kb).phrases)))


def fact_vectors(kb: KnowledgeBase) -> DenseIndex:
    """Exact cosine search over `phrases(kb).facts`."""
    return kb.cached("fact_vectors", lambda: DenseIndex(kb.encode(list(map(repr, phrases(kb).facts)))))


def phrase_graph(kb: KnowledgeBase, threshold: float) -> PhraseGraph:
    """The phrases and passages as HippoRAG walks them; phrases within a cosine of `threshold` are joined."""

    def built() -> PhraseGraph:
        table = phrases(kb)
        named = hashlib.sha256("\n".join(table.phrases).encode()).hexdigest()
        key = {"phrases": named, "encoder": kb.embedder.fingerprint(kb.store), "threshold": threshold}

        def write(folder: Path) -> None:  # a phrase of two letters or digits starts no synonym, an empty one ends none
            lengths = np.array([len(phrase.replace(" ", "")) for phrase in table.phrases])
            starts, ends = np.flatnonzero(lengths > 2), np.flatnonzero(lengths)
            synonyms(phrase_vectors(kb).vectors, threshold, sources=starts, targets=ends).save(folder)

        return PhraseGraph(table, Synonyms.load(kb.store.entry("synonyms", key, write)))

    return kb.cached(("phrase_graph", threshold), built)
