"""Triples as spelled in their source -> HippoRAG's phrases and facts, and the passages that state them.

A phrase is an end of a triple under HippoRAG's own normalisation, which keeps accents apart and turns punctuation into
spaces; `KnowledgeGraph` merges more spellings, so this table is made of the source's triples, not of the graph's. What
the importers drop before (blank parts, parts that are no strings) is counted in their notes; HippoRAG would keep it.

[1] Gutiérrez et al., "HippoRAG: Neurobiologically Inspired Long-Term Memory for Large Language Models", NeurIPS 2024.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kg2rag.knowledge.graph.csr import Incidence, incidence
from kg2rag.types import Corpus, FloatArray, IntArray, Triple

VERSION = 1  # raise it when the rules change, so that stored tables are rebuilt

_PUNCTUATION = re.compile(r"[^A-Za-z0-9 ]")


def phrase_of(name: str) -> str:
    """HippoRAG's normalisation: lower case, everything but ASCII letters and digits a space, the ends stripped.

    Runs of spaces stay, and a name in another script may end up empty.

    >>> phrase_of("S. R. Puttanna (director)")
    's  r  puttanna  director'
    """
    return _PUNCTUATION.sub(" ", name.lower()).strip()


@dataclass(frozen=True, eq=False)
class PhraseTable:
    """Phrases, the facts between them, and the passages that state these.

    A *fact* is a triple of normalised parts, once in the corpus; a *statement* is a triple of one passage, as spelled.

    Attributes
    ----------
    phrases : sorted. fact_heads, fact_tails : (n_facts,) phrases, in order of first statement.
    fact_relations : (n_facts,) normalised as the phrases are.
    facts, rows : (n_statements,) the fact, and the corpus row; -1 where no passage states it.
    statements : the triples as spelled, a column each field of `Triple`.
    n_passages : of the corpus.
    """

    phrases: list[str]
    fact_heads: IntArray
    fact_tails: IntArray
    fact_relations: list[str]
    facts: IntArray
    rows: IntArray
    statements: pa.Table
    n_passages: int

    @classmethod
    def build(cls, triples: Iterable[Triple], corpus: Corpus) -> PhraseTable:
        """The table of a corpus's triples; exact repetitions within a passage count once.

        KeyError: a triple names a passage that the corpus lacks.
        """
        stated = {(t.passage_id, t.head, t.relation, t.tail): t for t in reversed(list(triples))}
        kept = list(reversed(stated.values()))
        parts = [(phrase_of(t.head), phrase_of(t.relation), phrase_of(t.tail)) for t in kept]
        phrases = sorted({end for head, _, tail in parts for end in (head, tail)})
        code = {phrase: number for number, phrase in enumerate(phrases)}
        facts = {fact: number for number, fact in enumerate(dict.fromkeys(parts))}
        fields = ("head", "relation", "tail", "passage_id", "strength", "confidence", "description")
        return cls(
            phrases=phrases,
            fact_heads=np.array([code[head] for head, _, _ in facts], dtype=np.int64),
            fact_tails=np.array([code[tail] for _, _, tail in facts], dtype=np.int64),
            fact_relations=[relation for _, relation, _ in facts],
            facts=np.array([facts[fact] for fact in parts], dtype=np.int64),
            rows=np.array([corpus.row(t.passage_id) if t.passage_id else -1 for t in kept], dtype=np.int64),
            statements=pa.table({field: [getattr(t, field) for t in kept] for field in fields}),
            n_passages=len(corpus),
        )

    def save(self, folder: Path) -> None:
        """Write three Parquet files."""
        pq.write_table(pa.table({"phrase": pa.array(self.phrases, pa.string())}), folder / "phrases.parquet")
        facts = {"head": self.fact_heads, "tail": self.fact_tails}
        relations = pa.array(self.fact_relations, pa.string())
        pq.write_table(pa.table({**facts, "relation": relations}), folder / "facts.parquet")
        extended = self.statements.append_column("fact", [self.facts]).append_column("row", [self.rows])
        pq.write_table(extended, folder / "statements.parquet")

    @classmethod
    def load(cls, folder: Path, corpus: Corpus) -> PhraseTable:
        """Read what `save` wrote of the same corpus."""
        facts = pq.read_table(folder / "facts.parquet")
        statements = pq.read_table(folder / "statements.parquet")
        return cls(
            phrases=pq.read_table(folder / "phrases.parquet")["phrase"].to_pylist(),
            fact_heads=facts["head"].to_numpy(),
            fact_tails=facts["tail"].to_numpy(),
            fact_relations=facts["relation"].to_pylist(),
            facts=statements["fact"].to_numpy(),
            rows=statements["row"].to_numpy(),
            statements=statements.drop_columns(["fact", "row"]),
            n_passages=len(corpus),
        )

    def fact(self, index: int) -> tuple[str, str, str]:
        """The normalised head, relation and tail of the fact at `index`."""
        return self.phrases[self.fact_heads[index]], self.fact_relations[index], self.phrases[self.fact_tails[index]]

    @property
    def fact_texts(self) -> list[str]:
        """What is encoded of a fact, in HippoRAG as here: the Python repr of its three parts."""
        return [repr(self.fact(index)) for index in range(len(self.fact_relations))]

    def statement(self, index: int) -> Triple:
        """The statement at `index`, as spelled."""
        return Triple(**self.statements.slice(index, 1).to_pylist()[0])

    @cached_property
    def passages(self) -> Incidence:
        """Phrase -> the corpus rows whose triples have it as an end."""
        stated = np.flatnonzero(self.rows >= 0)
        owners = np.concatenate([self.fact_heads[self.facts[stated]], self.fact_tails[self.facts[stated]]])
        rows = np.concatenate([self.rows[stated], self.rows[stated]])
        return incidence(owners, rows, np.ones(len(owners), dtype=np.int64), len(self.phrases))

    @cached_property
    def specificity(self) -> FloatArray:
        """(n_phrases,) one over the number of passages that have the phrase [1]; 1 where none has."""
        return 1.0 / np.maximum(np.diff(self.passages.indptr), 1)

    @cached_property
    def by_row(self) -> Incidence:
        """Corpus row -> its statements."""
        stated = np.flatnonzero(self.rows >= 0)
        return incidence(self.rows[stated], stated, np.ones(len(stated), dtype=np.int64), self.n_passages)

    @cached_property
    def by_phrase(self) -> Incidence:
        """Phrase -> the statements that have it as an end."""
        owners = np.concatenate([self.fact_heads[self.facts], self.fact_tails[self.facts]])
        numbers = np.tile(np.arange(len(self.facts)), 2)
        return incidence(owners, numbers, np.ones(len(owners), dtype=np.int64), len(self.phrases))

    def facts_in(self, rows: IntArray) -> IntArray:
        """The facts that some of these passages state, ascending."""
        return np.unique(self.facts[np.isin(self.rows, rows)])

    def phrases_in(self, rows: IntArray) -> IntArray:
        """The phrases of these passages, ascending."""
        facts = self.facts_in(rows)
        return np.union1d(self.fact_heads[facts], self.fact_tails[facts])


def synonym_ends(phrases: list[str]) -> tuple[IntArray, IntArray]:
    """The phrases that may start a synonym edge (more than two letters or digits) and those that may end one."""
    long_ = [len(phrase.replace(" ", "")) > 2 for phrase in phrases]
    return np.flatnonzero(long_), np.flatnonzero([bool(phrase) for phrase in phrases])
