"""Options of commands, in groups, from what a user types.

A group of options is a frozen dataclass; a command takes one as a parameter, and `expand_groups`
turns the fields of the group into options of the command, so that `--help` lists each.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

import typer

from kg2rag.text.registry import read_value, split

EXIT_SOME_FAILED = 3
"""The exit code if some calls of a language model failed."""
Command = Callable[..., None]


def opt(default: Any, text: str | None, *names: str, **settings: Any) -> Any:
    """An option: its default, its help, and its names if they are not those of the parameter."""
    return typer.Option(default, *names, help=text, **settings)


def arg(default: Any, text: str, **settings: Any) -> Any:
    """An argument; the default `...` makes it required."""
    return typer.Argument(default, help=text, **settings)


def expand_groups(**defaults: object) -> Callable[[Command], Command]:
    """Turn the fields of a command's dataclass parameters into options.

    `defaults` replace the defaults of fields.
    """

    def decorate(command: Command) -> Command:
        hints = get_type_hints(command)
        groups: dict[str, Any] = {
            name: hint for name, hint in hints.items() if is_dataclass(hint)
        }
        options = list(_options(command, hints, groups, defaults))

        @wraps(command)
        def run(**values: Any) -> None:
            for name, group in groups.items():
                members = {
                    field.name: values.pop(field.name) for field in fields(group)
                }
                values[name] = group(**members)
            command(**values)

        run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
        run.__annotations__ = {option.name: option.annotation for option in options}
        return run

    return decorate


def _options(
    command: Command,
    hints: Mapping[str, Any],
    groups: Mapping[str, Any],
    defaults: Mapping[str, object],
) -> Iterator[inspect.Parameter]:
    """The parameters of a command, with the fields of each group in its place."""
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            members = list(inspect.signature(groups[name]).parameters.values())
            types = get_type_hints(groups[name])
        else:
            members, types = [parameter], dict(hints)
        for member in members:
            option = copy(member.default)
            option.default = defaults.get(member.name, option.default)
            annotation = types[member.name]
            yield member.replace(
                kind=member.KEYWORD_ONLY, annotation=annotation, default=option
            )


def split_names(text: str) -> list[str]:
    """Names separated by commas; commas within brackets do not separate."""
    return [name for name in split(text, ",") if name]


def parse_settings(settings: Sequence[str]) -> dict[str, dict[str, Any]]:
    """["bm25.k1=1.2"] -> {"bm25": {"k1": 1.2}}; a value that is not JSON is a text."""
    values: dict[str, dict[str, Any]] = {}
    for setting in settings:
        target, equals, value = setting.partition("=")
        system, dot, parameter = target.partition(".")
        if not (equals and dot and system and parameter):
            raise ValueError(
                f"--set {setting!r}: write system.parameter=value, such as bm25.k1=1.2."
            )
        values.setdefault(system, {})[parameter] = read_value(value)
    return values
