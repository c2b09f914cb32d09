"""A system -> the same with one parameter changed: is it used, and are wrong values refused."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Union, get_args, get_origin

from kg2rag.knowledge.base import KnowledgeBase
from kg2rag.retrievers.contract import Retriever
from kg2rag.testing.trial import Trial, difference, named
from kg2rag.testing.worlds import is_ordinary
from kg2rag.types.parameters import annotations_of, fits

Builder = Callable[..., Retriever]
_LISTED = re.compile(r"(?:one of|Known:) ([^:]+?)(?:, not .*|\.)")


@dataclass(frozen=True)
class Parameter:
    """One parameter; `make(value)` builds the system with it."""

    name: str
    value: object
    annotation: Any
    make: Callable[[object], Retriever]


def parameters_of(builder: Builder | None, kb: KnowledgeBase | None, system: Retriever) -> list[Parameter]:
    """The parameters of a builder, or those of every part of a system where the builder takes none beside `kb`."""
    own = [] if builder is None else list(inspect.signature(builder).parameters.values())[1:]
    settable = [each for each in own if each.default is not each.empty]
    if builder is None or not settable:
        return list(_fields(system, lambda changed: changed))
    kinds = annotations_of(builder)

    def with_value(name: str) -> Callable[[object], Retriever]:
        return lambda value: builder(kb, **{name: value})

    return [Parameter(each.name, each.default, kinds.get(each.name), with_value(each.name)) for each in settable]


def _fields(part: Any, put: Callable[[Any], Any]) -> Iterator[Parameter]:
    """The fields of a component and of those inside it; `put` sets a changed component in its place."""
    kind: Any = type(part)
    annotations = annotations_of(kind)
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)

        def changed(new: object, name: str = field.name) -> Any:
            return put(replace(part, **{name: new}))

        members = value if isinstance(value, tuple) else (value,)
        inside = [at for at, each in enumerate(members) if _is_component(each)]
        for at in inside:
            one = changed if not isinstance(value, tuple) else _member(changed, value, at)
            yield from _fields(members[at], one)
        if not inside and field.default is not dataclasses.MISSING and field.init:
            yield Parameter(field.name, value, annotations.get(field.name), changed)


def _member(put: Callable[[Any], Any], members: tuple[Any, ...], at: int) -> Callable[[Any], Any]:
    return lambda new: put((*members[:at], new, *members[at + 1 :]))


def _is_component(value: object) -> bool:
    return dataclasses.is_dataclass(value) and (hasattr(value, "retrieve_batch") or hasattr(value, "apply"))


def is_used(parameter: Parameter, trial: Trial, values: Sequence[object] = ()) -> Iterator[str]:
    """Another value changes at least one ranking; `values` are tried before our own guesses."""
    tried = []
    for value in [*values, *_others(parameter)]:
        try:
            system = parameter.make(value)
        except (ValueError, TypeError):
            continue
        if repr(system) == repr(trial.system):
            yield f"{parameter.name} = {value!r} is accepted and does not show in the repr"
        tried.append(value)
        found = system.retrieve_batch(trial.queries, trial.k)
        if any(difference(one, other) for one, other in zip(trial.rankings, found, strict=True)):
            return
    if tried:
        yield (
            f"{parameter.name} is ignored: with {', '.join(map(repr, tried))} in place of {parameter.value!r}, "
            f"no ranking of {len(trial.queries)} queries changes"
        )


def is_deep(parameter: Parameter, trial: Trial) -> Iterator[str]:
    """A `depth` is how many hits are read: twice as many lead to other rankings, where all of them are shown."""
    value = parameter.value
    if parameter.name != "depth" or not isinstance(value, int) or trial.kb is None:
        return
    n = len(trial.kb.corpus)
    if 2 * value <= n:
        own, deeper = (made.retrieve_batch(trial.queries, n) for made in (trial.system, parameter.make(2 * value)))
        if not any(difference(one, other) for one, other in zip(own, deeper, strict=True)):
            yield f"depth = {2 * value} gives the rankings of depth = {value}, of all {n} passages: are fewer hits read"


def _others(parameter: Parameter) -> list[object]:
    """Values that a parameter might take beside its own."""
    value, kinds = parameter.value, _kinds(parameter.annotation)
    choices = [choice for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]
    if choices:
        return [choice for choice in choices if choice != value]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int) or (value is None and int in kinds):
        numbers = (1, 2, 3, (value or 10) // 2, 2 * (value or 10), 0)
        return [number for number in dict.fromkeys(numbers) if number != value]
    if isinstance(value, float) or (value is None and float in kinds):
        numbers_ = ((value or 1.0) / 2, (value or 1.0) * 2, 0.0, 0.01, 0.1, 0.9, 0.999, 1.0, 10.0)
        return [number for number in dict.fromkeys(numbers_) if number != value]
    return [choice for choice in _listed(parameter) if choice != value] if isinstance(value, str) else []


def _listed(parameter: Parameter) -> list[str]:
    """The names that the refusal of an impossible one lists."""
    try:
        parameter.make("no such value")
    except (ValueError, TypeError) as error:
        listed = _LISTED.search(str(error))
        return listed[1].split(", ") if listed else []
    return ["no such value"]


def is_checked(parameter: Parameter, trial: Trial) -> Iterator[str]:
    """Wrong types, and numbers that are none, are refused by an error that names the parameter; others work."""
    for value in _wrong(parameter):
        refusal = _refusal(parameter, value)
        if refusal is None:
            yield f"{parameter.name} = {value!r} is accepted; call `check` (kg2rag.types.parameters) when it is made"
        elif refusal:
            yield refusal
    finds = _finds(trial.rankings, trial)
    for value in _extreme(parameter):
        refusal = _refusal(parameter, value)
        if refusal:
            yield refusal
        elif refusal is None:
            yield from _works(parameter, value, trial, finds)


def _refusal(parameter: Parameter, value: object) -> str | None:
    """None where a value is accepted, "" where it is refused well, else what is wrong with the refusal."""
    try:
        parameter.make(value)
    except (ValueError, TypeError) as error:
        names_it = parameter.name in str(error) or repr(value) in str(error)
        return "" if names_it else f"the refusal of {parameter.name} = {value!r} names neither: {error}"
    except Exception as error:  # noqa: BLE001
        return f"{parameter.name} = {value!r} raises {type(error).__name__} ({error}); refuse it with a ValueError"
    return None


def _works(parameter: Parameter, value: object, trial: Trial, finds: int) -> Iterator[str]:
    given = f"{parameter.name} = {value!r} is accepted"
    try:
        found = parameter.make(value).retrieve_batch(trial.queries, trial.k)
    except Exception as error:  # noqa: BLE001
        yield f"{given} and fails later with {type(error).__name__}: {error}. Check its range when it is made"
        return
    if finds and not _finds(found, trial):
        query = next(query for query in trial.queries if is_ordinary(query))
        yield f"{given} and no query has a hit (first: {named(query)}). Check its range when it is made"


def _finds(rankings: Sequence[Any], trial: Trial) -> int:
    return sum(bool(len(ranking)) for ranking, query in zip(rankings, trial.queries, strict=True) if is_ordinary(query))


def _wrong(parameter: Parameter) -> list[object]:
    """Values of another type than the parameter's annotation allows."""
    if not _kinds(parameter.annotation) & {int, float, bool, str}:
        return []
    tried: tuple[object, ...] = (None, "no number", True, 1.5, math.nan, math.inf, 7)
    return [value for value in tried if not fits(value, parameter.annotation)]


def _extreme(parameter: Parameter) -> list[object]:
    kinds = _kinds(parameter.annotation)
    return [*((-1, 0) if int in kinds else ()), *((-1.0, 1e6) if float in kinds else ())]


def _kinds(annotation: Any) -> set[Any]:
    is_union = get_origin(annotation) is Union or type(annotation).__name__ == "UnionType"
    return set(get_args(annotation)) if is_union else {annotation}


def checks(trial: Trial, builder: Builder | None, values: Mapping[str, Sequence[object]]) -> Iterator[tuple[str, str]]:
    """Of each parameter, the name of the promise and what is wrong."""
    for parameter in parameters_of(builder, trial.kb, trial.system):
        for sentence in (
            *is_used(parameter, trial, values.get(parameter.name, ())),
            *is_checked(parameter, trial),
            *is_deep(parameter, trial),
        ):
            yield f"parameter {parameter.name}", sentence
