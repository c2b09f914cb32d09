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
"""With an extreme value, every third ordinary query and every awkward one are asked."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a system, its value and its type.

    make : builds the system with another value of the parameter.
    """

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


def faults_of(parameter: Parameter, trial: Trial) -> Iterator[str]:
    """All faults of a parameter."""
    for check in (unused_faults, unchecked_faults, shallow_faults):
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
    """The system of a builder with one parameter."""
    return build(**{name: value})


def parameters_of_system(
    part: Any, put: Callable[[Any], Any] = lambda system: system
) -> Iterator[Parameter]:
    """The parameters of a system and of its components.

    put : the function that returns the whole system for a changed `part`.
    """
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
    """The (position, component) of the components in the value of a field."""
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


def unused_faults(parameter: Parameter, trial: Trial) -> Iterator[str]:
    """The fault that no other value changes a ranking, and values that do not show in the repr."""
    values_without_effect = list[object]()
    for value in _other_values(parameter):
        _, system = _try_value(parameter, value)
        if system is None or value == parameter.value:
            continue
        if repr(system) == repr(trial.system):
            yield f"{parameter.name} = {value!r} is accepted and does not show in the repr"
        values_without_effect.append(value)
        for block, facts_before in trial.blocks:
            if trial.facts_of(system, block) != facts_before:
                return
    if values_without_effect:
        listed = ", ".join(map(repr, values_without_effect))
        values = f"{listed} in place of {parameter.value!r}"
        effect = f"no ranking of {len(trial.queries)} queries changes"
        yield f"{parameter.name} is ignored: with {values}, {effect}"


def _other_values(parameter: Parameter) -> Sequence[object]:
    """Values to try for a parameter, by its type; [] for other types."""
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
    """The names in the error for an unknown name; the unknown name if it is accepted."""
    try:
        parameter.make(_UNKNOWN_NAME)
    except (ValueError, TypeError) as error:
        listed = _KNOWN_NAMES.search(str(error))
        return listed[1].split(", ") if listed else []
    return [_UNKNOWN_NAME]


def shallow_faults(parameter: Parameter, trial: Trial) -> Iterator[str]:
    """The fault of a parameter `depth`, a number of hits to read, whose doubling changes nothing."""
    value = parameter.value
    n_passages = len(trial.ids)
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


def unchecked_faults(parameter: Parameter, trial: Trial) -> Iterator[str]:
    """The faults of values at the limits of a parameter.

    A wrong type or NaN must be refused by an error that names it; an accepted value must work.
    """
    for value in _wrong_values(parameter):
        fault, system = _try_value(parameter, value)
        if system is not None:
            remedy = "call `check` (kg2rag.types.parameters) when it is made"
            fault = f"is accepted; {remedy}"
        if fault:
            yield f"{parameter.name} = {value!r} {fault}"
    for value in _extreme_values(parameter):
        fault, system = _try_value(parameter, value)
        if system is not None:
            fault = _failure(system, trial)
        if fault:
            yield f"{parameter.name} = {value!r} {fault}"


def _wrong_values(parameter: Parameter) -> list[object]:
    """Values that do not fit the type of a parameter; [] for a type that is not plain."""
    if not parameter.types & {int, float, bool, str}:
        return []
    values = (None, "no number", True, 1.5, math.nan, math.inf, 7)
    return [value for value in values if not fits(value, parameter.annotation)]


def _extreme_values(parameter: Parameter) -> list[object]:
    """Numbers of the type of a parameter at or beyond usual limits; [] for other types."""
    values = list[object]()
    if int in parameter.types:
        values += [-1, 0]
    if float in parameter.types:
        values += [-1.0, 1e6]
    return values


def _try_value(parameter: Parameter, value: object) -> tuple[str, Retriever | None]:
    """The fault of building the system with a value, and the system.

    The fault is "" if the value was accepted, or refused by a proper error; otherwise it describes
    a wrong error or a crash. The system is None if it was not built.
    """
    try:
        return "", parameter.make(value)
    except (ValueError, TypeError) as error:
        if parameter.name in str(error) or repr(value) in str(error):
            return "", None
        return f"is refused by an error that names neither: {error}", None
    except Exception as error:  # noqa: BLE001
        raised = f"{type(error).__name__} ({error})"
        return f"raises {raised}; refuse it with a ValueError", None


def _failure(system: Retriever, trial: Trial) -> str:
    """The fault of a system with an accepted value: an exception, or no hits; "" if it works."""
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
