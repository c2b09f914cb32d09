"""The code of a system -> all that it computes, as JSON values.

Code of this package counts by name (`loaded_code` has its checksum), libraries by name and version.
The user's code counts as it is in memory: instructions, defaults, closures and the globals that it
names, and beside them the files of its module and of all that this imports. So a lambda, a cell of
a notebook, a replaced method and a changed helper each make another run.
"""

from __future__ import annotations

import builtins
import dis
import functools
import hashlib
import importlib
import json
import os
import re
import sys
import types
from abc import ABC, abstractmethod
from collections import ChainMap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kg2rag.evaluation.loaded_code import (
    closure,
    is_generated,
    nested_codes,
    place_of,
    replaced_in,
    wrapped_functions,
)
from kg2rag.evaluation.module_files import (
    file_origin,
    imported_files,
    library_version,
    module_origin,
)

OUTSIDE = {
    id(value): reason
    for value, reason in (
        (os.environ, "reads environment variables"),
        (os.getenv, "reads environment variables"),
        (builtins.eval, "computes with eval"),
        (builtins.exec, "computes with exec"),
        (builtins.globals, "looks its globals up by name"),
        (builtins.__import__, "imports by a name that is computed"),
        (importlib.import_module, "imports by a name that is computed"),
    )
}
"""Functions and values whose result no key can hold."""
_UNSEEN_READERS = re.compile(
    r"(pyarrow|polars|duckdb|faiss|h5py|lance|tables)\.(.*\.)?(_?(read|open|scan|load|connect|dataset|memory_map).*|.*File)"
    r"|pandas\.(.*\.)?read_(parquet|feather|orc|hdf)"
)
"""Functions and classes of libraries whose compiled code opens files, which nobody sees."""
_COMPILED = (
    types.BuiltinFunctionType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)
_LOOKUPS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
"""Operations that look a global up by its name."""
_MEMBERS = (staticmethod, classmethod, property, cached_property)
_DATA = (type(None), bool, int, float, str, list, tuple, set, dict)
_NOT_CODE = frozenset(
    "__dict__ __weakref__ __doc__ __module__ __qualname__ __annotations__ __abstractmethods__ _abc_impl __parameters__ "
    "__orig_bases__ __dataclass_params__ __dataclass_fields__ __match_args__ __firstlineno__ "
    "__static_attributes__ __slotnames__".split()
)
"""Members of a class that do not determine its results, or are described separately."""


class NoKeyError(TypeError):
    """Something in a system cannot be compared by content, so that its runs cannot be kept."""


