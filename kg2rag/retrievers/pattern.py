"""Query -> passages that hold a name spelt like one of the query's: typos, partial names, codes, wildcards, regexes.

The dynamic hybrid design's third dimension: trigrams find candidates, Levenshtein similarity scores them, exact
substrings rank first. Ours: which words of a question are looked up (`terms`), how several of them add up, and that a
format given by an example ("keys like sk-proj-xxxx", `text.code_names`) is matched as a regular expression.
`/regex/` is matched by RE2, in time linear in the text [1]: with a backtracking engine and a time limit, the
speed of the machine would decide what fails, and a hostile pattern could take that limit on every query.

[1] Cox, "Regular Expression Matching Can Be Simple And Fast", 2007.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import starmap
from typing import Annotated, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.contract import MAX_CHARACTERS, Retriever
from kg2rag.text.code_names import WHOLE, format_by_example, key, looks_like_name, surfaces
from kg2rag.text.normalisation import FUNCTION_WORDS
from kg2rag.types import FloatArray, IntArray, Notes, Query, Ranking, Threshold, above, number, top_with_ties

COLOUR = "#56B4E9"  # in plots

NEAR = 0.85
"""How similar a match must be to a word that the corpus knows, and to words written together: neither is a typo."""
JOINED = 4
"""Adjacent words that are tried as one name, at most: `streaming text response`."""
WORDS = 200  # of a query that are read
WILDCARDS = 4  # in one query, at most
LONGEST_REGEX = 1000  # characters; RE2's time grows with pattern × text
_REGEX = re.compile(r"/(.+)/(i?)", re.DOTALL)
_EDGES = "\"'`()[]{},;:?!."


DEFINES, VERBATIM = 0.01, 0.02
"""Added to the strength of a term that the passage defines, and of one in the query's very spelling; tie-breakers."""


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


