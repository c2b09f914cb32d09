"""A call with an unknown parameter -> an error that suggests the intended one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from typing import ParamSpec, TypeVar

from kg2rag.text.registry import ParameterError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
SYNONYMS = {"top_k": "k", "topk": "k", "n_results": "k", "limit": "k", "depth": "k"}
"""The parameter names of other libraries -> ours."""


def suggest_parameters(
    **replacements: str,
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """A decorator that answers unknown keyword arguments with the intended name.

    `replacements` : a name that the function does not have -> the text to write, such as
    "min_gain=…".
    """

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        @wraps(function)
        def checked(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> Result:
            require_parameters(function, keywords, replacements)
            return function(*arguments, **keywords)

        return checked

    return decorate


def require_parameters(
    function: Callable[..., object],
    names: Iterable[str],
    replacements: Mapping[str, str] | None = None,
) -> None:
    """Raise ParameterError if a function or class has no parameter of one of these names.

    A class may have an attribute `refusal` that returns the message for a name (see
    `DesignAliases`). `replacements` are those of `suggest_parameters`.
    """
    parameters = dict(inspect.signature(function).parameters)
    if any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
    ):
        return
    parameters.pop("self", None)
    for name in names:
        if name not in parameters:
            refusal = getattr(function, "refusal", lambda _: "")
            raise ParameterError(
                refusal(name)
                or _unknown_parameter(
                    function.__name__, name, list(parameters), replacements or {}
                )
            )


def _unknown_parameter(
    function: str, name: str, parameters: list[str], replacements: Mapping[str, str]
) -> str:
    """The message about an unknown parameter, with its replacement, synonym or nearest name."""
    if name in replacements:
        return f"{function}() has no parameter {name!r}. Write {replacements[name]}."
    synonym = SYNONYMS.get(name)
    close = (
        [synonym] if synonym in parameters else get_close_matches(name, parameters, n=1)
    )
    suggestion = f" Did you mean {close[0]!r}?" if close else ""
    return f"{function}() has no parameter {name!r}.{suggestion} It has: {', '.join(parameters)}."
