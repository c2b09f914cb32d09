"""A corpus -> its mention table, by rules only: no model, no key, ten seconds per 100,000 passages.

Titles are found by longest match over all titles of the corpus, with and without their bracketed
disambiguation; names are capitalised phrases that at least two passages share. In languages whose
names have endings, a form of a name is the name, see `text.inflection`. Where a title
"Rebecca" could mean two pages, the mention points to both; the number of its pages shows that. The
rules are ours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, compress
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kg2rag.extraction.links import links_of
from kg2rag.extraction.mentions.inner_names import inner_names
from kg2rag.extraction.mentions.table import SIZE, MentionTable, numbered_sentences
from kg2rag.text.inflection import joined_forms, languages_of_names, lexicon_of
from kg2rag.text.initials import further_spellings
from kg2rag.text.languages import foreign_stop_words, function_words, script_of
from kg2rag.text.normalisation import (
    CALENDAR,
    FOREIGN_LINK_WORDS,
    FUNCTION_WORDS,
    JoinedTexts,
    Lexicon,
    name_pattern,
    normalise,
    without_brackets,
)
from kg2rag.text.scripts import SYLLABLES, search_text
from kg2rag.types import Corpus, IntArray

_SYLLABLES = SYLLABLES.replace("\\", "")  # of a class of RE2
CAPITALS_BLANKS = 2
"""Minimum of blanks by which a phrase in capitals is a text and not a name."""
_ENDING = re.compile(r"(['’]s|['’\-]+)$")
_TURKISH_ENDING = re.compile(r"(['’]\w+|['’\-]+)$")  # "İstanbul'da"
_ELISION = re.compile(r"(\w+)['’](?=\w)")  # of an article or preposition: "l'Algérie"


def find_mentions(corpus: Corpus, *, size: int = SIZE) -> MentionTable:
    """The mention table of a corpus; `size`, the bytes of text read at a time, changes no result."""
    titles, names, page_key, page_row = _titles(corpus)
    n_titles = len(titles)
    passages = corpus.table["text"].to_pylist()
    languages = languages_of_names(passages)
    title_keys = titles.to_pylist()
    spellings = further_spellings(title_keys, names)
    lexicon = lexicon_of(title_keys, languages, names, spellings)
    stop_words = foreign_stop_words(passages)
    ending = _TURKISH_ENDING if "turkish" in languages.values() else _ENDING
    phrases = _Phrases({}, [], FUNCTION_WORDS | stop_words, ending)
    pattern = name_pattern(FOREIGN_LINK_WORDS & stop_words)
    # Rows, sentences and codes of titles or phrases, (3, n) in each block.
    title_mentions: list[IntArray] = []
    phrase_mentions: list[IntArray] = []
    # Row, sentence and text of each phrase in capitals.
    capitals: list[tuple[int, int, str]] = []
    lower_case: Counter[str] = Counter()
    for texts, rows, numbers in numbered_sentences(corpus, size):
        joined = JoinedTexts(texts)
        matches = lexicon.matches(joined)
        title_mentions.append(
            np.stack([rows[matches.texts], numbers[matches.texts], matches.codes])
        )
        spans = _phrase_spans(joined, pattern, matches.starts, matches.ends)
        surfaces = [joined.text[start:end] for start, end in spans.tolist()]
        code = phrases.codes(surfaces)
        text = joined.text_indices(spans[:, 0])
        capitals += compress(
            zip(rows[text].tolist(), numbers[text].tolist(), surfaces, strict=True),
            map(_is_in_capitals, surfaces),
        )
        phrase_mentions.append(
            np.stack([rows[text], numbers[text], code])[:, code >= 0]
        )
        lower_case.update(
            word for word in re.findall(r"\w+", joined.text) if word.islower()
        )
    title_mentions.append(_link_mentions(corpus, titles))
    phrase_mentions.append(_names_in_capitals(capitals, phrases))
    row, sentence, phrase = np.concatenate(phrase_mentions, axis=1)
    phrase = _names_of_forms(phrases, phrase, languages)
    is_name = _is_shared(list(phrases.code_of), phrase, row, lower_case, titles)
    if stop_words:  # of a language other than English
        occurrences = np.stack([phrase, row])
        ends = inner_names(phrases.names, occurrences, is_name, languages, title_keys)
        phrase, is_name = _with_names_at_ends(phrases, phrase, is_name, ends)
    key = np.where(is_name, n_titles + np.cumsum(is_name) - 1, -1)[phrase]
    name_mentions = np.stack([row, sentence, key])[:, key >= 0]
    mentions = np.concatenate([*title_mentions, name_mentions], axis=1)
    row, sentence, key = _distinct_mentions(mentions, page_key, page_row, n_titles)
    keys = [*titles.to_pylist(), *compress(phrases.code_of, is_name)]
    names += compress(phrases.names, is_name)
    return MentionTable(
        keys, names, n_titles, page_key, page_row, key, row, sentence, languages
    )


def _names_of_forms(
    phrases: _Phrases, phrase: IntArray, languages: Mapping[str, str]
) -> IntArray:
    """The codes of phrases, (n,), with that of the name in place of its forms."""
    if not languages:
        return phrase
    counts = np.bincount(phrase, minlength=len(phrases.names)).tolist()
    names = joined_forms(list(phrases.code_of), counts, languages)
    return np.array(names, dtype=np.int64)[phrase]


def _with_names_at_ends(
    phrases: _Phrases,
    phrase: IntArray,
    is_name: NDArray[np.bool_],
    ends: Mapping[int, str],
) -> tuple[IntArray, NDArray[np.bool_]]:
    """The codes of phrases, (n,), with the name at its end in place of a phrase, and which codes are names.

    `ends` : code of a phrase -> the name at its end; a new name is added to `phrases`.
    """
    codes = np.arange(len(phrases.names), dtype=np.int64)
    for code, end in ends.items():
        key = normalise(end)
        if key not in phrases.code_of:
            phrases.code_of[key] = len(phrases.names)
            phrases.names.append(end)
        codes[code] = phrases.code_of[key]
    are_names = np.zeros(len(phrases.names), dtype=bool)
    are_names[: len(is_name)] = is_name
    are_names[codes[list(ends)]] = True
    return codes[phrase], are_names


def _distinct_mentions(
    mentions: IntArray,
    page_key: NDArray[np.int32],
    page_row: NDArray[np.int32],
    n_titles: int,
) -> NDArray[np.int32]:
    """The distinct mentions, (3, n), sorted by row, sentence and key.

    Mentions of a page's own title in its text are left out.
    """
    row, _, key = mentions
    pages = page_row.astype(np.int64) * n_titles + page_key
    is_own_title = np.isin(np.where(key < n_titles, row * n_titles + key, -1), pages)
    mentions = mentions[:, ~is_own_title]
    ordered = mentions[:, np.lexsort(mentions[::-1])].astype(np.int32)
    return ordered[:, np.diff(ordered, axis=1, prepend=-1).any(axis=0)]


class _Phrases(NamedTuple):
    """The capitalised phrases of a corpus.

    `code_of` maps a key to its code, and `names` has the first spelling of each code.
    `opening_words` are normalised words that begin sentences but no names; `ending` is behind a name.
    """

    code_of: dict[str, int]
    names: list[str]
    opening_words: frozenset[str]
    ending: re.Pattern[str]

    def codes(self, surfaces: list[str]) -> IntArray:
        """The codes of surfaces, (n,), -1 for one that is no name; new names are added."""
        encoded = pa.array(surfaces, pa.string()).dictionary_encode()
        codes = np.array(
            [self._code(surface) for surface in encoded.dictionary.to_pylist()],
            dtype=np.int64,
        )
        surface_codes: IntArray = codes[encoded.indices.to_numpy()]
        return surface_codes

    def _code(self, surface: str) -> int:
        """The code of a surface, -1 if it is no name; a new name is added."""
        key_and_name = name_of(surface, self.opening_words, self.ending)
        if key_and_name is None:
            return -1
        key, name = key_and_name
        if key not in self.code_of:
            self.code_of[key] = len(self.names)
            self.names.append(name)
        return self.code_of[key]


def _is_in_capitals(surface: str) -> bool:
    """Whether a phrase is a text in capitals, in which names do not stand out."""
    return surface.isupper() and surface.count(" ") >= CAPITALS_BLANKS


def _names_in_capitals(
    texts: Sequence[tuple[int, int, str]], phrases: _Phrases
) -> IntArray:
    """The mentions in texts in capitals of phrases that other texts write as names.

    Returns rows, sentences and codes of phrases, (3, n). A single word is no name there, since in
    capitals any word looks like one.
    """
    rows, numbers, surfaces = zip(*texts, strict=True) if texts else ((), (), ())
    keys = [
        key if " " in key and not name.isupper() else ""
        for key, name in zip(phrases.code_of, phrases.names, strict=True)
    ]
    matches = Lexicon(keys if texts else ()).matches(JoinedTexts(surfaces))
    sentences = np.array([rows, numbers], dtype=np.int64)[:, matches.texts]
    return np.concatenate([sentences, matches.codes[None].astype(np.int64)])


def _phrase_spans(
    joined: JoinedTexts,
    pattern: re.Pattern[str],
    title_starts: IntArray,
    title_ends: IntArray,
) -> IntArray:
    """The spans (start, end) of the capitalised phrases that overlap no title, (n, 2)."""
    spans = np.array(
        [match.span() for match in pattern.finditer(joined.text)], dtype=np.int64
    ).reshape(-1, 2)
    # No title overlaps a phrase that ends before the first title whose end is behind its start.
    nearest = np.searchsorted(title_ends, spans[:, 0], side="right")
    return spans[spans[:, 1] <= np.append(title_starts, len(joined.text))[nearest]]


def _link_mentions(corpus: Corpus, titles: pa.StringArray) -> IntArray:
    """The mentions of titles by hyperlinks: rows, sentences and codes of titles, (3, n).

    The sentence is the first that has the words of the link, or else the first of the passage.
    """
    code_of = {key: code for code, key in enumerate(titles.to_pylist())}
    mentions = []
    for link in links_of(corpus):
        code = code_of.get(normalise(corpus.titles[link.target]))
        if code is not None:
            sentences = corpus.sentences(link.row)
            numbers = (
                number
                for number, sentence in enumerate(sentences)
                if link.words in sentence
            )
            mentions.append((link.row, next(numbers, 0), code))
    return np.array(mentions, dtype=np.int64).reshape(-1, 3).T


def _titles(
    corpus: Corpus,
) -> tuple[pa.StringArray, list[str], NDArray[np.int32], NDArray[np.int32]]:
    """The titles of a corpus, with and without their brackets, and the pages that have them.

    Returns the keys and the first spellings of the titles in order of appearance, and the key and
    the row of each page, sorted by key, then row. Titles of function words only are left out.
    """
    surfaces_by_row = [
        dict.fromkeys((title, without_brackets(title))) for title in corpus.titles
    ]
    n_surfaces = np.fromiter(map(len, surfaces_by_row), dtype=np.int64)
    rows = np.repeat(np.arange(len(surfaces_by_row)), n_surfaces)
    surfaces = list(chain.from_iterable(surfaces_by_row))
    keys = pa.array(map(normalise, surfaces), pa.string())
    no_name = pa.array(["", *sorted(FUNCTION_WORDS)])
    # A single letter of a script without blanks would be found within every word that has it.
    is_no_name = pc.or_(
        pc.is_in(keys, value_set=no_name),
        pc.match_substring_regex(keys, f"^[{_SYLLABLES}]$"),
    )
    name_indices = np.flatnonzero(~is_no_name.to_numpy(zero_copy_only=False))
    encoded = keys.take(pa.array(name_indices)).dictionary_encode()
    codes = encoded.indices.to_numpy().astype(np.int64)
    names = [
        surfaces[index]
        for index in name_indices[np.unique(codes, return_index=True)[1]].tolist()
    ]
    key, row = np.divmod(
        np.unique(codes * len(corpus) + rows[name_indices]), len(corpus)
    )
    return encoded.dictionary, names, key.astype(np.int32), row.astype(np.int32)


def name_of(
    phrase: str,
    opening_words: frozenset[str] = FUNCTION_WORDS,
    ending: re.Pattern[str] = _ENDING,
) -> tuple[str, str] | None:
    """The key and the name of a capitalised phrase, without leading function words; None for no name.

    >>> name_of("The Hague's"), name_of("In May"), name_of("L'Algérie", frozenset({"l"}))
    (('hague', 'Hague'), None, ('algerie', 'Algérie'))
    """
    words: Sequence[str] = search_text(phrase).split()
    while words and _is_function_word(normalise(words[0]), opening_words):
        words = words[1:]
    name = ending.sub("", _without_elision(" ".join(words), opening_words))
    key = normalise(name)
    return (key, name) if len(key) > 1 and not set(key.split()) <= CALENDAR else None


def _without_elision(name: str, opening_words: frozenset[str]) -> str:
    """A name without an elided article or preposition at its beginning."""
    elision = _ELISION.match(name)
    # English elides no article: "Can't" is one word
    if not elision or normalise(elision[1]) not in opening_words - FUNCTION_WORDS:
        return name
    rest = name[elision.end() :]
    # of "L'écrivain Paul Claudel"
    return rest.partition(" ")[2] if rest[0].islower() else rest


def _is_function_word(key: str, opening_words: frozenset[str]) -> bool:
    """Whether a normalised word is one of `opening_words`, or a function word of a language of another script."""
    script = script_of(key)
    return key in opening_words or (script != "latin" and key in function_words(script))


def _is_shared(
    keys: list[str],
    phrase: IntArray,
    row: IntArray,
    lower_case: Mapping[str, int],
    titles: pa.StringArray,
) -> NDArray[np.bool_]:
    """Whether each key is a name that passages share, (n_keys,).

    A name is in two passages, no title, and more often a phrase than in lower case. `phrase` and
    `row`, (n_phrases,), are the code of each phrase and the row of its passage. `lower_case` counts
    words in lower case.
    """
    phrase_keys = pa.array(keys, pa.string())
    n_times = np.bincount(phrase, minlength=len(keys))
    n_passages = np.bincount(np.unique(phrase << 32 | row) >> 32, minlength=len(keys))
    # The lower-case words that are keys, and their counts.
    code = pc.index_in(
        pa.array(map(normalise, lower_case), pa.string()), value_set=phrase_keys
    )
    counts = np.fromiter(lower_case.values(), dtype=np.int64)[
        code.is_valid().to_numpy(False)
    ]
    n_lower = np.bincount(code.drop_null().to_numpy(), counts, minlength=len(keys))
    is_title: NDArray[np.bool_] = pc.is_in(phrase_keys, value_set=titles).to_numpy(
        False
    )
    return (n_passages > 1) & ~is_title & (n_lower < n_times)
