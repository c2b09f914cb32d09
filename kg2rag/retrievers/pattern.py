"""Query -> passages that hold a name spelt like one of the query's: typos, partial names, codes, wildcards, regexes.

The dynamic hybrid design's third dimension: trigrams find candidates, Levenshtein similarity scores
them, exact substrings rank first. Ours: which words of a question are looked up (`terms`), how
several of them add up, and that a format given by an example ("keys like sk-proj-xxxx",
`text.code_names`) is matched as a regular expression. `/regex/` is matched by RE2, in time linear
in the text [1], so that no pattern hangs and no clock decides what fails. What no engine could
read, such as the path /usr/lib(x/, is looked up as it is written.

[1] Cox, "Regular Expression Matching Can Be Simple And Fast", 2007.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.csr import gather
from kg2rag.retrievers.contract import MAX_CHARACTERS, Retriever
from kg2rag.text.code_names import WHOLE, format_by_example, key, looks_like_name, surfaces
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

NEAR_SIMILARITY = (
    # how like a match must be to a word that the corpus knows, and to words written together: no
    # typos
    0.85
)
# adjacent words that are tried as one name, at most: `streaming text response`
MAX_JOINED_WORDS = 4
MAX_WORDS = 200  # of a query that are read
MAX_WILDCARDS = 4  # in one query, at most
MAX_REGEX_CHARACTERS = 1000  # characters; RE2's time grows with pattern × text
_REGEX = re.compile(r"/(.+)/(i?)", re.DOTALL)
# RE2, of what is no expression to any engine
_UNREADABLE = ("missing", "unexpected", "no argument", "trailing")
_EDGES = "\"'`()[]{},;:?!."
DEFINES = 0.01  # more strength for a term that the passage defines
VERBATIM = 0.02  # and for one in the query's very spelling


class Match(NamedTuple):
    """A term of the corpus that one of the query's matched."""

    term: str
    matched: str
    strength: float
    similarity: float


@dataclass(frozen=True)
class PatternNotes(Notes):
    """The terms looked up, how many were left out, and for each hit the terms of the corpus that matched."""

    terms: tuple[str, ...] = ()
    terms_left_out: int = 0
    matched: Mapping[str, tuple[Match, ...]] = field(default_factory=dict)


class Term(NamedTuple):
    """What a query looks up: `priority` orders terms, least first; a match needs `min_similarity`."""

    key: str
    text: str
    priority: tuple[int, int]
    min_similarity: float


class TermMatches(NamedTuple):
    """What one term of the query matched: its rarity; the rows, ascending, and of each the best match."""

    term: str
    rarity: float
    rows: IntArray
    names: IntArray
    strengths: FloatArray
    similarities: FloatArray

    def positions(self, rows: IntArray) -> IntArray:
        """The position of each of some rows in `rows`; -1 of one that does not match."""
        positions = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.where(self.rows[positions] == rows, positions, -1)


