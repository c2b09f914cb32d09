"""A system -> the same with one parameter changed: is it used, and are wrong values refused."""

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

from kg2rag.retrievers.contract import Retriever, Stage
from kg2rag.testing.trial import Trial, facts, named
from kg2rag.testing.worlds import is_ordinary
from kg2rag.types import annotations_of, fits

Builder = Callable[..., Retriever]
_LISTED = re.compile(r"(?:one of|Known:) ([^:]+?)(?:, not .*|\.)")


@dataclass(frozen=True)
class Parameter:
    """One parameter; `make(value)` builds the system with it."""

    name: str
    value: Any
    annotation: Any
    make: Callable[[object], Retriever]

    @property
    def kinds(self) -> set[Any]:
        """The types that the annotation allows."""
        is_union = get_origin(self.annotation) in (Union, UnionType)
        return set(get_args(self.annotation)) if is_union else {self.annotation}


def checks(trial: Trial, builder: Builder | None) -> Iterator[tuple[str, str]]:
    """Of each parameter of a builder, or of every part of a system, the name of the promise and what is wrong."""
    own = _of_builder(trial, builder) if builder is not None else []
    for parameter in own or _fields(trial.system, lambda changed: changed):
        for check in (is_used, is_checked, is_deep):
            yield from ((f"parameter {parameter.name}", sentence) for sentence in check(parameter, trial))


def _of_builder(trial: Trial, builder: Builder) -> list[Parameter]:
    def made(value: object, name: str) -> Retriever:
        return builder(trial.kb, **{name: value})

    own, kinds = list(inspect.signature(builder).parameters.values())[1:], annotations_of(builder)
    settable = (one for one in own if one.default is not one.empty)
    return [Parameter(p.name, p.default, kinds.get(p.name), partial(made, name=p.name)) for p in settable]


def _fields(part: Any, put: Callable[[Any], Any]) -> Iterator[Parameter]:
    """The fields of a component and of those inside it; `put` sets a changed component in its place."""
    kind: Any = type(part)
    annotations = annotations_of(kind)
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)

        def changed(new: object, name: str = field.name) -> Any:
            return put(replace(part, **{name: new}))

        def one_changed(new: object, at: int, members: Any = value, put: Callable[[Any], Any] = changed) -> Any:
            return put((*members[:at], new, *members[at + 1 :]) if isinstance(members, tuple) else new)

        members = value if isinstance(value, tuple) else (value,)
        inside = [at for at, each in enumerate(members) if isinstance(each, Retriever | Stage)]
        for at in inside:
            yield from _fields(members[at], partial(one_changed, at=at))
        if not inside and field.default is not dataclasses.MISSING and field.init:
            yield Parameter(field.name, value, annotations.get(field.name), changed)


def is_used(parameter: Parameter, trial: Trial) -> Iterator[str]:
    """Another value changes at least one ranking."""
    own, tried = [facts(ranking) for ranking in trial.rankings], list[object]()
    for value in (value for value in _others(parameter) if value != parameter.value):
        try:
            system = parameter.make(value)
        except (ValueError, TypeError):
            continue
        if repr(system) == repr(trial.system):
            yield f"{parameter.name} = {value!r} is accepted and does not show in the repr"
        tried.append(value)
        if own != [facts(ranking) for ranking in system.retrieve_batch(trial.queries, trial.k)]:
            return
    if tried:
        yield (
            f"{parameter.name} is ignored: with {', '.join(map(repr, tried))} in place of {parameter.value!r}, "
            f"no ranking of {len(trial.queries)} queries changes"
        )


def _others(parameter: Parameter) -> Sequence[object]:
    """Values that a parameter might take beside its own."""
    value, kinds = parameter.value, parameter.kinds
    if choices := [choice for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]:
        return choices
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int) or (value is None and int in kinds):
        return list(dict.fromkeys((1, 2, 3, (value or 10) // 2, 2 * (value or 10), 0)))
    if isinstance(value, float) or (value is None and float in kinds):
        given = value or 1.0
        return list(dict.fromkeys((given / 2, given * 2, 0.0, 0.01, 0.1, 0.9, 0.999, 1.0, 10.0)))
    if not isinstance(value, str):
        return []
    try:
        parameter.make("no such value")
    except (ValueError, TypeError) as error:  # the refusal lists the known names
        listed = _LISTED.search(str(error))
        return listed[1].split(", ") if listed else []
    return ["no such value"]


def is_deep(parameter: Parameter, trial: Trial) -> Iterator[str]:
    """A `depth` is how many hits are read: twice as many lead to other rankings, where all of them are shown."""
    value, n = parameter.value, len(trial.ids)
    if parameter.name == "depth" and isinstance(value, int) and 2 * value <= n:
        systems = (trial.system, parameter.make(2 * value))
        own, deeper = ([facts(one) for one in made.retrieve_batch(trial.queries, n)] for made in systems)
        if own == deeper:
            yield f"depth = {2 * value} gives the rankings of depth = {value}, of all {n} passages: are fewer hits read"


def is_checked(parameter: Parameter, trial: Trial) -> Iterator[str]:
    """Wrong types, and numbers that are none, are refused by an error that names the parameter; others work."""
    name, kinds = parameter.name, parameter.kinds
    tried = (None, "no number", True, 1.5, math.nan, math.inf, 7) if kinds & {int, float, bool, str} else ()
    wrong = [value for value in tried if not fits(value, parameter.annotation)]
    extreme = [*((-1, 0) if int in kinds else ()), *((-1.0, 1e6) if float in kinds else ())]
    for at, value in enumerate((*wrong, *extreme)):
        try:
            made = parameter.make(value)
        except (ValueError, TypeError) as error:
            if name not in str(error) and repr(value) not in str(error):
                yield f"the refusal of {name} = {value!r} names neither: {error}"
        except Exception as error:  # noqa: BLE001
            yield f"{name} = {value!r} raises {type(error).__name__} ({error}); refuse it with a ValueError"
        else:
            if at < len(wrong):
                yield f"{name} = {value!r} is accepted; call `check` (kg2rag.types.parameters) when it is made"
            else:
                yield from (f"{name} = {value!r} is accepted and {failure}" for failure in _failures(made, trial))


def _failures(system: Retriever, trial: Trial) -> Iterator[str]:
    try:
        found = system.retrieve_batch(trial.queries, trial.k)
    except Exception as error:  # noqa: BLE001
        yield f"fails later with {type(error).__name__}: {error}. Check its range when it is made"
        return
    ordinary = [at for at, query in enumerate(trial.queries) if is_ordinary(query)]
    if any(len(trial.rankings[at]) for at in ordinary) and not any(len(found[at]) for at in ordinary):
        first = named(trial.queries[ordinary[0]])
        yield f"no query has a hit (first: {first}). Check its range when it is made"
