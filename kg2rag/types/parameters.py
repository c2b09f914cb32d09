"""A component's parameters -> an error at construction that names the parameter, its value and what is allowed.

`check(self)` compares every field of a dataclass with its annotation, and with the range that this may hold:

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Walk:
...     damping: Annotated[float, above(0) & below(1)] = 0.5
...     depth: Count = 100
...
...     def __post_init__(self) -> None:
...         check(self)
>>> Walk(damping=1.5)
Traceback (most recent call last):
    ...
kg2rag.text.registry.ParameterError: damping must be above 0 and below 1, not 1.5.
>>> Walk(depth=2.5)
Traceback (most recent call last):
    ...
kg2rag.text.registry.ParameterError: depth must be a whole number, not 2.5.

Retrievers and stages call `check(self)` by themselves. A range that depends on other fields is given by name, as in
`check(self, step=between(1, self.window))`.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from math import isfinite
from numbers import Integral, Real
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from kg2rag.text.registry import ParameterError as ParameterError


@dataclass(frozen=True, slots=True)
class Rule:
    """What a value must be, in words that follow "must be", and the test of it; `&` joins two."""

    words: str
    holds: Callable[[Any], bool]

    def __and__(self, other: Rule) -> Rule:
        return Rule(f"{self.words} and {other.words}", lambda value: self.holds(value) and other.holds(value))


def at_least(low: float) -> Rule:
    """`value >= low`."""
    return Rule(f"at least {low}", lambda value: value >= low)


def at_most(high: float) -> Rule:
    """`value <= high`."""
    return Rule(f"at most {high}", lambda value: value <= high)


def above(low: float) -> Rule:
    """`value > low`."""
    return Rule(f"above {low}", lambda value: value > low)


def below(high: float) -> Rule:
    """`value < high`."""
    return Rule(f"below {high}", lambda value: value < high)


def between(low: float, high: float) -> Rule:
    """`low <= value <= high`, both ends allowed."""
    return Rule(f"between {low} and {high}", lambda value: low <= value <= high)


def one_of(known: Collection[str]) -> Rule:
    """A name of a table, or of a `Literal`'s arguments."""
    return Rule(f"one of {', '.join(known)}", lambda value: value in known)


Count = Annotated[int, at_least(1)]
Natural = Annotated[int, at_least(0)]
Weight = Annotated[float, at_least(0)]
Share = Annotated[float, between(0, 1)]
Threshold = Annotated[float, above(0) & at_most(1)]
Damping = Annotated[float, above(0) & below(1)]
Cosine = Annotated[float, between(-1, 1)]


def check(component: object, /, **rules: Rule) -> None:
    """Compare a dataclass's fields with their annotations, then with the rules; None skips a rule where it is allowed.

    ParameterError for a value of another type, a number that is not finite, or one that breaks its rule.
    """
    values = {name: getattr(component, name) for name in getattr(component, "__dataclass_fields__", {})}
    kind: Any = type(component)
    check_types(kind, values)
    for name, rule in (_rules_of(kind) | rules).items():
        _keep(name, values[name], rule)


def require(name: str, value: object, annotation: Any, rule: Rule) -> None:
    """The check of one value that is no field, such as a function's argument."""
    if not fits(value, annotation):
        raise refused(name, value, in_words(annotation))
    _keep(name, value, rule)


def require_k(k: object) -> None:
    """The check of a number of hits, which every ranking makes: a plain number in range takes no further call."""
    if type(k) is not int or k < 1:
        require("k", k, int, at_least(1))


def check_types(owner: Callable[..., object], values: Mapping[str, object]) -> None:
    """Compare values with the annotations of a class's fields or a function's parameters."""
    annotations = annotations_of(owner)
    for name, value in values.items():
        if name in annotations and not fits(value, annotations[name]):
            raise refused(name, value, in_words(annotations[name]))


def _keep(name: str, value: object, rule: Rule) -> None:
    if value is not None and not rule.holds(value):
        raise refused(name, value, rule.words)


def refused(name: str, value: object, allowed: str) -> ParameterError:
    """The error for a parameter's value; `allowed` follows "must be"."""
    shown = repr(value)
    return ParameterError(f"{name} must be {allowed}, not {shown if len(shown) <= 80 else shown[:79] + '…'}.")


def called(given: object) -> str:
    """How an error names an object: a text by itself, a class as such, everything else by its class."""
    if isinstance(given, type):
        return f"the class {given.__name__}"
    return repr(given) if isinstance(given, str) else type(given).__name__


@cache
def annotations_of(owner: Any) -> Mapping[str, Any]:
    """The evaluated types of a class's fields or a function's parameters, without their rules.

    Names that a module imports for type checkers alone cannot be evaluated; such a parameter is not in the result.
    """
    return {name: _without_rules(annotation) for name, annotation in _annotations(owner).items()}


@cache
def _rules_of(owner: Any) -> dict[str, Rule]:
    each = ((name, part) for name, whole in _annotations(owner).items() for part in (whole, *get_args(whole)))
    return {name: rule for name, part in each for rule in getattr(part, "__metadata__", ()) if isinstance(rule, Rule)}


def _without_rules(annotation: Any) -> Any:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return Union[tuple(map(_without_rules, arguments))]  # noqa: UP007
    return arguments[0] if origin is Annotated else annotation


def _annotations(owner: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in reversed(inspect.getmro(owner)) if inspect.isclass(owner) else (owner,):
        module = sys.modules.get(getattr(each, "__module__", ""))
        namespace = vars(module) if module is not None else {}
        for name, annotation in inspect.get_annotations(each).items():
            try:
                found[name] = eval(annotation, dict(namespace)) if isinstance(annotation, str) else annotation  # noqa: S307
            except NameError:
                found.pop(name, None)
    return found


def fits(value: object, annotation: Any) -> bool:
    """Whether a value is of an annotated type; true for types that are not tested (type variables, say)."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return any(fits(value, each) for each in arguments)
    if origin is Literal:
        return value in arguments
    if annotation in (int, float):
        number = Integral if annotation is int else Real
        return isinstance(value, number) and not isinstance(value, bool) and isfinite(value)
    if origin is tuple and arguments[1:] == (...,):
        return isinstance(value, tuple) and all(fits(each, arguments[0]) for each in value)
    if annotation is None:
        return value is None
    kind = origin or annotation
    if not inspect.isclass(kind):
        return True
    if getattr(kind, "_is_protocol", False):  # `isinstance` would need each to be `runtime_checkable`
        return all(hasattr(value, name) for name in _members(kind))
    return isinstance(value, kind)


def _members(protocol: type) -> list[str]:
    return [name for name in vars(protocol) if not name.startswith("_") or name == "__call__"]


_WORDS = {int: "a whole number", float: "a finite number", bool: "True or False", str: "a string", None: "None"}


def in_words(annotation: Any) -> str:
    """An annotated type, as it follows "must be"."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return " or ".join(in_words(each) for each in arguments)
    if origin is Literal:
        return f"one of {', '.join(map(str, arguments))}"
    if annotation is type(None):
        return "None"
    if annotation in _WORDS:
        return _WORDS[annotation]
    if origin is tuple and arguments[1:] == (...,):
        return f"a tuple, each member {in_words(arguments[0])}"
    kind = origin or annotation
    name = getattr(kind, "__name__", str(kind))
    needs = f" (an object with {', '.join(_members(kind))})" if getattr(kind, "_is_protocol", False) else ""
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}{needs}"
