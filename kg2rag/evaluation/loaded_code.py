"""The package in memory -> a checksum of its files, and the members that differ from them.

A user who tries an idea may replace a method or a constant of this package, or edit a file of it
while Python runs. Then the files are not the code that computed a ranking.
"""

from __future__ import annotations

import dis
import inspect
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from kg2rag.compute.code_version import files_checksum
from kg2rag.evaluation.module_files import PACKAGE, ROOMS, file_origin, is_in_rooms

_BINDINGS = ("STORE_NAME", "STORE_GLOBAL", "DELETE_NAME")
"""Operations that bind or delete a name."""


@cache
def code_version(package: Path = PACKAGE) -> str:
    """A checksum of the code and data files on which a ranking depends, those of `ROOMS`."""
    return files_checksum(package, ROOMS)


def replaced_names() -> Iterator[tuple[str, Any]]:
    """The full name and present value of each replaced member of this package's loaded modules."""
    for name, module in sorted(sys.modules.items()):
        if is_in_rooms(name) and isinstance(module, ModuleType):
            yield from replaced_members(module)


def replaced_members(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The full name and present value of each member that differs from the module's file.

    Members are functions and constants of the module and of its classes.
    """
    loader = getattr(module.__spec__, "loader", None)
    if not hasattr(loader, "get_code"):
        return
    file = Path(module.__file__ or "")
    # Files of this package are read once; files of the user are read again after a change.
    state = None if PACKAGE in file.parents else _modification_state(file)
    source = _source_of(module.__name__, state)
    yield from _replaced_members_of(module, module.__name__, "<module>", source)
    for value in list(vars(module).values()):
        if isinstance(value, type) and value.__module__ == module.__name__:
            yield from _replaced_members_of(
                value,
                f"{module.__name__}.{value.__qualname__}",
                value.__qualname__,
                source,
            )


def _replaced_members_of(
    owner: ModuleType | type, owner_name: str, body: str, source: _Source
) -> Iterator[tuple[str, Any]]:
    """The full name and present value of the members of a module or class that were replaced.

    body : qualified name of the code that defines the members.
    """
    constants = source.constants.get(body, {})
    for name, value in list(vars(owner).items()):
        is_changed = name in constants and not _is_same_constant(value, constants[name])
        has_foreign_function = any(
            not source.has(function) for function in functions_of(value)
        )
        if is_changed or has_foreign_function:
            yield f"{owner_name}.{name}", value


def _is_same_constant(value: object, constant: object) -> bool:
    """Whether a member still has the value of the constant in its file."""
    # Named tuples and classes with slots replace a default by a descriptor.
    if hasattr(value, "__get__"):
        return True
    return type(value) is type(constant) and repr(value) == repr(constant)


def functions_of(value: object) -> Iterator[FunctionType]:
    """The Python functions of a member: itself, wrapped functions, closures, those of a property."""
    waiting = [value]
    seen = set[int]()
    while waiting:
        part = waiting.pop()
        if part is None or id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, FunctionType):
            yield part
            waiting += [getattr(part, "__wrapped__", None), *closure(part)]
        elif isinstance(part, classmethod | staticmethod | property | cached_property):
            waiting += wrapped_functions(part)
        elif callable(part) and not isinstance(part, type):
            waiting += [
                getattr(part, name, None) for name in ("__wrapped__", "py_func")
            ]


def wrapped_functions(member: Any) -> list[Any]:
    """The functions of a property, class method or static method; None for a missing setter."""
    if isinstance(member, property):
        return [member.fget, member.fset, member.fdel]
    return [member.func if isinstance(member, cached_property) else member.__func__]


def closure(function: FunctionType) -> Iterator[object]:
    """The values of a function's variables from enclosing functions; "unbound" for an unbound one."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            yield "unbound"


@dataclass(frozen=True)
class _Source:
    """The definitions in the file of a module.

    Attributes
    ----------
    codes : the code objects of the module and of every function and class in it.
    constants : qualified name of the module's or a class's body -> name -> constant, for names that
        are bound once.
    """

    file: str
    codes: frozenset[CodeType]
    constants: Mapping[str, Mapping[str, object]]

    def has(self, function: FunctionType) -> bool:
        """Whether the module defines or imports a function, or a dataclass generated it."""
        code = function.__code__
        if code.co_filename == self.file:
            return code in self.codes
        if file_origin(code.co_filename) != "user" or is_generated(function):
            return True
        # The remaining code of this package belongs to the rooms above `retrievers`.
        is_of_package = PACKAGE in Path(code.co_filename).parents
        if not is_of_package and file_origin(self.file) != "user":
            return False
        return current_definition(function) is function


def is_generated(function: FunctionType) -> bool:
    """Whether a function is a special method that `dataclass` or `NamedTuple` generated."""
    code = function.__code__
    if code.co_filename != "<string>":
        return False
    is_of_tuple = code.co_name == "<lambda>" and function.__name__ == "__new__"
    return is_of_tuple or code.co_qualname.startswith("__create_fn__.")


def current_definition(value: FunctionType | type) -> object:
    """The present value of the name under which a function or class was defined; None for none."""
    definition: object = sys.modules.get(value.__module__)
    for part in value.__qualname__.split("."):
        definition = getattr(definition, part, None)
    return definition


def _modification_state(file: Path) -> tuple[int, int] | None:
    """Modification time (ns) and size of a file; None if there is none."""
    try:
        state = file.stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size


@cache
def _source_of(module: str, state: tuple[int, int] | None) -> _Source:  # noqa: ARG001 - the file is read again
    """The definitions in the file of a loaded module; a new `state` reads the file again."""
    loader: Any = sys.modules[module].__spec__.loader  # type: ignore[union-attr]
    code: CodeType | None = loader.get_code(module)
    if code is None:  # a compiled extension, or a package without a file
        return _Source("", frozenset(), {})
    codes = frozenset(nested_codes(code))
    # Bodies of the module and its classes are the code objects that are not optimised.
    bodies = [body for body in codes if not body.co_flags & inspect.CO_OPTIMIZED]
    constants = {body.co_qualname: dict(_constants_bound_once(body)) for body in bodies}
    return _Source(code.co_filename, codes, constants)


def nested_codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and all code objects that are defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested_codes(constant)


def _constants_bound_once(body: CodeType) -> Iterator[tuple[str, object]]:
    """The (name, constant) of names that the body of a module or class binds once."""
    instructions = list(dis.get_instructions(body))
    n_bindings: Counter[str] = Counter()
    for instruction in instructions:
        if instruction.opname in _BINDINGS:
            n_bindings[instruction.argval] += 1
    for previous, instruction in pairwise(instructions):
        name = str(instruction.argval)
        operations = (previous.opname, instruction.opname)
        is_constant = (
            operations == ("LOAD_CONST", "STORE_NAME") and n_bindings[name] == 1
        )
        if is_constant and not name.startswith("__"):
            yield name, previous.argval
