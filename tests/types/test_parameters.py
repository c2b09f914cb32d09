from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal, Protocol

import numpy as np
import pytest

from kg2rag.types import (
    Count,
    Damping,
    ParameterError,
    between,
    check,
    component,
    one_of,
)


class Scorer(Protocol):
    def score(self, text: str) -> float: ...


class Length:
    def score(self, text: str) -> float:
        return float(len(text))


@component
class Walk:
    damping: Damping = 0.5
    depth: Count = 100
    limit: Annotated[int, between(1, 10)] | None = None
    direction: Literal["out", "in"] = "out"
    whole: bool = True
    kinds: tuple[str, ...] = ()
    scorer: Scorer | None = None
    weigh: Callable[[float], float] = abs
    method: Annotated[str, one_of(("push", "power"))] = "push"


@component
class Slow(Walk):
    steps: int = 1

    def __post_init__(self) -> None:
        check(self, steps=between(1, self.depth))


def test_a_rule_may_depend_on_other_parameters() -> None:
    with pytest.raises(ParameterError, match=r"steps .* 5"):
        Slow(depth=5, steps=6)


def test_values_that_keep_type_and_rule_are_accepted() -> None:
    Walk(
        damping=np.float64(0.9),
        depth=np.int64(3),
        limit=10,
        direction="in",
        kinds=("a", "b"),
        scorer=Length(),
    )


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("damping", 1, "less than 1"),
        ("damping", math.nan, "finite number"),
        ("damping", math.inf, "finite number"),
        ("damping", "0.5", "number"),
        ("damping", True, "number"),
        ("depth", 0, "1"),
        ("depth", 1.0, "integer"),
        ("limit", 11, "10"),
        ("limit", "none", "integer"),
        ("direction", "both", "one of out, in"),
        ("whole", 1, "boolean"),
        ("kinds", "place", "tuple"),
        ("kinds", (1,), "string"),
        ("scorer", "llm", "an object with score"),
        ("weigh", 1.0, "Callable"),
        ("method", "pull", "one of push, power"),
    ],
)
def test_a_value_that_is_not_allowed_is_refused_with_what_is(
    parameter: str, value: Any, message: str
) -> None:
    with pytest.raises(
        ParameterError,
        match=f"^{parameter} must be .*{message}.*, not {re.escape(repr(value))}",
    ):
        Walk(**{parameter: value})


def test_a_refusal_is_a_value_error_and_a_type_error() -> None:
    assert issubclass(ParameterError, ValueError)
    assert issubclass(ParameterError, TypeError)
