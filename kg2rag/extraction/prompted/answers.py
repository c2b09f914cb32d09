"""What a model writes about a text -> names and facts fit for a graph: the schemas of the answers, and their cleaning.

The JSON schema that is sent is strict, and has triples as lists of three: as objects they take half as many tokens
again (2.9 instead of 1.9 a token of text, over GPT-3.5's triples of 1,890 MuSiQue passages). Slightly more is read
than was requested: forms that small models fall into and that have one reading. A triple that is not three
parts becomes `()`, to be dropped and counted; anything else that does not fit fails the whole answer.

Of a text in the style "typed", entities have a type and a description, relations a weight. The schema of the answer has
the types of a `GraphSchema` as enumerations, and what is read is cleaned against them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema, create_model, model_validator

from kg2rag.extraction import Entity, TripleTexts
from kg2rag.extraction.prompted.schema import GraphSchema
from kg2rag.text.normalisation import entity_key
from kg2rag.types import Triple

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


LEAST, GREATEST, UNSTATED = 1.0, 10.0, 5.0  # of a strength
SYNONYMS: Mapping[str, str] = {
    "head": "source",
    "subject": "source",
    "predicate": "relation",
    "tail": "target",
    "object": "target",
}


def _strict(schema: dict[str, Any]) -> None:
    """Every field is required, and no other allowed."""
    schema |= {"required": list(schema["properties"]), "additionalProperties": False}
    for part in schema["properties"].values():
        part.pop("default", None)


def _as_entity(value: object) -> object:
    return {"name": value} if isinstance(value, str) else value


def _as_relation(value: object) -> object:
    if isinstance(value, list):
        return dict(zip(("source", "relation", "target"), value, strict=False)) if len(value) == 3 else {}
    if isinstance(value, dict):
        return {
            name: part for key, part in value.items() if (name := SYNONYMS.get(key, key)) == key or name not in value
        }
    return value


def _text(*known: str) -> Any:
    """A string, one of the known where there are any."""
    return Annotated[
        str, BeforeValidator(written), WithJsonSchema({"type": "string", **({"enum": list(known)} if known else {})})
    ]


def _number(default: float, low: float, high: float) -> Any:
    asked = WithJsonSchema({"type": "number", "minimum": low, "maximum": high})
    return Annotated[float, BeforeValidator(lambda value: default if value in (None, "") else value), asked]


class Stated(BaseModel):
    """The entities that a text names, and how they are related."""

    model_config = ConfigDict(extra="ignore", json_schema_extra=_strict)

    entities: list[Any]
    relations: list[Any]


@cache
def stated(schema: GraphSchema) -> type[Stated]:
    """The form of an answer under a schema."""
    config = ConfigDict(extra="ignore", json_schema_extra=_strict)
    entity = create_model(
        "NamedEntity",
        __config__=config,
        name=(_text(), ""),
        type=(_text(*schema.entity_types), ""),
        description=(_text(), ""),
    )
    relation = create_model(
        "StatedRelation",
        __config__=config,
        source=(_text(), ""),
        relation=(_text(*schema.relation_types), ""),
        target=(_text(), ""),
        description=(_text(), ""),
        strength=(_number(UNSTATED, LEAST, GREATEST), UNSTATED),
        confidence=(_number(1.0, 0, 1), 1.0),
    )
    return create_model(
        "Stated",
        __base__=Stated,
        __doc__=Stated.__doc__,
        entities=(list[Annotated[entity, BeforeValidator(_as_entity)]], ...),  # type: ignore[valid-type]
        relations=(list[Annotated[relation, BeforeValidator(_as_relation)]], ...),  # type: ignore[valid-type]
    )


def clean_entities(answer: Stated, schema: GraphSchema, longest: int, notes: Counter[str]) -> list[Entity]:
    """The entities, each once, their types in the schema's spelling; a type outside a closed schema becomes none."""
    types = {entity_key(name): name for name in schema.entity_types}
    kept: dict[str, Entity] = {}
    for one in answer.entities:
        name, kind = tidy(one.name), tidy(one.type)
        if not name:
            notes["dropped: entities that are blank"] += 1
            continue
        if len(name) > longest:
            notes[f"dropped: entities longer than {longest} characters"] += 1
            continue
        if types and kind and entity_key(kind) not in types:
            notes["entities of a type outside the schema, kept without one"] += 1
        known = types.get(entity_key(kind), "") if types else kind
        found = Entity(name, known, tidy(one.description))
        key = entity_key(name)
        kept[key] = _both(kept[key], found) if key in kept else found
    return list(kept.values())


def _both(one: Entity, other: Entity) -> Entity:
    return replace(one, type=one.type or other.type, description=one.description or other.description)


def clean_relations(
    answer: Stated, schema: GraphSchema, passage_id: str, longest: int, notes: Counter[str]
) -> list[Triple]:
    """The relations as triples of a passage, each once, with the greatest strength and confidence it was given.

    Dropped, by cause: what `fault` finds, a relation outside a closed schema, one of confidence 0 or below. A strength
    is brought into [1, 10], a confidence to at most 1.
    """
    types = {entity_key(name): name for name in schema.relation_types}
    kept: dict[tuple[str, str, str], Triple] = {}
    for one in answer.relations:
        parts = tuple(map(tidy, (one.source, one.relation, one.target)))
        cause = fault(parts, longest)
        if not cause and types and entity_key(parts[1]) not in types:
            cause = "triples of a relation outside the schema"
        if not cause and not one.confidence > 0:
            cause = "triples of confidence 0"
        if cause:
            notes[f"dropped: {cause}"] += 1
            continue
        strength, confidence = min(max(one.strength, LEAST), GREATEST), min(one.confidence, 1.0)
        notes["strengths and confidences out of range, brought into it"] += (strength, confidence) != (
            one.strength,
            one.confidence,
        )
        head, relation, tail = parts
        relation = types.get(entity_key(relation), relation)
        found = Triple(head, relation, tail, passage_id, strength, confidence, tidy(one.description))
        key = head, relation, tail
        notes["dropped: triples that a passage has already"] += key in kept
        kept[key] = _stronger(kept[key], found) if key in kept else found
    return list(kept.values())


def _stronger(one: Triple, other: Triple) -> Triple:
    return replace(
        one,
        strength=max(one.strength, other.strength),
        confidence=max(one.confidence, other.confidence),
        description=one.description or other.description,
    )


def clause(schema: GraphSchema) -> str:
    """The part of the instruction that says which types there are."""
    kinds = (("type of an entity", schema.entity_types), ("relation", schema.relation_types))
    said = []
    for kind, types in kinds:
        listed = "; ".join(f"{name} ({about})" if about else name for name, about in types.items())
        said += [f"The {kind} is one of these, and what fits none is left out: {listed}."] if types else []
    return " ".join(said)


def typical(records: Iterable[Entity]) -> str:
    """The type that most of the records of one entity give it, the first of equally frequent ones; "" for none."""
    found = Counter(one.type for one in records if one.type)
    return found.most_common(1)[0][0] if found else ""
