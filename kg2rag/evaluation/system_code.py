"""The systems of a comparison -> checksums of their code, which show that a result is outdated.

The key of the run cache covers every byte of the rooms on which rankings depend, so that every
changed comment would make published results outdated. These checksums cover only the modules that a
system imports, without docstrings, comments and layout, and the data files beside them. Only the
linkers, rerankers and graph sources that the system uses count.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from kg2rag.compute.code_version import PACKAGE
from kg2rag.evaluation.module_files import imported_modules, is_in_rooms, module_file
from kg2rag.extraction.sources import SOURCES

CATALOGUES = (
    "kg2rag.retrievers.systems",
    "kg2rag.extraction.sources",
    "kg2rag.extraction.entity_matching",
    "kg2rag.knowledge.announcement",
)
"""Modules with tables of all systems or all graph sources, which are not followed as imports."""
IMPORTERS = "kg2rag.extraction.importers"
"""Readers of graph files, which count only for systems whose graph they have read."""
_TABLE_ENTRY = re.compile(r'"(\w+)[^"]*": "(kg2rag[.\w]+):\w+"')
"""A line of a table of components: name and module of one."""
CODE = "code"
"""Key of a configuration: system -> checksum of its code."""


def outdated_systems(config: Mapping[str, Any]) -> list[str]:
    """The systems of a saved comparison whose code has changed or was not recorded.

    config : the contents of its config.json.
    """
    recorded = config.get(CODE, {})
    current = system_codes(config)
    return [name for name, code in current.items() if recorded.get(name) != code]


def system_codes(config: Mapping[str, Any]) -> dict[str, str]:
    """System -> checksum of its code, by the configuration of a comparison."""
    codes = {}
    for name, parameters in config["parameters"].items():
        codes[name] = system_code(parameters, _graph_sources(config, name))
    return codes


def _graph_sources(config: Mapping[str, Any], system: str) -> list[str]:
    """The modules of the graph sources that a system reads; [] for a graph in memory."""
    if system not in config["graph_systems"]:
        return []
    texts = [
        knowledge["graph"]["source"]
        for knowledge in config["knowledge"]
        if system in knowledge["systems"]
    ]
    words = _words(texts)
    modules = []
    for entry in SOURCES.entries.values():
        module, _, class_name = str(entry).partition(":")
        if class_name in words:
            modules.append(module)
    return modules


def system_code(parameters: object, sources: Iterable[str] = ()) -> str:
    """A checksum of the code of a system; "" if none of it is of this package.

    parameters : the record by `provenance.parameters`.
    sources : the modules of the graph sources that the system reads.
    """
    modules = _modules_used(parameters, sources)
    if not modules:
        return ""
    files = {file for module in modules for file in _files_of(module)}
    lines = []
    for file in sorted(files):
        lines.append(f"{file.relative_to(PACKAGE).as_posix()} {code_checksum(file)}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _modules_used(parameters: object, sources: Iterable[str]) -> set[str]:
    """The modules of the package's rooms that a system is made of and imports, transitively."""
    names = _words(parameters)
    modules: set[str] = set()
    waiting = [*_modules_of(parameters), *sources]
    while waiting:
        module = waiting.pop()
        if module in modules or module in CATALOGUES or not is_in_rooms(module):
            continue
        modules.add(module)
        waiting += _imports(module)
        waiting += [part for name, part in _components(module) if name in names]
    return modules


def _words(record: object) -> set[str]:
    """All words in the JSON of a record; they include the names of its components."""
    return set(re.findall(r"\w+", json.dumps(record)))


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
def _imports(module: str) -> list[str]:
    """The modules that a module imports; only readers of graph files may import `IMPORTERS`."""
    modules = imported_modules(module)
    if module.startswith(IMPORTERS):
        return modules
    return [name for name in modules if not name.startswith(IMPORTERS)]


@cache
def _components(module: str) -> list[tuple[str, str]]:
    """Name and module of each component in the tables of a module."""
    entries: list[tuple[str, str]] = []
    for file in _files_of(module):
        if file.suffix == ".py":
            entries += _TABLE_ENTRY.findall(file.read_text(encoding="utf-8"))
    return entries


@cache
def _files_of(module: str) -> tuple[Path, ...]:
    """The file of a module and the data files beside it; empty for a name that is no module."""
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
            body = getattr(node, "body", None)
            if isinstance(body, list):
                node.body = [line for line in body if not _is_constant(line)]  # type: ignore[attr-defined]
        content = ast.dump(tree).encode()
    return hashlib.sha256(content).hexdigest()


def _is_constant(line: ast.stmt) -> bool:
    """Whether a statement is a docstring, or another constant that does nothing."""
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)
