"""Options and arguments of commands, in groups, from what a user types; and what is printed.

A group of options is a frozen dataclass; a command takes one as a parameter, and `spread` turns the group's fields into
options of the command, so that `--help` lists each.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Any, get_type_hints

import typer

from kg2rag.cli.printing import print_line
from kg2rag.text.registry import read_value, split

SOME_FAILED = 3
"""The exit code where some calls of a language model failed."""


def opt(default: Any, about: str | None, *names: str, **settings: Any) -> Any:
    """An option: its default, its help, and its names where they are not those of the parameter."""
    return typer.Option(default, *names, help=about, **settings)


def arg(default: Any, about: str, **settings: Any) -> Any:
    """An argument; `...` where it must be given."""
    return typer.Argument(default, help=about, **settings)


def spread(**defaults: object) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make each field of a command's dataclass parameters an option; `defaults` replace those of the fields."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command)
        groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
        options: list[inspect.Parameter] = []
        for name, parameter in inspect.signature(command).parameters.items():
            own = inspect.signature(groups[name]).parameters.values() if name in groups else [parameter]
            types = get_type_hints(groups[name]) if name in groups else hints
            for one in own:
                option = copy(one.default)
                option.default = defaults.get(one.name, option.default)
                options.append(one.replace(kind=one.KEYWORD_ONLY, annotation=types[one.name], default=option))

        @wraps(command)
        def run(**given: Any) -> None:
            for name, group in groups.items():
                given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
            command(**given)

        run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
        run.__annotations__ = {option.name: option.annotation for option in options}
        return run

    return decorate


def split_names(text: str) -> list[str]:
    """Names separated by commas, those in brackets apart."""
    return [name for name in split(text, ",") if name]


def parse_settings(given: Sequence[str]) -> dict[str, dict[str, Any]]:
    """["bm25.k1=1.2"] -> {"bm25": {"k1": 1.2}}; values are JSON where they can be read as such, text otherwise."""
    settings: dict[str, dict[str, Any]] = {}
    for setting in given:
        target, equals, value = setting.partition("=")
        system, dot, parameter = target.partition(".")
        if not (equals and dot and system and parameter):
            raise ValueError(f"--set {setting!r}: write system.parameter=value, such as bm25.k1=1.2.")
        settings.setdefault(system, {})[parameter] = read_value(value)
    return settings


def announce(folder: Path, name: str, systems: Sequence[str] | None = None) -> None:
    """Say on stderr that an earlier comparison in the folder is going to be replaced, where there is another."""
    from kg2rag.evaluation.storage import other_comparison

    if replaced := other_comparison(folder, name, systems):
        print_line(f"{folder} holds {replaced}; this one replaces it. --out names another folder.", err=True)
