"""Query -> passages that hold a name spelt like one of the query's: typos, partial names, codes, wildcards, regexes.

The dynamic hybrid design's third dimension: trigrams find candidates, Levenshtein similarity scores them, exact
substrings rank first. Ours: which words of a question are looked up (`terms`), how several of them add up, and that a
format given by an example ("keys like sk-proj-xxxx", `text.code_names`) is matched as a regular expression.
`/regex/` is matched by RE2, in time linear in the text [1], so that no pattern hangs and no clock decides what fails.
What no engine could read, such as the path /usr/lib(x/, is looked up as it is written.

[1] Cox, "Regular Expression Matching Can Be Simple And Fast", 2007.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.csr import gather
from kg2rag.retrievers.contract import MAX_CHARACTERS, Retriever
from kg2rag.text.code_names import WHOLE, format_by_example, key, looks_like_name, surfaces
from kg2rag.text.normalisation import FUNCTION_WORDS
from kg2rag.types import Count, FloatArray, IntArray, Notes, Query, Ranking, Threshold, number, top_with_ties

COLOUR = "#56B4E9"  # in plots

NEAR = 0.85  # how like a match must be to a word that the corpus knows, and to words written together: no typos
JOINED = 4  # adjacent words that are tried as one name, at most: `streaming text response`
WORDS = 200  # of a query that are read
WILDCARDS = 4  # in one query, at most
LONGEST_REGEX = 1000  # characters; RE2's time grows with pattern × text
_REGEX = re.compile(r"/(.+)/(i?)", re.DOTALL)
_UNREADABLE = ("missing", "unexpected", "no argument", "trailing")  # RE2, of what is no expression to any engine
_EDGES = "\"'`()[]{},;:?!."
DEFINES, VERBATIM = 0.01, 0.02  # tie-breakers: of terms that the passage defines, and in the query's very spelling


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

    def places(self, rows: IntArray) -> IntArray:
        """Where each of some rows stands among its own; -1 where it does not."""
        at = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.where(self.rows[at] == rows, at, -1)


@dataclass(frozen=True)
class Pattern(Retriever):
    """Fuzzy, partial and exact matching of names.

    A hit's score sums, over the terms looked up, rarity × strength of the best match. Rarity is ln(1 + N/df) of the
    best-matching key; strength is 2 for the same name, 1 + the term's share of the name where it is part of one, else
    the similarity. `score_parts`: the best similarity and strength, the number of terms matched, and as "term 1" and so
    on the strength of each; the notes list the terms and for each hit the terms of the corpus that matched.

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
        return [self._search(query, mask, k) for query, mask in zip(queries, self.kb.candidates(queries), strict=True)]

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
        if whole and (written := slashed(text)):
            return self._by_regex(query, *written, mask, k)
        if described := format_by_example(text):
            return self._by_regex(query, described.regex, "", mask, k)
        words = text.split() if "*" in text else []
        found_in = dict.fromkeys(word.strip(_EDGES) for word in words if "*" in word and word.strip(_EDGES + "*"))
        wildcards = list(found_in)[:WILDCARDS]
        terms, left_out = self.terms(" ".join(word for word in words if "*" not in word) if words else text)
        looked_up = [*map(self._fitting, wildcards), *(self._alike(*term) for term in terms.items())]
        found = {f"term {at}": each for at, each in enumerate(looked_up, 1) if each is not None}
        return self._ranking(query, found, mask, k, PatternNotes(terms=(*wildcards, *terms), terms_left_out=left_out))

    def _alike(self, term: str, min_similarity: float) -> _Found | None:
        index = self.kb.trigram
        similar = index.similar("".join(map(key, term.split())), min_similarity, self.limit)
        terms, of = gather(index.key_ptr, similar.keys)
        strengths = similar.strengths[of]
        equal = np.flatnonzero(strengths == 2)
        strengths[equal] += [VERBATIM * (index.terms[int(terms[at])].as_py() == term) for at in equal]
        return self._found(term, terms, strengths, similar.similarities[of], index.key_df[similar.keys[:1]])

    def _fitting(self, wildcard: str) -> _Found | None:
        """The names that a wildcard fits: the shorter, the nearer to what was written."""
        index = self.kb.trigram
        terms = index.matching(wildcard)
        lengths = np.array([len(name) for name in index.terms.take(pa.array(terms)).to_pylist()])
        share = len(wildcard.replace("*", "")) / lengths
        keys = np.searchsorted(index.key_ptr, terms, side="right") - 1
        return self._found(wildcard, terms, 1 + share, share, index.key_df[keys])

    def _found(
        self, written: str, terms: IntArray, strengths: FloatArray, similarities: FloatArray, frequencies: IntArray
    ) -> _Found | None:
        """The passages that hold some names, each with the best of them; None where there is no name."""
        if not len(terms):
            return None
        rows, of, defines = self.kb.trigram.postings(terms)
        values = strengths[of] + DEFINES * defines
        order = np.lexsort((of, -values))
        rows, first = np.unique(rows[order], return_index=True)
        of, values = of[order][first], values[order][first]
        rarity = float(np.log1p(len(self.kb.corpus) / int(frequencies.min())))
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
        parts, near = dict[str, FloatArray](), list[FloatArray]()
        for part, each in found.items():
            at = each.places(rows)
            parts[part] = np.where(at < 0, np.nan, each.strengths[at])
            near.append(np.where(at < 0, 0.0, each.similarities[at]))
        if len(rows):
            strengths = np.array(list(parts.values()))
            parts |= {"similarity": np.max(near, axis=0), "strength": np.nanmax(strengths, axis=0)}
            parts["terms_matched"] = np.isfinite(strengths).sum(axis=0).astype(np.float64)
        ranked = Ranking.from_scores(query.id, rows, scores[rows], ids, stages=("pattern",), score_parts=parts).top(k)
        formula = " + ".join(f"{number(each.rarity)} · {part}" for part, each in found.items())
        matched: dict[str, tuple[Match, ...]] = dict.fromkeys(ranked.passage_ids, ())
        for each in found.values():
            for id_, place in zip(matched, each.places(ranked.rows).tolist(), strict=True):
                if place >= 0:
                    name = self.kb.trigram.terms[int(each.terms[place])].as_py()
                    match = Match(each.written, name, float(each.strengths[place]), float(each.similarities[place]))
                    matched[id_] += (match,)
        return replace(ranked, notes=replace(notes, formula=formula, source="pattern", matched=matched))

    def _by_regex(self, query: Query, pattern: str, flag: str, mask: IntArray | None, k: int) -> Ranking:
        matcher, reason = _compiled(pattern, flag)
        if matcher is None:
            refused = f"{reason}. Back-references, look-around and expressions that grow large are not offered"
            raise ValueError(f"query {query.id!r}: /{pattern[:80]}/ cannot be matched in linear time: {refused}.")
        contents, ids = self.kb.corpus.contents, self.kb.corpus.ids
        rows = range(len(contents)) if mask is None else mask.tolist()
        found = [row for row in rows if matcher.search(contents[row])]
        matches, notes = np.ones(len(found)), PatternNotes("match", "pattern", terms=(f"/{pattern}/{flag}",))
        parts = {"match": matches}
        return Ranking.from_scores(
            query.id, found, matches, ids, stages=("pattern",), score_parts=parts, notes=notes
        ).top(k)