@dataclass
class CodeWalk(ABC):
    """A walk over functions, classes and modules; `of` describes what they hold.

    has_user_code : whether code was met that is neither of this package nor of a library.
    memos : memoised functions of the user's, and knowledge bases: they may hold results of the
    user's code.
    """

    has_user_code: bool = False
    memos: list[Any] = field(default_factory=list)
    _open: list[int] = field(default_factory=list)
    _files_of: dict[str, Any] = field(default_factory=dict)

    @abstractmethod
    def of(self, value: object) -> Any:
        """The identity of any value, as JSON values."""

    def class_identity(self, kind: type) -> Any:
        """The name of a class; if it is the user's, with all its members."""
        name = full_name(kind)
        if self.is_library(kind):
            return [name, library_version(kind.__module__)]
        if module_origin(kind.__module__) == "package":
            return [name]
        self.has_user_code = True
        members = {name: self.of(value) for name, value in sorted(_code_members(kind))}
        defaults = [
            [
                attribute.name,
                self.of(attribute.default),
                self.of(attribute.default_factory),
            ]
            for attribute in getattr(kind, "__dataclass_fields__", {}).values()
        ]
        bases = [
            self.of(base)
            for base in (*kind.__bases__, type(kind))
            if base is not object
        ]
        return [name, digest([members, defaults, bases, self._files(kind.__module__)])]

    def is_library(self, kind: type) -> bool:
        """Whether a library defines a class.

        A class that a library function has made of the user's functions counts as the user's.
        """
        if module_origin(kind.__module__) != "library":
            return False
        if place_of(kind) is kind:
            return True
        return not any(
            isinstance(member, types.FunctionType) for member in vars(kind).values()
        )

    def callable_identity(self, value: Any) -> Any:
        """The identity of a function or of a wrapper of one; None for a callable object."""
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.MethodType):
            return [self.of(value.__func__), self.of(value.__self__)]
        if isinstance(value, _MEMBERS):
            return [type(value).__name__, *map(self.of, wrapped_functions(value))]
        if isinstance(value, _COMPILED):
            return self._compiled(value)
        if isinstance(value, functools._lru_cache_wrapper):
            code = getattr(value.__wrapped__, "__code__", None)
            if code is None or file_origin(code.co_filename) == "user":
                self.memos.append(value)
            return ["memoised", self.of(value.__wrapped__)]
        if callable(value) and hasattr(value, "py_func"):  # compiled by numba
            return [full_name(type(value)), self.of(value.py_func)]
        return None

    def _compiled(self, function: Any) -> Any:
        """The name of a compiled function, with the object that it is bound to."""
        holder = getattr(function, "__self__", None)
        if holder is None or isinstance(holder, types.ModuleType):
            module = getattr(function, "__module__", None)
            return [type(function).__name__, function.__qualname__, module]
        return [function.__qualname__, self.of(holder)]

    def _function(self, function: types.FunctionType) -> Any:
        """The name of a function; if it is the user's, with its code and all that this names."""
        code = function.__code__
        name = f"{function.__module__}.{function.__qualname__}"
        contents = [self.of(content) for content in closure(function)]
        origin = file_origin(code.co_filename)
        if origin != "user" or is_generated(function):
            version = (
                library_version(function.__module__) if origin == "library" else ""
            )
            return [name, version, digest(contents)]
        self.has_user_code = True
        settings = (function.__defaults__, function.__kwdefaults__, vars(function))
        defaults = [self.of(setting) for setting in settings]
        references = self._references(function)
        files = self._files(function.__module__)
        return [
            name,
            digest([_instructions(code), defaults, contents, *references, files]),
        ]

    def _references(
        self, function: types.FunctionType
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The identities of the globals that a function looks up, and of the modules it imports."""
        code = function.__code__
        names = frozenset(name for part in nested_codes(code) for name in part.co_names)
        scope = ChainMap(function.__globals__, vars(builtins))
        looked_up = {}
        for name in _operands(code, *_LOOKUPS):
            looked_up[name] = self._member(scope.get(name), names)
        imports = {
            name: self._imported(name, names) for name in _operands(code, "IMPORT_NAME")
        }
        return looked_up, imports

    def _imported(self, name: str, names: Iterable[str]) -> Any:
        """The identity of a module that a function imports when it is called."""
        if name in sys.modules:
            return self._member(sys.modules[name], names)
        return self._files(name)

    def _member(self, value: object, names: Iterable[str]) -> Any:
        """The identity of the value of a name; of a module, also of its members in `names`."""
        if isinstance(value, types.ModuleType):
            return self.module_identity(value, names)
        return self.of(value)

    def module_identity(self, module: types.ModuleType, names: Iterable[str]) -> Any:
        """The identity of a module, and of those values in it that have one of some names."""
        if id(module) in self._open[:-1]:
            return ["inside", module.__name__]
        attributes = {
            name: vars(module)[name] for name in sorted(names) if name in vars(module)
        }
        if module_origin(module.__name__) == "user":
            self._open.append(id(module))
            values = {
                name: self._member(value, names) for name, value in attributes.items()
            }
            self._open.pop()
            return [module.__name__, self._files(module.__name__), values]
        for value in attributes.values():
            require_visible(value)
        changing = {
            name: self.of(value)
            for name, value in attributes.items()
            if _may_change(value)
        }
        return [module.__name__, library_version(module.__name__), changing]

    def _files(self, module: str) -> Any:
        """The files of a user's module, and the replaced members of its loaded parts."""
        if module not in self._files_of:
            checksums = imported_files(module)
            self._files_of[module] = [checksums]
            values = {}
            for part in checksums:
                # A script has no file; modules of this package that count here rank nothing.
                is_checked = part.partition(".")[0] not in ("__main__", "kg2rag")
                if is_checked and part in sys.modules:
                    for name, value in replaced_in(sys.modules[part]):
                        values[name] = self.of(value)
            self._files_of[module] = [checksums, values]
        return self._files_of[module]


def _code_members(kind: type) -> Iterator[tuple[str, Any]]:
    """The members of a class that determine its results, without generated methods."""
    for name, value in vars(kind).items():
        is_method = isinstance(value, types.FunctionType)
        if name not in _NOT_CODE and not (is_method and is_generated(value)):
            yield name, value


def _may_change(value: object) -> bool:
    """Whether a member of a library's module is data or was replaced.

    Modules, classes and functions as the library defines them are neither.
    """
    if isinstance(value, types.FunctionType):
        return id(value) in OUTSIDE or file_origin(value.__code__.co_filename) == "user"
    if isinstance(value, types.BuiltinFunctionType):
        return not isinstance(value.__self__, types.ModuleType | type | None)
    if isinstance(value, types.ModuleType | type):
        return False
    return id(value) in OUTSIDE or isinstance(value, _DATA)


def require_visible(value: object) -> None:
    """Raise NoKeyError for a library function that opens files in compiled code.

    No watch sees such files.
    """
    name = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
    if callable(value) and _UNSEEN_READERS.fullmatch(name):
        raise NoKeyError(f"it uses {name}, which reads files that cannot be watched")


def _operands(code: types.CodeType, *operations: str) -> list[str]:
    """The names that some operations of a function, and of those defined in it, are about."""
    names = set()
    for part in nested_codes(code):
        for instruction in dis.get_instructions(part):
            if instruction.opname in operations and instruction.argval:
                names.add(str(instruction.argval))
    return sorted(names)


def _instructions(code: types.CodeType) -> Any:
    """The content of a code object, without file name and line numbers."""
    names = [code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars]
    arguments = [
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_flags,
    ]
    constants = [_constant(value) for value in code.co_consts]
    return [
        code.co_code.hex(),
        code.co_exceptiontable.hex(),
        names,
        arguments,
        constants,
    ]


def _constant(value: object) -> Any:
    if isinstance(value, types.CodeType):
        return _instructions(value)
    if isinstance(value, frozenset):
        return ["frozenset", sorted(map(repr, value))]
    return [type(value).__name__, repr(value)]


def full_name(kind: type) -> str:
    """Module and qualified name of a class."""
    return f"{kind.__module__}.{kind.__qualname__}"


def digest(values: object) -> str:
    """A checksum of JSON values."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
