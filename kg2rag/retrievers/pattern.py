"""Query -> passages with similarly spelt names: typos, partial names, codes, wildcards, regexes.

The dynamic hybrid design's third dimension: trigrams find candidates, Levenshtein similarity scores
them, exact substrings rank first. Ours: the choice of words to look up (`terms`), their sum, and the
conversion of an example of a format ("keys like sk-proj-xxxx", `text.code_names`) to a regular
expression. RE2 matches `/regex/` in time linear in the text [1], so that no pattern hangs and no
time limit is needed. Invalid expressions, such as the path /usr/lib(x/, are looked up as text.

[1] Cox, "Regular Expression Matching Can Be Simple And Fast", 2007.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.csr import gather
from kg2rag.retrievers.contract import MAX_CHARACTERS, Retriever
from kg2rag.text.code_names import (
    MAX_NAME_WORDS,
    key,
    looks_like_name,
    surfaces,
)
from kg2rag.text.expressions import (
    compile_expression,
    expression_of,
    wildcards_and_words,
)
from kg2rag.text.normalisation import FUNCTION_WORDS
from kg2rag.types import (
    Count,
    FloatArray,
    IntArray,
    Notes,
    Query,
    Ranking,
    Threshold,
    number,
    top_with_ties,
)

COLOUR = "#56B4E9"  # in plots

# The minimum similarity to a word of the corpus, and to joined words: no typos.
NEAR_SIMILARITY = 0.85
# The maximum of adjacent words that are looked up as one name: `streaming text response`.
MAX_JOINED_WORDS = 4
MAX_WORDS = 200  # words of a query that are read
DEFINES = 0.01  # additional strength of a term that the passage defines
VERBATIM = 0.02  # additional strength of a term in the query's exact spelling


class Match(NamedTuple):
    """A match: a term of the query and a term of the corpus."""

    term: str
    matched: str
    strength: float
    similarity: float


@dataclass(frozen=True)
class PatternNotes(Notes):
    """Notes: the terms looked up, the number left out, and the matched terms of each hit."""

    terms: tuple[str, ...] = ()
    terms_left_out: int = 0
    matched: Mapping[str, tuple[Match, ...]] = field(default_factory=dict)


class Term(NamedTuple):
    """A term to look up; `priority` is ascending, `min_similarity` is that of a match."""

    key: str
    text: str
    priority: tuple[int, int]
    min_similarity: float


class TermMatches(NamedTuple):
    """The matches of a query term: its rarity, the rows, ascending, and their best match."""

    term: str
    rarity: float
    rows: IntArray
    names: IntArray
    strengths: FloatArray
    similarities: FloatArray

    def positions(self, rows: IntArray) -> IntArray:
        """The position of each of some rows in `rows`; -1 for rows that do not match."""
        positions = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.where(self.rows[positions] == rows, positions, -1)


@dataclass(frozen=True)
class Pattern(Retriever):
    """Fuzzy, partial and exact matching of names.

    The score of a hit is the sum over terms of rarity × strength of the best match. Rarity is
    ln(1 + N/df) of the best-matching key. Strength is 2 for an equal name, 1 + the term's share of a
    name that contains it, else the similarity. `score_parts` are the best similarity and strength, the
    number of matched terms, and the strength of each term as "term 1" and so on. The notes list the
    terms, and the matched terms of the corpus for each hit.

    Parameters
    ----------
    min_similarity : the minimum of 1 - edit distance / maximum length, in (0, 1].
    limit : the number of best keys kept per term.
    max_share : plain words in a larger share of the passages are not looked up by themselves.
    max_terms : the maximum of terms: names first, then the rarest.
    """

    kb: KnowledgeBase = field(repr=False)
    min_similarity: Threshold = 0.6
    limit: Count = 50
    max_share: Threshold = 0.05
    max_terms: Count = 24

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Search each query as a regular expression, a format, wildcards, or terms."""
        return [
            self._search(query, mask, k)
            for query, mask in zip(queries, self.kb.candidates(queries), strict=True)
        ]

    def terms(self, text: str) -> tuple[dict[str, float], int]:
        """The terms of a query with their minimum similarity, and the number of omitted terms.

        Omitted are terms beyond `max_terms` and words beyond `MAX_WORDS`.

        The term of a single word is the word. The terms of a longer query are words spelt like
        names, words of no passage (typos) or of few, and each run of up to `MAX_JOINED_WORDS`
        adjacent words, joined. Words of the corpus, and joined words, need a similarity of at least
        `NEAR_SIMILARITY`.
        """
        words = [surface for surface, _ in surfaces(text) if key(surface)]
        if len(words) == 1:
            return {words[0]: self.min_similarity}, 0
        first_words = words[:MAX_WORDS]
        terms: dict[str, Term] = {}
        for term in (*self._single_words(first_words), *_joined_words(first_words)):
            terms.setdefault(term.key, term)
        ordered = sorted(terms.values(), key=lambda term: term.priority)
        left_out = max(len(ordered) - self.max_terms, 0) + len(words) - len(first_words)
        return {
            term.text: term.min_similarity for term in ordered[: self.max_terms]
        }, left_out

    def _single_words(self, words: Sequence[str]) -> Iterator[Term]:
        """The words spelt like names, and other words of no passage or of few."""
        most = self.max_share * len(self.kb.corpus)
        for word in dict.fromkeys(words):
            frequency = self.kb.trigram.document_frequency(key(word))
            if looks_like_name(word):
                yield Term(key(word), word, (0, frequency), self.min_similarity)
            elif (
                key(word) not in FUNCTION_WORDS
                and len(key(word)) > 1
                and frequency <= most
            ):
                min_similarity = NEAR_SIMILARITY if frequency else self.min_similarity
                yield Term(key(word), word, (2, frequency), min_similarity)

    def _search(self, query: Query, mask: IntArray | None, k: int) -> Ranking:
        is_cut = len(query.text) >= MAX_CHARACTERS
        expression = expression_of(query.text, is_cut=is_cut)
        if expression is not None:
            return self._by_regex(query, *expression, mask, k)
        wildcards, text = wildcards_and_words(query.text.strip())
        terms, left_out = self.terms(text)
        looked_up = [self._fitting(wildcard) for wildcard in wildcards]
        looked_up += [self._alike(*term) for term in terms.items()]
        matches = {}
        for place, term_matches in enumerate(looked_up, start=1):
            if term_matches is not None:
                matches[f"term {place}"] = term_matches
        notes = PatternNotes(terms=(*wildcards, *terms), terms_left_out=left_out)
        return self._ranking(query, matches, mask, k, notes)

    def _alike(self, term: str, min_similarity: float) -> TermMatches | None:
        index = self.kb.trigram
        similar = index.similar(
            "".join(map(key, term.split())), min_similarity, self.limit
        )
        names, key_of = gather(index.key_ptr, similar.keys)
        strengths = similar.strengths[key_of]
        for position in np.flatnonzero(strengths == 2):
            if index.terms[int(names[position])].as_py() == term:
                strengths[position] += VERBATIM
        similarities = similar.similarities[key_of]
        frequencies = index.key_df[similar.keys[:1]]
        return self._matches(term, names, strengths, similarities, frequencies)

    def _fitting(self, wildcard: str) -> TermMatches | None:
        """The names that match a wildcard; shorter names are more similar."""
        index = self.kb.trigram
        names = index.matching(wildcard)
        lengths = np.array(
            [len(name) for name in index.terms.take(pa.array(names)).to_pylist()]
        )
        share = len(wildcard.replace("*", "")) / lengths
        keys = np.searchsorted(index.key_ptr, names, side="right") - 1
        return self._matches(wildcard, names, 1 + share, share, index.key_df[keys])

    def _matches(
        self,
        term: str,
        names: IntArray,
        strengths: FloatArray,
        similarities: FloatArray,
        frequencies: IntArray,
    ) -> TermMatches | None:
        """The passages with some names, each with its best match; None without names."""
        if not len(names):
            return None
        rows, name_of, defines = self.kb.trigram.postings(names)
        values = strengths[name_of] + DEFINES * defines
        order = np.lexsort((name_of, -values))
        rows, first = np.unique(rows[order], return_index=True)
        best = order[first]
        rarity = float(np.log1p(len(self.kb.corpus) / int(frequencies.min())))
        return TermMatches(
            term,
            rarity,
            rows,
            names[name_of[best]],
            values[best],
            similarities[name_of[best]],
        )

    def _ranking(
        self,
        query: Query,
        matches: Mapping[str, TermMatches],
        mask: IntArray | None,
        k: int,
        notes: PatternNotes,
    ) -> Ranking:
        """The ranking of the matching passages; the part "term 2" is the second term's strength."""
        scores = np.zeros(len(self.kb.corpus))
        for term_matches in matches.values():
            scores[term_matches.rows] += term_matches.rarity * term_matches.strengths
        rows = top_with_ties(scores, k, mask)
        rows = rows[scores[rows] > 0]
        ranking = Ranking.from_scores(
            query.id,
            rows,
            scores[rows],
            self.kb.corpus.ids,
            stages=("pattern",),
            score_parts=_score_parts(rows, matches),
        ).top(k)
        terms = [f"{number(match.rarity)} · {part}" for part, match in matches.items()]
        matched = self._matched(ranking, matches.values())
        notes = replace(
            notes, formula=" + ".join(terms), source="pattern", matched=matched
        )
        return replace(ranking, notes=notes)

    def _matched(
        self, ranking: Ranking, matches: Iterable[TermMatches]
    ) -> dict[str, tuple[Match, ...]]:
        """Passage id -> the matches, for each hit."""
        matched: dict[str, tuple[Match, ...]] = dict.fromkeys(ranking.passage_ids, ())
        for term_matches in matches:
            positions = term_matches.positions(ranking.rows).tolist()
            for passage_id, position in zip(matched, positions, strict=True):
                if position >= 0:
                    name = self.kb.trigram.terms[
                        int(term_matches.names[position])
                    ].as_py()
                    strength = float(term_matches.strengths[position])
                    similarity = float(term_matches.similarities[position])
                    matched[passage_id] += (
                        Match(term_matches.term, name, strength, similarity),
                    )
        return matched

    def _by_regex(
        self, query: Query, pattern: str, flag: str, mask: IntArray | None, k: int
    ) -> Ranking:
        try:
            matcher = compile_expression(pattern, flag)
        except ValueError as error:
            raise ValueError(
                f"query {query.id!r}: /{pattern[:80]}/ cannot be matched in linear time: {error}. Back-references, "
                "look-around and expressions that grow large are not offered."
            ) from None
        contents = self.kb.corpus.contents
        rows = range(len(contents)) if mask is None else mask.tolist()
        matching = [row for row in rows if matcher.search(contents[row])]
        scores = np.ones(len(matching))
        return Ranking.from_scores(
            query.id,
            matching,
            scores,
            self.kb.corpus.ids,
            stages=("pattern",),
            score_parts={"match": scores},
            notes=PatternNotes("match", "pattern", terms=(f"/{pattern}/{flag}",)),
        ).top(k)