@dataclass(frozen=True)
class Pattern(Retriever):
    """Fuzzy, partial and exact matching of names.

    A hit's score sums, over the terms looked up, rarity × strength of the best match. Rarity is
    ln(1 + N/df) of the best-matching key; strength is 2 for the same name, 1 + the term's share of
    the name if it is part of one, else the similarity. `score_parts`: the best similarity and
    strength, the number of terms matched, and as "term 1" and so on the strength of each; the notes
    list the terms and for each hit the terms of the corpus that matched.

    Parameters
    ----------
    min_similarity : 1 - edit distance / longer length that a match needs, in (0, 1].
    limit : keys kept of each term looked up, best first.
    max_share : a plain word that a larger share of the passages has is not looked up by itself.
    max_terms : terms looked up, at most: names first, then the rarest.
    """

    kb: KnowledgeBase = field(repr=False)
    min_similarity: Threshold = 0.6
    limit: Count = 50
    max_share: Threshold = 0.05
    max_terms: Count = 24

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Each query by itself: as a regular expression or a format, with its wildcards, or by its terms."""
        return [
            self._search(query, mask, k)
            for query, mask in zip(queries, self.kb.candidates(queries), strict=True)
        ]

    def terms(self, text: str) -> tuple[dict[str, float], int]:
        """What a query looks up and how similar a match must be; and how many terms and words were left out.

        A query of one word looks that up. Of a longer one: words spelt like names; words that no
        passage knows (a typo), or that few do; and each run of up to `MAX_JOINED_WORDS` adjacent
        words written together, for the names it may spell. Words that the corpus knows, and joined
        ones, must match from `NEAR_SIMILARITY` up. Terms beyond `max_terms` and words beyond
        `MAX_WORDS` are left out.
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
        return {term.text: term.min_similarity for term in ordered[: self.max_terms]}, left_out

    def _single_words(self, words: Sequence[str]) -> Iterator[Term]:
        """The words spelt like names, and the other words that no passage or few have."""
        most = self.max_share * len(self.kb.corpus)
        for word in dict.fromkeys(words):
            frequency = self.kb.trigram.document_frequency(key(word))
            if looks_like_name(word):
                yield Term(key(word), word, (0, frequency), self.min_similarity)
            elif key(word) not in FUNCTION_WORDS and len(key(word)) > 1 and frequency <= most:
                yield Term(
                    key(word),
                    word,
                    (2, frequency),
                    NEAR_SIMILARITY if frequency else self.min_similarity,
                )

    def _search(self, query: Query, mask: IntArray | None, k: int) -> Ranking:
        expression = _expression(query.text)
        if expression is not None:
            return self._by_regex(query, *expression, mask, k)
        wildcards, text = _wildcards(query.text.strip())
        terms, left_out = self.terms(text)
        looked_up = [
            *map(self._fitting, wildcards),
            *(self._alike(*term) for term in terms.items()),
        ]
        matches = {}
        for place, term_matches in enumerate(looked_up, start=1):
            if term_matches is not None:
                matches[f"term {place}"] = term_matches
        return self._ranking(
            query,
            matches,
            mask,
            k,
            PatternNotes(terms=(*wildcards, *terms), terms_left_out=left_out),
        )

    def _alike(self, term: str, min_similarity: float) -> TermMatches | None:
        index = self.kb.trigram
        similar = index.similar("".join(map(key, term.split())), min_similarity, self.limit)
        names, key_of = gather(index.key_ptr, similar.keys)
        strengths = similar.strengths[key_of]
        for position in np.flatnonzero(strengths == 2):
            if index.terms[int(names[position])].as_py() == term:
                strengths[position] += VERBATIM
        return self._matches(
            term, names, strengths, similar.similarities[key_of], index.key_df[similar.keys[:1]]
        )

    def _fitting(self, wildcard: str) -> TermMatches | None:
        """The names that a wildcard fits: the shorter, the nearer to what was written."""
        index = self.kb.trigram
        names = index.matching(wildcard)
        lengths = np.array([len(name) for name in index.terms.take(pa.array(names)).to_pylist()])
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
        """The passages that hold some names, each with the best of them; None if there is no name."""
        if not len(names):
            return None
        rows, name_of, defines = self.kb.trigram.postings(names)
        values = strengths[name_of] + DEFINES * defines
        order = np.lexsort((name_of, -values))
        rows, first = np.unique(rows[order], return_index=True)
        best = order[first]
        rarity = float(np.log1p(len(self.kb.corpus) / int(frequencies.min())))
        return TermMatches(
            term, rarity, rows, names[name_of[best]], values[best], similarities[name_of[best]]
        )

    def _ranking(
        self,
        query: Query,
        matches: Mapping[str, TermMatches],
        mask: IntArray | None,
        k: int,
        notes: PatternNotes,
    ) -> Ranking:
        """The passages that matched anything; their part "term 2" is how strongly the second term matched."""
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
        formula = " + ".join(
            f"{number(term_matches.rarity)} · {part}" for part, term_matches in matches.items()
        )
        matched = self._matched(ranking, matches.values())
        return replace(
            ranking, notes=replace(notes, formula=formula, source="pattern", matched=matched)
        )

    def _matched(
        self, ranking: Ranking, matches: Iterable[TermMatches]
    ) -> dict[str, tuple[Match, ...]]:
        """Passage id -> the names that matched, of each hit."""
        matched: dict[str, tuple[Match, ...]] = dict.fromkeys(ranking.passage_ids, ())
        for term_matches in matches:
            for passage_id, position in zip(
                matched, term_matches.positions(ranking.rows).tolist(), strict=True
            ):
                if position >= 0:
                    name = self.kb.trigram.terms[int(term_matches.names[position])].as_py()
                    strength = float(term_matches.strengths[position])
                    similarity = float(term_matches.similarities[position])
                    matched[passage_id] += (Match(term_matches.term, name, strength, similarity),)
        return matched

    def _by_regex(
        self, query: Query, pattern: str, flag: str, mask: IntArray | None, k: int
    ) -> Ranking:
        matcher, reason = _compiled(pattern, flag)
        if matcher is None:
            refused = f"{reason}. Back-references, look-around and expressions that grow large are not offered"
            raise ValueError(
                f"query {query.id!r}: /{pattern[:80]}/ cannot be matched in linear time: {refused}."
            )
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


