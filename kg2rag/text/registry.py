"""`name(parameter=value, …)` -> what it names: one grammar for every kind of component, and tables of their names.

The first parameter may be given by its value only; names joined by `+` are a union or a chain, whichever the kind has:
`graph_augmented(linker=ngram+fuzzy, hops=2)`, `mentions+openie(FILE)`, `embedding(0.6)`. A value in quotes may hold
anything; without them brackets must be in pairs, and a comma ends it.

Other packages add names by an entry point: under `[project.entry-points."kg2rag.systems"]` of a pyproject.toml, the
line `my_system = "my_package.module:MySystem"`.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections.abc import Iterable, Mapping
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
    """The parts of a text between separators that are in no brackets and no quotes, without blanks at their ends.

    >>> split("fuzzy(0.9, limit=2)+ngram", "+")
    ['fuzzy(0.9, limit=2)', 'ngram']
    """
    parts, depth, start, quote, before = list[str](), 0, 0, "", "="
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'" and before in "=(,[{:+":
            quote = char
        elif char in "()[]{}":
            depth += 1 if char in "([{" else -1
        elif char == separator and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
        if depth < 0:
            break
        before = before if char.isspace() else char
    if depth or quote:
        raise ParameterError(f"{text!r}: a bracket or quote has no partner. Write a value that needs one in quotes.")
    return [*parts, text[start:].strip()]


def parse(text: str) -> list[tuple[str, dict[str, str]]]:
    """The names joined by `+`, each with its parameters as written; "" is the key of one given by its value only.

    >>> parse("mentions + openie(a+b.json, partial=true)")
    [('mentions', {}), ('openie', {'': 'a+b.json', 'partial': 'true'})]
    """
    specs = []
    for part in split(text, "+"):
        found, parameters = _SPEC.fullmatch(part), dict[str, str]()
        if found is None:
            raise ParameterError(f"{part!r} names nothing: write name or name(parameter=value, …).")
        for place, given in enumerate(split(found[2], ",") if (found[2] or "").strip() else ()):
            named = _PARAMETER.fullmatch(given)
            key, value = (named[1], named[2].strip()) if named else ("", given)
            if (place and not named) or key in parameters:
                raise ParameterError(f"{part!r}: write {given!r} as parameter=value, each parameter once.")
            parameters[key] = value
        specs.append((found[1], parameters))
    return specs


def read_value(text: str) -> Any:
    """The value of a parameter written as text: as JSON or Python has it, else the text itself.

    >>> read_value("0.6"), read_value("[1, 2]"), read_value("fuzzy"), read_value("'a, b'")
    (0.6, [1, 2], 'fuzzy', 'a, b')
    """
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
    return text


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most similar to `name`, whatever the case, or None where none is similar.

    >>> nearest("hotpot", ["hotpotqa", "musique"])
    'hotpotqa'
    """
    by_folded = {one.casefold(): one for one in sorted(known, reverse=True)}
    found = get_close_matches(name.casefold(), by_folded, n=1)
    return by_folded[found[0]] if found else None


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """The message of an error about an unknown name: all known ones, sorted, and the nearest.

    >>> unknown("dataset", "hotpot", ["musique", "hotpotqa"])
    "Unknown dataset 'hotpot'. Known: hotpotqa, musique. Did you mean 'hotpotqa'?"
    """
    known = sorted(known)
    close = nearest(name, (one.partition("(")[0] for one in known))
    listed = f"Unknown {kind} {name!r}. Known: {', '.join(known) or 'none'}."
    return listed if close is None else f"{listed} Did you mean {close!r}?"


