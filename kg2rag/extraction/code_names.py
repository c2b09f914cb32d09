"""The text of a passage -> its syntax tree, what it defines, and under which names it imports other things.

A passage is a file or a part of one: a function, a class, a method with the indentation that it has in its class. Its
title, where it is a dotted name, is the module or class that it is part of.

What a name in it means is decided in this order: what is local to the function; what the passage defines; what its
document imports; what its module or class defines; what alone in the corpus has the name. No types are inferred: of
`x.save()` only the name `save` is known, and it means the only method of that name, unless strings, lists and the like
have one.
"""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper

Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


@dataclass(frozen=True)
class Definition:
    """A function, method or class.

    `name` is qualified by the classes and functions around it, and by the passage's title; `owner` is what it is
    defined in ("" for nothing), `node` its syntax tree, `in_class` the class that a method belongs to.
    """

    name: str
    kind: str
    owner: str
    node: Scope
    in_class: str = ""

    @property
    def last(self) -> str:
        """The name without what it is defined in."""
        return self.name.rpartition(".")[2]

    @property
    def is_method(self) -> bool:
        """Whether it is in a class, or its first parameter says that it was."""
        if self.in_class or isinstance(self.node, ast.ClassDef):
            return bool(self.in_class)
        return [one.arg for one in self.node.args.args[:1]] in (["self"], ["cls"])

    @property
    def about(self) -> str:
        """The first line of the docstring."""
        return (ast.get_docstring(self.node) or "").partition("\n")[0]


@dataclass(frozen=True)
class Source:
    """A passage that is Python.

    `outer` is the dotted name in its title, "" where that is none; `imports` maps a name of the passage to the dotted
    name that it stands for.
    """

    outer: str
    lines: tuple[str, ...]
    tree: ast.Module
    definitions: tuple[Definition, ...]
    imports: Mapping[str, str]

    def line(self, node: ast.AST) -> str:
        """The line on which a node begins, stripped."""
        return self.lines[getattr(node, "lineno", 1) - 1].strip()


def read_source(title: str, text: str) -> Source | None:
    """The passage as Python; None where it is none (or Python 2)."""
    plain = textwrap.dedent(text.expandtabs())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\d" in a string that is not raw
            tree = ast.parse(plain)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    outer = title.strip() if _DOTTED.fullmatch(title.strip()) else ""
    found = tuple(_definitions(tree, outer, ""))
    return Source(outer, tuple(plain.splitlines()) or ("",), tree, found, dict(_imports(tree, outer)))


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The statements right below a node, and what holds further ones; expressions, which hold none, are passed over."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    for child in _parts(node):
        yield child
        yield from _statements(child)


def _definitions(node: ast.AST, owner: str, in_class: str) -> Iterator[Definition]:
    for child in _parts(node):
        if not isinstance(child, Scope):
            yield from _definitions(child, owner, in_class)
            continue
        name = f"{owner}.{child.name}" if owner else child.name
        if isinstance(child, ast.ClassDef):
            yield Definition(name, "class", owner, child)
            yield from _definitions(child, name, name)
        else:
            yield Definition(name, "method" if in_class else "function", owner, child, in_class)
            yield from _definitions(child, name, "")


def _imports(tree: ast.Module, outer: str) -> Iterator[tuple[str, str]]:
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                yield (one.asname, one.name) if one.asname else (one.name.partition(".")[0],) * 2
        elif isinstance(node, ast.ImportFrom):
            parts = outer.split(".")[: -node.level] if node.level and outer else []
            package = ".".join([*parts, *([node.module] if node.module else [])])
            for one in node.names:
                if one.name != "*":
                    yield one.asname or one.name, f"{package}.{one.name}" if package else one.name


