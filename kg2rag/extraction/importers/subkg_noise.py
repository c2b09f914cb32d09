"""One raw triple of KG2RAG's published sub-graphs -> a clean triple, or why it is none; every step counted.

An LLM wrote `<head## relation## tail>` lines and the release cut one character off both ends of each. Hence its noise,
as found in the 23,723 triples of 300 HotpotQA questions; the numbers are how many triples each rule met.

Cleaned:
- heads that keep a "<" or all of the LLM's preamble up to it (12,532): what follows the last "<" is kept;
- heads with a preamble but no "<" (181): the last line is kept;
- heads with a ">" (22): what follows it is kept;
- labels ("Text:", "Triplets:") and list marks ("*", "-", ">", "$") around an end;
- tails with a ">" and what the LLM wrote after it;
- ends that lost a letter because the line had no brackets to cut: put back where the passage has exactly that word;
- ends that are a pronoun: the title, which is what the article is about.

Dropped: a fact of the prompt's own example, copied into the answer (338), where the passage does not name its head; a
blank part, a null word ("none", "unknown"), a function word ("and", "after") as an end, a relation without a
content word, equal ends, an end too long to be a name, a triple that the sentence states twice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kg2rag.extraction import TripleTexts
from kg2rag.text.normalisation import normalise

NULLS = ("no", "none", "null", "unknown", "unspecified", "n/a", "not specified", "not mentioned", "not available")
PRONOUNS = ("he", "she", "it", "they", "him", "her", "them", "his", "its", "their", "this", "these")
_ARTICLES = ("a", "an", "the")
_CONJUNCTIONS = ("and", "or", "but", "nor")
FUNCTION_WORDS = (
    *("of", "in", "on", "at", "to", "for", "from", "by", "with", "as", "after", "before", "while", "when", "where"),
    *("that", "which", "who", "whom", "whose", "is", "are", "was", "were", "be", "been", "has", "have", "had"),
    *("also", "not", *_ARTICLES, *_CONJUNCTIONS),
)
# The facts of the prompt's example; the LLM often copied them into its answer to another text.
EXAMPLES = ("Scott Derrickson", "Shirley Temple", "A Kiss for Corliss")
# As a relation, "in", "from" or "is" mean something; these do not.
EMPTY_RELATIONS = (*_ARTICLES, *_CONJUNCTIONS, "he", "she", "it", "they")
_LABEL = re.compile(r"^\s*(?:text|triplets?)\s*:\s*", re.IGNORECASE)
_PREAMBLE = re.compile(r"^(?:h?ere (?:are|is) the .*?triplets?\b[^\n]*:|-{5,})", re.IGNORECASE | re.DOTALL)
_MARKS = " \t\r\n*$>_|`-"


@dataclass(frozen=True)
class Cleaning:
    """The rules that are a matter of choice; the others always hold."""

    pronouns: Literal["title", "keep", "drop"] = "title"
    restore: bool = True
    max_length: int = 100


def clean(
    triples: Sequence[TripleTexts], title: str, contents: str, rules: Cleaning, notes: Counter[str]
) -> list[TripleTexts]:
    """The clean triples of one sentence, in their order.

    Parameters
    ----------
    title, contents : of the passage; what a pronoun refers to, and where lost letters are looked up.
    notes : counts what was done, by cause; added to in place.
    """
    # Letters were lost only in sentences whose lines had no brackets.
    bare = rules.restore and not any("<" in head for head, _, _ in triples)
    kept: dict[TripleTexts, None] = {}
    for raw in triples:
        head, relation, tail = _head(raw[0], notes), _strip(raw[1]), _tail(raw[2], notes)
        if bare and normalise(head) not in PRONOUNS:
            head = _restored(head, contents, r"(?<!\w)\w{0}", notes)
        if bare and normalise(tail) not in PRONOUNS:
            tail = _restored(tail, contents, r"{0}\w(?!\w)", notes)
        if rules.pronouns == "title":
            head, tail = (_referent(end, title, notes) for end in (head, tail))
        parts = (head, relation, tail)
        cause = _fault(parts, contents, rules) or ("dropped: stated twice in a sentence" if parts in kept else None)
        if cause is None:
            kept[parts] = None
        else:
            notes[cause] += 1
    return list(kept)


def _head(head: str, notes: Counter[str]) -> str:
    if "<" in head:
        notes["cleaned: head after a '<'" if head.startswith("<") else "cleaned: head after a preamble and '<'"] += 1
        head = head.rsplit("<", 1)[1]
    elif _PREAMBLE.match(head):
        notes["cleaned: head after a preamble without '<'"] += 1
        head = head.rsplit("\n", 1)[-1]
    opened = head.rstrip(_MARKS).rpartition(">")[2]
    notes["cleaned: head after a '>'"] += opened != head.rstrip(_MARKS)
    unlabelled = _LABEL.sub("", opened)
    notes["cleaned: head after a label"] += unlabelled != opened
    return _unmarked(unlabelled, notes)


def _tail(tail: str, notes: Counter[str]) -> str:
    kept, bracket, _ = tail.partition(">")
    notes["cleaned: tail before a '>'"] += bool(bracket)
    return _unmarked(kept, notes)


def _unmarked(end: str, notes: Counter[str]) -> str:
    plain = _strip(end)
    bare = plain.strip(_MARKS).removesuffix(":").rstrip()
    notes["cleaned: marks around an end"] += bare != plain
    return bare


def _strip(part: str) -> str:
    return " ".join(part.split())


def _restored(end: str, contents: str, pattern: str, notes: Counter[str]) -> str:
    """The end with its lost letter, where the passage has no such word without it and one with it."""
    escaped = re.escape(end)
    if not end or re.search(rf"(?<!\w){escaped}(?!\w)", contents):
        return end
    found = re.search(pattern.replace("{0}", escaped), contents)
    if found is None:
        return end
    notes["cleaned: lost letter put back"] += 1
    return found[0]


def _referent(end: str, title: str, notes: Counter[str]) -> str:
    if normalise(end) not in PRONOUNS:
        return end
    notes["cleaned: pronoun read as the title"] += 1
    return title


def _fault(parts: TripleTexts, contents: str, rules: Cleaning) -> str | None:
    """Why a triple is dropped, or None."""
    head, relation, tail = parts
    if not all(re.search(r"\w", part) for part in (head, tail)) or not relation:
        return "dropped: a blank part"
    if head in EXAMPLES and normalise(head) not in normalise(contents):
        return "dropped: copied from the prompt's example"
    if any(end.lower() in NULLS for end in (head, tail)):
        return "dropped: a null word as an end"
    # "A" is a grade and "IT" a trade: a function word is written as one, "After" or "after".
    if any(end.lower() in FUNCTION_WORDS and not end.isupper() for end in (head, tail)):
        return "dropped: a function word as an end"
    if relation.lower() in EMPTY_RELATIONS or not re.search(r"\w", relation):
        return "dropped: a relation without a content word"
    if max(len(head), len(tail)) > rules.max_length:
        return f"dropped: an end of more than {rules.max_length} characters"
    if rules.pronouns == "drop" and any(normalise(end) in PRONOUNS for end in (head, tail)):
        return "dropped: a pronoun as an end"
    return "dropped: equal ends" if normalise(head) == normalise(tail) else None
