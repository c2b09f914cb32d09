"""A system -> all that its rankings depend on, as JSON values: the key of its runs.

The system is taken apart down to plain values. Files count by their content, knowledge bases by corpus, graph and
encoder, code of this package by name (`loaded_code` has its checksum), libraries by name and version. The user's code
counts as it is in memory: instructions, defaults, closures and the globals that it names, and beside them the files of
its module and of all that this imports. So a lambda, a cell of a notebook, a replaced method and a changed helper each
make another run. What cannot be compared by content is a `NoKeyError`, and the run is not kept.
"""

from __future__ import annotations

import builtins
import copyreg
import dataclasses
import dis
import functools
import hashlib
import importlib
import json
import math
import os
import re
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import numpy as np

from kg2rag.compute import GivenEncoder, GivenVectors, Store
from kg2rag.evaluation.loaded_code import (
    is_generated,
    nested_codes,
    replaced_in,
    replaced_names,
    wrapped_functions,
)
from kg2rag.evaluation.module_files import file_origin, imported_files, library_version, module_origin
from kg2rag.extraction.sources import SOURCES
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.linking import LINKERS
from kg2rag.retrievers.rerankers import RERANKERS
from kg2rag.retrievers.systems import SYSTEMS
from kg2rag.text.records import sha256
from kg2rag.text.registry import ParameterError, Registry, parse, read_value
from kg2rag.types import Corpus, called

