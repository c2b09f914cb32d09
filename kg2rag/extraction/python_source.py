"""The text of a passage of Python -> its definitions and imports, by `ast`."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = Function | ast.ClassDef
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


@dataclass(frozen=True)
class Definition:
    """A function, method or class with its qualified name.

    `owner` : the definition around it. `in_class` : the class of a method.
    """

    name: str
    kind: str
    owner: str
    node: Scope
    in_class: str = ""

    @property
    def last(self) -> str:
        """The last part of the name."""
        return self.name.rpartition(".")[2]

    @property
    def is_method(self) -> bool:
        """Whether it is in a class, or its first parameter is `self` or `cls`."""
        if self.in_class or isinstance(self.node, ast.ClassDef):
            return bool(self.in_class)
        first_parameters = [parameter.arg for parameter in self.node.args.args[:1]]
        return first_parameters in (["self"], ["cls"])

    @property
    def local_names(self) -> frozenset[str]:
        """The parameters and assigned names of a function, which hide definitions elsewhere."""
        if isinstance(self.node, ast.ClassDef):
            return frozenset()
        parameters = {
            node.arg
            for node in ast.iter_child_nodes(self.node.args)
            if isinstance(node, ast.arg)
        }
        names = (node for node in ast.walk(self.node) if isinstance(node, ast.Name))
        return frozenset(
            parameters | {name.id for name in names if isinstance(name.ctx, ast.Store)}
        )

    def parts(self) -> list[ast.AST]:
        """The decorators, the body and the signature, without base classes."""
        node = self.node
        if isinstance(node, ast.ClassDef):
            return [*node.decorator_list, *node.body, *node.keywords]
        returns = [node.returns] if node.returns else []
        return [*node.decorator_list, *node.body, node.args, *returns]


class Import(NamedTuple):
    """A name that a statement binds, and its dotted name.

    `module` : the module of "from m import name", "" for another import.
    """

    statement: ast.AST
    name: str
    dotted: str
    module: str


class PythonSource:
    """A passage of Python; SyntaxError and other errors of `ast` for other texts.

    `outer` is the dotted name in its title, or ""; `imports` maps a name to the dotted name that it
    stands for.
    """

    def __init__(self, title: str, text: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\d" in a string that is not raw
            self.tree = ast.parse(text)
        self.outer = title if _DOTTED.fullmatch(title) else ""
        self.lines = text.splitlines() or [""]
        self.definitions = list(_definitions(self.tree, self.outer, ""))
        self.import_records = list(_imports(self.tree, self.outer))
        self.imports = {record.name: record.dotted for record in self.import_records}

    @property
    def module(self) -> str:
        """The dotted name of the passage, else its first definition; "" if it has neither."""
        outermost = (
            definition.name for definition in self.definitions if not definition.owner
        )
        return self.outer or next(outermost, "")


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements directly below a node, without expressions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child


def _definitions(node: ast.AST, owner: str, in_class: str) -> Iterator[Definition]:
    """Every definition below a node, outer ones first; `owner` and `in_class` are around the node."""
    for child in _statements(node):
        if not isinstance(child, Scope):
            yield from _definitions(child, owner, in_class)
            continue
        name = f"{owner}.{child.name}" if owner else child.name
        if isinstance(child, ast.ClassDef):
            yield Definition(name, "class", owner, child)
            yield from _definitions(child, name, name)
        else:
            yield Definition(
                name, "method" if in_class else "function", owner, child, in_class
            )
            yield from _definitions(child, name, "")


def _imports(node: ast.AST, outer: str) -> Iterator[Import]:
    """Every import below a node."""
    for child in _statements(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                package = alias.name.partition(".")[0]
                if alias.asname:
                    yield Import(child, alias.asname, alias.name, alias.name)
                else:
                    yield Import(child, package, package, alias.name)
        elif isinstance(child, ast.ImportFrom):
            module = _imported_module(child, outer)
            for alias in child.names:
                if alias.name != "*":
                    yield Import(
                        child,
                        alias.asname or alias.name,
                        ".".join((*module, alias.name)),
                        "",
                    )
        yield from _imports(child, outer)


def _imported_module(statement: ast.ImportFrom, outer: str) -> list[str]:
    """The parts of the module in "from m import name", resolved within the package of `outer`."""
    package = outer.split(".")[: -statement.level] if statement.level and outer else []
    return [*package, statement.module] if statement.module else package