def _score_parts(
    rows: IntArray, matches: Mapping[str, TermMatches]
) -> dict[str, FloatArray]:
    """The score parts of some passages: strength per term, the best ones, number of matches.

    The strength of a term that does not match is NaN.
    """
    parts: dict[str, FloatArray] = {}
    similarities = []
    for part, term_matches in matches.items():
        positions = term_matches.positions(rows)
        parts[part] = np.where(positions < 0, np.nan, term_matches.strengths[positions])
        similarities.append(
            np.where(positions < 0, 0.0, term_matches.similarities[positions])
        )
    if len(rows):
        strengths = np.array(list(parts.values()))
        parts["similarity"] = np.max(similarities, axis=0)
        parts["strength"] = np.nanmax(strengths, axis=0)
        parts["terms_matched"] = np.isfinite(strengths).sum(axis=0).astype(np.float64)
    return parts


def _joined_words(words: Sequence[str]) -> Iterator[Term]:
    """The terms of joined adjacent words, longest first, such as `streaming text response`."""
    for run in _runs(words):
        joined = "".join(map(key, run))
        yield Term(joined, " ".join(run), (1, -len(joined)), NEAR_SIMILARITY)


def _runs(words: Sequence[str]) -> Iterable[Sequence[str]]:
    """All words of a short text, and runs of 2 to `MAX_JOINED_WORDS` words.

    Runs of function words only are left out.
    """
    if MAX_JOINED_WORDS < len(words) <= MAX_NAME_WORDS:
        yield words
    for length in range(MAX_JOINED_WORDS, 1, -1):
        for start in range(len(words) - length + 1):
            run = words[start : start + length]
            if not all(key(word) in FUNCTION_WORDS for word in run):
                yield run
