"""Groups of options as dataclasses -> the options of commands.

A group of options is a frozen dataclass and a parameter of commands. `expand_groups` turns its
fields into options of the command, so that `--help` lists each.
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
    """An option with a default, a help text, and names if they differ from the parameter's."""
    return typer.Option(default, *names, help=text, **settings)


def arg(default: Any, text: str, **settings: Any) -> Any:
    """An argument; the default `...` makes it required."""
    return typer.Argument(default, help=text, **settings)


def expand_groups(**defaults: object) -> Callable[[Command], Command]:
    """A decorator that turns the fields of a command's dataclass parameters into options.

    defaults : name of a field -> default that replaces the field's.
    """

    def decorate(command: Command) -> Command:
        hints = get_type_hints(command)
        groups: dict[str, Any] = {
            name: hint for name, hint in hints.items() if is_dataclass(hint)
        }
        options = list(_parameters_of_command(command, hints, groups, defaults))

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


def _parameters_of_command(
    command: Command,
    hints: Mapping[str, Any],
    groups: Mapping[str, Any],
    defaults: Mapping[str, object],
) -> Iterator[inspect.Parameter]:
    """The parameters of a command, with the fields of each group in place of the group."""
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
    """The names in a text, separated by commas outside brackets."""
    return [name for name in split(text, ",") if name]


def parse_settings(settings: Sequence[str]) -> dict[str, dict[str, Any]]:
    """System -> parameter -> value, from settings such as "bm25.k1=1.2".

    A value that is not JSON is a text.
    """
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
