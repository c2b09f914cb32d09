"""What a model writes about a text -> names and facts fit for a graph: the schemas of the answers, and their cleaning.

The JSON schema that is sent is strict, and has triples as lists of three: as objects they take half as many tokens
again (2.9 instead of 1.9 a token of text, over GPT-3.5's triples of 1,890 MuSiQue passages). Slightly more is read
than was requested: forms that small models fall into and that have one reading. A triple that is not three
parts becomes `()`, to be dropped and counted; anything else that does not fit fails the whole answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema, model_validator

from kg2rag.extraction import TripleTexts
from kg2rag.text.normalisation import entity_key

RawTriple = tuple[str, ...]
"""Head, relation, tail; or nothing, where the model wrote no three parts."""

_SYNONYMS: Mapping[str, int] = {"head": 0, "subject": 0, "relation": 1, "predicate": 1, "tail": 2, "object": 2}


def written(value: object) -> object:
    """A part as text: a year may come as a number, a missing tail as null."""
    if value is None:
        return ""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _parts(value: object) -> object:
    if isinstance(value, dict):
        places = {_SYNONYMS.get(key, -1): part for key, part in value.items()}
        value = [places[place] for place in range(3)] if set(places) == {0, 1, 2} and len(value) == 3 else []
    if not isinstance(value, list):
        return value  # no list: the answer does not fit
    return tuple(map(written, value)) if len(value) == 3 else ()


def _name(value: object) -> object:
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        return value["name"]  # {"name": …, "type": …}
    return written(value)


_TRIPLE = {"type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 3}
Name = Annotated[str, BeforeValidator(_name), WithJsonSchema({"type": "string"})]
Triplet = Annotated[RawTriple, BeforeValidator(_parts), WithJsonSchema(_TRIPLE)]


class _Answer(BaseModel):
    """An object with one list; the list alone is taken for it."""

    model_config = ConfigDict(extra="ignore", json_schema_extra={"additionalProperties": False})

    @model_validator(mode="before")
    @classmethod
    def _bare_list(cls, value: Any) -> Any:
        (field,) = cls.model_fields
        return {field: value} if isinstance(value, list) else value


# Names and docstrings of these two are part of the schema that is sent, and so of the keys of stored answers.


class Entities(_Answer):
    """The names that stand in a text."""

    entities: list[Name]


class Facts(_Answer):
    """The facts that a text states."""

    triples: list[Triplet]


QUOTES = "\"'“”‘’`"


def clean_names(names: Iterable[str], longest: int, notes: Counter[str]) -> list[str]:
    """Names without surrounding quotes and space, each once; blank ones and those above `longest` characters drop."""
    kept: dict[str, None] = {}
    for name in map(tidy, names):
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
        tidied = tuple(map(tidy, parts))
        if (cause := fault(tidied, longest)) is not None:
            notes[f"dropped: {cause}"] += 1
            continue
        head, relation, tail = tidied
        notes["dropped: triples that a passage has already"] += (head, relation, tail) in kept
        kept[head, relation, tail] = None
    return list(kept)


def fault(parts: RawTriple, longest: int) -> str | None:
    """Why a graph cannot have a triple of these parts, as notes call it; None where it can."""
    if len(parts) != 3:
        return "triples without exactly three parts"
    if not all(parts):
        return "triples with a blank part"
    if max(map(len, parts)) > longest:
        return f"triples with a part longer than {longest} characters"
    if entity_key(parts[0]) == entity_key(parts[2]):
        return "triples from an entity to itself"
    return None


def tidy(text: str) -> str:
    """One line, without the quotes around it; quotes that belong to the text ("5 o'clock") stay."""
    line = " ".join(text.split())
    while len(line) > 1 and line[0] in QUOTES and line[-1] in QUOTES:
        line = line[1:-1].strip()
    return "" if line in QUOTES else line
