"""The types of a graph, and the forms of a model's answers about a text.

The JSON schema in a request is strict and limits the length of lists, names and descriptions, since
small models may repeat themselves without end. Triples are lists of three, which take two thirds of
the tokens of objects. Answers in other forms that small models write are read as well if they are
unambiguous. A triple without exactly three parts becomes `()` and is dropped and counted; any other
deviation makes the whole answer unusable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from math import ceil
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    WithJsonSchema,
    create_model,
    model_validator,
)

from kg2rag.text.normalisation import entity_key
from kg2rag.text.records import DataError, existing, quote, read_toml

FIELDS = ("entity_types", "relation_types")


@dataclass(frozen=True)
class GraphSchema:
    """Entity types and relation types, each with its meaning or "".

    If one of both is empty, the model chooses these types freely. In a TOML file:

    ```toml
    entity_types = ["person", "film"]        # or a table of types and their meanings:

    [relation_types]
    "directed by" = "from a film to the person who directed it"
    ```
    """

    entity_types: Mapping[str, str] = field(default_factory=dict, hash=False)
    relation_types: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name in FIELDS:
            object.__setattr__(self, name, _read_types(name, getattr(self, name)))

    def __bool__(self) -> bool:
        return bool(self.entity_types or self.relation_types)

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """The schema in a TOML file; DataError: an unknown field, a blank or repeated type."""
        file = existing(
            path, "a schema: TOML with entity_types, relation_types or both"
        )
        fields = read_toml(file)
        strange = [name for name in fields if name not in FIELDS]
        if strange:
            raise DataError(
                f"{file}: unknown field {strange[0]!r}. Known: {', '.join(FIELDS)}."
            )
        try:
            schema = cls(**fields)
        except ValueError as error:
            raise DataError(f"{file}: {error}") from None
        if not schema:
            raise DataError(
                f"{file}: no type at all. Give entity_types, relation_types or both, or no schema."
            )
        return schema


def _read_types(field_name: str, value: Any) -> dict[str, str]:
    """Type -> its meaning, from a list or a table; ValueError: another value, a repeated type."""
    if isinstance(value, list | tuple):
        pairs = [(type_, "") for type_ in value]
    elif isinstance(value, Mapping):
        pairs = list(value.items())
    else:
        needed = "a list of types, or a table of types and their meanings"
        raise ValueError(f"{field_name} is {quote(value)}; needed: {needed}.")
    types: dict[str, str] = {}
    for type_, about in pairs:
        if (
            not isinstance(type_, str)
            or not isinstance(about, str)
            or not type_.strip()
        ):
            raise ValueError(
                f"{field_name} has {quote(type_)} = {quote(about)}; needed: strings, and no blank type."
            )
        if entity_key(type_) in map(entity_key, types):
            raise ValueError(f"{field_name} has {type_!r} twice.")
        types[type_.strip()] = " ".join(about.split())
    return types


# The forms of answers. Names and docstrings of their models are part of the schema in a request, and
# thus of the keys of stored answers: do not edit them.

MAX_NAME_CHARACTERS = 100
"""The maximum of an entity's name or a part of a triple; longer ones are dropped and counted."""
MAX_DESCRIPTION_CHARACTERS = 300
WORDS_PER_ITEM = 4
MIN_ITEMS, ITEM_STEP = 8, 8
PARTS = ("source", "relation", "target")
LEAST, GREATEST, UNSTATED = 1.0, 10.0, 5.0  # minimum, maximum and default of a strength
_SYNONYMS = {
    "head": "source",
    "subject": "source",
    "predicate": "relation",
    "tail": "target",
    "object": "target",
}
_NAME = {"type": "string", "minLength": 1, "maxLength": MAX_NAME_CHARACTERS}
_TRIPLE = {"type": "array", "items": _NAME, "minItems": 3, "maxItems": 3}


def _written(value: object) -> object:
    """A part as text: a year may come as a number, a missing tail as null."""
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value


def _as_relation(value: object) -> object:
    """A list of three, or an object with synonyms of the parts, as an object; {} for another list.

    Any other value is returned unchanged.
    """
    if isinstance(value, list) and len(value) == len(PARTS):
        return dict(zip(PARTS, value, strict=True))
    if isinstance(value, list):
        return {}
    if isinstance(value, dict):
        renamed_parts = (
            (key, _SYNONYMS.get(key, key), part) for key, part in value.items()
        )
        return {
            name: part
            for key, name, part in renamed_parts
            if name == key or name not in value
        }
    return value


