"""`name(parameter=value, …)` -> a component, by one grammar; registries of component names.

The first parameter may be given by its value only; names joined by `+` are a union or a chain,
whichever the kind has: `graph_augmented(linker=ngram+fuzzy, hops=2)`, `mentions+openie(FILE)`,
`embedding(0.6)`. A value in quotes may hold anything; without them brackets must be in pairs, and a
comma ends it.

Other packages add names by an entry point: under `[project.entry-points."kg2rag.systems"]` of a
pyproject.toml, the line `my_system = "my_package.module:MySystem"`.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args, get_type_hints

Thing = TypeVar("Thing")
_SPEC = re.compile(r"([^()\s]+)\s*(?:\((.*)\))?", re.DOTALL)
_PARAMETER = re.compile(r"\s*(\w+)\s*=(?!=)(.*)", re.DOTALL)


class ParameterError(ValueError, TypeError):
    """A parameter has a value that its component does not allow."""


def split(text: str, separator: str) -> list[str]:
    """The stripped parts of a text between separators outside brackets and quotes.

    >>> split("fuzzy(0.9, limit=2)+ngram", "+")
    ['fuzzy(0.9, limit=2)', 'ngram']
    """
    parts = list[str]()
    start = depth = 0
    for index, char in _unquoted(text):
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == separator and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
        if depth < 0:
            break
    if depth:
        raise _unpaired(text)
    return [*parts, text[start:].strip()]


def _unquoted(text: str) -> Iterator[tuple[int, str]]:
    """Index and character of each character outside quotes.

    A quotation mark opens a quote only at the beginning of a value.
    """
    quote = ""
    previous = "="
    for index, char in enumerate(text):
        if quote:
            if char == quote:
                quote = ""
        elif char in "\"'" and previous in "=(,[{:+":
            quote = char
        else:
            yield index, char
        if not char.isspace():
            previous = char
    if quote:
        raise _unpaired(text)


def _unpaired(text: str) -> ParameterError:
    """The error about a bracket or quote without its partner."""
    return ParameterError(
        f"{text!r}: a bracket or quote has no partner. Write a value that needs one in quotes."
    )


def parse(text: str) -> list[tuple[str, dict[str, str]]]:
    """The names joined by `+`, each with its parameters as texts.

    The key of a parameter that is given without its name is "".

    >>> parse("mentions + openie(a+b.json, partial=true)")
    [('mentions', {}), ('openie', {'': 'a+b.json', 'partial': 'true'})]
    """
    return [_parse_component(part) for part in split(text, "+")]


def _parse_component(text: str) -> tuple[str, dict[str, str]]:
    """The name of one component and its parameters as texts."""
    component = _SPEC.fullmatch(text)
    if component is None:
        raise ParameterError(
            f"{text!r} names nothing: write name or name(parameter=value, …)."
        )
    name, list_text = component.groups("")
    arguments = split(list_text, ",") if list_text.strip() else []
    parameters = dict[str, str]()
    for position, argument in enumerate(arguments):
        parameter = _PARAMETER.fullmatch(argument)
        key, value = parameter.groups() if parameter else ("", argument)
        if key in parameters or (position > 0 and not key):
            raise ParameterError(
                f"{text!r}: write {argument!r} as parameter=value, each parameter once."
            )
        parameters[key] = value.strip()
    return name, parameters


def read_value(text: str) -> Any:
    """The value of a parameter from its text: JSON or a Python literal, else the text itself.

    >>> read_value("0.6"), read_value("[1, 2]"), read_value("fuzzy"), read_value("'a, b'")
    (0.6, [1, 2], 'fuzzy', 'a, b')
    """
    for read in (json.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return read(text)
    return text


def nearest(name: str, known_names: Iterable[str]) -> str | None:
    """The known name most similar to `name`, whatever the case, or None if none is similar.

    >>> nearest("hotpot", ["hotpotqa", "musique"])
    'hotpotqa'
    """
    by_folded = {
        full_name.casefold(): full_name
        for full_name in sorted(known_names, reverse=True)
    }
    matches = get_close_matches(name.casefold(), by_folded, n=1)
    return by_folded[matches[0]] if matches else None


def unknown(kind: str, name: str, known_names: Iterable[str]) -> str:
    """The message about an unknown name, with all known names and the nearest one.

    >>> unknown("dataset", "hotpot", ["musique", "hotpotqa"])
    "Unknown dataset 'hotpot'. Known: hotpotqa, musique. Did you mean 'hotpotqa'?"
    """
    usages = sorted(known_names)
    message = f"Unknown {kind} {name!r}. Known: {', '.join(usages) or 'none'}."
    close = nearest(name, (usage.partition("(")[0] for usage in usages))
    return message if close is None else f"{message} Did you mean {close!r}?"


class Registry(Generic[Thing]):
    """The names of one kind of component, with their builders; iteration is over the names.

    `kind` : "system", "linker", …, for messages. `entries` : usage -> builder, such as "openie(FILE)"
    -> "package.module:Builder", which is imported at its first use. `group` : the entry points by
    which other packages add names. `context` : the number of leading parameters of a builder that the
    program supplies. `joined` : the function that combines the components joined by `+`, as a tuple;
    None if they cannot be joined.
    """

    def __init__(
        self,
        kind: str,
        entries: Mapping[str, Any],
        *,
        group: str,
        context: int = 0,
        joined: Any = None,
    ) -> None:
        self.kind, self.group, self.context, self.joined = kind, group, context, joined
        self._usages = {usage.partition("(")[0]: usage for usage in entries}
        self.entries: dict[str, Any] = dict(
            zip(self._usages, entries.values(), strict=True)
        )

    def __contains__(self, name: object) -> bool:
        return name in self.entries or name in self.names()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def __getitem__(self, name: str) -> Any:
        return self.entry(name)

    def names(self) -> tuple[str, ...]:
        """All names, those of installed packages included, sorted."""
        plugins = [point.name for point in entry_points(group=self.group)]
        return tuple(sorted({*self.entries, *plugins}))

    def usages(self) -> tuple[str, ...]:
        """The usages of all names, such as "mentions" and "openie(FILE)"."""
        return tuple(self._usages.get(name, name) for name in self.names())

    def entry(self, name: str, *, modules: bool = False) -> Any:
        """The class or function that builds the component with this name.

        `modules` : whether the name may be "my.module:Class", the working directory included; its code is run.
        ParameterError: a name that is not known, or that two packages register. RuntimeError: it cannot be imported.
        """
        entry = self.entries.get(name)
        if isinstance(entry, str):
            return EntryPoint(name, entry, self.group).load()
        if entry is not None:
            return entry
        if modules and ":" in name:
            return _import_component(name, self._label(name))
        return self._plugin(name)

    def _plugin(self, name: str) -> Any:
        """The class or function that another package registers under a name."""
        points = list(entry_points(group=self.group, name=name))
        if not points:
            raise ParameterError(unknown(self.kind, name, self.usages()))
        owners = " and by ".join(
            point.dist.name if point.dist else point.value for point in points
        )
        if len(points) > 1:
            raise ParameterError(
                f"{self._label(name)} is registered by {owners}: uninstall one."
            )
        try:
            return points[0].load()
        except Exception as error:
            raise RuntimeError(
                f"{self._label(name)} of {owners} cannot be imported from {points[0].value}: {error!r}"
            ) from error

    def parameters(self, name: str, *, modules: bool = False) -> dict[str, object]:
        """Name -> default of the parameters of a component that a user may set."""
        parameters = list(
            inspect.signature(self.entry(name, modules=modules)).parameters.values()
        )
        return {
            parameter.name: parameter.default
            for parameter in parameters[self.context :]
        }

    def description(self, name: str) -> str:
        """The docstring of a component, and that of its module if it is about this component only."""
        builder = self.entry(name)
        module = inspect.getmodule(builder)
        texts = [inspect.getdoc(builder)]
        # A module with a table of systems describes the table.
        if module is not None and not hasattr(module, "SYSTEMS"):
            texts.append(inspect.getdoc(module))
        return "\n\n".join(filter(None, texts))

    def build(
        self,
        text: str,
        *context: object,
        settings: Mapping[str, object] | None = None,
        modules: bool = False,
    ) -> Thing:
        """The component that a text names, built with `settings` as further parameters.

        ParameterError: a name or a parameter is not allowed.
        """
        if not isinstance(text, str):
            raise ParameterError(
                f"A {self.kind} is named by a text, such as {self.usages()[0]!r}, not by {text!r}."
            )
        components: list[Thing] = []
        for name, parameter_texts in parse(text):
            builder = self.entry(name, modules=modules)
            defaults = self.parameters(name, modules=modules)
            try:
                arguments = _arguments(
                    parameter_texts, builder, defaults, settings or {}
                )
                components.append(builder(*context, **arguments))
            except ParameterError as error:
                raise ParameterError(
                    f"{self._label(self._usages.get(name, name))}: {error}"
                ) from None
        if len(components) == 1:
            return components[0]
        if self.joined is None:
            raise ParameterError(
                f"{self._label(text)}: name one; {self.kind}s are not joined by '+'."
            )
        joined: Thing = self.joined(tuple(components))
        return joined

    def _label(self, name: str) -> str:
        """The kind and the name that begin a message, as in "Linker 'fuzzy'"."""
        return f"{self.kind[0].upper()}{self.kind[1:]} {name!r}"


def _arguments(
    parameter_texts: Mapping[str, str],
    builder: Any,
    defaults: Mapping[str, object],
    settings: Mapping[str, object],
) -> dict[str, object]:
    """The arguments of a builder, from the parameters of a text and from settings.

    ParameterError: a parameter is unknown, missing, or given twice.
    """
    if "" in parameter_texts:
        parameter_texts = _name_first_parameter(parameter_texts, defaults)
    types = _types_of(builder)
    arguments = dict(settings)
    for name, text in parameter_texts.items():
        if name in settings:
            raise ParameterError(f"{name} is given twice.")
        arguments[name] = _parameter_value(text, types.get(name))
    for name in arguments:
        if name not in defaults:
            refusal = getattr(builder, "refusal", lambda _: "")
            raise ParameterError(refusal(name) or unknown("parameter", name, defaults))
    for name, default in defaults.items():
        if default is inspect.Parameter.empty and name not in arguments:
            raise ParameterError(f"{name} is missing.")
    return arguments


def _name_first_parameter(
    parameter_texts: Mapping[str, str], defaults: Mapping[str, object]
) -> dict[str, str]:
    """The texts by parameter name; the text without a name belongs to the first parameter."""
    value = parameter_texts[""]
    if not defaults:
        raise ParameterError(f"it takes no parameter, not {value!r}.")
    first = next(iter(defaults))
    if first in parameter_texts:
        raise ParameterError(
            f"{first} is given twice, as {value!r} and {parameter_texts[first]!r}."
        )
    return {name or first: text for name, text in parameter_texts.items()}


def _types_of(builder: Any) -> dict[str, Any]:
    """The annotated type of each parameter; none if a type cannot be evaluated."""
    try:
        return get_type_hints(builder)
    except NameError:  # a name that the module imports for type checkers only
        return {}


def _parameter_value(text: str, annotation: Any) -> object:
    """The value that a text has for a parameter of an annotated type.

    A parameter that may be a text or a path takes the text itself, unless it is in quotes or names
    a Python constant.
    """
    types = get_args(annotation) or (annotation,)
    value: object = text
    if (
        text in ("True", "False", "None")
        or text.startswith(("'", '"'))
        or not {str, Path} & set(types)
    ):
        value = read_value(text)
    if Path in types and isinstance(value, str):
        return Path(value)
    return value


def _import_component(name: str, label: str) -> Any:
    """The object at "package.module:Name"; the working directory is searched, too.

    ParameterError, which begins with the label, if there is no such module or object.
    """
    module = name.partition(":")[0]
    search_path = list(sys.path)
    sys.path.insert(0, str(Path.cwd()))
    try:
        return EntryPoint(name, name, label).load()
    except (AttributeError, ModuleNotFoundError) as error:
        if isinstance(error, ModuleNotFoundError) and not f"{module}.".startswith(
            f"{error.name}."
        ):
            raise  # the module exists and imports one that does not
        raise ParameterError(
            f"{label} cannot be found: {error}. Write package.module:Name."
        ) from error
    finally:
        sys.path[:] = search_path
