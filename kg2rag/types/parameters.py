"""A component's parameters -> an error at construction that names parameter, value and range.

A `component` is a frozen dataclass; pydantic compares every field with its annotation, ranges
included:

>>> @component
... class Walk:
...     damping: Damping = 0.5
...     depth: Count = 100
>>> Walk(damping=1.5)
Traceback (most recent call last):
    ...
kg2rag.text.registry.ParameterError: damping must be less than 1, not 1.5.

Objects are compared by class, never looked into. A range that depends on other fields is given to
`check`, in `__post_init__`. Retrievers and stages are checked without asking.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import types
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import cache, partial, wraps
from inspect import unwrap
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
)
from typing import get_type_hints as hints_of

import numpy as np
from annotated_types import Ge, Gt, Interval
from pydantic import AfterValidator, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from kg2rag.text.cells import excerpt
from kg2rag.text.registry import ParameterError
from kg2rag.text.suggestions import require_parameters

__all__ = ["Interval", "ParameterError"]  # and the definitions below

at_least, above = Ge, Gt
Count = Annotated[int, at_least(1)]
Natural = Annotated[int, at_least(0)]
Weight = Annotated[float, at_least(0)]
Share = Annotated[float, Interval(ge=0, le=1)]
Threshold = Annotated[float, Interval(gt=0, le=1)]
Damping = Annotated[float, Interval(gt=0, lt=1)]
Cosine = Annotated[float, Interval(ge=-1, le=1)]
Builder = TypeVar("Builder", bound=Callable[..., Any])
Component = TypeVar("Component")
VALUE_CHARACTERS = 80  # the maximum of a value in an error message
_STRICT = ConfigDict(strict=True, allow_inf_nan=False)


def between(low: float, high: float) -> Interval:
    """The range from `low` to `high`, both ends included."""
    return Interval(ge=low, le=high)


def one_of(names: Collection[str]) -> AfterValidator:
    """A validator that accepts one of several names."""
    return AfterValidator(partial(_require_listed, tuple(names)))


def check(component: Any, /, **rules: Any) -> None:
    """Raise ParameterError for the first field of a dataclass that is not allowed.

    A field must fit its annotation and, if `rules` has a range under its name, that range.
    """
    for name, annotation in annotations_of(component.__class__, ranges=True).items():
        if name in getattr(component, "__dataclass_fields__", {}):
            require(name, getattr(component, name), annotation, rules.get(name))


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def component(cls: type[Component]) -> type[Component]:
    """A frozen dataclass whose parameters are checked when it is made; see `check`."""
    post_init = cls.__dict__.get("__post_init__")

    def checked_init(self: Component) -> None:
        check(self)
        if post_init is not None:
            post_init(self)

    cls.__post_init__ = checked_init  # type: ignore[attr-defined]
    return dataclasses.dataclass(frozen=True)(cls)


def checked(builder: Builder) -> Builder:
    """A decorator that checks a function's keyword arguments by name and annotation."""

    @wraps(builder)
    def call(*context: Any, **arguments: Any) -> Any:
        require_parameters(call, arguments)
        annotations = annotations_of(builder, ranges=True)
        for name in arguments.keys() & annotations:
            require(name, arguments[name], annotations[name])
        return builder(*context, **arguments)

    return cast(Builder, call)


def require(name: str, value: object, annotation: Any, rule: Any = None) -> None:
    """Raise ParameterError for a value that does not fit its annotation and rule, or is not finite.

    `rule` : a further range, such as `at_least(1)`; it does not apply to None.
    """
    python_value = value.item() if isinstance(value, np.generic) else value
    try:
        _adapter(annotation).validate_python(python_value)
        if rule is not None and value is not None:
            TypeAdapter(Annotated[Any, rule]).validate_python(python_value)
    except ValidationError as error:
        allowed = [
            fault["msg"].removeprefix("Input should be ") for fault in error.errors()
        ]
        raise refused(name, value, " or ".join(dict.fromkeys(allowed))) from None


def refused(name: str, value: object, allowed: str) -> ParameterError:
    """The error about a parameter's value; `allowed` is the text after "must be"."""
    return ParameterError(
        f"{name} must be {allowed}, not {excerpt(repr(value), VALUE_CHARACTERS)}."
    )


def called(value: object) -> str:
    """The name of an object in an error: texts by value, classes by name, objects by class."""
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return type(value).__name__


@cache
def annotations_of(owner: Any, *, ranges: bool = False) -> dict[str, Any]:
    """The evaluated types of fields or parameters; `ranges` keeps their metadata.

    Names that are imported for type checkers only are left out.
    """
    owner = unwrap(owner)  # a wrapped class has its names in its module
    try:
        return hints_of(owner, include_extras=ranges)
    except NameError:
        # Evaluate one annotation after the other, to leave out those that fail.
        annotations = dict[str, Any]()
        names = vars(sys.modules[owner.__module__])
        for name, annotation in inspect.get_annotations(owner).items():
            single = types.SimpleNamespace(__annotations__={name: annotation})
            with suppress(NameError):
                annotations |= hints_of(single, names, include_extras=ranges)
        return annotations


def fits(value: object, annotation: Any) -> bool:
    """Whether a value is of an annotated type."""
    try:
        require("", value, annotation)
    except ParameterError:
        return False
    return True


@cache
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    """The pydantic validator of an annotation."""
    return TypeAdapter(_validated_type(annotation), config=_STRICT)


def _validated_type(annotation: Any) -> Any:
    """The type that pydantic validates in place of an annotation.

    Classes become checks by `isinstance`, so that pydantic neither copies nor looks into objects.
    An annotation that is none of the handled kinds accepts any value.
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    kind = origin or annotation
    if origin is Annotated:
        return Annotated[(_validated_type(arguments[0]), *annotation.__metadata__)]
    if origin in (Union, types.UnionType):
        return Union[tuple(map(_validated_type, arguments))]  # noqa: UP007
    if origin is tuple and arguments[1:] == (...,):
        return tuple.__class_getitem__((_validated_type(arguments[0]), ...))
    if origin is Literal:
        return Annotated[Any, one_of(arguments)]
    if annotation in (int, float, bool, str, None, type(None), Any):
        return annotation
    if inspect.isclass(kind):
        return Annotated[Any, AfterValidator(partial(_require_class, kind))]
    return Any


def _require_class(kind: type, value: object) -> object:
    """Return the value; raise a pydantic error unless it is of the class or protocol."""
    # `isinstance` takes only protocols that are `runtime_checkable`.
    if getattr(kind, "_is_protocol", False):
        members = [
            name
            for name in vars(kind)
            if not name.startswith("_") or name == "__call__"
        ]
        fits_class = all(hasattr(value, name) for name in members)
        needed = f"an object with {', '.join(members)}"
    else:
        fits_class = isinstance(value, kind)
        needed = f"of class {kind.__name__}"
    if not fits_class:
        raise PydanticCustomError("class", needed)
    return value


def _require_listed(names: tuple[str, ...], value: str) -> str:
    """Return the value; raise a pydantic error if it is not among the names."""
    if value not in names:
        raise PydanticCustomError("one_of", f"one of {', '.join(names)}")
    return value
