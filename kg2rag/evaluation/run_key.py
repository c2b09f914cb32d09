"""A system -> the key of its run: all on which its rankings depend, as JSON values.

The system is described by its parts, down to plain values. Files count by their contents, knowledge
bases by corpus, graph and encoder, code of this package by the checksum of its files. A part that
cannot be compared by content, and code of the user without a `run_version`, is a `NoKeyError`: the
run is not stored.
"""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from enum import Enum
from functools import cache, cached_property
from importlib.metadata import entry_points
from pathlib import Path
from types import FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

import numpy as np

from kg2rag.compute import GivenEncoder, GivenVectors
from kg2rag.compute.code_version import PACKAGE, ROOMS, code_version, edited_file
from kg2rag.evaluation.module_files import is_in_rooms
from kg2rag.extraction.sources import SOURCES
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.linking import LINKERS
from kg2rag.retrievers.rerankers import RERANKERS
from kg2rag.retrievers.systems import SYSTEMS
from kg2rag.text.records import sha256
from kg2rag.text.registry import ParameterError, Registry, parse, read_value
from kg2rag.types import called

VERSION = "run_version"
"""The attribute by which the class of a user states the version of its code."""
MANY = 100
"""Number of items from which a list is replaced by a checksum."""
MAX_SPECIFICATION = 1000
"""Characters of the longest text that is read as a specification, such as "triples(FILE)"."""
_REGISTRIES: tuple[Registry[Any], ...] = (LINKERS, RERANKERS, SOURCES, SYSTEMS)
_COLLECTIONS = (list, tuple, set, frozenset, dict, MappingProxyType)
_FUNCTION_ATTRIBUTE = {
    property: "fget",
    cached_property: "func",
    classmethod: "__func__",
    staticmethod: "__func__",
    type(cache(len)): "__wrapped__",
}
"""Type of a wrapper -> the name of its attribute with the wrapped function."""
_HEAP_TYPE = 1 << 9
"""The flag of classes written in Python; objects of others may have state that is no attribute."""


class NoKeyError(TypeError):
    """A system has no key, so that its runs cannot be stored."""


def run_key(system: object, k: int) -> dict[str, Any]:
    """The parts of the key of a system's run that do not depend on the questions.

    NoKeyError: a part of the system cannot be compared by content, has code outside of this
    package, or the package in memory differs from its files.
    """
    file = edited_file()
    if file is not None:
        name = file.relative_to(PACKAGE.parent).as_posix()
        raise NoKeyError(f"{name} was edited after its import; start Python again")
    for member in replaced_members():
        raise NoKeyError(f"{member} was replaced in memory")
    try:
        return {"system": identity(system), "code": code_version(*ROOMS), "k": k}
    except RecursionError:
        raise NoKeyError(
            f"{called(system)} nests too deeply to be compared by content"
        ) from None


def identity(value: Any) -> Any:
    """The identity of a value as JSON values; code of this package counts by name.

    NoKeyError: a part cannot be compared by content, or has code outside of this package.

    >>> identity((1, "a", None))
    [1, 'a', None]
    """
    kind = type(value)
    if kind in (type(None), bool, int):
        return value
    if kind is float:
        return value if math.isfinite(value) else repr(value)
    if kind is str or isinstance(value, Path):
        return _text_and_components(value)
    if kind in (bytes, complex, range):
        return {kind.__name__: digest(repr(value))}
    if kind in _COLLECTIONS:
        return _collection_identity(value)
    if isinstance(value, np.ndarray | np.generic) and kind.__module__ == "numpy":
        return _array_identity(np.asarray(value))
    return _code_or_object(value)


def _collection_identity(value: Any) -> Any:
    """The identity of a collection; a long list or mapping is a checksum."""
    if isinstance(value, set | frozenset):
        members = map(identity, value)
        return {"set": sorted(members, key=lambda member: json.dumps(member))}
    if not isinstance(value, list | tuple):  # a mapping, whose order of keys counts
        return {"mapping": _collection_identity(list(value.items()))}
    identities = [identity(item) for item in value]
    return identities if len(identities) < MANY else digest(identities)


def _array_identity(array: np.ndarray) -> Any:
    """Type, shape and checksum of an array; of an array of objects, the items."""
    if array.dtype.hasobject:
        return {"object": [list(array.shape), identity(array.tolist())]}
    checksum = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return {str(array.dtype): [list(array.shape), checksum]}