MANY = 100
"""Items of a list from which it is hashed at once, where all of them are numbers or texts."""
_REGISTRIES: tuple[Registry[Any], ...] = (LINKERS, RERANKERS, SOURCES, SYSTEMS)
_PLAIN = (type(None), bool, int, float, str)
_WRITTEN = (complex, range, slice, type(Ellipsis), type(NotImplemented), bytes, bytearray)
_OUTSIDE = {
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
_HEAP_TYPE = 1 << 9
"""The flag of classes that are written in Python; others have state that is no attribute."""
_DESCRIPTORS = (
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)
_NOT_CODE = frozenset(
    "__dict__ __weakref__ __doc__ __module__ __qualname__ __annotations__ __abstractmethods__ _abc_impl __parameters__ "
    "__orig_bases__ __dataclass_params__ __dataclass_fields__ __match_args__ __firstlineno__ "
    "__static_attributes__ __slotnames__".split()
)
"""Members of a class that say nothing of what it computes, or are read apart."""


class NoKeyError(TypeError):
    """Something in a system cannot be compared by content, so that its runs cannot be kept."""


def identity(value: object) -> Any:
    """All that the rankings of a system depend on, but files of this package, as JSON values.

    NoKeyError: something that cannot be compared by content.

    >>> identity((1, "a", None))
    [1, 'a', None]
    """
    return Walk().of(value)


@dataclass
class Walk:
    """One walk over a system and all that it is made of.

    has_user_code : whether code was met that is neither of this package nor of a library.
    files : those whose content is in the key.
    memos : memoised functions of the user's, and knowledge bases: they may hold results of the user's code.
    """

    has_user_code: bool = False
    files: set[Path] = field(default_factory=set)
    memos: list[Any] = field(default_factory=list)
    _described: dict[int, tuple[object, Any]] = field(default_factory=dict)
    _open: list[int] = field(default_factory=list)
    _files_of: dict[str, Any] = field(default_factory=dict)

    def system(self, system: object) -> Any:
        """The identity of a system, and of what was replaced in this package since it was imported."""
        described = self.of(system)
        replaced = {}
        for name, value in replaced_names():
            self.has_user_code = True
            try:
                replaced[name] = self.of(value)
            except NoKeyError as error:
                raise NoKeyError(f"{name} was replaced: {error}") from None
        return [described, {"replaced": replaced}] if replaced else described

    def of(self, value: object) -> Any:
        """The identity of a value, as JSON values."""
        if id(value) in _OUTSIDE:
            raise NoKeyError(f"it {_OUTSIDE[id(value)]}")
        if type(value) is str or isinstance(value, Path):
            return self._text(value)
        if type(value) in (*_PLAIN, *_WRITTEN):
            return _scalar(value)
        if id(value) in self._open:  # refers to itself, as a recursive function does
            return ["inside", self._open.index(id(value))]
        if id(value) not in self._described:
            self._open.append(id(value))
            try:
                described = self._composite(value)
            except RecursionError:
                raise NoKeyError(f"{called(value)} nests too deeply to be compared by content") from None
            finally:
                self._open.pop()
            self._described[id(value)] = value, described  # with the value, so that no other one gets its id
        return self._described[id(value)][1]

    def _composite(self, value: Any) -> Any:
        """The identity of what is no number and no text."""
        _require_visible(value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, types.ModuleType):
            return self._module(value, ())
        if callable(value) or isinstance(value, staticmethod | classmethod | property | cached_property):
            described = self._callable(value)
            if described is not None:
                return described
        if isinstance(value, KnowledgeBase | Corpus | Store):
            return self._knowledge(value)
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            content = np.ascontiguousarray(value)
            return [str(value.dtype), list(value.shape), hashlib.sha256(content.tobytes()).hexdigest()]
        if isinstance(value, np.ndarray):
            return ["object", list(value.shape), self.of(value.tolist())]
        if type(value) in (list, tuple, set, frozenset, dict, types.MappingProxyType):
            return self._collection(value)
        return self._instance(value)

    def _collection(self, value: Any) -> Any:
        """The identity of a list, a tuple, a set or a mapping, whose order counts."""
        if isinstance(value, Mapping):
            names = all(type(key) is str for key in value)
            if names and len(value) < MANY:
                return {key: self.of(item) for key, item in value.items()}
            return [self.of(list(value.keys())), self.of(list(value.values()))]
        if len(value) >= MANY and set(map(type, value)) <= set(_PLAIN):
            return _digest(sorted(value, key=repr) if isinstance(value, set | frozenset) else list(value))
        described = [self.of(item) for item in value]
        if isinstance(value, set | frozenset):
            described.sort(key=lambda item: json.dumps(item, sort_keys=True))
        return described if len(described) < MANY else _digest(described)

    def _text(self, value: str | Path) -> Any:
        """A text; or the content of the file or folder that it is, or of those in a specification, as "gold(FILE)"."""
        path = Path(value)
        if _is_file(path):
            self.files.add(path.absolute())
            return {"sha256": sha256(path)}
        if os.sep in str(value) and _is_folder(path):  # as that of a model, too large to be read
            states = ((file.name, file.stat()) for file in sorted(path.iterdir()))
            return [[name, state.st_size, state.st_mtime_ns] for name, state in states]
        if isinstance(value, Path):
            return str(value)
        parts = [part for part in self._components(value) if part is not None]
        return [value, *parts] if parts else value

    def _components(self, text: str) -> Iterator[Any]:
        """The identities of the files, and of the user's components, that a specification names."""
        if len(text) > 1000:
            return
        try:
            specifications = parse(text)
        except ParameterError:  # a text that is no specification
            return
        for name, parameters in specifications:
            for component in _registered(name):
                yield self.of(component)
            for written in parameters.values():
                parameter = read_value(written)
                if isinstance(parameter, str) and parameter != text:
                    described = self._text(parameter)
                    yield None if described == parameter else described

    def _knowledge(self, value: KnowledgeBase | Corpus | Store) -> Any:
        """The identity of a corpus or a knowledge base; where a store lies makes no difference."""
        if isinstance(value, Corpus):
            return value.fingerprint
        if isinstance(value, Store):
            return "store"
        self.memos.append(value)
        described = [value.corpus.fingerprint, value.source.fingerprint, value.mention_table is not None]
        encoder = value.embedder
        if isinstance(encoder, GivenEncoder | GivenVectors):  # a function says nothing, but its vectors do
            return [*described, encoder.fingerprint(value.store)]
        if dataclasses.is_dataclass(encoder):  # whose repr need not show its prompts
            return [*described, self.of(encoder)]
        if " object at 0x" in repr(encoder):
            raise NoKeyError(f"its encoder {encoder!r} has no repr that names it")
        return [*described, repr(encoder), self.of(type(encoder))]

    def _instance(self, value: Any) -> Any:
        """The identity of an object: its class and attributes; of a library's, what it would be copied by."""
        kind = type(value)
        if self._is_library(kind):
            return self._copied(value)
        fingerprint = getattr(value, "fingerprint", None)
        if type(fingerprint) is str and module_origin(kind.__module__) == "package":
            return [kind.__qualname__, fingerprint]
        attributes = {name: self.of(part) for name, part in _attributes(value)}
        described = {"class": self.of(kind), **attributes}
        native = any(not base.__flags__ & _HEAP_TYPE for base in kind.__mro__ if base is not object)
        if native or any(name in vars(base) for base in kind.__mro__[:-1] for name in ("__reduce__", "__reduce_ex__")):
            return [described, self._copied(value)]
        return described

    def _copied(self, value: Any) -> Any:
        """The identity of an object by the function and the arguments that `copy` and `pickle` would make it with."""
        kind = type(value)
        try:
            reduce = copyreg.dispatch_table.get(kind)
            parts = value.__reduce_ex__(4) if reduce is None else reduce(value)
        except Exception as error:
            raise NoKeyError(f"it holds {called(value)}, which cannot be compared by content") from error
        if isinstance(parts, str):
            return [_name(kind), library_version(kind.__module__), parts]
        described: list[Any] = [list(part) if isinstance(part, Iterator) else part for part in parts]
        if any(argument is value for argument in described[1]):
            raise NoKeyError(f"it holds {called(value)}, which cannot be compared by content")
        return [_name(kind), _digest([self.of(part) for part in described])]

    def _class(self, kind: type) -> Any:
        """The name of a class; with all its members, where it is the user's."""
        name = _name(kind)
        if self._is_library(kind):
            return [name, library_version(kind.__module__)]
        if module_origin(kind.__module__) == "package":
            return [name]
        self.has_user_code = True
        members = {
            member: self.of(value)
            for member, value in sorted(vars(kind).items())
            if member not in _NOT_CODE and not (isinstance(value, types.FunctionType) and is_generated(value))
        }
        defaults = [
            [attribute.name, self.of(_given(attribute.default)), self.of(_given(attribute.default_factory))]
            for attribute in getattr(kind, "__dataclass_fields__", {}).values()
        ]
        bases = [self.of(base) for base in (*kind.__bases__, type(kind)) if base is not object]
        return [name, _digest([members, defaults, bases, self._files(kind.__module__)])]

    def _is_library(self, kind: type) -> bool:
        """Whether a library defines a class; not one that a library's function has made of the user's functions."""
        if module_origin(kind.__module__) != "library":
            return False
        place: Any = sys.modules.get(kind.__module__)
        for part in kind.__qualname__.split("."):
            place = getattr(place, part, kind if place is None else None)
        return place is kind or not any(isinstance(member, types.FunctionType) for member in vars(kind).values())

    def _callable(self, value: Any) -> Any:
        """The identity of a function or of what wraps one; None for an object that can be called."""
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.MethodType):
            return [self.of(value.__func__), self.of(value.__self__)]
        if isinstance(value, types.MethodWrapperType):
            return [value.__qualname__, self.of(value.__self__)]
        if isinstance(value, staticmethod | classmethod | property | cached_property):
            return [type(value).__name__, *map(self.of, wrapped_functions(value))]
        if isinstance(value, types.BuiltinFunctionType):
            holder = value.__self__
            of_module = holder is None or isinstance(holder, types.ModuleType | type)
            return [value.__qualname__, value.__module__ if of_module else self.of(holder)]
        if isinstance(value, _DESCRIPTORS):
            return [type(value).__name__, value.__qualname__]
        if isinstance(value, functools._lru_cache_wrapper):
            if _function_origin(value.__wrapped__) == "user":
                self.memos.append(value)
            return ["memoised", self.of(value.__wrapped__)]
        compiled = getattr(value, "py_func", None)  # by numba
        return None if compiled is None else [_name(type(value)), self.of(compiled)]

    def _function(self, function: types.FunctionType) -> Any:
        """The name of a function; with its code and all that this names, where it is the user's."""
        code = function.__code__
        name = f"{function.__module__}.{function.__qualname__}"
        closure = [self.of(content) for content in _closure(function)]
        origin = file_origin(code.co_filename)
        if origin != "user" or is_generated(function):
            version = library_version(function.__module__) if origin == "library" else ""
            return [name, version, _digest(closure)] if closure else [name, version]
        self.has_user_code = True
        names = frozenset(name for part in nested_codes(code) for name in part.co_names)
        of_module = {name: self._global(function, name, names) for name in _global_names(code)}
        imports = {name: self._imported(name, names) for name in _imported_names(code)}
        defaults = [self.of(function.__defaults__), self.of(function.__kwdefaults__), self.of(vars(function))]
        files = self._files(function.__module__)
        return [name, _digest([_instructions(code), defaults, closure, of_module, imports, files])]

    def _global(self, function: types.FunctionType, name: str, names: Iterable[str]) -> Any:
        """The identity of a global that a function names; of a module, what the function may name in it."""
        value = function.__globals__.get(name, getattr(builtins, name, None))
        return self._module(value, names) if isinstance(value, types.ModuleType) else self.of(value)

    def _imported(self, name: str, names: Iterable[str]) -> Any:
        """The identity of a module that a function imports when it is called."""
        module = sys.modules.get(name)
        return self._files(name) if module is None else self._module(module, names)

    def _module(self, module: types.ModuleType, names: Iterable[str]) -> Any:
        """The identity of a module, and of those values in it that have one of some names."""
        if id(module) in self._open[:-1]:
            return ["inside", module.__name__]
        origin = module_origin(module.__name__)
        attributes = {name: vars(module)[name] for name in sorted(names) if name in vars(module)}
        if origin == "user":
            self._open.append(id(module))
            values = {
                name: self._module(value, names) if isinstance(value, types.ModuleType) else self.of(value)
                for name, value in attributes.items()
            }
            self._open.pop()
            return [module.__name__, self._files(module.__name__), values]
        for value in attributes.values():
            _require_visible(value)
        changing = {name: self.of(value) for name, value in attributes.items() if _may_change(value)}
        return [module.__name__, library_version(module.__name__) if origin == "library" else "", changing]

    def _files(self, module: str) -> Any:
        """The files that a module of the user's is made of, and what was replaced in those that are loaded."""
        if module not in self._files_of:
            checksums = imported_files(module)
            self._files_of[module] = [checksums]
            loaded = [sys.modules[name] for name in checksums if name in sys.modules and not _is_unchecked(name)]
            values = {name: self.of(value) for part in loaded for name, value in replaced_in(part)}
            self._files_of[module] = [checksums, values]
        return self._files_of[module]


