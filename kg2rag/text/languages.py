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
    "arabic": "ar", "armenian": "hy", "basque": "eu", "bulgarian": "bg", "catalan": "ca",
    "czech": "cs", "danish": "da", "dutch": "nl", "english": "en", "esperanto": "eo", "estonian": "et",
    "finnish": "fi", "french": "fr", "german": "de", "greek": "el", "hebrew": "he", "hindi": "hi", "hungarian": "hu",
    "indonesian": "id", "irish": "ga", "italian": "it", "lithuanian": "lt",
    "norwegian": "no", "persian": "fa", "polish": "pl", "portuguese": "pt", "romanian": "ro", "russian": "ru",
    "spanish": "es", "swedish": "sv", "turkish": "tr", "ukrainian": "uk", "vietnamese": "vi",
}  # fmt: skip
SCRIPTS: Mapping[str, str] = {
    "greek": "\u0370-\u03ff\u1f00-\u1fff",
    "cyrillic": "\u0400-\u052f",
    "armenian": "\u0530-\u058f",
    "hebrew": "\u0590-\u05ff",
    "arabic": "\u0600-\u06ff\u0750-\u077f",
    "devanagari": "\u0900-\u097f",
}
"""Script -> its letters; any other word is taken for Latin."""
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
    return next((name for name, letters in _SCRIPT_OF.items() if letters.match(word)), "latin")


def guess_languages(texts: Sequence[str], language: str = "auto") -> dict[str, str]:
    """The language of each script of some texts; Latin is English if no language is recognised.

    `language`, unless "auto", is the language of the script in which it is written.

    >>> guess_languages(["Марек ведёт паром, и он не знает, что будет в порту."])
    {'cyrillic': 'russian', 'latin': 'english'}
    """
    counts, words, n_distinct = _count_stop_words(texts)
    languages: dict[str, str] = {}
    for script, by_language in counts.items():
        best = max(sorted(by_language), key=lambda name: by_language[name])
        if by_language[best] >= LEAST_SHARE * words[script] and n_distinct[best] >= LEAST_WORDS:
            languages[script] = best
    languages.setdefault("latin", "english")
    if language != "auto":
        scripts = Counter(map(script_of, stop_words(language)))
        languages[scripts.most_common(1)[0][0]] = language
    return dict(sorted(languages.items()))


def _count_stop_words(
    texts: Sequence[str],
) -> tuple[Mapping[str, Mapping[str, float]], Counter[str], Counter[str]]:
    """Script -> language -> weighted stop words, of a sample of the texts.

    Second and third: the number of words by script, and of distinct stop words by language.
    """
    step = max(len(texts) // SAMPLE_TEXTS, 1)
    sample = (texts[place][:SAMPLE_CHARACTERS] for place in range(0, len(texts), step))
    frequency = Counter(plain(word) for text in sample for word in _WORD.findall(search_text(text)))
    counts: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    words: Counter[str] = Counter()
    n_distinct: Counter[str] = Counter()
    for word, count in frequency.items():
        if _UNSPACED.match(word):
            continue
        script = script_of(word)
        words[script] += count
        sharing = _languages_by_word().get(word, ())
        for language in sharing:
            counts[script][language] += count / len(sharing)
            n_distinct[language] += 1
    return counts, words, n_distinct


@cache
def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language, without case and accents."""
    import stopwordsiso

    return frozenset(map(plain, stopwordsiso.stopwords(ISO_CODES[language])))


@cache
def _languages_by_word() -> Mapping[str, tuple[str, ...]]:
    languages: defaultdict[str, list[str]] = defaultdict(list)
    for language in ISO_CODES:
        for word in stop_words(language):
            languages[word].append(language)
    return {word: tuple(names) for word, names in languages.items()}


@cache
def function_words(script: str) -> frozenset[str]:
    """The stop words of all languages of a script."""
    return frozenset(
        word for language in ISO_CODES for word in stop_words(language) if script_of(word) == script
    )


@cache
def stemmer_of(language: str) -> Any:
    """Snowball's stemmer of a language, as PyStemmer has it; None if it has none."""
    import Stemmer

    return Stemmer.Stemmer(language) if language in Stemmer.algorithms() else None