def _text_and_components(value: str | Path) -> Any:
    """The identity of a text, with those of the components that it names and others registered."""
    components = []
    for word in _specified(str(value)):
        components += [code_identity(part) for part in _registered(word)]
    content = text_identity(value)
    return {"text": content, "components": components} if components else content


def text_identity(value: str | Path) -> Any:
    """A text with the checksums of the files that it names; of a file or folder, its contents.

    A specification such as "triples(FILE)" names its files, too.
    """
    content = _content(value)
    if content is not None:
        return content
    files = [_content(word) for word in _specified(str(value))]
    files = [file for file in files if file is not None]
    return [str(value), *files] if files else str(value)


def _content(value: str | Path) -> Any:
    """The checksum of the file at a path, the names and states of the files of a folder, or None."""
    path = Path(os.path.expanduser(value))  # noqa: PTH111 - no error for a text such as "~x"
    if os.path.isfile(path):  # noqa: PTH113 - False for a name that no file can have
        return {"sha256": sha256(path)}
    if os.sep in str(value) and os.path.isdir(path):  # noqa: PTH112 - may be a model, too large to be read
        states = ((file.name, file.stat()) for file in sorted(path.iterdir()))
        return [[name, state.st_size, state.st_mtime_ns] for name, state in states]
    return None


def _specified(text: str) -> Iterator[str]:
    """The names and the texts of parameters in a specification, those of nested ones included."""
    if len(text) > MAX_SPECIFICATION:
        return
    with suppress(ParameterError):  # a text that is no specification
        for name, parameters in parse(text):
            yield name
            for parameter_text in parameters.values():
                parameter = read_value(parameter_text)
                if isinstance(parameter, str) and parameter != text:
                    yield parameter
                    yield from _specified(parameter)


def _registered(name: str) -> Iterator[Any]:
    """The components of users and of other packages that are registered under a name."""
    for registry in _REGISTRIES:
        names = (*registry.entries, *_plugins(registry.group))
        if name in names and not isinstance(registry.entries.get(name), str):
            yield registry.entry(name)


@cache
def _plugins(group: str) -> frozenset[str]:
    """The names of the entry points of a group, which are slow to find."""
    return frozenset(entry_points(group=group).names)


def _code_or_object(value: Any) -> Any:
    """The identity of a class, a function, a method or an object."""
    if isinstance(value, MethodType):
        holder, function = value.__self__, value.__func__
        if getattr(type(holder), function.__name__, None) is function:
            return {"method": [function.__name__, identity(holder)]}
    if hasattr(value, "__qualname__"):
        return code_identity(value)
    if isinstance(value, KnowledgeBase):
        return _knowledge_identity(value)
    if isinstance(value, Enum):
        return {**code_identity(type(value)), "member": value.name}
    return _object_identity(value)


def code_identity(value: Any) -> dict[str, str]:
    """The name of a class or function, and the `run_version` of a class of the user.

    NoKeyError: code outside of this package without a version.
    """
    module = getattr(value, "__module__", None) or "builtins"
    name = f"{module}.{value.__qualname__}"
    if _is_of_package(value):
        return {"code": name}
    # Not inherited: a subclass has further code.
    version = getattr(value, "__dict__", {}).get(VERSION)
    if not isinstance(value, type) or version is None:
        raise NoKeyError(
            f"it contains {name}, which is code outside of kg2rag; only a class with a {VERSION} is stored"
        )
    return {"code": name, VERSION: repr(version)}


def _is_of_package(value: Any) -> bool:
    """Whether a module of `ROOMS` defines a class or function under its name."""
    module = getattr(value, "__module__", None) or ""
    definition: object = sys.modules.get(module)
    for part in value.__qualname__.split("."):
        definition = getattr(definition, part, None)
    return is_in_rooms(module) and definition is value


def _knowledge_identity(kb: KnowledgeBase) -> Any:
    """The identity of a knowledge base: corpus, graph source and encoder."""
    # A function cannot be compared by content; its vectors can.
    if isinstance(kb.embedder, GivenEncoder | GivenVectors):
        encoder = kb.embedder.fingerprint(kb.store)
    else:
        encoder = identity(kb.embedder)
    return {
        **code_identity(type(kb)),
        "corpus": kb.corpus.fingerprint,
        "source": identity(kb.source),
        "shuffled": kb.mention_table is not None,
        "encoder": encoder,
    }


