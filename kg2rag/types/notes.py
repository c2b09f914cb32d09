"""A strategy's notes on a query: score formula, linked entities, reason for a fallback.

A strategy with more to say declares a frozen dataclass that derives from `Notes`, one named field
for each thing. A stage and a fusion keep the notes of their inputs in `inputs`.

`formula` and `source` are each one text for all hits, or a mapping from stage to text. A formula
holds numbers, names of score parts, + - · / and parentheses. It is a sum; a term that names a part
which the hit lacks is left out. Every hit's score can thus be recomputed from its parts:

>>> import numpy as np
>>> from kg2rag.types.rankings import Ranking
>>> parts = {"cosine": np.array([0.9, 0.4]), "strength": np.array([np.nan, 7.0])}
>>> columns = {"stages": ("vector", "graph"), "stage_codes": np.array([0, 1]), "score_parts": parts}
>>> sums = Notes({"vector": "cosine", "graph": "cosine · strength / 10"}, {"vector": "dense", "graph": "graph"})
>>> ids, rows, scores = ["fastapi", "starlette"], np.array([0, 1]), np.array([0.9, 0.28])
>>> ranking = Ranking.from_scores("q", rows, scores, ids, **columns, notes=sums)
>>> print(ranking.explain(), end="")
 1  fastapi  0.9  vector, from dense
    = 0.9 (cosine)
 2  starlette  0.28  graph
    = 0.4 (cosine) · 7 (strength) / 10

Of a fusion's "1 / (60 + dense rank) + 1 / (60 + bm25 rank)", a hit that only BM25 found shows the
second term. Parts that no term names (the restart weights of a PageRank, say) are shown beside the
sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from itertools import chain, count
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
from pydantic_core import to_jsonable_python

PerStage = str | Mapping[str, str]  # one text for all hits, or stage -> text
Kind = TypeVar("Kind", bound="Notes")


class LinkedEntity(NamedTuple):
    """An entity linked to a query: its name, its linker, and the confidence, in (0, 1]."""

    name: str
    linker: str
    confidence: float


@dataclass(frozen=True)
class Notes:
    """The notes that all strategies share; a strategy adds fields in a subclass.

    Attributes
    ----------
    formula : the arithmetic of the scores, see above; empty if the strategy records none.
    source : where the hits were searched: "dense", "bm25", "graph", …
    warning : why the strategy deviated from its definition: a fallback, or a skipped step.
    query_cut : the share of a very long query that was read.
    entities : the linked entities, most important first; None if the strategy has no linker.
    unlinked : capitalised and quoted phrases of the query that name no entity.
    tokens, left_out : under a token limit, the tokens used, and the ids of the hits that did not fit.
    inputs : the notes of the fused rankings, or of a stage's input.
    other : the fields of a notes class that is not imported.
    """

    formula: PerStage = ""
    source: PerStage = ""
    _: KW_ONLY
    warning: str = ""
    query_cut: str = ""
    entities: tuple[LinkedEntity, ...] | None = None
    unlinked: tuple[str, ...] = ()
    tokens: int | None = None
    left_out: tuple[str, ...] | None = None
    inputs: tuple[Notes, ...] = ()
    other: Mapping[str, object] = field(default_factory=dict)
    classes: ClassVar[dict[str, type[Notes]]] = {}

    def __init_subclass__(cls) -> None:
        Notes.classes[cls.__name__] = cls

    def __iter__(self) -> Iterator[Notes]:
        """These notes, then those of their inputs, depth first."""
        yield self
        yield from chain.from_iterable(self.inputs)

    def find(self, kind: type[Kind]) -> Kind | None:
        """The first notes of a class among these and their inputs."""
        return next((notes for notes in self if isinstance(notes, kind)), None)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Every warning, that of the last step first."""
        return tuple(dict.fromkeys(notes.warning for notes in self if notes.warning))

    @property
    def linked(self) -> tuple[LinkedEntity, ...] | None:
        """The entities that the last step with a linker found."""
        return next(
            (notes.entities for notes in self if notes.entities is not None), None
        )

    def display_fields(self) -> dict[str, object]:
        """Label -> value of the fields to display, those of the last step first.

        If steps have different values for one field, the later labels are numbered, as "trees 2".
        Formula, source, fields that are None and fields with the metadata `INNER` are left out.
        """
        shown: dict[str, object] = {}
        for notes in self:
            for name, value in notes._step_fields().items():
                label = name
                numbers = count(2)
                while shown.get(label, value) != value:  # the label has another value
                    label = f"{name} {next(numbers)}"
                shown[label] = value
        return shown

    def _step_fields(self) -> dict[str, object]:
        """Name -> value of the displayed fields of these notes, without those of their inputs."""
        values: dict[str, object] = {}
        if self.entities is not None:
            values["entities"] = tuple(entity.name for entity in self.entities)
            values["linked_by"] = ", ".join(
                dict.fromkeys(entity.linker for entity in self.entities)
            )
        for name, value in self._values().items():
            is_blank = value is None or (name in _BASE and not value)
            if name not in _HIDDEN and not is_blank:
                values[name] = value
        return values | dict(self.other)

    def _values(self) -> dict[str, object]:
        """Name -> value of the fields without the metadata `INNER`."""
        names = [
            attribute.name
            for attribute in fields(self)
            if not attribute.metadata.get("inner")
        ]
        return {name: getattr(self, name) for name in names}

    def to_json(self) -> dict[str, object]:
        """The notes as plain values, with the class under "kind"; default values are left out."""
        default = type(self)()
        values: dict[str, object] = {"kind": type(self).__name__}
        for name, value in self._values().items():
            if name not in ("inputs", "other") and value != getattr(default, name):
                values[name] = json_value(value)
        if self.inputs:
            values["inputs"] = [notes.to_json() for notes in self.inputs]
        values |= json_value(self.other)
        return values

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> Notes:
        """The notes from a record of `to_json`.

        If their class is not imported, its fields and its name ("kind") become `other` of `Notes`.
        """
        values: dict[str, Any] = {
            name: _tuples(value) for name, value in record.items()
        }
        values["inputs"] = tuple(map(Notes.from_json, record.get("inputs", ())))
        if record.get("entities") is not None:
            values["entities"] = tuple(
                LinkedEntity(*entity) for entity in record["entities"]
            )
        kind = Notes.classes.get(str(record.get("kind")), Notes)
        if record.get("kind") == kind.__name__:
            del values["kind"]
        names = {attribute.name for attribute in fields(kind)} & values.keys()
        return kind(**{name: values.pop(name) for name in names}, other=values)


