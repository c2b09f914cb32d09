"""`name(parameter=value, …)` -> what it names: one grammar for every kind of component, and tables of their names.

The first parameter may be given by its value alone; names joined by `+` are a union or a chain, whichever the kind has:
`graph_augmented(linker=ngram+fuzzy, hops=2)`, `mentions+openie(FILE)`, `embedding(0.6)`. A value in quotes may hold
anything; without them brackets must be in pairs, and a comma ends it.

Other packages add names by an entry point: under `[project.entry-points."kg2rag.systems"]` of a pyproject.toml, the
line `my_system = "my_package.module:MySystem"`.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, cast, get_args, get_type_hints

Thing = TypeVar("Thing")
_SPEC = re.compile(r"([^()\s]+)\s*(?:\((.*)\))?", re.DOTALL)
_PARAMETER = re.compile(r"\s*(\w+)\s*=(?!=)(.*)", re.DOTALL)
_PYTHON = {"True": True, "False": False, "None": None}


class ParameterError(ValueError, TypeError):
    """A parameter has a value that its component does not allow."""


class Spec(NamedTuple):
    """A name and its parameters as written; the key of one that is given by its value alone is ""."""

    name: str
    parameters: dict[str, str]


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


def parse(text: str) -> list[Spec]:
    """The names joined by `+`, each with its parameters.

    >>> parse("mentions + openie(a+b.json, partial=true)")
    [Spec(name='mentions', parameters={}), Spec(name='openie', parameters={'': 'a+b.json', 'partial': 'true'})]
    """
    return [_spec(part) for part in split(text, "+")]


def _spec(text: str) -> Spec:
    found = _SPEC.fullmatch(text)
    if found is None:
        raise ParameterError(f"{text!r} names nothing: write name or name(parameter=value, …).")
    parameters: dict[str, str] = {}
    for place, given in enumerate(split(found[2], ",") if (found[2] or "").strip() else ()):
        named = _PARAMETER.fullmatch(given)
        key, value = (named[1], named[2].strip()) if named else ("", given)
        if (place and not named) or key in parameters:
            raise ParameterError(f"{text!r}: write {given!r} as parameter=value, each parameter once.")
        parameters[key] = value
    return Spec(found[1], parameters)


def read_value(text: str) -> Any:
    """The value of a parameter written as text: JSON, Python's True, False and None, else the text itself.

    >>> read_value("0.6"), read_value("[1, 2]"), read_value("fuzzy"), read_value("'a, b'")
    (0.6, [1, 2], 'fuzzy', 'a, b')
    """
    if text in _PYTHON:
        return _PYTHON[text]
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1]
    try:
        return json.loads(text)
    except json.JSONDecodeError:
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

    Parameters
    ----------
    kind : "system", "linker", …: for messages.
    entries : usage -> builder: "openie(FILE)" -> "package.module:Builder", which is imported when it is first used.
    group : the entry points by which other packages add names.
    context : how many of a builder's first parameters the program gives, not the user: a knowledge base, say.
    joined : what makes one component of several joined by `+`; None where that has no meaning.
    """

    def __init__(
        self,
        kind: str,
        entries: Mapping[str, Any],
        *,
        group: str,
        context: int = 0,
        joined: Callable[[tuple[Thing, ...]], Thing] | None = None,
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
        """How each is written, as help texts and errors list them: "mentions", "openie(FILE)"."""
        return tuple(self._usages.get(name, name) for name in self.names())

    def entry(self, name: str, *, modules: bool = False) -> Any:
        """What a name stands for: mostly the class or function that makes it.

        Parameters
        ----------
        modules : whether a name may be "my.module:Class", the directory one is in included. That runs the module's
            code, so what comes out of a file is built without.

        Raises
        ------
        ParameterError : a name that is not known, or that two packages register.
        RuntimeError : the entry of another package cannot be imported.
        """
        entry = self.entries.get(name)
        if isinstance(entry, str):
            return EntryPoint(name, entry, self.group).load()
        if entry is not None:
            return entry
        if modules and ":" in name:
            return _imported(self._called(name), name)
        points = list(entry_points(group=self.group, name=name))
        if not points:
            raise ParameterError(unknown(self.kind, name, self.usages()))
        packages = " and by ".join(point.dist.name if point.dist else "an unnamed package" for point in points)
        if len(points) > 1:
            raise ParameterError(f"{self._called(name)} is registered by {packages}: uninstall one.")
        try:
            return points[0].load()
        except Exception as error:
            raise RuntimeError(
                f"{self._called(name)} of the package {packages} cannot be imported from {points[0].value}: "
                f"{type(error).__name__}: {error}"
            ) from error

    def parameters(self, name: str, *, modules: bool = False) -> dict[str, object]:
        """The parameters that a user may give, and their defaults."""
        known = [*inspect.signature(self.entry(name, modules=modules)).parameters.values()]
        return {one.name: one.default for one in known[self.context :]}

    def description(self, name: str) -> str:
        """The docstring of a component, then, of one that has a file of its own, that file's."""
        builder = self.entry(name)
        own, module = inspect.getdoc(builder) or "", inspect.getmodule(builder)
        around = inspect.getdoc(module) if module is not None and not hasattr(module, "SYSTEMS") else None
        return "\n\n".join(filter(None, [own, around]))

    def build(
        self, text: str, *context: object, settings: Mapping[str, object] | None = None, modules: bool = False
    ) -> Thing:
        """What a text names, over the context, with further parameters by `settings`.

        ParameterError: a name, a parameter or a value that is not allowed; the message says what is.
        """
        if not isinstance(text, str):
            raise ParameterError(f"A {self.kind} is named by a text, such as {self.usages()[0]!r}, not by {text!r}.")
        specs = parse(text)
        built = tuple(self._one(spec, context, settings or {}, modules) for spec in specs)
        if len(built) == 1:
            return built[0]
        if self.joined is None:
            raise ParameterError(f"{self._called(text)}: name one; {self.kind}s are not joined by '+'.")
        return self.joined(built)

    def _one(self, spec: Spec, context: Sequence[object], settings: Mapping[str, object], modules: bool) -> Thing:
        builder, called = self.entry(spec.name, modules=modules), self._called(spec.name)
        known = self.parameters(spec.name, modules=modules)
        try:
            hints = get_type_hints(builder)
        except NameError:  # of a name that the module imports for type checkers alone
            hints = {}
        if "" in spec.parameters and not known:
            raise ParameterError(f"{called} takes no parameter, not {spec.parameters['']!r}.")
        written = {name or next(iter(known)): value for name, value in spec.parameters.items()}
        for name in (*written, *settings):
            if name not in known:
                said = builder.refusal(name, known) if hasattr(builder, "refusal") else ""
                raise ParameterError(f"{called}: " + (said or unknown("parameter", name, known)))
        if twice := [name for name in settings if name in written]:
            raise ParameterError(f"{called}: {twice[0]} is given twice.")
        given = {**{name: _read(value, hints.get(name)) for name, value in written.items()}, **settings}
        if lacking := [name for name in known if known[name] is inspect.Parameter.empty and name not in given]:
            raise ParameterError(f"{called} needs {lacking[0]}: write {self._usages.get(spec.name)}.")
        try:
            return cast(Thing, builder(*context, **given))
        except ParameterError as error:
            raise ParameterError(f"{called}: {error}") from None

    def _called(self, name: str) -> str:
        return f"{self.kind[0].upper()}{self.kind[1:]} {name!r}"


def _read(text: str, hint: Any) -> object:
    """The value of a parameter of some type: a text stays one."""
    kinds = get_args(hint) or (hint,)
    quoted = len(text) > 1 and text[0] in "\"'" and text[0] == text[-1]
    value = text if not quoted and text not in _PYTHON and (str in kinds or Path in kinds) else read_value(text)
    return Path(value) if Path in kinds and isinstance(value, str) else value


def _imported(called: str, place: str) -> Any:
    """What a module of the directory one is in, or of any package, has."""
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