def _object_identity(value: Any) -> Any:
    """The identity of an object: its class, and its fingerprint or its attributes."""
    kind = type(value)
    code = code_identity(kind)
    fingerprint = getattr(value, "fingerprint", None)
    if VERSION not in code and type(fingerprint) is str:
        # A union of graph sources, and a graph that is matched to passages, contain others.
        inner = [*getattr(value, "sources", ()), getattr(value, "source", None)]
        return {**code, "fingerprint": fingerprint, "sources": identity(inner)}
    if _has_hidden_state(kind):
        raise NoKeyError(
            f"it contains {called(value)}, which cannot be compared by content"
        )
    return code | {name: identity(part) for name, part in _attributes(value)}


def _has_hidden_state(kind: type) -> bool:
    """Whether objects of a class may have state that `_attributes` does not see."""
    bases = kind.__mro__[:-1]  # without `object`
    is_compiled = any(not base.__flags__ & _HEAP_TYPE for base in bases)
    has_slots = any(vars(base).get("__slots__") for base in bases)
    return is_compiled or (has_slots and not dataclasses.is_dataclass(kind))


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """The (name, value) of an object's attributes on which its results depend.

    Left out are cached properties, which are computed from the others, and fields with
    `compare=False`, such as caches of vectors.
    """
    fields = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
    unused = {field.name for field in fields if not field.compare}
    names = [field.name for field in fields]
    for name in dict.fromkeys([*names, *getattr(value, "__dict__", ())]):
        is_cache = isinstance(getattr(type(value), name, None), cached_property)
        if name not in unused and not is_cache and hasattr(value, name):
            yield name, getattr(value, name)


def digest(values: object) -> str:
    """A checksum of JSON values."""
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def replaced_members() -> Iterator[str]:
    """The full names of the members of this package that the user has replaced in memory.

    They are functions and classes of other code, and constants that differ from the file.
    """
    names = [name for name in sys.modules if name.startswith(PACKAGE.name)]
    for module_name in sorted(filter(is_in_rooms, names)):
        module = sys.modules[module_name]
        file = getattr(module, "__file__", None)
        if file is not None:
            yield from _replaced_in(module, module_name, _constants(Path(file)))
            for name, value in list(vars(module).items()):
                if isinstance(value, type) and value.__module__ == module_name:
                    yield from _replaced_in(value, f"{module_name}.{name}", {})


def _replaced_in(
    owner: ModuleType | type, owner_name: str, constants: Mapping[str, object]
) -> Iterator[str]:
    """The full names of the replaced members of a module or class."""
    for name, value in list(vars(owner).items()):
        is_changed = name in constants and not _is_unchanged(value, constants[name])
        if is_changed or _is_of_user(value):
            yield f"{owner_name}.{name}"


def _is_of_user(value: Any) -> bool:
    """Whether a value is a function or class that neither this package nor a library defines."""
    if type(value) in _FUNCTION_ATTRIBUTE:
        return _is_of_user(getattr(value, _FUNCTION_ATTRIBUTE[type(value)]))
    if isinstance(value, FunctionType):
        is_of_user = _is_users_module(value.__globals__.get("__name__"))
        return is_of_user or _is_of_user(vars(value).get("__wrapped__"))
    return isinstance(value, type) and _is_users_module(value.__module__)


@cache
def _is_users_module(module: object) -> bool:
    """Whether a module is neither of this package nor standard nor installed."""
    name = str(module).partition(".")[0]
    if name in (PACKAGE.name, *sys.stdlib_module_names):
        return False
    if name.startswith("namedtuple_"):  # of a generated method
        return False
    file = getattr(sys.modules.get(name), "__file__", None) or ""
    return not {"site-packages", "dist-packages"} & set(Path(file).parts)


def _is_unchanged(value: object, constant: object) -> bool:
    """Whether a member still has the value of the constant in its file."""
    return value is constant or (type(value) is type(constant) and value == constant)


@cache
def _constants(file: Path) -> dict[str, object]:
    """Name -> value of the constants, in capitals, that a module defines by a literal."""
    values: dict[str, object] = {}
    for node in ast.parse(file.read_bytes()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            with suppress(ValueError):  # no literal
                values[node.targets[0].id] = ast.literal_eval(node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            values.pop(node.target.id, None)
    return {name: value for name, value in values.items() if name.isupper()}
