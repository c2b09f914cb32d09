"""Query text -> features of its form: question words, names, quoted codes, unknown words.

The rules and the learned analyser share them; they read the query and the corpus's vocabulary, never
gold. The forms of `asks_relation` are ours: "what uses X", but not "how to use X".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from kg2rag.knowledge import TrigramIndex
from kg2rag.knowledge.indexes.lexical_terms import stem
from kg2rag.retrievers.linking.phrases import phrases
from kg2rag.text.code_names import (
    MAX_KEY_CHARACTERS,
    MAX_NAME_WORDS,
    format_by_example,
    key,
    looks_like_name,
    members,
    split,
    surfaces,
)
from kg2rag.text.expressions import slash_expression
from kg2rag.text.normalisation import FUNCTION_WORDS

READ = 2000  # the maximum of characters read; the beginning shows the form of a query
LIKE = 0.6  # the minimum similarity of a misspelt name to a word of the corpus
TYPO = 0.75  # the same for a word of prose; a swap of neighbouring letters is one edit
LETTERS = 5  # the minimum length of a misspelt word of prose: most shorter words resemble others
# The maximum of content words in a query whose prose is checked for typos.
LOOKED_UP = 3

_FORMS = {  # patterns anywhere in a query, or with ^ at its beginning
    "how_to": r"^(?:how\s+(?:do|does|can|could|should|would|to|is|are)\b|why\b|explain\b|describe\b"
    r"|what\s+is\s+the\s+best\s+way)",
    # Used if the query has a name; without one, such a question is conceptual by default.
    "explained": r"^(?:when\s+(?:should|do|would)\b|what\s+(?:is|are)\s+(?:the\s+|a\s+|some\s+)?(?:purpose|idea|point"
    r"|reason|meaning|difference|benefit|advantage|trade-?off|(?:good|best|common|recommended)\s+\w+)"
    r"|what\s+does\b.*\bmean\b|(?:can|should|could)\s+(?:i|we|one)\b|is\s+(?:it|there)\b|best\s+(?:way|practices?)\b"
    r"|tips\s+(?:for|on)\b)",
    "question": r"^(?:what|which|who|whom|whose|when|where|why|how|is|are|was|were|do|does|did|can|in\s+wh)\b|\?\Z",
    "roughly": r"\bsomething\s+like\b|\bsounds?\s+like\b"
    r"|\b(?:called|named|spelled|spelt|written)\s+(?:something|roughly|approximately|kind\s+of|sort\s+of)\b",
    "relation": r"\b(?:us(?:e|es|ed|ing)|call(?:s|ed|ing)?|depend(?:s|ed|ing)?|extend(?:s|ed|ing)?"
    r"|implement(?:s|ed|ing)?|inherit(?:s|ed|ing)?|import(?:s|ed|ing)?|relat(?:e|es|ed)|relationships?|connect(?:s|ed)?"
    r"|between|built)\b",
    "code": r"(?-i:[A-Z]{1,6}[-_ ]?\d+\w*(?:[-.]\w+)*|[A-Z][A-Z_]{3,})",
}
_FORM_PATTERNS = {
    name: re.compile(form, re.IGNORECASE) for name, form in _FORMS.items()
}
_FORMAT = re.compile(
    r"\b(?:formats?|formatted|patterns?|regex(?:es|p)?|wildcards?|starting with|ending with)\b",
    re.I,
)
_CODE_IN_QUOTES = re.compile(
    r"[\"'`“‘][^\s\"'`”’]*[\d_\-./*:#$%\\\[\]][^\s\"'`”’]*[\"'`”’]"
)


@dataclass(frozen=True, slots=True)
class Signals:
    """The form of a query.

    `names` : the words that are spelt like names in code. `misspelt` : the names, or words of a short
    query, that the corpus lacks although it has a similar word. `spelled` : the words of the query
    together are a name of the corpus. `other_capitals` : the corpus has a name in this and in other
    capitals. `asks_relation` : the form asks for related things. `relation` : a word of relation occurs.
    `phrases` : the number of capitalised and quoted phrases after the first word.
    """

    how_to: bool
    explained: bool
    question: bool
    roughly: bool
    relation: bool
    code: bool
    asks_relation: bool
    as_pattern: bool
    coded_format: bool
    words: int
    content_words: int
    phrases: int
    names: tuple[str, ...]
    misspelt: tuple[str, ...] = ()
    spelled: bool = False
    other_capitals: bool = False
    known_share: float = 1.0

    @property
    def asks_how(self) -> bool:
        """Whether the query asks how, why, or for a purpose."""
        return self.how_to or self.explained

    def numbers(self) -> list[float]:
        """The features of the learned analyser, each of order 1."""
        flags = (
            self.how_to,
            self.question,
            self.relation,
            self.as_pattern or self.coded_format,
            self.spelled,
        )
        counts = (
            self.words / 10,
            self.content_words / 10,
            len(self.names),
            len(self.misspelt),
            self.phrases / 2,
        )
        return [*map(float, flags), *map(float, counts), self.known_share]


FEATURES = (
    *("how_to", "question", "relation", "pattern", "spelled"),
    *("words", "content_words", "names", "misspelt", "phrases", "known_share"),
)


def read(text: str, vocabulary: TrigramIndex | None) -> Signals:
    """The signals of a query; without a vocabulary, no word counts as unknown or misspelt."""
    text = text[:READ].strip()
    words = [surface for surface, _ in surfaces(text) if key(surface)]
    content = [word for word in words if key(word) not in FUNCTION_WORDS]
    signals = _form(text, words, content)
    if vocabulary is None:
        return signals
    return _with_vocabulary(signals, words, content, vocabulary)


def _with_vocabulary(
    signals: Signals,
    words: Sequence[str],
    content: Sequence[str],
    vocabulary: TrigramIndex,
) -> Signals:
    """The signals with those that depend on the vocabulary."""
    unknown = {word for word in words if not _is_known(word, vocabulary)}
    known_share = 1.0
    if content:
        known_share = sum(word not in unknown for word in content) / len(content)
    return replace(
        signals,
        misspelt=_misspelt(signals, content, unknown, vocabulary),
        spelled=_spells_a_name(words, vocabulary),
        other_capitals=any(
            _has_other_capitals(name, vocabulary) for name in signals.names
        ),
        known_share=known_share,
    )


def _form(text: str, words: Sequence[str], content: Sequence[str]) -> Signals:
    """The signals that need no vocabulary; `content` are the words without function words."""
    first_word = text.split(maxsplit=1)[:1]
    first_end = len("".join(first_word))
    forms: dict[str, Any] = {
        name: bool(form.search(text)) for name, form in _FORM_PATTERNS.items()
    }
    quotes_a_format = bool(_FORMAT.search(text) and _CODE_IN_QUOTES.search(text))
    return Signals(
        **forms,
        asks_relation=asks_relation(text),
        as_pattern=slash_expression(text) is not None
        or any(map(_wildcard, text.split())),
        coded_format=quotes_a_format or format_by_example(text) is not None,
        words=len(words),
        content_words=len(content),
        phrases=sum(end > first_end for _, end in phrases(text)),
        names=tuple(dict.fromkeys(word for word in words if looks_like_name(word))),
    )


def _is_known(word: str, vocabulary: TrigramIndex) -> bool:
    """Whether the corpus has a word, or all of its parts."""
    if vocabulary.document_frequency(key(word)):
        return True
    parts = [key(part) for part in members(word)]
    return all(vocabulary.document_frequency(part) for part in parts if part)


def _misspelt(
    signals: Signals,
    content: Sequence[str],
    unknown: set[str],
    vocabulary: TrigramIndex,
) -> tuple[str, ...]:
    """The unknown names similar to one of the corpus, then the mistyped words of prose."""
    names = [*signals.names]
    prose: Sequence[str] = ()
    if signals.words == 1:
        names += content
    elif len(content) <= _words_looked_up(signals):
        prose = content
    misspelt = [
        name for name in names if name in unknown and _like_a_name(name, vocabulary)
    ]
    new = unknown - set(names)
    misspelt += [word for word in prose if word in new and _mistyped(word, vocabulary)]
    return tuple(dict.fromkeys(misspelt))


def _words_looked_up(signals: Signals) -> int:
    """The maximum of content words in a query whose prose is checked for typos."""
    if signals.how_to or signals.asks_relation:
        return 0
    if signals.question:
        return LOOKED_UP // 2
    return LOOKED_UP


def _spells_a_name(words: Sequence[str], vocabulary: TrigramIndex) -> bool:
    """Whether two or more words, joined, are a name of the corpus."""
    joined = "".join(map(key, words))
    if not 2 <= len(words) <= MAX_NAME_WORDS or len(joined) > MAX_KEY_CHARACTERS:
        return False
    return vocabulary.document_frequency(joined) > 0


def _has_other_capitals(name: str, vocabulary: TrigramIndex) -> bool:
    """Whether the corpus has a name in this and in other capitals, as api_key and API_KEY."""
    spellings = vocabulary.spellings(key(name))
    lowered = [spelling.lower() for spelling in spellings]
    return name in spellings and lowered.count(name.lower()) > 1


def _wildcard(word: str) -> bool:
    """Whether a `*` in a word is a wildcard: use*Chat, *_by_id, but not *args or **bold**."""
    written = word.strip("*")
    at_one_end = word.startswith("*") != word.endswith("*") and "**" not in word
    return "*" in written or (at_one_end and any(mark in written for mark in "_-./"))


def _like_a_name(word: str, vocabulary: TrigramIndex) -> bool:
    if len(vocabulary.similar(key(word), LIKE, 1).keys):
        return True
    unknown = (
        part for part in split(word) if not vocabulary.document_frequency(key(part))
    )
    return any(_mistyped(part, vocabulary) for part in unknown)


def _mistyped(word: str, vocabulary: TrigramIndex) -> bool:
    """Whether an unknown word is a typo of a known word, and not an inflection of it."""
    from rapidfuzz.distance import OSA

    sought = key(word)
    if len(sought) < LETTERS:
        return False
    similar = vocabulary.similar(sought, LIKE, 10)
    nearest = [str(vocabulary.keys[code]) for code in similar.keys.tolist()]
    corrections = [
        name for name in nearest if OSA.normalized_similarity(sought, name) >= TYPO
    ]
    return bool(corrections) and stem(sought) not in map(stem, corrections)


_VERBS = """
affect belong break build call configure connect consume contain cover create depend emit expect export expose extend
handle hold host implement impact import inherit instantiate invoke join link listen maintain manage mock modify monitor
open override own point produce publish read receive refer reference relate rely require run send serve subclass
subscribe talk touch trigger update use validate wrap write""".split()
_PREPOSITIONS = "on|upon|to|from|with|in|into|by|of|against"
_IRREGULAR = {
    "read": "read",
    "write": "written",
    "run": "run",
    "hold": "held",
    "build": "built",
    "send": "sent",
}
_IRREGULAR |= {"break": "broken", "rely": "relied", "modify": "modified"}
_ACTIVE = "|".join(
    [
        *_VERBS,
        *(f"{verb[:-1]}ies" if verb[-1] == "y" else f"{verb}e?s" for verb in _VERBS),
    ]
)
_PAST = {
    verb: f"{verb}d" if verb[-1] == "e" else f"{verb}(?:ped|led|ed)" for verb in _VERBS
} | _IRREGULAR
_PASSIVE = "|".join(_PAST.values())
_THINGS = r"""^(?:(?:list|show|find|get|give|name)\s+(?:me\s+)?)?(?:(?:all|every|any|the)\s+)?(?:
    (?:things?|everything|anything|all|those)(?:\s+\w+)?|
    (?:\w+\s+)?(?:classes|functions|methods|modules|services|components|files|packages|libraries|tests|types|jobs|scripts|
    tables|systems|teams|hosts|endpoints|pages|places|projects|tools|apps|applications))"""
_RELATIONS = (
    # callers of X, its blast radius, the relationship between X and Y
    r"""\b(?:callers?|callees?|(?:sub|super|base|child|parent|derived)[-\s]?class(?:es)?|child(?:ren)?|parents?|siblings?|
    ancestors?|descendants?|dependen(?:ts?|ci?es|cy)|usages?|references?|consumers?|producers?|publishers?|subscribers?|
    listeners?|implementations?|implementers?|implementors?|importers?|overrides?|impact|blast\s+radius|side\s+effects?|
    neighbou?rs|upstreams?|downstreams?|owners?|maintainers?|users)\s+(?:of|to|for|on|from)\b""",
    r"\b(?:relations?|relationships?|connections?|links?|dependenc(?:y|ies))\s+(?:between|among|of|to|with)\b",
    # where X is used; how X is connected to Y; up- and downstream
    rf"^where\s+(?:all\s+)?(?:is|are|do\s+we|does)\b.*\b(?:{_PASSIVE}|use|call|import|reference)\W*$",
    r"^(?:how|in\s+what\s+way)\s+(?:is|are|does|do)\b.*\b(?:connect|relate|link)(?:s|ed)?\b(?:\s+(?:to|with)\b|\W*$)",
    r"\b(?:up|down)stream\s+(?:of|from)\b|\brelated\s+to\b(?=[^?]*\W*$)",
    # what breaks if I change X
    r"""\b(?:what|which|who|whose|does|will|would|anything|something)\b.*\b(?:breaks?|broken|fails?|stops?\s+working|affected|
    impacted|suffers?|(?:has|have|had|needs?)\s+to\s+(?:be\s+)?(?:change|changed|adapt|adapted|updated?|follow))\b.*
    \b(?:if|when|by|after|once)\b""",
    r"""\b(?:if|when|after)\b.*\b(?:chang|renam|remov|delet|drop|upgrad|replac|deprecat|mov|modif|break|goes\s+down|go\s+down|
    fail)\w*\b.*\b(?:what|which|who)\b.*\b(?:breaks?|fails?|stops?|changes?|affected|impacted|happens)\b""",
    r"\bwhat\s+(?:if|happens\s+(?:if|when|to))\b.*\b(?:change|rename|remove|delete|drop|upgrade|replace|deprecate|move)s?\b",
    # which services depend on X, who calls X
    rf"""^(?:(?:and|so|list|show(?:\s+me)?|find|tell\s+me|give\s+me)\s+)?(?:(?:what|who)|which\s+\w+)(?:\s+(?!is\b|are\b|was\b|were\b|
    do\b|does\b|did\b|can\b|could\b|should\b|would\b|the\b|a\b|an\b|to\b)[\w.-]+){{0,3}}\s+(?:{_ACTIVE})\b""",
    # what does X depend on, what is X used by
    rf"^(?:what|which|who|whom)\b.*\b(?:do|does|did)\s+.*\b(?:{_ACTIVE})(?:\s+(?:{_PREPOSITIONS}))?\W*$",
    rf"^(?:what|which|who)\b.*\b(?:is|are|was|were|gets?)\s+(?:\S+\s+){{0,4}}(?:{_PASSIVE})\s+(?:by|from)\b",
    # everything that imports X, functions called by X
    rf"{_THINGS}\s+(?:that|which|who)\s+(?:{_ACTIVE})\b",
    rf"{_THINGS}\s+(?:that\s+are\s+|which\s+are\s+)?(?:{_PASSIVE})\s+by\b",
    rf"{_THINGS}\s+(?:using|calling|importing|extending|implementing|inheriting|overriding|referencing)\b",
)
_ANY = tuple(re.compile(form, re.IGNORECASE | re.VERBOSE) for form in _RELATIONS)
_SHORT = 300  # characters read: some forms take quadratic time


def asks_relation(text: str) -> bool:
    """Whether the form of a query asks for related things.

    >>> [asks_relation(text) for text in ("who invokes parse", "subclasses of Node", "what breaks if I rename it?")]
    [True, True, True]
    >>> [asks_relation(text) for text in ("how to use a table", "what is a reference", "Which film won the award?")]
    [False, False, False]
    """
    return any(form.search(text[:_SHORT]) for form in _ANY)
