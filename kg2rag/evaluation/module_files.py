"""A module of this package -> its file, and the modules of this package that it imports.

Nothing is imported: files are found by their names and read as text.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from kg2rag.compute.code_version import PACKAGE, ROOMS


def is_in_rooms(name: str) -> bool:
    """Whether a module belongs to one of `ROOMS`."""
    package, _, module = name.partition(".")
    return package == PACKAGE.name and module.partition(".")[0] in ROOMS


def module_file(name: str) -> Path | None:
    """The file of a module of this package; None for a name that is no such module."""
    package, *parts = name.split(".")
    path = PACKAGE.joinpath(*parts)
    if package != PACKAGE.name:
        return None
    for file in (path / "__init__.py", path.with_suffix(".py")):
        if file.is_file():
            return file
    return None


def imported_modules(module: str) -> list[str]:
    """The names of the modules that a module imports directly, and of its parent packages.

    Some names may be no modules.
    """
    parts = module.split(".")
    names = [".".join(parts[:count]) for count in range(1, len(parts))]
    file = module_file(module)
    if file is not None:
        names += _imports(file, module)
    return names


def _imports(file: Path, module: str) -> Iterator[str]:
    """The names of modules that a file may import.

    `from a import b` yields both a and a.b, which may be no module.
    """
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                source = importlib.util.resolve_name("." * node.level + source, package)
            yield source
            yield from _modules_from(source, [alias.name for alias in node.names])


def _modules_from(source: str, names: Sequence[str]) -> Iterator[str]:
    """The submodules of `source` among imported names, and the modules of lazily imported names."""
    lazy_names = _lazy_names(source)
    for name in names:
        yield lazy_names.get(name, f"{source}.{name}")


@cache
def _lazy_names(package: str) -> dict[str, str]:
    """Lazily imported name -> the module that defines it, for a subpackage of this package."""
    file = module_file(package)
    if file is None or not file.with_suffix(".pyi").is_file():
        return {}
    names: dict[str, str] = {}
    for node in ast.parse(file.with_suffix(".pyi").read_bytes()).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.level:
            module = importlib.util.resolve_name(
                "." * node.level + node.module, package
            )
            names |= {alias.asname or alias.name: module for alias in node.names}
    return names
