"""Names in the cases of their language: "Einsteins" is Einstein, "Москве" is Москва.

The endings are those that Snowball's stemmers remove; a language without a stemmer has that of a
relative. Ours: a name that the lexicon has counts as it is written; two forms of a name begin alike
and differ in at most three letters behind that; in a Germanic language, a name of one word has no
ending but the s of the genitive ("Müller" is no form of "Müll").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from rapidfuzz.distance import Prefix

from kg2rag.text.languages import guess_languages, script_of, stemmer_of
from kg2rag.text.normalisation import EMPTY, Codes, Integers, Lexicon

GENITIVE_S = frozenset({"danish", "dutch", "german", "norwegian", "swedish"})
"""Languages in which the only ending of a name of one word is an s."""
STEMMERS: Mapping[str, str] = {
    "armenian": "armenian", "basque": "basque", "croatian": "croatian", "czech": "czech", "danish": "danish",
    "dutch": "dutch", "estonian": "estonian", "finnish": "finnish", "german": "german", "greek": "greek",
    "hungarian": "hungarian", "lithuanian": "lithuanian", "norwegian": "norwegian", "polish": "polish",
    "romanian": "romanian", "russian": "russian", "slovak": "czech", "slovenian": "croatian", "swedish": "swedish",
    "turkish": "turkish", "ukrainian": "russian",
}  # fmt: skip
"""Language whose names have endings -> the language whose stemmer removes them."""
JOINED_ENDINGS = frozenset({"finnish", "hungarian", "turkish"})
"""Languages in which one ending follows another."""
MIN_LETTERS, MAX_ENDING = 3, 3
"""The minimum of letters that two forms share, and the maximum of letters behind them."""
_FINAL_I = re.compile("(?<=[аеиоуыэюя])и$")
_SURNAME = re.compile("[ое]в$")
_UMLAUT = re.compile("([aou])e")
_UKRAINIAN = str.maketrans("іє", "ие")


def languages_of_names(texts: Sequence[str]) -> dict[str, str]:
    """Script -> the recognised language of some texts, if its names have endings.

    >>> languages_of_names(["Die Fähre ist alt, und sie war nicht im Hafen, als der Sturm kam."])
    {'latin': 'german'}
    >>> languages_of_names(["The ferry is old, and it was not in the port as the storm came."])
    {}
    """
    return {
        script: language
        for script, language in guess_languages(texts).items()
        if language in STEMMERS
    }


def lexicon_of(
    keys: Sequence[str],
    languages: Mapping[str, str],
    names: Sequence[str] = (),
    spellings: Mapping[str, int] = EMPTY,
) -> Lexicon:
    """A `Lexicon` that also finds the forms that keys have in `languages`, by script."""
    if languages:
        return InflectedLexicon(keys, languages, names, spellings)
    return Lexicon(keys, names, spellings)


class InflectedLexicon(Lexicon):
    """A lexicon that also finds the forms of its names.

    At a word the longest match counts; of equally long ones, the name as it is written. What may be
    a form of several names is not found.
    """

    def __init__(
        self,
        keys: Sequence[str],
        languages: Mapping[str, str],
        names: Sequence[str] = (),
        spellings: Mapping[str, int] = EMPTY,
    ) -> None:
        super().__init__(keys, names, spellings)
        self._keys = keys
        self._languages = languages
        stems = [stem_of_name(key, languages) for key in keys]
        frequency = Counter(stems)
        unambiguous = [stem if frequency[stem] == 1 else "" for stem in stems]
        words = ["" if " " in stem else stem for stem in unambiguous]
        phrases = [stem if " " in stem else "" for stem in unambiguous]
        self._words, self._phrases = Lexicon(words), Lexicon(phrases)

    def longest_matches(
        self, words: Sequence[str], texts: Integers
    ) -> tuple[Integers, Integers, Codes]:
        """The longest match of a name or a form of one at each word, see `Lexicon`."""
        distinct = dict.fromkeys(words)
        base = {word: stem_of_form(word, self._languages) for word in distinct}
        stem = {word: stem_of_word(word, self._languages) for word in distinct}
        matches = [super().longest_matches(words, texts)]
        for lexicon, form in ((self._words, base), (self._phrases, stem)):
            first, last, codes = lexicon.longest_matches(
                [form[word] for word in words], texts
            )
            spans = zip(first.tolist(), last.tolist(), codes.tolist(), strict=True)
            is_form = np.array(
                [
                    is_form_of(words[start : end + 1], self._keys[code].split())
                    for start, end, code in spans
                ],
                dtype=bool,
            )
            matches.append((first[is_form], last[is_form], codes[is_form]))
        first, last, codes = map(np.concatenate, zip(*matches, strict=True))
        # The sort is stable: names precede forms.
        order = np.lexsort((-last, first))
        longest = order[np.diff(first[order], prepend=-1) > 0]
        return first[longest], last[longest], codes[longest]


def joined_forms(
    keys: Sequence[str], counts: Sequence[int], languages: Mapping[str, str]
) -> list[int]:
    """The code of the name behind each key, (n_keys,); a key that is no form is the name itself.

    Of the forms of a name, the most frequent one is the name; `counts` has the frequency of each.

    >>> joined_forms(["einsteins", "einstein", "hans", "han"], [2, 5, 9, 1], {"latin": "german"})
    [1, 1, 2, 3]
    """
    code_of: dict[str, int] = {}
    for code in sorted(range(len(keys)), key=lambda code: -counts[code]):
        code_of.setdefault(stem_of_name(keys[code], languages), code)
    names = []
    for code, key in enumerate(keys):
        words = key.split()
        form = stem_of_form if len(words) == 1 else stem_of_word
        stem = " ".join(form(word, languages) for word in words)
        name = code_of.get(stem, code)
        is_form = counts[name] >= counts[code] and is_form_of(words, keys[name].split())
        names.append(name if is_form else code)
    return names


def stem_of_name(key: str, languages: Mapping[str, str]) -> str:
    """The stem of a normalised name, which its forms have in common.

    >>> stem_of_name("rotes kreuz", {"latin": "german"}), stem_of_name("hans", {"latin": "german"})
    ('rot kreuz', 'hans')
    """
    words = key.split()
    if len(words) == 1 and languages.get(script_of(key)) in GENITIVE_S:
        return key
    return " ".join(stem_of_word(word, languages) for word in words)


def stem_of_form(word: str, languages: Mapping[str, str]) -> str:
    """The stem of the name of one word behind a normalised word.

    >>> [stem_of_form(word, {"latin": "german"}) for word in ("einsteins", "kreuzes", "des")]
    ['einstein', 'kreuze', 'des']
    """
    if languages.get(script_of(word)) in GENITIVE_S:
        return word[:-1] if word.endswith("s") and len(word) > MIN_LETTERS else word
    return stem_of_word(word, languages)


def stem_of_word(word: str, languages: Mapping[str, str]) -> str:
    """The stem of a normalised word in the language of its script; the word itself without one.

    >>> [stem_of_word(word, {"cyrillic": "russian"}) for word in ("москве", "чехов", "чехова", "ok")]
    ['москв', 'чехов', 'чехов', 'ok']
    """
    language = languages.get(script_of(word), "")
    if language not in STEMMERS:
        return word
    word = _respelt(word, language)
    stemmer = stemmer_of(STEMMERS[language])
    stem = str(stemmer.stemWord(word))
    while language in JOINED_ENDINGS and stem != word:
        word, stem = stem, str(stemmer.stemWord(stem))
    return stem


def _respelt(word: str, language: str) -> str:
    """A normalised word as a stemmer reads it, which expects the accents of its language."""
    if language == "german":
        return _UMLAUT.sub(r"\1", word)
    if STEMMERS[language] != "russian":
        return word
    if language == "ukrainian":
        word = word.translate(_UKRAINIAN)
    if _SURNAME.search(word):  # "ов" is an ending, too
        return f"{word}а"
    return _FINAL_I.sub("й", word)


def is_form_of(words: Sequence[str], name: Sequence[str]) -> bool:
    """Whether each word begins as the word of a name does and differs from it by an ending.

    >>> is_form_of(["чехова"], ["чехов"]), is_form_of(["маре"], ["мария"])
    (True, True)
    """
    return all(_share_beginning(*pair) for pair in zip(words, name, strict=True))


def _share_beginning(a: str, b: str) -> bool:
    n_shared = Prefix.similarity(a, b)
    longest = max(len(a), len(b))
    return a == b or (n_shared >= MIN_LETTERS and longest - n_shared <= MAX_ENDING)