class _Found(NamedTuple):
    """What one term of the query matched: its rarity; the rows, ascending, and of each the best match."""

    written: str
    rarity: float
    rows: IntArray
    terms: IntArray
    strengths: FloatArray
    similarities: FloatArray

    def at(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """Those of `values`, one a row of its own, that belong to some rows; NaN for rows not matched."""
        return np.asarray(pd.Series(values, index=self.rows).reindex(rows), dtype=np.float64)


@dataclass(frozen=True)
class Pattern(Retriever):
    """Fuzzy, partial and exact matching of names.

    A hit's score sums, over the terms looked up, rarity × strength of the best match. Rarity is ln(1 + N/df) of the
    best-matching key; strength is 2 for the same name, 1 + the term's share of the name where it is part of one, else
    the similarity. `score_parts`: the best similarity, its strength, the number of terms matched, and as "term 1" and
    so on the strength of each; the notes list the terms and for each hit the terms of the corpus that
    they matched.

    Parameters
    ----------
    min_similarity : 1 - edit distance / longer length that a match needs, in (0, 1].
    limit : keys kept of each term looked up, best first.
    max_share : a plain word that a larger share of the passages has is not looked up by itself.
    max_terms : terms looked up, at most: names first, then the rarest.
    seconds : a regular expression may take that long; then TimeoutError names it.
    """

    kb: KnowledgeBase = field(repr=False)
    min_similarity: Threshold = 0.6
    limit: Annotated[int, above(0)] = 50
    max_share: Threshold = 0.05
    max_terms: Annotated[int, above(0)] = 24
    seconds: Annotated[float, above(0)] = 2.0

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Each query by itself: as a regular expression or a format, with its wildcards, or by its terms."""
        masks = self.kb.candidates(queries)
        return [self._search(query, mask, k) for query, mask in zip(queries, masks, strict=True)]

    def terms(self, text: str) -> tuple[dict[str, float], int]:
        """What a query looks up and how similar a match must be; and how many terms and words were left out.

        A query of one word looks that up. Of a longer one: words spelt like names; words that no passage knows (a
        typo), or that few do; and each run of up to `JOINED` adjacent words written together, for the names it may
        spell. Words that the corpus knows, and joined ones, must match from `NEAR` up. Left out are terms beyond
        `max_terms` and words beyond `WORDS`.
        """
        written = [surface for surface, _ in surfaces(text) if key(surface)]
        words = written[:WORDS]
        if len(words) == 1:
            return {words[0]: self.min_similarity}, 0
        index, ceiling = self.kb.trigram, self.max_share * len(self.kb.corpus)
        found: dict[str, tuple[int, int, str, float]] = {}  # by key: what comes first, the term, its similarity
        for word in dict.fromkeys(words):
            named, frequency = looks_like_name(word), index.document_frequency(key(word))
            if named or (key(word) not in FUNCTION_WORDS and len(key(word)) > 1 and frequency <= ceiling):
                least = NEAR if frequency and not named else self.min_similarity
                found.setdefault(key(word), (0 if named else 2, frequency, word, least))
        for run in _runs(words):
            joined = "".join(map(key, run))
            found.setdefault(joined, (1, -len(joined), " ".join(run), NEAR))
        ordered = sorted(found.values(), key=lambda item: item[:2])
        unread = max(len(ordered) - self.max_terms, 0) + len(written) - len(words)
        return {term: least for _, _, term, least in ordered[: self.max_terms]}, unread

    def _search(self, query: Query, mask: IntArray | None, k: int) -> Ranking:
        text = query.text.strip()
        whole = len(query.text) < MAX_CHARACTERS  # what was cut there ends anywhere, with a slash, too
        if whole and (regex := _REGEX.fullmatch(text)):
            return self._by_regex(query, regex.group(1), bool(regex.group(2)), mask, k)
        if described := format_by_example(text):
            return self._by_regex(query, described.regex, False, mask, k)
        wildcards, words = _wildcards(text)
        terms, left_out = self.terms(words)
        found = [*map(self._fitting, wildcards), *starmap(self._alike, terms.items())]
        parts = {f"term {at}": each for at, each in enumerate(found, 1) if each is not None}
        return self._ranking(query, parts, mask, k, PatternNotes(terms=(*wildcards, *terms), terms_left_out=left_out))

    def _alike(self, term: str, min_similarity: float) -> _Found | None:
        """The names like a term."""
        index = self.kb.trigram
        similar = index.similar("".join(map(key, term.split())), min_similarity, self.limit)
        if not len(similar.keys):
            return None
        terms, of = index.terms_of(similar.keys)
        strengths = similar.strengths[of]
        equal = np.flatnonzero(strengths == 2)
        strengths[equal] += [VERBATIM * (index.terms[int(terms[at])].as_py() == term) for at in equal]
        return self._found(term, terms, strengths, similar.similarities[of], int(index.key_df[similar.keys[0]]))

    def _fitting(self, wildcard: str) -> _Found | None:
        """The names that a wildcard fits: the shorter, the nearer to what was written."""
        index = self.kb.trigram
        terms = index.matching(wildcard)
        if not len(terms):
            return None
        lengths = np.array([len(name) for name in index.terms.take(pa.array(terms)).to_pylist()])
        share = len(wildcard.replace("*", "")) / lengths
        return self._found(wildcard, terms, 1 + share, share, int(index.key_df[index.key_of(terms)].min()))

    def _found(
        self, written: str, terms: IntArray, strengths: FloatArray, similarities: FloatArray, frequency: int
    ) -> _Found:
        """The passages that hold some names, each with the best of them."""
        rows, of, defines = self.kb.trigram.postings(terms)
        values = strengths[of] + DEFINES * defines
        order = np.lexsort((of, -values))
        rows, first = np.unique(rows[order], return_index=True)
        of, values = of[order][first], values[order][first]
        rarity = float(np.log1p(len(self.kb.corpus) / frequency))
        return _Found(written, rarity, rows, terms[of], values, similarities[of])

    def _ranking(
        self, query: Query, found: Mapping[str, _Found], mask: IntArray | None, k: int, notes: PatternNotes
    ) -> Ranking:
        """The passages that matched anything; their part "term 2" is how strongly the second term matched."""
        scores, ids = np.zeros(len(self.kb.corpus)), self.kb.corpus.ids
        for each in found.values():
            scores[each.rows] += each.rarity * each.strengths
        rows = top_with_ties(scores, k) if mask is None else mask
        rows = rows[scores[rows] > 0]
        parts = {part: each.at(rows, each.strengths) for part, each in found.items()}
        if len(rows):
            strengths = np.array(list(parts.values()))
            parts |= {
                "similarity": np.nanmax([each.at(rows, each.similarities) for each in found.values()], axis=0),
                "strength": np.nanmax(strengths, axis=0),
                "terms_matched": np.isfinite(strengths).sum(axis=0).astype(np.float64),
            }
        ranked = Ranking.of(query.id, rows, scores[rows], ids, stages=("pattern",), score_parts=parts).top(k)
        formula = " + ".join(f"{number(each.rarity)} · {part}" for part, each in found.items())
        matched = {ids[row]: tuple(self._matches(row, found.values())) for row in ranked.rows.tolist()}
        return replace(ranked, notes=replace(notes, formula=formula, source="pattern", matched=matched))

    def _matches(self, row: int, found: Iterable[_Found]) -> Iterable[Match]:
        for each in found:
            for at in np.flatnonzero(each.rows == row).tolist():
                name: str = self.kb.trigram.terms[int(each.terms[at])].as_py()
                yield Match(each.written, name, float(each.strengths[at]), float(each.similarities[at]))

    def _by_regex(self, query: Query, pattern: str, fold: bool, mask: IntArray | None, k: int) -> Ranking:
        matcher = _compile(pattern, fold, query.id)
        contents = self.kb.corpus.contents
        rows = range(len(contents)) if mask is None else mask.tolist()
        deadline, hits = time.monotonic() + self.seconds, []
        for row in rows:
            if matcher.search(contents[row]):
                hits.append(row)
            # One passage takes bounded time, so looking at the clock between them is enough.
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"query {query.id!r}: the regular expression /{pattern[:80]}/ took more than {self.seconds} s. "
                    "Simplify it, or give Pattern more `seconds`."
                )
        found, matches = np.array(hits, dtype=np.int64), np.ones(len(hits))
        notes = PatternNotes("match", "pattern", terms=(f"/{pattern}/{'i' * fold}",))
        parts, ids = {"match": matches}, self.kb.corpus.ids
        return Ranking.of(query.id, found, matches, ids, stages=("pattern",), score_parts=parts, notes=notes).top(k)


def _wildcards(text: str) -> tuple[list[str], str]:
    """The words that hold a `*` and something else, at most `WILDCARDS`, and the text without them."""
    if "*" not in text:
        return [], text
    words = text.split()
    found = dict.fromkeys(word.strip(_EDGES) for word in words if "*" in word and word.strip(_EDGES + "*"))
    return list(found)[:WILDCARDS], " ".join(word for word in words if "*" not in word)


def _runs(words: Sequence[str]) -> Iterable[Sequence[str]]:
    """All words, where they are few, and two to `JOINED` adjacent ones of which not all are function words."""
    if JOINED < len(words) <= WHOLE:
        yield words
    for length in range(JOINED, 1, -1):
        for start in range(len(words) - length + 1):
            run = words[start : start + length]
            if not all(key(word) in FUNCTION_WORDS for word in run):
                yield run


def _compile(pattern: str, fold: bool, query_id: str) -> re.Pattern[str]:
    import re2

    if len(pattern) > LONGEST_REGEX:
        length = f"has {len(pattern)} characters; at most {LONGEST_REGEX} are matched"
        raise ValueError(f"query {query_id!r}: the regular expression /{pattern[:80]}/… {length}.")
    options = re2.Options()
    options.log_errors, options.case_sensitive, options.max_mem, options.never_capture = False, not fold, 1 << 20, True
    try:
        compiled: re.Pattern[str] = re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise ValueError(
            f"query {query_id!r}: /{pattern}/ is no regular expression that can be matched in linear time: {reason}. "
            "Look-around and back-references are not offered."
        ) from None
    return compiled