def _is_unchecked(module: str) -> bool:
    """Whether a module of the user's has no file, or is one of this package's that rank nothing."""
    return module == "__main__" or module.partition(".")[0] == "kg2rag"


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of an object, without properties that were computed from others.

    Of a class of this package, without the fields that do not count where two are compared, as memory for vectors.
    """
    kind = type(value)
    attributes: dict[str, Any] = {name: getattr(value, name) for name in _slots(kind) if hasattr(value, name)}
    attributes |= getattr(value, "__dict__", {})
    unused: set[str] = set()
    if module_origin(kind.__module__) == "package":
        unused = {
            attribute.name for attribute in getattr(kind, "__dataclass_fields__", {}).values() if not attribute.compare
        }
    for name, attribute in attributes.items():
        if name not in unused and not isinstance(getattr(kind, name, None), cached_property):
            yield name, attribute


def _slots(kind: type) -> list[str]:
    """The attributes that a class and its bases keep in slots."""
    names: list[str] = []
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        names += [slots] if isinstance(slots, str) else list(slots)
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def _registered(name: str) -> Iterator[Any]:
    """The components that somebody has registered under a name, beside those of this package."""
    for registry in _REGISTRIES:
        entry = registry.entries.get(name)
        if entry is None:
            points: list[EntryPoint] = [point for point in _entry_points(registry.group) if point.name == name]
            yield from (point.load() for point in points)
        elif not isinstance(entry, str):
            yield entry


@functools.cache
def _entry_points(group: str) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=group))


def _may_change(value: object) -> bool:
    """Whether a member of a library's module is data, or was replaced: not a module, a class or a function of its."""
    if isinstance(value, types.FunctionType):
        return id(value) in _OUTSIDE or file_origin(value.__code__.co_filename) == "user"
    if isinstance(value, types.BuiltinFunctionType):
        return not isinstance(value.__self__, types.ModuleType | type | None)
    if isinstance(value, types.ModuleType | type):
        return False
    return id(value) in _OUTSIDE or isinstance(value, (*_PLAIN, list, tuple, set, dict))


