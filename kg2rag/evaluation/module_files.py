"""A module -> the origin of its code, the user's files that it imports, and versions of libraries.

The origin is the package (its rooms on which rankings depend), a library (installed or standard),
or the user, who has written all other code. No module is imported to find its file.
"""

from __future__ import annotations

import ast
import importlib.util
import site
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import metadata
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Literal

from kg2rag.text.records import sha256

Origin = Literal["package", "library", "user"]
PACKAGE = Path(__file__).resolve().parents[1]
ROOMS = ("types", "text", "compute", "extraction", "knowledge", "retrievers", "llm")
"""The rooms of this package on whose code a ranking depends."""
MISSING = "missing"
"""Replaces the checksum of an optional import that is not installed."""
_SCHEMES = ("stdlib", "platstdlib", "purelib", "platlib")
_LIBRARY_FOLDERS = (
    *map(sysconfig.get_path, _SCHEMES),
    *site.getsitepackages(),
    site.getusersitepackages(),
)
_INSTALLED = frozenset(Path(folder).resolve() for folder in _LIBRARY_FOLDERS)
_INSTALL_FOLDERS = ("site-packages", "dist-packages")
"""Names of folders with installed packages, also those of other environments."""


@cache
def file_origin(file: str) -> Origin:
    """The origin of the code in a file.

    A name that is no file, such as "<stdin>" or a cell of a notebook, is the user's.
    """
    path = Path(file).resolve()
    if file.startswith("<frozen "):
        return "library"
    if not path.is_file():
        return "user"
    if PACKAGE in path.parents:
        room = path.relative_to(PACKAGE).parts[0]
        return "package" if room in (*ROOMS, "__init__.py") else "user"
    return "library" if _is_installed(path) else "user"


def module_origin(name: str) -> Origin:
    """The origin of the module with a name, loaded or not."""
    if name == "__main__":
        return "user"
    spec = find_spec(name)
    if spec is None:
        return "user"
    if spec.origin in ("built-in", "frozen"):
        return "library"
    if spec.has_location and spec.origin is not None:
        return file_origin(spec.origin)
    # A namespace package has folders, but no file.
    folders = [
        Path(folder).resolve() for folder in spec.submodule_search_locations or ()
    ]
    return "library" if folders and all(map(_is_installed, folders)) else "user"


def _is_installed(path: Path) -> bool:
    """Whether a file or folder belongs to the standard library or to an installed package."""
    folders = (path, *path.parents)
    if not _INSTALLED.isdisjoint(folders):
        return True
    return any(folder.name in _INSTALL_FOLDERS for folder in folders)


def find_spec(name: str) -> ModuleSpec | None:
    """The spec of a module, loaded or not, without importing its parents; None for none."""
    module = sys.modules.get(name)
    if module is not None:
        return _loaded_spec(module)
    if name in sys.builtin_module_names:
        return ModuleSpec(name, None, origin="built-in")
    parent, _, _ = name.rpartition(".")
    folders = None
    if parent:
        package = find_spec(parent)
        if package is None or package.submodule_search_locations is None:
            return None
        folders = list(package.submodule_search_locations)
    frozen = importlib.machinery.FrozenImporter.find_spec(name)
    if frozen is not None:
        return frozen
    try:
        return PathFinder.find_spec(name, folders)
    except KeyError:
        # Python finds a package without `__init__.py` only below a loaded package.
        return _namespace_spec(name, folders or [])


def _loaded_spec(module: ModuleType) -> ModuleSpec | None:
    """The spec of a loaded module; None for one without a file, such as one made in memory."""
    spec = getattr(module, "__spec__", None)
    if isinstance(spec, ModuleSpec):
        return spec
    file = getattr(module, "__file__", None)  # of a script
    if file is None:
        return None
    return importlib.util.spec_from_file_location(module.__name__, file)


def _namespace_spec(name: str, parent_folders: Sequence[str]) -> ModuleSpec | None:
    """The spec of a package without `__init__.py`; None if there is none."""
    folders = [Path(folder, name.rpartition(".")[2]) for folder in parent_folders]
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [
        str(folder) for folder in folders if folder.is_dir()
    ]
    if not spec.submodule_search_locations:
        return None
    return spec


def imported_files(name: str) -> dict[str, str]:
    """Name of a user's module and of each that it imports -> the checksum of its file.

    These include relative imports, imports within functions and from namespace packages, and parent
    packages. The checksum of a script or a notebook is "", since its objects are compared in
    memory.
    """
    checksums: dict[str, str] = {}
    waiting = [name]
    while waiting:
        module = waiting.pop()
        if module in checksums or module_origin(module) != "user":
            continue
        file = module_file(module)
        if find_spec(module) is None:
            checksums[module] = MISSING
        elif file is None or module == "__main__":  # a namespace package, or a script
            checksums[module] = ""
        else:
            checksums[module] = sha256(file)
        waiting += imported_modules(module)
    return dict(sorted(checksums.items()))


def imported_modules(module: str) -> list[str]:
    """The names of the modules that a module imports directly, and of its parent packages.

    Some names may be no modules.
    """
    file = module_file(module)
    parts = module.split(".")
    names = [".".join(parts[:count]) for count in range(1, len(parts))]
    if file is not None and file.suffix == ".py":
        names += _imports(file, module)
    return names


def module_file(name: str) -> Path | None:
    """The file of a module; None for a package without one, and for a name that is no module."""
    spec = find_spec(name)
    if spec is None or not spec.has_location or spec.origin is None:
        return None
    file = Path(spec.origin)
    return file if file.is_file() else None


def is_in_rooms(name: str) -> bool:
    """Whether a module belongs to one of `ROOMS`."""
    package, _, module = name.partition(".")
    return package == PACKAGE.name and module.partition(".")[0] in ROOMS


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
    for name in names:
        submodule = f"{source}.{name}"
        lazy = _lazy_names(source).get(name)
        if lazy is not None:
            yield lazy
        elif name != "*" and find_spec(submodule) is not None:
            yield submodule


@cache
def _lazy_names(package: str) -> dict[str, str]:
    """Lazily imported name -> the module that defines it, for a subpackage of this package."""
    root, _, subpackage = package.partition(".")
    stub = PACKAGE.joinpath(*subpackage.split("."), "__init__.pyi")
    if root != PACKAGE.name or not stub.is_file():
        return {}
    names: dict[str, str] = {}
    for node in ast.parse(stub.read_bytes()).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.level:
            module = importlib.util.resolve_name(
                "." * node.level + node.module, package
            )
            names |= {alias.asname or alias.name: module for alias in node.names}
    return names


@cache
def library_version(module: str) -> str:
    """The distribution and version of a library's module; of Python for the standard library."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return f"python {sys.version_info.major}.{sys.version_info.minor}"
    try:
        return f"{top} {metadata.version(top)}"
    except metadata.PackageNotFoundError:  # the distribution has another name
        names = sorted(set(metadata.packages_distributions().get(top, ())))
    versions = [f"{name} {metadata.version(name)}" for name in names]
    return ", ".join(versions) or f"{top} of an unknown version"
