"""Descriptions, types and aliases of entities in any usual form -> `Entity` records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kg2rag.extraction import Entity
from kg2rag.text.records import DataError
from kg2rag.types import frame_of, is_missing, refused

FIELDS = ("name", "type", "description", "aliases")
ALLOWED = (
    "{name: description}, records with name, type, description and aliases, "
    "a DataFrame of them, or Entity objects"
)


def entities_of(value: Any) -> tuple[Entity, ...]:
    """The entities of a mapping {name: description}, of records, a DataFrame or a list of `Entity`.

    ParameterError for anything else; DataError for a record without a name or with another field.
    """
    frame = frame_of(value)
    if frame is not None:
        value = frame.rows(named=True)
    if isinstance(value, Mapping):
        value = [_named_record(name, content) for name, content in value.items()]
    if not isinstance(value, list | tuple):
        raise refused("entities", value, ALLOWED)
    return tuple(
        _entity(record, number) for number, record in enumerate(value, start=1)
    )


def _named_record(name: object, content: object) -> dict[str, Any]:
    """The record of an item of a mapping: a name with its description or further fields."""
    if isinstance(content, Mapping):
        return {"name": name, **content}
    return {"name": name, "description": content}


def _entity(record: object, number: int) -> Entity:
    """The entity of a record; `number` counts from 1. DataError: no name, or an unknown field."""
    if isinstance(record, Entity):
        return record
    if not isinstance(record, Mapping):
        raise refused("entities", record, ALLOWED)
    fields = {
        str(field): value for field, value in record.items() if not is_missing(value)
    }
    unknown = sorted(fields.keys() - set(FIELDS))
    if unknown:
        raise DataError(
            f"entities: record {number} has the field {unknown[0]!r}. Allowed: {', '.join(FIELDS)}."
        )
    if not fields.get("name"):
        raise DataError(
            f"entities: record {number} has no name. Allowed: {', '.join(FIELDS)}."
        )
    aliases = fields.pop("aliases", ())
    if isinstance(aliases, str):
        aliases = (aliases,)
    texts = {field: str(value) for field, value in fields.items()}
    return Entity(**texts, aliases=tuple(map(str, aliases)))