def _runs(words: Sequence[str]) -> Iterable[Sequence[str]]:
    """All words if they are few, and two to `JOINED` adjacent ones that are not all function words."""
    if JOINED < len(words) <= WHOLE:
        yield words
    for length in range(JOINED, 1, -1):
        for start in range(len(words) - length + 1):
            run = words[start : start + length]
            if not all(key(word) in FUNCTION_WORDS for word in run):
                yield run


def slashed(text: str) -> tuple[str, str] | None:
    """The expression of `/…/` or `/…/i` and "i" where it folds case; None for what is none, such as a path.

    >>> slashed("/use[A-Z]/i"), slashed("/usr/lib(x/")
    (('use[A-Z]', 'i'), None)
    """
    written = _REGEX.fullmatch(text)
    if written is None or _compiled(written[1], written[2])[1].startswith(_UNREADABLE):
        return None
    return written[1], written[2]


def _compiled(pattern: str, flag: str) -> tuple[re.Pattern[str] | None, str]:
    import re2

    if len(pattern) > LONGEST_REGEX:
        return None, f"it has {len(pattern)} characters, of at most {LONGEST_REGEX}"
    options = re2.Options()
    options.log_errors, options.case_sensitive, options.max_mem, options.never_capture = False, not flag, 1 << 20, True
    try:
        return re2.compile(pattern, options), ""
    except re2.error as error:
        return None, error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
