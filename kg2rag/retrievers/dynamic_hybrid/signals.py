"""Query text -> features of its form: question words, names, quoted codes, words the corpus lacks.

Shared by the rules and the learned analyser. They read the query and, if given, the corpus's vocabulary;
never gold or the origin of a query.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kg2rag.knowledge import TrigramIndex
from kg2rag.retrievers.linking.linkers import phrases
from kg2rag.text.identifiers import LONGEST, WHOLE, key, looks_like_name, surfaces
from kg2rag.text.lexicon import FUNCTION_WORDS

READ = 2000
"""Characters of a query that are read; the beginning shows its form."""
LIKE = 0.6
"""How similar a word of the corpus must be to an unknown name for that to be its misspelling."""

_HOW_TO = re.compile(
    r"(?:how\s+(?:do|does|can|could|should|would|to|is|are)\b|why\b|explain\b|describe\b|what\s+is\s+the\s+best\s+way)",
    re.I,
)
_QUESTION = re.compile(
    r"(?:what|which|who|whom|whose|when|where|why|how|is|are|was|were|do|does|did|can|in\s+wh)\b", re.I
)
_RELATION = re.compile(
    r"\b(?:us(?:e|es|ed|ing)|call(?:s|ed|ing)?|depend(?:s|ed|ing)?|extend(?:s|ed|ing)?|implement(?:s|ed|ing)?|"
    r"inherit(?:s|ed|ing)?|import(?:s|ed|ing)?|relat(?:e|es|ed)|relationships?|connect(?:s|ed)?|between|built)\b",
    re.I,
)
_FORMAT = re.compile(r"\b(?:formats?|formatted|patterns?|regex(?:es|p)?|wildcards?|starting with|ending with)\b", re.I)
_QUOTED_CODE = re.compile(r"[\"'`“‘]([^\s\"'`”’]*[\d_\-./*:#$%\\\[\]][^\s\"'`”’]*)[\"'`”’]")
_REGEX = re.compile(r"/.+/i?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Signals:
    """The form of a query.

    `names` are words spelt like names in code, `misspelt` those of them, or the one word that the query is, which no
    passage has but some passage has a similar word; `spelled` is the corpus's name that the query's words make
    together; `phrases` counts capitalised and quoted phrases after the first word.
    """

    words: int
    content_words: int
    how_to: bool
    question: bool
    relation: bool
    as_pattern: bool
    coded_format: bool
    names: tuple[str, ...]
    misspelt: tuple[str, ...]
    spelled: bool
    phrases: int
    known_share: float

    def numbers(self) -> list[float]:
        """The features of the learned analyser, each of the order of 1."""
        flags = (self.how_to, self.question, self.relation, self.as_pattern or self.coded_format, self.spelled)
        counts = (self.words / 10, self.content_words / 10, len(self.names), len(self.misspelt), self.phrases / 2)
        return [*map(float, flags), *map(float, counts), self.known_share]


FEATURES = (
    *("how_to", "question", "relation", "pattern", "spelled"),
    *("words", "content_words", "names", "misspelt", "phrases", "known_share"),
)


def read(text: str, vocabulary: TrigramIndex | None) -> Signals:
    """The signals of a query; without a vocabulary no word is known to be missing or misspelt."""
    text = text[:READ].strip()
    words = [surface for surface, _ in surfaces(text) if key(surface)]
    content = [word for word in words if key(word) not in FUNCTION_WORDS]
    names = tuple(dict.fromkeys(word for word in words if looks_like_name(word)))
    suspects = dict.fromkeys([*names, *(content if len(words) == 1 else ())])
    first_ends = len(text.split(maxsplit=1)[0]) if text else 0
    misspelt, spelled, known_share = list[str](), False, 1.0
    if vocabulary is not None:
        known = {word: vocabulary.document_frequency(key(word)) > 0 for word in words}
        unlike = [word for word in suspects if not known[word]]
        misspelt = [word for word in unlike if len(vocabulary.similar(key(word), LIKE, 1).keys)]
        joined = "".join(map(key, words))
        spelled = 2 <= len(words) <= WHOLE and len(joined) <= LONGEST and vocabulary.document_frequency(joined) > 0
        known_share = sum(map(known.__getitem__, content)) / len(content) if content else 1.0
    return Signals(
        words=len(words),
        content_words=len(content),
        how_to=bool(_HOW_TO.match(text)),
        question=bool(_QUESTION.match(text)) or text.endswith("?"),
        relation=bool(_RELATION.search(text)),
        as_pattern=bool(_REGEX.fullmatch(text)) or any("*" in word.strip("*") for word in text.split()),
        coded_format=bool(_FORMAT.search(text) and _QUOTED_CODE.search(text)),
        names=names,
        misspelt=tuple(misspelt),
        spelled=spelled,
        phrases=sum(end > first_ends for _, end in phrases(text)),
        known_share=known_share,
    )
