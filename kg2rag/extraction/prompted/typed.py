"""What a model writes of a passage in the style "typed" -> entities with type and description, and weighed relations.

The JSON schema that is sent has the types of a `GraphSchema` as enumerations; what is read is cleaned against them.
Slightly more is read than was requested, as in `answers`: a bare name for an entity, a list of three for a relation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema, create_model

from kg2rag.extraction import Entity
from kg2rag.extraction.prompted.answers import fault, tidy, written
from kg2rag.extraction.prompted.schema import GraphSchema
from kg2rag.text.normalisation import entity_key
from kg2rag.types import Triple

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