_BASE = {attribute.name for attribute in fields(Notes)}
_HIDDEN = ("formula", "source", "entities", "inputs", "other")
# The metadata of a field that only the next stage reads; it is neither displayed nor saved.
INNER = {"inner": True}


def json_value(value: object) -> Any:
    """A value for JSON: arrays as lists, values without a JSON type as texts."""
    return to_jsonable_python(value, inf_nan_mode="constants", fallback=_builtin)


def _builtin(value: object) -> Any:
    """A numpy array as a list, a numpy number as a Python number, any other value as text."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return str(value)


def _tuples(value: object) -> object:
    """A JSON value with tuples for its lists, at every depth, since notes are immutable."""
    if isinstance(value, Mapping):
        return {name: _tuples(part) for name, part in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


class StagedHits(Protocol):
    """The part of a ranking that its notes describe."""

    @property
    def stages(self) -> tuple[str, ...]:
        """The names of the components that contributed hits."""

    @property
    def notes(self) -> Notes:
        """The strategy's notes on the query."""


def sources(ranking: StagedHits) -> dict[str, str]:
    """Stage -> the source of its hits: the one in the notes, else the name of the stage."""
    return {
        stage: for_stage(ranking.notes.source, stage) or stage
        for stage in ranking.stages
    }


class UnansweredError(RuntimeError):
    """A component has no usable answer for a query, such as a language model's invalid reply.

    A chain asks its next component; a run records the query as failed and goes on.

    Attributes
    ----------
    cause : the reason, without the query, so that equal causes can be counted.
    """

    cause = "no usable answer"


def for_stage(recorded: PerStage, stage: str) -> str:
    """The text that is recorded for all stages or for this one; empty if there is none."""
    return recorded if isinstance(recorded, str) else recorded.get(stage, "")