def _score_parts(rows: IntArray, matches: Mapping[str, TermMatches]) -> dict[str, FloatArray]:
    """The strength of each term in each passage, NaN if it does not match; the best of them, and how many match."""
    parts: dict[str, FloatArray] = {}
    similarities = []
    for part, term_matches in matches.items():
        positions = term_matches.positions(rows)
        parts[part] = np.where(positions < 0, np.nan, term_matches.strengths[positions])
        similarities.append(np.where(positions < 0, 0.0, term_matches.similarities[positions]))
    if len(rows):
        strengths = np.array(list(parts.values()))
        parts["similarity"] = np.max(similarities, axis=0)
        parts["strength"] = np.nanmax(strengths, axis=0)
        parts["terms_matched"] = np.isfinite(strengths).sum(axis=0).astype(np.float64)
    return parts


def _expression(text: str) -> tuple[str, str] | None:
    """The regular expression that a query is, or describes by an example, and its flag; None for words.

    A query that was cut ends anywhere, with a slash, too: it is no expression.
    """
    is_cut = len(text) >= MAX_CHARACTERS
    written = None if is_cut else slashed(text.strip())
    if written is not None:
        return written
    described = format_by_example(text.strip())
    return None if described is None else (described.regex, "")


def _wildcards(text: str) -> tuple[list[str], str]:
    """The first `MAX_WILDCARDS` words with a `*` beside letters, and the text without any word that has a `*`."""
    words = text.split()
    wildcards = [word.strip(_EDGES) for word in words if "*" in word and word.strip(_EDGES + "*")]
    return list(dict.fromkeys(wildcards))[:MAX_WILDCARDS], " ".join(
        word for word in words if "*" not in word
    )


def _joined_words(words: Sequence[str]) -> Iterator[Term]:
    """The names that adjacent words may spell: `streaming text response`; the longest first."""
    for run in _runs(words):
        joined = "".join(map(key, run))
        yield Term(joined, " ".join(run), (1, -len(joined)), NEAR_SIMILARITY)


def _runs(words: Sequence[str]) -> Iterable[Sequence[str]]:
    """All words if they are few, and two to `MAX_JOINED_WORDS` adjacent ones that are not all function words."""
    if MAX_JOINED_WORDS < len(words) <= WHOLE:
        yield words
    for length in range(MAX_JOINED_WORDS, 1, -1):
        for start in range(len(words) - length + 1):
            run = words[start : start + length]
            if not all(key(word) in FUNCTION_WORDS for word in run):
                yield run


def slashed(text: str) -> tuple[str, str] | None:
    """The expression of `/…/` or `/…/i` and "i" if it folds case; None for any other text, such as a path.

    >>> slashed("/use[A-Z]/i"), slashed("/usr/lib(x/")
    (('use[A-Z]', 'i'), None)
    """
    written = _REGEX.fullmatch(text)
    if written is None or _compiled(written[1], written[2])[1].startswith(_UNREADABLE):
        return None
    return written[1], written[2]


def _compiled(pattern: str, flag: str) -> tuple[re.Pattern[str] | None, str]:
    import re2

    if len(pattern) > MAX_REGEX_CHARACTERS:
        return None, f"it has {len(pattern)} characters, of at most {MAX_REGEX_CHARACTERS}"
    options = re2.Options()
    options.log_errors, options.case_sensitive, options.max_mem, options.never_capture = (
        False,
        not flag,
        1 << 20,
        True,
    )
    try:
        return re2.compile(pattern, options), ""
    except re2.error as error:
        return None, error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