def _as_triple(value: object) -> object:
    """A list or object of three parts as a tuple; () for other lists and objects."""
    relation = _as_relation(value)
    if not isinstance(relation, dict):
        return value  # neither list nor object: the answer does not fit
    if {*relation} != {*PARTS}:
        return ()
    return tuple(_written(relation[part]) for part in PARTS)


def _as_name(value: object) -> object:
    """The name of an entity that is an object; a number as text."""
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        return value["name"]
    return _written(value)


def _strict(schema: dict[str, Any]) -> None:
    """Make all properties of a JSON schema required, and allow no others."""
    schema.pop("description", None)  # small models copy it into their answers
    schema |= {"required": list(schema["properties"]), "additionalProperties": False}
    for part in schema["properties"].values():
        part.pop("default", None)


def _text(*choices: str, max_characters: int = MAX_NAME_CHARACTERS) -> Any:
    """The type and default of a string field, which is one of `choices` if there are any."""
    json_schema: dict[str, Any] = {"type": "string", "maxLength": max_characters}
    if choices:
        json_schema = {"type": "string", "enum": list(choices)}
    return Annotated[str, BeforeValidator(_written), WithJsonSchema(json_schema)], ""


def _number(default: float, low: float, high: float) -> Any:
    """The type and default of a number field; the default replaces null and ""."""
    json_schema = WithJsonSchema({"type": "number", "minimum": low, "maximum": high})
    return Annotated[
        float,
        BeforeValidator(lambda value: default if value in (None, "") else value),
        json_schema,
    ], default


class _Answer(BaseModel):
    """An object with one list; a list without the object is read as well."""

    model_config = ConfigDict(
        extra="ignore", json_schema_extra={"additionalProperties": False}
    )

    @model_validator(mode="before")
    @classmethod
    def _bare_list(cls, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        (field,) = cls.model_fields
        return {field: value}


class Entities(_Answer):
    """The names that stand in a text."""

    entities: list[Annotated[str, BeforeValidator(_as_name), WithJsonSchema(_NAME)]]


class Facts(_Answer):
    """The facts that a text states."""

    triples: list[
        Annotated[tuple[str, ...], BeforeValidator(_as_triple), WithJsonSchema(_TRIPLE)]
    ]


class Stated(BaseModel):
    """The entities that a text names, and how they are related."""

    model_config = ConfigDict(extra="ignore", json_schema_extra=_strict)

    entities: list[Any]
    relations: list[Any]


@cache
def stated(schema: GraphSchema) -> type[Stated]:
    """The form of an answer under a schema, which has its types as enumerations."""
    entity = create_model(
        "NamedEntity",
        __config__=Stated.model_config,
        name=_text(),
        type=_text(*schema.entity_types),
        description=_text(max_characters=MAX_DESCRIPTION_CHARACTERS),
    )
    relation = create_model(
        "StatedRelation",
        __config__=Stated.model_config,
        source=_text(),
        relation=_text(*schema.relation_types),
        target=_text(),
        description=_text(max_characters=MAX_DESCRIPTION_CHARACTERS),
        strength=_number(UNSTATED, LEAST, GREATEST),
        confidence=_number(1.0, 0, 1),
    )
    name_as_object = BeforeValidator(
        lambda value: {"name": value} if isinstance(value, str) else value
    )
    return create_model(
        "Stated",
        __base__=Stated,
        __doc__=Stated.__doc__,
        entities=(list[Annotated[entity, name_as_object]], ...),  # type: ignore[valid-type]
        relations=(list[Annotated[relation, BeforeValidator(_as_relation)]], ...),  # type: ignore[valid-type]
    )


def max_items(text: str) -> int:
    """The maximum of names or facts in an answer about a text, a multiple of `ITEM_STEP`.

    It is `MIN_ITEMS` and one for every `WORDS_PER_ITEM` words, rounded up.
    """
    items = MIN_ITEMS + len(text.split()) // WORDS_PER_ITEM
    return ceil(items / ITEM_STEP) * ITEM_STEP


@cache
def bounded(form: type[BaseModel], limit: int) -> type[BaseModel]:
    """The form of an answer whose JSON schema limits its lists; longer lists are still read."""

    def add_limits(schema: dict[str, Any]) -> None:
        _strict(schema)
        for part in schema["properties"].values():
            part["maxItems"] = limit

    config = ConfigDict(json_schema_extra=add_limits)
    return type(
        form.__name__,
        (form,),
        {
            "model_config": config,
            "__doc__": form.__doc__,
            "__module__": form.__module__,
        },
    )
