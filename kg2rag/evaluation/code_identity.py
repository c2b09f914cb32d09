"""The code of a system -> its identity: JSON values that differ if it may compute something else.

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
    current_definition,
    is_generated,
    nested_codes,
    replaced_members,
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
"""id of a function or value whose result cannot be part of a key -> the reason."""
_UNSEEN_READERS = re.compile(
    r"(pyarrow|polars|duckdb|faiss|h5py|lance|tables)\.(.*\.)?(_?(read|open|scan|load|connect|dataset|memory_map).*|.*File)"
    r"|pandas\.(.*\.)?read_(parquet|feather|orc|hdf)"
)
"""Names of library functions and classes whose compiled code opens files without an audit event."""
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
"""Operations of bytecode that look up a global by its name."""
_MEMBERS = (staticmethod, classmethod, property, cached_property)
_DATA = (type(None), bool, int, float, str, list, tuple, set, dict)
_NOT_CODE = frozenset(
    "__dict__ __weakref__ __doc__ __module__ __qualname__ __annotations__ __abstractmethods__ _abc_impl __parameters__ "
    "__orig_bases__ __dataclass_params__ __dataclass_fields__ __match_args__ __firstlineno__ "
    "__static_attributes__ __slotnames__".split()
)
"""Members of a class that do not determine its results, or are described separately."""


class NoKeyError(TypeError):
    """A part of a system cannot be compared by content, so that its runs cannot be stored."""


@dataclass
class CodeWalk(ABC):
    """A walk over functions, classes and modules, which returns the identity of each.

    Attributes
    ----------
    has_user_code : whether the walk met code that is neither of this package nor of a library.
    memos : memoised functions of the user and knowledge bases, which may contain results of the
        user's code.
    """

    has_user_code: bool = False
    memos: list[Any] = field(default_factory=list)
    _ancestors: list[int] = field(default_factory=list)
    _identity_of_module: dict[str, Any] = field(default_factory=dict)

    @abstractmethod
    def of(self, value: object) -> Any:
        """The identity of any value, as JSON values."""

    def class_identity(self, kind: type) -> Any:
        """The name of a class, with its version for a library, with its members for the user."""
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
        return [
            name,
            digest([members, defaults, bases, self._file_identity(kind.__module__)]),
        ]

    def is_library(self, kind: type) -> bool:
        """Whether a library defines a class.

        A class that a library has generated from the user's functions counts as the user's.
        """
        if module_origin(kind.__module__) != "library":
            return False
        if current_definition(kind) is kind:
            return True
        return not any(
            isinstance(member, types.FunctionType) for member in vars(kind).values()
        )

    def callable_identity(self, value: Any) -> Any:
        """The identity of a function, method or wrapper of one; None for any other value."""
        if isinstance(value, types.FunctionType):
            return self._function_identity(value)
        if isinstance(value, types.MethodType):
            return [self.of(value.__func__), self.of(value.__self__)]
        if isinstance(value, _MEMBERS):
            return [type(value).__name__, *map(self.of, wrapped_functions(value))]
        if isinstance(value, _COMPILED):
            return self._compiled_identity(value)
        if isinstance(value, functools._lru_cache_wrapper):
            code = getattr(value.__wrapped__, "__code__", None)
            if code is None or file_origin(code.co_filename) == "user":
                self.memos.append(value)
            return ["memoised", self.of(value.__wrapped__)]
        if callable(value) and hasattr(value, "py_func"):  # compiled by numba
            return [full_name(type(value)), self.of(value.py_func)]
        return None

    def _compiled_identity(self, function: Any) -> Any:
        """The name of a compiled function, with the object that it is bound to."""
        holder = getattr(function, "__self__", None)
        if holder is None or isinstance(holder, types.ModuleType):
            module = getattr(function, "__module__", None)
            return [type(function).__name__, function.__qualname__, module]
        return [function.__qualname__, self.of(holder)]

    def _function_identity(self, function: types.FunctionType) -> Any:
        """The name of a function with its version or, for the user's, its code and references."""
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
        files = self._file_identity(function.__module__)
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
            looked_up[name] = self._value_identity(scope.get(name), names)
        imports = {
            name: self._import_identity(name, names)
            for name in _operands(code, "IMPORT_NAME")
        }
        return looked_up, imports

    def _import_identity(self, name: str, names: Iterable[str]) -> Any:
        """The identity of a module that a function imports when it is called."""
        if name in sys.modules:
            return self._value_identity(sys.modules[name], names)
        return self._file_identity(name)

    def _value_identity(self, value: object, names: Iterable[str]) -> Any:
        """The identity of a value; that of a module has its members in `names`."""
        if isinstance(value, types.ModuleType):
            return self.module_identity(value, names)
        return self.of(value)

    def module_identity(self, module: types.ModuleType, names: Iterable[str]) -> Any:
        """The identity of a module, and of its values with one of `names`."""
        if id(module) in self._ancestors[:-1]:
            return ["inside", module.__name__]
        attributes = {
            name: vars(module)[name] for name in sorted(names) if name in vars(module)
        }
        if module_origin(module.__name__) == "user":
            self._ancestors.append(id(module))
            values = {
                name: self._value_identity(value, names)
                for name, value in attributes.items()
            }
            self._ancestors.pop()
            return [module.__name__, self._file_identity(module.__name__), values]
        for value in attributes.values():
            require_visible(value)
        changing = {
            name: self.of(value)
            for name, value in attributes.items()
            if _may_change(value)
        }
        return [module.__name__, library_version(module.__name__), changing]

    def _file_identity(self, module: str) -> Any:
        """The checksums of a user's module and its imports, and their replaced members."""
        if module not in self._identity_of_module:
            checksums = imported_files(module)
            # A replaced member may lead back to this module, which then counts by its files only.
            self._identity_of_module[module] = [checksums]
            values = {}
            for part in checksums:
                # A script has no file, and the modules of this package that are met here rank nothing.
                is_checked = part.partition(".")[0] not in ("__main__", "kg2rag")
                if is_checked and part in sys.modules:
                    for name, value in replaced_members(sys.modules[part]):
                        values[name] = self.of(value)
            self._identity_of_module[module] = [checksums, values]
        return self._identity_of_module[module]


