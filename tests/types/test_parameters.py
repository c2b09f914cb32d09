from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import pytest

from kg2rag.types import ParameterError, above, at_least, at_most, below, between, check, check_types, one_of


class Scorer(Protocol):
    def score(self, text: str) -> float: ...


class Length:
    def score(self, text: str) -> float:
        return float(len(text))


@dataclass(frozen=True)
class Walk:
    damping: float = 0.5
    depth: int = 100
    limit: int | None = None
    direction: Literal["out", "in"] = "out"
    whole: bool = True
    kinds: tuple[str, ...] = ()
    scorer: Scorer | None = None
    weigh: Callable[[float], float] = abs
    method: str = "push"

    def __post_init__(self) -> None:
        check(
            self,
            damping=above(0) & below(1),
            depth=at_least(1),
            limit=between(1, 10),
            method=one_of(("push", "power")),
        )


def test_values_that_keep_type_and_rule_are_accepted() -> None:
    Walk(damping=np.float64(0.9), depth=np.int64(3), limit=10, direction="in", kinds=("a", "b"), scorer=Length())


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("damping", 1, "damping must be above 0 and below 1, not 1."),
        ("damping", math.nan, "damping must be a finite number, not nan."),
        ("damping", math.inf, "damping must be a finite number, not inf."),
        ("damping", "0.5", "damping must be a finite number, not '0.5'."),
        ("damping", True, "damping must be a finite number, not True."),
        ("depth", 0, "depth must be at least 1, not 0."),
        ("depth", 1.0, "depth must be a whole number, not 1.0."),
        ("limit", 11, "limit must be between 1 and 10, not 11."),
        ("limit", "none", "limit must be a whole number or None, not 'none'."),
        ("direction", "both", "direction must be one of out, in, not 'both'."),
        ("whole", 1, "whole must be True or False, not 1."),
        ("kinds", "place", "kinds must be a tuple, each member a string, not 'place'."),
        ("kinds", (1,), "kinds must be a tuple, each member a string, not (1,)."),
        ("scorer", "llm", "scorer must be a Scorer (an object with score) or None, not 'llm'."),
        ("weigh", 1.0, "weigh must be a Callable, not 1.0."),
        ("method", "pull", "method must be one of push, power, not 'pull'."),
    ],
)
def test_a_value_that_is_not_allowed_is_refused_with_what_is(parameter: str, value: Any, message: str) -> None:
    with pytest.raises(ParameterError) as refused:
        Walk(**{parameter: value})
    assert str(refused.value) == message


def test_a_refusal_is_a_value_error_and_a_type_error() -> None:
    assert issubclass(ParameterError, ValueError)
    assert issubclass(ParameterError, TypeError)


def test_a_functions_parameters_are_compared_with_its_annotations() -> None:
    def build(kb: object, *, depth: int = 100, weights: dict[str, float] | None = None) -> None: ...

    check_types(build, {"depth": 3, "weights": {}})
    with pytest.raises(ParameterError, match="weights must be a dict or None, not 'even'"):
        check_types(build, {"weights": "even"})


def test_at_most_allows_its_end() -> None:
    assert at_most(1).holds(1)
    assert not at_most(1).holds(1.1)
