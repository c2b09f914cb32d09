"""A call with a parameter that a function lacks -> an error that names the one that was meant."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from functools import wraps
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
SYNONYMS = {"top_k": "k", "topk": "k", "n_results": "k", "limit": "k", "depth": "k"}
"""Names that other libraries have for a parameter of ours."""


def suggest_parameters(
    **replacements: str,
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Decorate a function whose unknown keyword arguments are answered with the name that was meant.

    replacements : name that the function no longer has, or never had -> what to write, such as "min_gain=…".
    """

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        parameters = list(inspect.signature(function).parameters)

        @wraps(function)
        def checked(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> Result:
            for name in keywords:
                if name not in parameters:
                    raise TypeError(_unknown_parameter(function.__name__, name, parameters, replacements))
            return function(*arguments, **keywords)

        return checked

    return decorate


def _unknown_parameter(function: str, name: str, parameters: list[str], replacements: dict[str, str]) -> str:
    if name in replacements:
        return f"{function}() has no parameter {name!r}. Write {replacements[name]}."
    meant = SYNONYMS.get(name)
    close = [meant] if meant in parameters else get_close_matches(name, parameters, n=1)
    suggestion = f" Did you mean {close[0]!r}?" if close else ""
    return f"{function}() has no parameter {name!r}.{suggestion} It has: {', '.join(parameters)}."
