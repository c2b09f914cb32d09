"""The text of a passage -> its syntax tree, what it defines, and under which names it imports other things.

A passage is a file or a part of one: a function, a class, a method with the indentation that it has in its class. Its
title, where it is a dotted name, is the module or class that it is part of.
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

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
