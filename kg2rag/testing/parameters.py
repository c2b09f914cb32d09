"""A parameter of a retriever -> its faults: ignored values, and wrong values that are accepted."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.contract import Retriever, Stage
from kg2rag.testing.trial import Trial, describe_query, facts
from kg2rag.testing.worlds import is_ordinary
from kg2rag.types import annotations_of, fits

_KNOWN_NAMES = re.compile(r"(?:one of|Known:) ([^:]+?)(?:, not .*|\.)")
_UNKNOWN_NAME = "no such value"
ORDINARY_STEP = 3
"""Every third ordinary query is asked with an extreme value, and every awkward one."""


@dataclass(frozen=True)
class Parameter:
    """A parameter, its value and type; `make(value)` builds the system with another value."""

    name: str
    value: Any
    annotation: Any
    make: Callable[[object], Retriever]

    @property
    def types(self) -> set[Any]:
        """The types that the annotation allows."""
        if get_origin(self.annotation) in (Union, UnionType):
            return set(get_args(self.annotation))
        return {self.annotation}

    @property
    def choices(self) -> list[object]:
        """The values of a `Literal` annotation."""
        choices: list[object] = []
        for kind in self.types:
            if get_origin(kind) is Literal:
                choices += get_args(kind)
        return choices


def faults(parameter: Parameter, trial: Trial) -> Iterator[str]:
    """Everything that is wrong with a parameter."""
    for check in (unused, unchecked, shallow):
        yield from check(parameter, trial)


def parameters_of_builder(
    builder: Callable[..., Retriever], kb: KnowledgeBase | None
) -> list[Parameter]:
    """The parameters of a class or function that have a default."""
    annotations = annotations_of(builder)
    parameters = []
    for parameter in list(inspect.signature(builder).parameters.values())[1:]:
        if parameter.default is not parameter.empty:
            name = parameter.name
            make = partial(_with_parameter, partial(builder, kb), name)
            parameters.append(
                Parameter(name, parameter.default, annotations.get(name), make)
            )
    return parameters


def _with_parameter(build: Callable[..., Any], name: str, value: object) -> Any:
    return build(**{name: value})


def parameters_of_system(
    part: Any, put: Callable[[Any], Any] = lambda system: system
) -> Iterator[Parameter]:
    """The fields of a system and of its components; `put` rebuilds it with a changed part."""
    part_type: Any = type(part)
    annotations = annotations_of(part_type)
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        put_value = partial(_put_field, put, part, field.name)
        components = list(_components(value))
        for position, component in components:
            put_member = partial(_put_member, put_value, value, position)
            yield from parameters_of_system(component, put_member)
        if not components and field.default is not dataclasses.MISSING and field.init:
            yield Parameter(field.name, value, annotations.get(field.name), put_value)


def _components(value: object) -> Iterator[tuple[int, Retriever | Stage]]:
    """The components in the value of a field, with their positions."""
    members = value if isinstance(value, tuple) else (value,)
    for position, member in enumerate(members):
        if isinstance(member, Retriever | Stage):
            yield position, member


def _put_field(put: Callable[[Any], Any], part: Any, name: str, new: object) -> Any:
    """The system in which one field of a component has another value."""
    return put(replace(part, **{name: new}))


def _put_member(
    put_value: Callable[[Any], Any], value: Any, position: int, new: object
) -> Any:
    """The system in which one member of a field's value is replaced."""
    if isinstance(value, tuple):
        return put_value((*value[:position], new, *value[position + 1 :]))
    return put_value(new)


def unused(parameter: Parameter, trial: Trial) -> Iterator[str]:
    """Another value must change at least one ranking, and the repr."""
    ignored = list[object]()
    for value in _other_values(parameter):
        _, system = _make(parameter, value)
        if system is None or value == parameter.value:
            continue
        if repr(system) == repr(trial.system):
            yield f"{parameter.name} = {value!r} is accepted and does not show in the repr"
        ignored.append(value)
        for block, facts_before in trial.blocks:
            if trial.facts_of(system, block) != facts_before:
                return
    if ignored:
        values = f"{', '.join(map(repr, ignored))} in place of {parameter.value!r}"
        effect = f"no ranking of {len(trial.queries)} queries changes"
        yield f"{parameter.name} is ignored: with {values}, {effect}"