def _require_visible(value: object) -> None:
    """NoKeyError: a function of a library that opens files in compiled code, so that no watch sees them."""
    name = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
    if callable(value) and _UNSEEN_READERS.fullmatch(name):
        raise NoKeyError(f"it uses {name}, which reads files that cannot be watched")


def _function_origin(value: Any) -> str:
    code = getattr(value, "__code__", None)
    return "user" if code is None else file_origin(code.co_filename)


def _closure(function: types.FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not bound yet
            yield "unbound"


def _global_names(code: types.CodeType) -> list[str]:
    """The names of globals that a function and those in it look up."""
    operations = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
    instructions = (instruction for part in nested_codes(code) for instruction in dis.get_instructions(part))
    return sorted({str(instruction.argval) for instruction in instructions if instruction.opname in operations})


def _imported_names(code: types.CodeType) -> list[str]:
    """The modules that a function and those in it import; relative ones are those of its module's file."""
    instructions = (instruction for part in nested_codes(code) for instruction in dis.get_instructions(part))
    return sorted(
        {
            str(instruction.argval)
            for instruction in instructions
            if instruction.opname == "IMPORT_NAME" and instruction.argval
        }
    )


def _instructions(code: types.CodeType) -> Any:
    """What a code object computes, whatever its file and its lines are called."""
    names = [code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars]
    arguments = [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags]
    return [code.co_code.hex(), code.co_exceptiontable.hex(), names, arguments, list(map(_constant, code.co_consts))]


def _constant(value: object) -> Any:
    if isinstance(value, types.CodeType):
        return _instructions(value)
    return [type(value).__name__, sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)]


def _scalar(value: object) -> Any:
    """The identity of a value that has no parts."""
    if isinstance(value, bytes | bytearray):
        return [type(value).__name__, hashlib.sha256(value).hexdigest()]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return [type(value).__name__, repr(value)] if type(value) in _WRITTEN else value


def _given(default: object) -> object:
    return "none" if default is dataclasses.MISSING else default


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _digest(values: object) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