class Registry(Generic[Thing]):
    """The names of one kind of component, and how each is made.

    `kind` : "system", "linker", …: for messages. `entries` : usage -> builder: "openie(FILE)" ->
    "package.module:Builder", imported when it is first used. `group` : the entry points by which other packages add
    names. `context` : how many of a builder's first parameters the program gives. `joined` : what makes one of a tuple
    of those joined by `+`; None where that has no meaning.
    """

    def __init__(
        self, kind: str, entries: Mapping[str, Any], *, group: str, context: int = 0, joined: Any = None
    ) -> None:
        self.kind, self.group, self.context, self.joined = kind, group, context, joined
        self._usages = {usage.partition("(")[0]: usage for usage in entries}
        self.entries: dict[str, Any] = dict(zip(self._usages, entries.values(), strict=True))

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def __getitem__(self, name: str) -> Any:
        return self.entry(name)

    def names(self) -> tuple[str, ...]:
        """All names, those of installed packages included, sorted."""
        return tuple(sorted({*self.entries, *(point.name for point in entry_points(group=self.group))}))

    def usages(self) -> tuple[str, ...]:
        """How each is written: "mentions", "openie(FILE)"."""
        return tuple(self._usages.get(name, name) for name in self.names())

    def entry(self, name: str, *, modules: bool = False) -> Any:
        """What a name stands for: mostly the class or function that makes it.

        `modules` : whether it may be "my.module:Class", the directory one is in included, which runs the module's code.
        ParameterError: a name that is not known, or that two packages register. RuntimeError: it cannot be imported.
        """
        entry = self.entries.get(name)
        if entry is not None:
            return EntryPoint(name, entry, self.group).load() if isinstance(entry, str) else entry
        if modules and ":" in name:
            return _imported(self._called(name), name)
        points = list(entry_points(group=self.group, name=name))
        if not points:
            raise ParameterError(unknown(self.kind, name, self.usages()))
        owners = " and by ".join(point.dist.name if point.dist else point.value for point in points)
        if len(points) > 1:
            raise ParameterError(f"{self._called(name)} is registered by {owners}: uninstall one.")
        try:
            return points[0].load()
        except Exception as error:
            where = f"{self._called(name)} of {owners} cannot be imported from {points[0].value}"
            raise RuntimeError(f"{where}: {error!r}") from error

    def parameters(self, name: str, *, modules: bool = False) -> dict[str, object]:
        """The parameters that a user may give, and their defaults."""
        known = [*inspect.signature(self.entry(name, modules=modules)).parameters.values()]
        return {one.name: one.default for one in known[self.context :]}

    def description(self, name: str) -> str:
        """The docstring of a component, and that of its file where the file holds nothing else."""
        builder = self.entry(name)
        own, module = inspect.getdoc(builder) or "", inspect.getmodule(builder)
        around = inspect.getdoc(module) if module is not None and not hasattr(module, "SYSTEMS") else None
        return "\n\n".join(filter(None, [own, around]))

    def build(
        self, text: str, *context: object, settings: Mapping[str, object] | None = None, modules: bool = False
    ) -> Thing:
        """What a text names, over the context, with further parameters by `settings`; ParameterError if not allowed."""
        if not isinstance(text, str):
            raise ParameterError(f"A {self.kind} is named by a text, such as {self.usages()[0]!r}, not by {text!r}.")
        built: list[Thing] = []
        for name, written in parse(text):
            builder, known = self.entry(name, modules=modules), self.parameters(name, modules=modules)
            try:
                built.append(builder(*context, **_arguments(written, builder, known, settings or {})))
            except ParameterError as error:
                raise ParameterError(f"{self._called(self._usages.get(name, name))}: {error}") from None
        if len(built) > 1 and self.joined is None:
            raise ParameterError(f"{self._called(text)}: name one; {self.kind}s are not joined by '+'.")
        return built[0] if len(built) == 1 else self.joined(tuple(built))

    def _called(self, name: str) -> str:
        return f"{self.kind[0].upper()}{self.kind[1:]} {name!r}"


def _arguments(
    written: Mapping[str, str], builder: Any, known: Mapping[str, object], settings: Mapping[str, object]
) -> dict[str, object]:
    try:
        hints = get_type_hints(builder)
    except NameError:  # a name that the module imports for type checkers only
        hints = {}
    if "" in written and not known:
        raise ParameterError(f"it takes no parameter, not {written['']!r}.")
    written = {name or next(iter(known)): text for name, text in written.items()}
    for name in (*written, *settings):
        if name not in known:
            said = builder.refusal(name, known) if hasattr(builder, "refusal") else ""
            raise ParameterError(said or unknown("parameter", name, known))
        if name in written and name in settings:
            raise ParameterError(f"{name} is given twice.")
    given = dict(settings)
    for name, text in written.items():
        kinds = get_args(hints.get(name)) or (hints.get(name),)
        coded = text in ("True", "False", "None") or text.startswith(("'", '"'))
        value = text if (str in kinds or Path in kinds) and not coded else read_value(text)
        given[name] = Path(value) if Path in kinds and isinstance(value, str) else value
    if lacking := [name for name in known if known[name] is inspect.Parameter.empty and name not in given]:
        raise ParameterError(f"{lacking[0]} is missing.")
    return given


def _imported(called: str, place: str) -> Any:
    before, module = list(sys.path), place.partition(":")[0]
    sys.path.insert(0, str(Path.cwd()))
    try:
        return EntryPoint(place, place, called).load()
    except (AttributeError, ModuleNotFoundError) as error:
        if isinstance(error, ModuleNotFoundError) and not f"{module}.".startswith(f"{error.name}."):
            raise  # a module that is there imports one that is not
        raise ParameterError(f"{called} cannot be found: {error}. Write package.module:Name.") from error
    finally:
        sys.path[:] = before
