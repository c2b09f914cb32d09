"""Names in the cases of their language: "Einsteins" is Einstein, "Москве" is Москва.

The endings are those that Snowball's stemmers remove; a language without a stemmer has that of a
relative. Ours: the changes of stems that Snowball lacks ("Praha", "Praze"); a name that the lexicon
has counts as it is written; two forms of a name begin alike and differ in a few letters behind that;
in a Germanic language, a name of one word has no ending but the s of the genitive ("Müller" is no
form of "Müll").
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
PREFIXES: Mapping[str, re.Pattern[str]] = {
    "arabic": re.compile("[وف]?[بكل]?"),
    "hebrew": re.compile("[וש]?[בהכלמ]?"),
}
"""Language -> its conjunctions and prepositions that are written as one word with a name."""
MIN_LETTERS, MAX_ENDING, MAX_ENDINGS = 3, 3, 6
"""The minimum of letters that two forms share, and the maxima behind them for one ending and for joined ones."""
Changes = tuple[tuple[re.Pattern[str], str], ...]


def _changes(*pairs: tuple[str, str]) -> Changes:
    return tuple((re.compile(pattern), replacement) for pattern, replacement in pairs)


_RUSSIAN_NAMES = (
    ("(?<=[аеиоуыэюя])и$", "й"),
    ("([ое]в)$", r"\1а"),
)  # "ов" is an ending, too
SPELLINGS: Mapping[str, Changes] = {
    "finnish": _changes(("nen$", "se"), ("us$", "ukse")),
    "german": _changes(("([aou])e", r"\1")),
    "hungarian": _changes(("([brt])ol$", r"\1ól"), ("n[ae]l$", "nál"), ("ert$", "ért")),
    "polish": _changes(("(am|rzej|ciej)$", r"\1a")),  # no endings in "Adam", "Andrzej"
    "russian": _changes(*_RUSSIAN_NAMES),
    "ukrainian": _changes(("і", "и"), ("є", "е"), ("иив$", "иев"), ("ив$", "ов"), *_RUSSIAN_NAMES),
}  # fmt: skip
"""Language -> the changes after which its stemmer reads a normalised word, which lacks accents."""
STEMS: Mapping[str, Changes] = {
    "czech": _changes(("z$", "h"), ("c$", "k"), ("([^aeiouy])e([^aeiouy])$", r"\1\2")),
    "finnish": _changes(("ng$", "nk"), ("d$", "t"), ("[ei]$", "")),
    "polish": _changes(("i$", "")),
    "russian": _changes(("([^аеиоуыэюя])е([^аеиоуыэюявй])$", r"\1\2"), ("[ае]$", "")),
}  # fmt: skip
"""Language of a stemmer -> the changes that make the stems of the forms of a name equal."""


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
        if language in STEMMERS or language in PREFIXES
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
        stems = _unambiguous_stems(keys, languages)
        self._words = Lexicon(["" if " " in stem else stem for stem in stems])
        self._phrases = Lexicon([stem if " " in stem else "" for stem in stems])
        self._first_words = frozenset(
            key.split()[0] for key in keys if " " in key or len(key) >= MIN_LETTERS
        )

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
                    is_form_of(
                        words[start : end + 1],
                        self._keys[code].split(),
                        self._languages,
                    )
                    for start, end, code in spans
                ],
                dtype=bool,
            )
            matches.append((first[is_form], last[is_form], codes[is_form]))
        if not PREFIXES.keys().isdisjoint(self._languages.values()):
            matches.append(self._prefixed_matches(words, texts))
        first, last, codes = map(np.concatenate, zip(*matches, strict=True))
        # The sort is stable: names precede forms.
        order = np.lexsort((-last, first))
        longest = order[np.diff(first[order], prepend=-1) > 0]
        return first[longest], last[longest], codes[longest]

    def _prefixed_matches(
        self, words: Sequence[str], texts: Integers
    ) -> tuple[Integers, Integers, Codes]:
        """The matches whose first word has a prefix of its language, see `longest_matches`."""
        bare = [self._without_prefix(word) for word in words]
        first, last, codes = super().longest_matches(bare, texts)
        has_prefix = np.array(
            [word != rest for word, rest in zip(words, bare, strict=True)], dtype=int
        )
        n_before = np.append(0, np.cumsum(has_prefix))
        is_alone = has_prefix[first] == n_before[last + 1] - n_before[first]
        return first[is_alone], last[is_alone], codes[is_alone]

    def _without_prefix(self, word: str) -> str:
        """The first word of a name behind the prefixes of a word; the word itself without one."""
        prefix = PREFIXES.get(self._languages.get(script_of(word), ""))
        if prefix is None or word in self._first_words:
            return word
        # "لل" is the preposition with the article "ال".
        rests = [(word[:n], word[n:]) for n in (1, 2)]
        rests += [
            (f"{word[:n]}ل", f"ال{word[n + 2 :]}")
            for n in (0, 1)
            if word[n:].startswith("لل")
        ]
        return next(
            (
                rest
                for letters, rest in rests
                if prefix.fullmatch(letters) and rest in self._first_words
            ),
            word,
        )


def _unambiguous_stems(keys: Sequence[str], languages: Mapping[str, str]) -> list[str]:
    """The stem of each normalised name, "" for a stem of several names."""
    stems = [stem_of_name(key, languages) for key in keys]
    frequency = Counter(stems)
    return [stem if frequency[stem] == 1 else "" for stem in stems]


def joined_forms(
    keys: Sequence[str], counts: Sequence[int], languages: Mapping[str, str]
) -> list[int]:
    """The code of the name behind each key, (n_keys,); a key that is no form is the name itself.

    Of the forms of a name, the most frequent one is the name, of equally frequent ones the shortest;
    `counts` has the frequency of each.

    >>> joined_forms(["einsteins", "einstein", "hans", "han"], [2, 5, 9, 1], {"latin": "german"})
    [1, 1, 2, 3]
    """
    code_of: dict[str, int] = {}
    for code in sorted(
        range(len(keys)), key=lambda code: (-counts[code], len(keys[code]))
    ):
        code_of.setdefault(stem_of_name(keys[code], languages), code)
    names = []
    for code, key in enumerate(keys):
        words = key.split()
        form = stem_of_form if len(words) == 1 else stem_of_word
        stem = " ".join(form(word, languages) for word in words)
        name = code_of.get(stem, code)
        is_form = counts[name] >= counts[code] and is_form_of(
            words, keys[name].split(), languages
        )
        names.append(name if is_form else code)
    return names


def stem_of_name(key: str, languages: Mapping[str, str]) -> str:
    """The stem of a normalised name, which its forms have in common.

    >>> stem_of_name("rotes kreuz", {"latin": "german"}), stem_of_name("hans", {"latin": "german"})
    ('rot kreuz', 'hans')
    """
    words = key.split()
    language = languages.get(script_of(key), "")
    if len(words) == 1 and language in GENITIVE_S:
        return _changed(key, SPELLINGS.get(language, ()))
    return " ".join(stem_of_word(word, languages) for word in words)


def stem_of_form(word: str, languages: Mapping[str, str]) -> str:
    """The stem of the name of one word behind a normalised word.

    >>> [stem_of_form(word, {"latin": "german"}) for word in ("einsteins", "kreuzes", "des")]
    ['einstein', 'kreuze', 'des']
    """
    language = languages.get(script_of(word), "")
    if language in GENITIVE_S:
        word = _changed(word, SPELLINGS.get(language, ()))
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
    word = _changed(word, SPELLINGS.get(language, ()))
    stemmer = stemmer_of(STEMMERS[language])
    stem = str(stemmer.stemWord(word))
    while language in JOINED_ENDINGS and stem != word:
        word, stem = stem, str(stemmer.stemWord(stem))
    return _changed(stem, STEMS.get(STEMMERS[language], ()))


def _changed(word: str, changes: Changes) -> str:
    for pattern, replacement in changes:
        word = pattern.sub(replacement, word)
    return word


def is_form_of(
    words: Sequence[str], name: Sequence[str], languages: Mapping[str, str]
) -> bool:
    """Whether each word begins as the word of a name does and differs from it by an ending.

    >>> russian = {"cyrillic": "russian"}
    >>> is_form_of(["чехова"], ["чехов"], russian), is_form_of(["маре"], ["мария"], russian)
    (True, True)
    """
    return all(
        _share_beginning(*pair, languages.get(script_of(pair[0]), ""))
        for pair in zip(words, name, strict=True)
    )


def _share_beginning(word: str, name: str, language: str) -> bool:
    if word == name:
        return True
    changes = SPELLINGS.get(language, ())
    word, name = _changed(word, changes), _changed(name, changes)
    n_shared = Prefix.similarity(word, name)
    n_letters = max(len(word), len(name)) - n_shared
    most = MAX_ENDINGS if language in JOINED_ENDINGS else MAX_ENDING
    return n_shared >= MIN_LETTERS and n_letters <= most
