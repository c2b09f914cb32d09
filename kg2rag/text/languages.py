"""Texts -> the language of each script, with its stop words and stemmer.

Stop words are those of stopwords-iso, of English those of Lucene as bm25s has them; stemmers are
Snowball's. py3langid recognises the language of the words of each script. Ours: Latin text without
an evident language is English.
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
_VARIETIES = {"nn": "norwegian"}  # further codes of py3langid
SAMPLE_TEXTS, SAMPLE_CHARACTERS = 500, 500
LEAST_PROBABILITY = 0.95
"""The minimum probability of a recognised language of Latin text."""
LEAST_SHARE = 0.02
"""The minimum share of the words of another script among all words, for a recognised language."""
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
    words = _words_by_script(texts)
    n_words = sum(map(len, words.values()))
    languages = {
        script: _language_of(script, " ".join(words[script]))
        for script in words
        if script == "latin" or len(words[script]) > LEAST_SHARE * n_words
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


def _words_by_script(texts: Sequence[str]) -> Mapping[str, list[str]]:
    """Script -> the words of a sample of some texts, without those of scripts without blanks."""
    step = max(len(texts) // SAMPLE_TEXTS, 1)
    words: defaultdict[str, list[str]] = defaultdict(list)
    for text in texts[::step]:
        for word in _WORD.findall(search_text(text[:SAMPLE_CHARACTERS])):
            script = script_of(word)
            # A single letter is a symbol of a formula, as "β" is.
            is_symbol = len(word) == 1 and script in SCRIPTS_OF_ONE_LANGUAGE
            if not is_symbol and not _UNSPACED.match(word):
                words[script].append(word)
    return words


def _language_of(script: str, text: str) -> str:
    """The most probable language of a text in one script; "english" if none is evident in Latin."""
    if script in SCRIPTS_OF_ONE_LANGUAGE:
        return script
    probability: defaultdict[str, float] = defaultdict(float)
    for code, share in _identifier().rank(text):
        probability[_language_of_code()[code]] += share
    language = max(probability, key=lambda name: probability[name])
    is_evident = script != "latin" or probability[language] >= LEAST_PROBABILITY
    return language if is_evident else "english"


@cache
def _identifier() -> Any:
    """py3langid's naive Bayes classifier of the languages of `ISO_CODES`."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(list(_language_of_code()))
    return identifier


@cache
def _language_of_code() -> Mapping[str, str]:
    """Code of py3langid -> language."""
    return {code: language for language, code in ISO_CODES.items()} | _VARIETIES


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
