"""A system -> all that its rankings depend on, as JSON values: the key of its runs.

The system is taken apart down to plain values. Files count by their content, knowledge bases by
corpus, graph and encoder, code as `code_identity` has it. What cannot be compared by content is a
`NoKeyError`, and the run is not kept.
"""

from __future__ import annotations

import copyreg
import dataclasses
import functools
import hashlib
import json
import math
import os
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import numpy as np

from kg2rag.compute import GivenEncoder, GivenVectors, Store
from kg2rag.evaluation.code_identity import (
    OUTSIDE,
    CodeWalk,
    NoKeyError,
    digest,
    full_name,
    require_visible,
)
from kg2rag.evaluation.module_files import library_version, module_origin
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
_WRITTEN = (
    complex,
    range,
    slice,
    type(Ellipsis),
    type(NotImplemented),
    bytes,
    bytearray,
)
_HEAP_TYPE = 1 << 9
"""The flag of classes that are written in Python; others have state that is no attribute."""


def identity(value: object) -> Any:
    """All that the rankings of a system depend on, but files of this package, as JSON values.

    NoKeyError: something that cannot be compared by content.

    >>> identity((1, "a", None))
    [1, 'a', None]
    """
    return Walk().of(value)


@dataclass
class Walk(CodeWalk):
    """One walk over a system and all that it is made of.

    files : those whose content is in the key.
    """

    files: set[Path] = field(default_factory=set)
    _described: dict[int, tuple[object, Any]] = field(default_factory=dict)

    def system(self, system: object, replaced: Iterable[tuple[str, Any]]) -> Any:
        """The identity of a system and of the `replaced` members of this package."""
        described = self.of(system)
        replacements = {}
        for name, value in replaced:
            self.has_user_code = True
            try:
                replacements[name] = self.of(value)
            except NoKeyError as error:
                raise NoKeyError(f"{name} was replaced: {error}") from None
        return [described, replacements]

    def of(self, value: object) -> Any:
        """The identity of a value, as JSON values."""
        if id(value) in OUTSIDE:
            raise NoKeyError(f"it {OUTSIDE[id(value)]}")
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
                raise NoKeyError(
                    f"{called(value)} nests too deeply to be compared by content"
                ) from None
            finally:
                self._open.pop()
            # The value is kept as well: a new object could get the id of a deleted one.
            self._described[id(value)] = value, described
        return self._described[id(value)][1]

    def _composite(self, value: Any) -> Any:
        """The identity of what is no number and no text."""
        require_visible(value)
        if isinstance(value, type):
            return self.class_identity(value)
        if isinstance(value, types.ModuleType):
            return self.module_identity(value, ())
        described = self.callable_identity(value)
        if described is not None:
            return described
        if isinstance(value, KnowledgeBase | Corpus | Store):
            return self._knowledge(value)
        if isinstance(value, np.ndarray):
            return self._array(value)
        if type(value) in (dict, types.MappingProxyType):
            return self._mapping(value)
        if type(value) in (list, tuple, set, frozenset):
            return self._items(value)
        return self._instance(value)

    def _array(self, array: np.ndarray) -> Any:
        if array.dtype.hasobject:
            return ["object", list(array.shape), self.of(array.tolist())]
        checksum = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
        return [str(array.dtype), list(array.shape), checksum]

    def _mapping(self, mapping: Mapping[Any, Any]) -> Any:
        """The identity of a mapping, whose order counts."""
        if len(mapping) < MANY and all(type(key) is str for key in mapping):
            return {key: self.of(item) for key, item in mapping.items()}
        return [self.of(list(mapping.keys())), self.of(list(mapping.values()))]

    def _items(self, items: Any) -> Any:
        """The identity of a list, a tuple or a set."""
        described = list(items)
        if len(items) < MANY or not set(map(type, items)) <= set(_PLAIN):
            described = [self.of(item) for item in items]
        if isinstance(items, set | frozenset):
            described.sort(key=lambda item: json.dumps(item, sort_keys=True))
        return described if len(described) < MANY else digest(described)

    def _text(self, value: str | Path) -> Any:
        """The identity of a text: the text, or the content of the file or folder that it names.

        A specification such as "gold(FILE)" also has the identities of its files.
        """
        path = Path(value)
        if os.path.isfile(path):  # noqa: PTH113 - False for a name that no file can have
            self.files.add(path.absolute())
            return {"sha256": sha256(path)}
        if os.sep in str(value) and os.path.isdir(path):  # noqa: PTH112 - as that of a model, too large to be read
            states = ((file.name, file.stat()) for file in sorted(path.iterdir()))
            return [[name, state.st_size, state.st_mtime_ns] for name, state in states]
        if isinstance(value, Path):
            return str(value)
        parts = list(self._components(value))
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
                    if described != parameter:
                        yield described

    def _knowledge(self, value: KnowledgeBase | Corpus | Store) -> Any:
        """The identity of a corpus or a knowledge base; the place of a store does not count."""
        if isinstance(value, Corpus):
            return value.fingerprint
        if isinstance(value, Store):
            return "store"
        self.memos.append(value)
        is_shuffled = value.mention_table is not None
        described = [value.corpus.fingerprint, value.source.fingerprint, is_shuffled]
        encoder = value.embedder
        # A function has no comparable content; its vectors have.
        if isinstance(encoder, GivenEncoder | GivenVectors):
            return [*described, encoder.fingerprint(value.store)]
        if dataclasses.is_dataclass(encoder):  # whose repr need not show its prompts
            return [*described, self.of(encoder)]
        if " object at 0x" in repr(encoder):
            raise NoKeyError(f"its encoder {encoder!r} has no repr that names it")
        return [*described, repr(encoder), self.of(type(encoder))]

    def _instance(self, value: Any) -> Any:
        """The identity of an object: its class and attributes; of a library object, its copy."""
        kind = type(value)
        if self.is_library(kind):
            return self._copied(value)
        fingerprint = getattr(value, "fingerprint", None)
        if type(fingerprint) is str and module_origin(kind.__module__) == "package":
            return [kind.__qualname__, fingerprint]
        described = {"class": self.of(kind)}
        for name, part in _attributes(value):
            described[name] = self.of(part)
        if _has_hidden_state(kind):
            return [described, self._copied(value)]
        return described

    def _copied(self, value: Any) -> Any:
        """The identity of an object: the function and arguments that `copy` and `pickle` use."""
        kind = type(value)
        try:
            reduce: Any = copyreg.dispatch_table.get(
                kind, lambda copied: copied.__reduce_ex__(4)
            )
            parts = reduce(value)
        except Exception as error:
            raise NoKeyError(
                f"it holds {called(value)}, which cannot be compared by content"
            ) from error
        if isinstance(parts, str):
            return [full_name(kind), library_version(kind.__module__), parts]
        described = [
            list(part) if isinstance(part, Iterator) else part for part in parts
        ]
        if any(argument is value for argument in described[1]):
            raise NoKeyError(
                f"it holds {called(value)}, which cannot be compared by content"
            )
        return [full_name(kind), digest([self.of(part) for part in described])]