def _code_members(kind: type) -> Iterator[tuple[str, Any]]:
    """The members of a class that determine its results, without generated methods."""
    for name, value in vars(kind).items():
        is_method = isinstance(value, types.FunctionType)
        if name not in _NOT_CODE and not (is_method and is_generated(value)):
            yield name, value


def _may_change(value: object) -> bool:
    """Whether a member of a library's module is data, or a function that is not the library's.

    Modules, classes and functions of the library cannot change.
    """
    if isinstance(value, types.FunctionType):
        return id(value) in OUTSIDE or file_origin(value.__code__.co_filename) == "user"
    if isinstance(value, types.BuiltinFunctionType):
        return not isinstance(value.__self__, types.ModuleType | type | None)
    if isinstance(value, types.ModuleType | type):
        return False
    return id(value) in OUTSIDE or isinstance(value, _DATA)


def require_visible(value: object) -> None:
    """Raise NoKeyError for a library function that opens files unseen by `outside_reads`."""
    name = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
    if callable(value) and _UNSEEN_READERS.fullmatch(name):
        raise NoKeyError(f"it uses {name}, which reads files that cannot be watched")


def _operands(code: types.CodeType, *operations: str) -> list[str]:
    """The sorted arguments of some operations in the bytecode of a function and of nested ones."""
    names = set()
    for part in nested_codes(code):
        for instruction in dis.get_instructions(part):
            if instruction.opname in operations and instruction.argval:
                names.add(str(instruction.argval))
    return sorted(names)


def _instructions(code: types.CodeType) -> Any:
    """The contents of a code object, without file name and line numbers."""
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
    """The identity of a constant in bytecode, independent of the order of a frozenset."""
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