def imported(source: Source) -> Iterator[tuple[ast.AST, str]]:
    """The dotted names that the passage imports, each with its statement."""
    for node in _statements(source.tree):
        if isinstance(node, ast.Import):
            yield from ((node, one.name) for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (
                (node, source.imports[one.asname or one.name])
                for one in node.names
                if (one.asname or one.name) in source.imports
            )


SURE = 1.0
ALONE = 0.7
"""The only definition of that name, which the passage does not say."""
UNTYPED = 0.5
"""The only method of that name, called on an object of unknown type."""

BUILTIN = frozenset(
    name for kind in (str, bytes, list, dict, set, tuple, int, float, BytesIO, TextIOWrapper) for name in dir(kind)
)
"""Names of methods that say nothing of the object."""

Meaning = tuple[str, float]
"""A definition's name, or another package's, and the confidence."""


class Names:
    """The definitions of a corpus by their names."""

    def __init__(self, definitions: Iterable[Definition]) -> None:
        self.known: dict[str, Definition] = {}
        self.by_last: defaultdict[str, list[str]] = defaultdict(list)
        self.times: Counter[str] = Counter()
        for definition in definitions:
            self.times[definition.name] += 1
            if definition.name not in self.known:
                self.known[definition.name] = definition
                self.by_last[definition.last].append(definition.name)

    def imported(self, dotted: str) -> Meaning:
        """What a dotted name of an import means: ours where the corpus defines it, under its full name or its end."""
        if dotted in self.known:
            return dotted, SURE
        last = dotted.rpartition(".")[2]
        package = dotted.partition(".")[0]
        # A name that a package passes on from one of its modules: kg2rag.types.Triple is kg2rag.types.passages.Triple.
        same = [name for name in self.by_last.get(last, ()) if name.partition(".")[0] == package]
        return (same[0], SURE) if len(same) == 1 else (dotted, SURE)

    def alone(self, last: str) -> Meaning | None:
        """The only function or class of that last name; None where there is none, or several."""
        found = [name for name in self.by_last.get(last, ()) if not self.known[name].is_method]
        return (found[0], ALONE) if sum(self.times[name] for name in found) == 1 else None

    def method(self, last: str) -> Meaning | None:
        """The only method of that name; None where there is none or several, or builtin types have one."""
        found = [name for name in self.by_last.get(last, ()) if self.known[name].is_method]
        alone = sum(self.times[name] for name in found) == 1
        return (found[0], UNTYPED) if alone and last not in BUILTIN else None


def local_names(scope: Scope) -> frozenset[str]:
    """Parameters of a function and what it binds, which hide what is defined elsewhere."""
    if isinstance(scope, ast.ClassDef):
        return frozenset()
    arguments = scope.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    bound = [one.arg for one in every if one is not None]
    bound += [node.id for node in ast.walk(scope) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return frozenset(bound)


def meaning(
    node: ast.expr,
    scope: Definition,
    source: Source,
    imports: Mapping[str, str],
    names: Names,
    hidden: Collection[str],
) -> Meaning | None:
    """What an expression surely names; None where the code does not say, or it is a builtin.

    Parameters
    ----------
    scope : the definition in which it stands. imports : those of the whole document. hidden : local names.
    """
    if isinstance(node, ast.Name):
        return None if node.id in hidden else _plain(node.id, source, imports, names)
    if not isinstance(node, ast.Attribute):
        return None
    if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls") and scope.in_class:
        own = f"{scope.in_class}.{node.attr}"
        return (own, SURE) if own in names.known else None
    if isinstance(node.value, ast.Name) and node.value.id not in hidden and node.value.id in imports:
        return names.imported(f"{imports[node.value.id]}.{node.attr}")
    made = isinstance(node.value, ast.Call)  # Circle(3).area is Circle.area
    owner = meaning(node.value.func if made else node.value, scope, source, imports, names, hidden)  # type: ignore[attr-defined]
    if owner is None or (made and (owner[0] not in names.known or names.known[owner[0]].kind != "class")):
        return None
    inner = f"{owner[0]}.{node.attr}"
    return (inner, owner[1]) if inner in names.known or owner[0] not in names.known else None


def guessed(node: ast.expr, names: Names, hidden: Collection[str]) -> Meaning | None:
    """What a call or a base class means by its name alone; None where several, or nothing, have that name.

    `np.array()` is not taken for a method `array`: what is neither local nor imported is a module as likely as not.
    """
    if isinstance(node, ast.Name):
        return None if node.id in hidden or hasattr(builtins, node.id) else names.alone(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    root: ast.expr = node.value
    while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
        root = root.func if isinstance(root, ast.Call) else root.value
    unknown = isinstance(root, ast.Name) and root.id not in hidden
    return None if unknown else names.method(node.attr)


def _plain(name: str, source: Source, imports: Mapping[str, str], names: Names) -> Meaning | None:
    own = [one.name for one in source.definitions if one.last == name and not one.in_class]
    if own:
        return own[0], SURE
    if name in imports:
        return names.imported(imports[name])
    outer = source.outer
    while outer:
        if f"{outer}.{name}" in names.known:
            return f"{outer}.{name}", SURE
        outer = outer.rpartition(".")[0]
    return None