def _other_values(parameter: Parameter) -> Sequence[object]:
    """Values of the type of a parameter; empty if none is known."""
    value = parameter.value
    if parameter.choices:
        return parameter.choices
    if isinstance(value, bool):
        return [not value]
    if int in parameter.types:
        whole = value or 10
        return list(dict.fromkeys((1, 2, 3, whole // 2, 2 * whole, 0)))
    if float in parameter.types:
        number = value or 1.0
        return list(
            dict.fromkeys(
                (number / 2, number * 2, 0.0, 0.01, 0.1, 0.9, 0.999, 1.0, 10.0)
            )
        )
    if isinstance(value, str):
        return _other_names(parameter)
    return []


def _other_names(parameter: Parameter) -> list[str]:
    """The names that the refusal of an unknown name lists."""
    try:
        parameter.make(_UNKNOWN_NAME)
    except (ValueError, TypeError) as error:
        listed = _KNOWN_NAMES.search(str(error))
        return listed[1].split(", ") if listed else []
    return [_UNKNOWN_NAME]


def shallow(parameter: Parameter, trial: Trial) -> Iterator[str]:
    """A `depth` counts the hits that are read: doubling it must change the full rankings."""
    value, n_passages = parameter.value, len(trial.ids)
    if (
        parameter.name != "depth"
        or not isinstance(value, int)
        or 2 * value > n_passages
    ):
        return
    rankings = trial.system.retrieve_batch(trial.queries, n_passages)
    deeper = parameter.make(2 * value).retrieve_batch(trial.queries, n_passages)
    if list(map(facts, rankings)) == list(map(facts, deeper)):
        yield (
            f"depth = {2 * value} gives the same rankings of all {n_passages} passages as depth = "
            f"{value}: the system reads fewer hits than its depth"
        )


def unchecked(parameter: Parameter, trial: Trial) -> Iterator[str]:
    """An error must refuse wrong types and NaN by name; accepted values must work."""
    for value in _wrong_values(parameter):
        fault, system = _make(parameter, value)
        if system is not None:
            fault = (
                "is accepted; call `check` (kg2rag.types.parameters) when it is made"
            )
        if fault:
            yield f"{parameter.name} = {value!r} {fault}"
    for value in _extreme_values(parameter):
        fault, system = _make(parameter, value)
        if system is not None:
            fault = _failure(system, trial)
        if fault:
            yield f"{parameter.name} = {value!r} {fault}"


def _wrong_values(parameter: Parameter) -> list[object]:
    if not parameter.types & {int, float, bool, str}:
        return []
    values = (None, "no number", True, 1.5, math.nan, math.inf, 7)
    return [value for value in values if not fits(value, parameter.annotation)]


def _extreme_values(parameter: Parameter) -> list[object]:
    values = list[object]()
    if int in parameter.types:
        values += [-1, 0]
    if float in parameter.types:
        values += [-1.0, 1e6]
    return values


def _make(parameter: Parameter, value: object) -> tuple[str, Retriever | None]:
    """The system with a value, or None if it is refused; and the fault of the refusal, or ""."""
    try:
        return "", parameter.make(value)
    except (ValueError, TypeError) as error:
        if parameter.name in str(error) or repr(value) in str(error):
            return "", None
        return f"is refused by an error that names neither: {error}", None
    except Exception as error:  # noqa: BLE001
        return (
            f"raises {type(error).__name__} ({error}); refuse it with a ValueError",
            None,
        )


def _failure(system: Retriever, trial: Trial) -> str:
    """A description of a system's failure with an accepted value; "" if it works."""
    ordinary = list(filter(is_ordinary, trial.queries))[::ORDINARY_STEP]
    awkward = [query for query in trial.queries if not is_ordinary(query)]
    try:
        rankings = system.retrieve_batch([*ordinary, *awkward], trial.k)
    except Exception as error:  # noqa: BLE001
        return f"is accepted and fails later with {type(error).__name__}: {error}. Check its range when it is made"
    default_rankings = dict(zip(trial.queries, trial.rankings, strict=True))
    has_hits = any(map(len, rankings[: len(ordinary)]))
    if not has_hits and any(len(default_rankings[query]) for query in ordinary):
        first = describe_query(ordinary[0])
        remedy = "Check its range when it is made"
        return f"is accepted and no query has a hit (first: {first}). {remedy}"
    return ""
