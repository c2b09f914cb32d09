"""An encoder in memory -> checksums of its weights, its configuration and its readable code.

Equal checksums do not prove equal vectors: a function may read a file or ask a server.
`compute.user_encoder` therefore compares vectors of probe texts, too.
"""

from __future__ import annotations

import dis
import hashlib
import json
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

MAX_PARTS = 500_000  # the maximum of an encoder's parts: objects, texts and numbers
_ATOMS = (bool, int, float, complex, str, bytes, type(None), type(...))
_DATA = (*_ATOMS, list, tuple, set, frozenset, dict, np.ndarray, np.generic)
_LIBRARY_FOLDERS = tuple(
    {sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")}
)
# Attributes without effect on the vectors.
_VOLATILE = {"training", "name_or_path", "_name_or_path", "transformers_version"}


def weights_checksum(network: Any) -> str:
    """The checksum of a torch module's weights, in float32."""
    digest = hashlib.sha256()
    for name, tensor in sorted(network.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().float().numpy().tobytes())
    return digest.hexdigest()


def configuration_checksum(network: Any) -> str:
    """The checksum of everything but the weights: modules, their settings, dtypes, tokenizer."""
    modules = []
    for name, module in network.named_modules():
        settings: dict[str, Any] = {}
        if hasattr(getattr(module, "config", None), "to_dict"):
            settings |= module.config.to_dict()
        settings |= {
            key: value for key, value in vars(module).items() if not key.startswith("_")
        }
        modules.append(
            [
                name,
                f"{type(module).__module__}.{type(module).__qualname__}",
                _plain(settings),
            ]
        )
    types = {name: str(tensor.dtype) for name, tensor in network.state_dict().items()}
    limit = getattr(network, "max_seq_length", None)
    content = [modules, types, limit, _tokenizer_of(network)]
    return hashlib.sha256(
        json.dumps(content, sort_keys=True, default=str).encode()
    ).hexdigest()


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that can be JSON, as JSON values, without `_VOLATILE` ones."""
    plain = {}
    for name, value in settings.items():
        if name not in _VOLATILE:
            with suppress(TypeError, ValueError):
                plain[name] = json.loads(json.dumps(value))
    return plain


def _tokenizer_of(network: Any) -> Any:
    """The JSON content of a fast tokenizer; None if there is none.

    Padding and truncation are left out, since each call sets them.
    """
    try:
        content = json.loads(network.tokenizer.backend_tokenizer.to_str())
    except AttributeError:  # no tokenizer, or a slow one
        return None
    return {
        name: value
        for name, value in content.items()
        if name not in ("padding", "truncation")
    }


def state_checksum(encoder: object) -> str:
    """The checksum of a user's encoder: code, closures, referenced globals, attributes, weights.

    Code of installed libraries counts by its name only. The checksum is "" if the encoder has more
    than `MAX_PARTS` parts.
    """
    digest = hashlib.sha256()
    for number, content in enumerate(_contents(encoder)):
        if number == MAX_PARTS:
            return ""
        digest.update(content + b"\0")
    return digest.hexdigest()


def _contents(encoder: object) -> Iterator[bytes]:
    """The content of an object and of all its parts, depth first.

    An object that occurs again is replaced by its number.
    """
    number_of: dict[int, int] = {}
    # The objects are kept alive, since an id is unique among living objects only.
    alive: list[object] = []
    pending: list[object] = [encoder]
    while pending:
        value = pending.pop()
        if isinstance(value, _ATOMS):
            yield f"{type(value).__name__} {value!r}".encode("utf-8", "surrogatepass")
        elif id(value) in number_of:
            yield f"object {number_of[id(value)]}".encode()
        else:
            number_of[id(value)] = len(alive)
            alive.append(value)
            content = _content(value)
            yield _name(type(value)) + content
            if not content:
                pending.extend(reversed(list(_parts(value))))


def _content(value: Any) -> bytes:
    """The content of an array, a tensor, a network or a module; b"" for an object with parts."""
    if hasattr(value, "state_dict") and hasattr(value, "named_modules"):
        return f"{weights_checksum(value)} {configuration_checksum(value)}".encode()
    if hasattr(value, "detach") and hasattr(value, "cpu"):  # a tensor
        value = value.detach().cpu().float().numpy()
    if isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        return str((value.dtype, value.shape)).encode() + value.tobytes()
    return value.__name__.encode() if isinstance(value, ModuleType) else b""


def _parts(value: Any) -> Iterable[object]:
    """The objects that an object consists of, in an order that does not depend on the process."""
    if isinstance(value, Mapping):
        return [part for item in value.items() for part in item]
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, CodeType):
        return [value.co_code, value.co_names, value.co_consts]
    if isinstance(value, FunctionType | MethodType | partial | type):
        return _parts_of_callable(value)
    return [type(value), _attributes(value)]


def _name(kind: Any) -> bytes:
    """The module and qualified name of a class or function."""
    return f"{kind.__module__}.{kind.__qualname__}".encode()


def _attributes(value: Any) -> dict[str, object]:
    """The attributes that the vectors may depend on, by name.

    An object of a library counts with its public data only: its connections, locks and caches
    differ between processes.
    """
    attributes = dict(getattr(value, "__dict__", {}))
    if not _is_library(type(value).__module__):
        return attributes
    return {
        name: part
        for name, part in attributes.items()
        if not name.startswith("_") and isinstance(part, _DATA)
    }


def _parts_of_callable(value: Any) -> list[object]:
    """The parts of a function, method or class; for library code, only its name."""
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, partial):
        return [value.func, value.args, value.keywords]
    if _is_library(value.__module__):
        return [_name(value)]
    if isinstance(value, FunctionType):
        return [_name(value), *_parts_of_function(value)]
    return [_name(value), *_parts_of_class(value)]


def _parts_of_function(function: FunctionType) -> list[object]:
    """The code and defaults of a function, its closure, and the globals that it reads."""
    closure = []
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # a variable without a value yet
            closure.append(cell.cell_contents)
    names = sorted(_names_of(function.__code__) & function.__globals__.keys())
    variables = {name: function.__globals__[name] for name in names}
    return [
        function.__code__,
        function.__defaults__,
        function.__kwdefaults__,
        closure,
        variables,
    ]


def _names_of(code: CodeType) -> set[str]:
    """The names of the globals that a code object and the functions within it read."""
    names = {
        step.argval
        for step in dis.get_instructions(code)
        if step.opname == "LOAD_GLOBAL"
    }
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names_of(constant)
    return names


def _parts_of_class(kind: type) -> list[object]:
    """The bases of a class and the attributes in its body, methods as plain functions."""
    body = {
        name: value
        for name, value in vars(kind).items()
        if name not in ("__dict__", "__weakref__", "__doc__")
    }
    functions = {
        name: getattr(value, "__func__", getattr(value, "fget", value))
        for name, value in body.items()
    }
    return [kind.__bases__, functions]


@cache
def _is_library(module: str | None) -> bool:
    """Whether a module belongs to Python or to an installed package."""
    loaded = sys.modules.get(module or "")
    file = getattr(loaded, "__file__", None)
    if file is None:  # a module that is compiled into Python, or a notebook
        return module not in ("__main__", None) and loaded is not None
    return any(Path(file).is_relative_to(folder) for folder in _LIBRARY_FOLDERS)
