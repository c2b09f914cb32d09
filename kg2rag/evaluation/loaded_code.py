"""The package in memory -> a checksum of the files that rankings depend on, and what was replaced.

Somebody who tries an idea replaces a method or a constant of this package, or edits a file of it
while Python runs: the files then do not tell what a ranking was computed by.
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
    """A checksum of this package's code and data files that a ranking depends on.

    These are the files of `retrievers` and of the rooms below.
    """
    return files_checksum(package, ROOMS)


def replaced_names() -> Iterator[tuple[str, Any]]:
    """The replaced functions and constants of this package's loaded modules.

    Yields the full name, and what stands there now.
    """
    for name, module in sorted(sys.modules.items()):
        if is_in_rooms(name) and isinstance(module, ModuleType):
            yield from replaced_in(module)


def replaced_in(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The members of a module and of its classes that differ from the definitions in its file.

    Yields the full name of each, and its present value.
    """
    loader = getattr(module.__spec__, "loader", None)
    if not hasattr(loader, "get_code"):
        return
    file = Path(module.__file__ or "")
    # This package's files are read once; files of the user are read again after a change.
    changed = None if PACKAGE in file.parents else _state(file)
    source = _source_of(module.__name__, changed)
    yield from _replaced(module, module.__name__, "<module>", source)
    for value in list(vars(module).values()):
        if isinstance(value, type) and value.__module__ == module.__name__:
            yield from _replaced(
                value,
                f"{module.__name__}.{value.__qualname__}",
                value.__qualname__,
                source,
            )


def _replaced(
    owner: ModuleType | type, owner_name: str, body: str, source: _Source
) -> Iterator[tuple[str, Any]]:
    """The members of a module or a class that are not as `body`, its code, defines them."""
    constants = source.constants.get(body, {})
    for name, value in list(vars(owner).items()):
        changed = name in constants and not _is_same_constant(value, constants[name])
        if changed or any(not source.has(function) for function in functions_of(value)):
            yield f"{owner_name}.{name}", value


def _is_same_constant(value: object, constant: object) -> bool:
    # A descriptor stands in place of a default in named tuples and classes with slots.
    if hasattr(value, "__get__"):
        return True
    return type(value) is type(constant) and repr(value) == repr(constant)


def functions_of(value: object) -> Iterator[FunctionType]:
    """The Python functions that a member calls: itself, wrapped functions, those of a property."""
    waiting, seen = [value], set[int]()
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
    """The values of the variables of enclosing functions; "unbound" for an unbound one."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            yield "unbound"


@dataclass(frozen=True)
class _Source:
    """What the file of a module defines.

    codes : of every function, class and module in it.
    constants : of the module's body and of each class's, the names that are bound once, to a
    constant.
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
        return place_of(function) is function


def is_generated(function: FunctionType) -> bool:
    """Whether it is a special method that `dataclass` or `NamedTuple` has made of text."""
    code = function.__code__
    if code.co_filename != "<string>":
        return False
    is_of_tuple = code.co_name == "<lambda>" and function.__name__ == "__new__"
    return is_of_tuple or code.co_qualname.startswith("__create_fn__.")


def place_of(value: FunctionType | type) -> object:
    """The present value of the name under which a function or class was defined; None for none."""
    place: object = sys.modules.get(value.__module__)
    for part in value.__qualname__.split("."):
        place = getattr(place, part, None)
    return place


def _state(file: Path) -> tuple[int, int] | None:
    """Time and size by which a file that was changed is known."""
    try:
        state = file.stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size


@cache
def _source_of(module: str, changed: tuple[int, int] | None) -> _Source:  # noqa: ARG001 - the file is read again
    loader: Any = sys.modules[module].__spec__.loader  # type: ignore[union-attr]
    code: CodeType | None = loader.get_code(module)
    if code is None:  # a compiled extension, or a package without a file
        return _Source("", frozenset(), {})
    codes = frozenset(nested_codes(code))
    # Bodies of the module and its classes are the code objects that are not optimised.
    bodies = [body for body in codes if not body.co_flags & inspect.CO_OPTIMIZED]
    constants = {body.co_qualname: dict(_constants(body)) for body in bodies}
    return _Source(code.co_filename, codes, constants)


def nested_codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and all that are defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested_codes(constant)


def _constants(body: CodeType) -> Iterator[tuple[str, object]]:
    """The names that a module or class binds once, to a constant."""
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