def _has_hidden_state(kind: type) -> bool:
    """Whether objects of a class have state outside their attributes.

    A base class is compiled, or defines how its objects are copied.
    """
    bases = kind.__mro__[:-1]  # without `object`
    is_compiled = any(not base.__flags__ & _HEAP_TYPE for base in bases)
    members = {name for base in bases for name in vars(base)}
    return is_compiled or not members.isdisjoint(("__reduce__", "__reduce_ex__"))


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of an object, without cached properties, which are computed from the others.

    For a class of this package, fields with `compare=False`, such as memory for vectors, are left
    out.
    """
    kind = type(value)
    slots = [name for name in _slots(kind) if hasattr(value, name)]
    attributes: dict[str, Any] = {name: getattr(value, name) for name in slots}
    attributes |= getattr(value, "__dict__", {})
    unused: set[str] = set()
    if module_origin(kind.__module__) == "package":
        declared = getattr(kind, "__dataclass_fields__", {}).values()
        unused = {attribute.name for attribute in declared if not attribute.compare}
    for name, attribute in attributes.items():
        if name not in unused and not isinstance(
            getattr(kind, name, None), cached_property
        ):
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
            for point in _entry_points(registry.group):
                if point.name == name:
                    yield point.load()
        elif not isinstance(entry, str):
            yield entry


@functools.cache
def _entry_points(group: str) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=group))


def _scalar(value: object) -> Any:
    """The identity of a value that has no parts."""
    if isinstance(value, bytes | bytearray):
        return [type(value).__name__, hashlib.sha256(value).hexdigest()]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if type(value) in _WRITTEN:
        return [type(value).__name__, repr(value)]
    return value
