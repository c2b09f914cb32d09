"""The parts that a model wrote -> names and facts fit for a graph; what is dropped is counted by cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kg2rag.extraction import TripleTexts
from kg2rag.extraction.prompted.answers import RawTriple
from kg2rag.text.normalisation import entity_key

QUOTES = "\"'“”‘’`"


def clean_names(names: Iterable[str], longest: int, notes: Counter[str]) -> list[str]:
    """Names without surrounding quotes and space, each once; blank ones and those above `longest` characters drop."""
    kept: dict[str, None] = {}
    for name in map(_tidy, names):
        if not name:
            notes["dropped: entities that are blank"] += 1
        elif len(name) > longest:
            notes[f"dropped: entities longer than {longest} characters"] += 1
        else:
            kept[name] = None
    return list(kept)


def clean_facts(given: Iterable[RawTriple], longest: int, notes: Counter[str]) -> list[TripleTexts]:
    """Facts of three parts, each once, in the order given.

    A fact whose two ends are one entity (equal when normalised) means nothing in a graph, and a part of more than
    `longest` characters is a sentence, not a name: both drop.
    """
    kept: dict[TripleTexts, None] = {}
    for parts in given:
        tidy = tuple(map(_tidy, parts))
        if (cause := _fault(tidy, longest)) is not None:
            notes[f"dropped: {cause}"] += 1
            continue
        head, relation, tail = tidy
        notes["dropped: triples that a passage has already"] += (head, relation, tail) in kept
        kept[head, relation, tail] = None
    return list(kept)


def _fault(parts: RawTriple, longest: int) -> str | None:
    if len(parts) != 3:
        return "triples without exactly three parts"
    if not all(parts):
        return "triples with a blank part"
    if max(map(len, parts)) > longest:
        return f"triples with a part longer than {longest} characters"
    if entity_key(parts[0]) == entity_key(parts[2]):
        return "triples from an entity to itself"
    return None


def _tidy(text: str) -> str:
    """One line, without the quotes around it; quotes that belong to the text ("5 o'clock") stay."""
    line = " ".join(text.split())
    while len(line) > 1 and line[0] in QUOTES and line[-1] in QUOTES:
        line = line[1:-1].strip()
    return "" if line in QUOTES else line
