"""Texts -> the language of each script, with its stop words and stemmer.

Stop words are those of stopwords-iso, of English those of Lucene as bm25s has them; stemmers are
Snowball's. Ours: the language of a script is the one whose stop words make the most of its words, a
word that n languages share counting 1/n.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from kg2rag.text.normalisation import plain
from kg2rag.text.scripts import MARKS, UNSPACED, search_text

ISO_CODES: Mapping[str, str] = {
    "arabic": "ar", "armenian": "hy", "basque": "eu", "bengali": "bn", "bulgarian": "bg", "catalan": "ca",
    "croatian": "hr", "czech": "cs", "danish": "da", "dutch": "nl", "english": "en", "esperanto": "eo",
    "estonian": "et", "finnish": "fi", "french": "fr", "german": "de", "greek": "el", "gujarati": "gu", "hebrew": "he",
    "hindi": "hi", "hungarian": "hu", "indonesian": "id", "irish": "ga", "italian": "it", "latvian": "lv",
    "lithuanian": "lt", "marathi": "mr", "norwegian": "no", "persian": "fa", "polish": "pl", "portuguese": "pt",
    "romanian": "ro", "russian": "ru", "slovak": "sk", "slovenian": "sl", "spanish": "es", "swedish": "sv",
    "tamil": "ta", "turkish": "tr", "ukrainian": "uk", "urdu": "ur", "vietnamese": "vi",
}  # fmt: skip
SCRIPTS: Mapping[str, str] = {
    "greek": "\u0370-\u03ff\u1f00-\u1fff",
    "cyrillic": "\u0400-\u052f",
    "armenian": "\u0530-\u058f",
    "hebrew": "\u0590-\u05ff",
    "arabic": "\u0600-\u06ff\u0750-\u077f",
    "devanagari": "\u0900-\u097f",
    "bengali": "\u0980-\u09ff",
    "gujarati": "\u0a80-\u0aff",
    "tamil": "\u0b80-\u0bff",
}
"""Script -> its letters; any other word is taken for Latin."""
SCRIPTS_OF_ONE_LANGUAGE = frozenset(SCRIPTS) & frozenset(ISO_CODES) - {"arabic"}
"""The scripts that are always read as the language of the same name."""
UNTRUNCATED = frozenset({"hebrew", "vietnamese"})
"""Languages without a stemmer whose words are not cut: they inflect at the beginning, or not at all."""
_STEMMERS = {"croatian": "serbian"}  # by another name in Snowball
SAMPLE_TEXTS, SAMPLE_CHARACTERS = 500, 2_000
LEAST_WORDS = 4  # the minimum of distinct stop words of a recognised language
# The minimum share of weighted stop words among the words of a script, for a recognised language.
LEAST_SHARE = 0.02
_SCRIPT_OF = {name: re.compile(f"[{letters}]") for name, letters in SCRIPTS.items()}
_UNSPACED = re.compile(f"[{UNSPACED}]")
_WORD = re.compile(rf"[^\W\d_][^\W\d_{MARKS}]*(?:[{MARKS}]+[^\W\d_]*)*")


def script_of(word: str) -> str:
    """The script of a word, by its first letter; "latin" for scripts outside `SCRIPTS`.

    >>> script_of("Лунд"), script_of("Λουντ"), script_of("Lund")
    ('cyrillic', 'greek', 'latin')
    """
    if word.isascii():
        return "latin"
    return next(
        (name for name, letters in _SCRIPT_OF.items() if letters.match(word)), "latin"
    )


def guess_languages(texts: Sequence[str], language: str = "auto") -> dict[str, str]:
    """Script -> the recognised language of the texts in it, "english" for Latin if there is none.

    `language`, unless it is "auto", is taken for the script in which it is written.

    >>> guess_languages(["Марек ведёт паром, и он не знает, что будет в порту."])
    {'cyrillic': 'russian', 'latin': 'english'}
    """
    counts, n_words, n_distinct = _count_stop_words(texts)
    languages: dict[str, str] = {}
    for script, by_language in counts.items():
        best = max(sorted(by_language), key=lambda name: by_language[name])
        is_evident = (
            by_language[best] >= LEAST_SHARE * n_words[script]
            and n_distinct[best] >= LEAST_WORDS
        )
        # Few languages share another script, so that a few words in it are enough.
        is_likely = (
            script != "latin" and n_words[script] > LEAST_SHARE * n_words.total()
        )
        if is_evident or is_likely:
            languages[script] = best
    languages |= {
        script: script
        for script in SCRIPTS_OF_ONE_LANGUAGE
        if n_words[script] > LEAST_SHARE * n_words.total()
    }
    languages.setdefault("latin", "english")
    if language != "auto":
        languages[_script_of_language(language)] = language
    return dict(sorted(languages.items()))


def _script_of_language(language: str) -> str:
    """The script in which most stop words of a language are written."""
    if language in SCRIPTS_OF_ONE_LANGUAGE:
        return language
    return Counter(map(script_of, stop_words(language))).most_common(1)[0][0]


def _count_stop_words(
    texts: Sequence[str],
) -> tuple[Mapping[str, Mapping[str, float]], Counter[str], Counter[str]]:
    """The weighted stop words, the words, and the distinct stop words of a sample of some texts.

    The first maps script and language to a sum of weights: a word of n languages has weight 1/n in
    each. The second counts words by script, the third distinct stop words by language.
    """
    step = max(len(texts) // SAMPLE_TEXTS, 1)
    sample = (text[:SAMPLE_CHARACTERS] for text in texts[::step])
    frequency = Counter(
        plain(word) for text in sample for word in _WORD.findall(search_text(text))
    )
    counts: defaultdict[str, defaultdict[str, float]] = defaultdict(
        lambda: defaultdict(float)
    )
    n_words: Counter[str] = Counter()
    n_distinct: Counter[str] = Counter()
    for word, count in frequency.items():
        script = script_of(word)
        # A single letter is a symbol of a formula, as "β" is.
        is_symbol = len(word) == 1 and script in SCRIPTS_OF_ONE_LANGUAGE
        if is_symbol or _UNSPACED.match(word):
            continue
        n_words[script] += count
        sharing = _languages_by_word().get(word, ())
        for language in sharing:
            counts[script][language] += count / len(sharing)
            n_distinct[language] += 1
    return counts, n_words, n_distinct


@cache
def stop_words_with_accents(language: str) -> frozenset[str]:
    """The lower-case stop words of a language; none if stopwords-iso lacks the language."""
    import stopwordsiso

    code = ISO_CODES[language]
    if not stopwordsiso.has_lang(code):
        return frozenset()
    return frozenset(search_text(word).lower() for word in stopwordsiso.stopwords(code))


@cache
def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language, without case and accents."""
    return frozenset(map(plain, stop_words_with_accents(language)))


def foreign_stop_words(texts: Sequence[str]) -> frozenset[str]:
    """The stop words of the languages of some texts other than English, without case and accents."""
    languages = set(guess_languages(texts).values()) - {"english"}
    return frozenset().union(*map(stop_words, languages))


@cache
def _languages_by_word() -> Mapping[str, tuple[str, ...]]:
    """Stop word -> the languages that have it."""
    languages: defaultdict[str, list[str]] = defaultdict(list)
    for language in ISO_CODES:
        for word in stop_words(language):
            languages[word].append(language)
    return {word: tuple(names) for word, names in languages.items()}


@cache
def function_words(script: str) -> frozenset[str]:
    """The stop words of all languages that are written in a script."""
    return frozenset(
        word
        for language in ISO_CODES
        for word in stop_words(language)
        if script_of(word) == script
    )


@cache
def stemmer_of(language: str) -> Any:
    """Snowball's stemmer of a language, as PyStemmer has it; None if it has none."""
    import Stemmer

    name = _STEMMERS.get(language, language)
    return Stemmer.Stemmer(name) if name in Stemmer.algorithms() else None
