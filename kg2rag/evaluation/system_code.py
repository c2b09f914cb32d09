"""The classes of a system -> a checksum of their code, and the saved results of older code.

The run cache is keyed by every byte of the rooms that rankings depend on, so that results kept
beside the code would be older than it after every change of a comment. Here only the modules count
that a system imports, without docstrings, comments and layout, those that a table of components
names, and the data files beside them. The catalogues of all systems and all sources are left out.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from kg2rag.evaluation.module_files import (
    PACKAGE,
    imported_modules,
    is_in_rooms,
    module_file,
)

CATALOGUES = (
    "kg2rag.retrievers.systems",
    "kg2rag.extraction.sources",
    "kg2rag.knowledge.announcement",
)
"""Modules that name every system or every source of graphs, whichever is used."""
_COMPONENT = re.compile(r'"(kg2rag[.\w]+):\w+"')
CODE = "code"
"""Key of a configuration: system -> checksum of its code."""


def system_code(parameters: object) -> str:
    """A checksum of the code of a system; "" if none of it is of this package.

    `parameters` is the record by `provenance.parameters`.
    """
    modules: set[str] = set()
    for module in _modules_of(parameters):
        modules |= _imported_by(module)
    if not modules:
        return ""
    files = {file for module in modules for file in _files_of(module)}
    lines = []
    for file in sorted(files):
        lines.append(f"{file.relative_to(PACKAGE).as_posix()} {code_checksum(file)}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def outdated_systems(config: Mapping[str, Any]) -> list[str]:
    """The systems of a saved comparison whose code has changed or was not recorded.

    `config` is its config.json.
    """
    recorded = config.get(CODE, {})
    outdated = []
    for name, parameters in config["parameters"].items():
        if recorded.get(name) != system_code(parameters):
            outdated.append(name)
    return outdated


def _modules_of(parameters: object) -> Iterator[str]:
    """The modules of all classes that are named in a record of parameters."""
    if isinstance(parameters, Mapping):
        class_name = parameters.get("class")
        if isinstance(class_name, str):
            yield class_name.rpartition(".")[0]
        parameters = list(parameters.values())
    if isinstance(parameters, list):
        for part in parameters:
            yield from _modules_of(part)


@cache
def _imported_by(module: str) -> frozenset[str]:
    """The modules of the package's rooms that a module is made of and imports, transitively."""
    modules: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in modules and name not in CATALOGUES and is_in_rooms(name):
            modules.add(name)
            waiting += _references(name)
    return frozenset(modules)


@cache
def _references(module: str) -> list[str]:
    """The modules that a module imports or names as "package.module:Class"."""
    names = imported_modules(module)
    for file in _files_of(module):
        if file.suffix == ".py":
            names += _COMPONENT.findall(file.read_text(encoding="utf-8"))
    return names


@cache
def _files_of(module: str) -> tuple[Path, ...]:
    """The file of a module and the data files beside it; none for a name that is no module."""
    file = module_file(module)
    if file is None:
        return ()
    beside = [path for path in file.parent.iterdir() if path.is_file()]
    data = [path for path in beside if path.suffix not in (".py", ".pyi", ".pyc")]
    return (file, *data)


@cache
def code_checksum(file: Path) -> str:
    """A checksum of a file: of Python code, its syntax tree without docstrings."""
    content = file.read_bytes()
    if file.suffix == ".py":
        tree = ast.parse(content)
        for node in ast.walk(tree):
            _drop_docstrings(node)
        content = ast.dump(tree).encode()
    return hashlib.sha256(content).hexdigest()


def _drop_docstrings(node: ast.AST) -> None:
    """Remove docstrings of functions, classes, modules and constants."""
    body = getattr(node, "body", None)
    if isinstance(body, list):
        node.body = [line for line in body if not _is_text(line)]  # type: ignore[attr-defined]


def _is_text(line: ast.AST) -> bool:
    if not isinstance(line, ast.Expr) or not isinstance(line.value, ast.Constant):
        return False
    return isinstance(line.value.value, str)
