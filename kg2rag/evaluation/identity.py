"""A system -> its identity: all on which its rankings depend, as JSON values, the key of its runs.

The system is described by its parts, down to plain values. Files count by their contents, knowledge
bases by corpus, graph and encoder, code as in `code_identity`. A part that cannot be compared by
content is a `NoKeyError`, and the run is not stored.
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
"""Number of items from which a list of numbers and texts is replaced by a checksum."""
_REGISTRIES: tuple[Registry[Any], ...] = (LINKERS, RERANKERS, SOURCES, SYSTEMS)
_PLAIN = (type(None), bool, int, float, str)
_BY_REPR = (
    complex,
    range,
    slice,
    type(Ellipsis),
    type(NotImplemented),
    bytes,
    bytearray,
)
_HEAP_TYPE = 1 << 9
"""The flag of classes written in Python; objects of others may have state that is no attribute."""


def identity(value: object) -> Any:
    """The identity of a value as JSON values; code of this package counts by name.

    NoKeyError: a part cannot be compared by content.

    >>> identity((1, "a", None))
    [1, 'a', None]
    """
    return Walk().of(value)


@dataclass
class Walk(CodeWalk):
    """A walk over a system and all its parts.

    files : the files whose contents are part of the identity.
    """

    files: set[Path] = field(default_factory=set)
    _identities: dict[int, tuple[object, Any]] = field(default_factory=dict)

    def system(self, system: object, replaced: Iterable[tuple[str, Any]]) -> Any:
        """The identity of a system, and those of the `replaced` members of this package."""
        identity_of_system = self.of(system)
        replacements = {}
        for name, value in replaced:
            self.has_user_code = True
            try:
                replacements[name] = self.of(value)
            except NoKeyError as error:
                raise NoKeyError(f"{name} was replaced: {error}") from None
        return [identity_of_system, replacements]

    def of(self, value: object) -> Any:
        """The identity of a value, as JSON values."""
        if id(value) in OUTSIDE:
            raise NoKeyError(f"it {OUTSIDE[id(value)]}")
        if type(value) is str or isinstance(value, Path):
            return self._text_identity(value)
        if type(value) in (*_PLAIN, *_BY_REPR):
            return _scalar(value)
        if id(value) in self._ancestors:  # part of itself, such as a recursive function
            return ["inside", self._ancestors.index(id(value))]
        if id(value) not in self._identities:
            self._ancestors.append(id(value))
            try:
                parts = self._identity_of_parts(value)
            except RecursionError:
                raise NoKeyError(
                    f"{called(value)} nests too deeply to be compared by content"
                ) from None
            finally:
                self._ancestors.pop()
            # The value is stored as well: a new object could get the id of a deleted one.
            self._identities[id(value)] = value, parts
        return self._identities[id(value)][1]

    def _identity_of_parts(self, value: Any) -> Any:
        """The identity of a value that is no number and no text, by its kind."""
        require_visible(value)
        if isinstance(value, type):
            return self.class_identity(value)
        if isinstance(value, types.ModuleType):
            return self.module_identity(value, ())
        code = self.callable_identity(value)
        if code is not None:
            return code
        if isinstance(value, KnowledgeBase | Corpus | Store):
            return self._knowledge_identity(value)
        if isinstance(value, np.ndarray):
            return self._array_identity(value)
        if type(value) in (dict, types.MappingProxyType):
            return self._mapping_identity(value)
        if type(value) in (list, tuple, set, frozenset):
            return self._items_identity(value)
        return self._instance_identity(value)

    def _array_identity(self, array: np.ndarray) -> Any:
        """Type, shape and checksum of an array; of an array of objects, the items."""
        if array.dtype.hasobject:
            return ["object", list(array.shape), self.of(array.tolist())]
        checksum = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
        return [str(array.dtype), list(array.shape), checksum]

    def _mapping_identity(self, mapping: Mapping[Any, Any]) -> Any:
        """The identity of a mapping; the order of its keys counts."""
        if len(mapping) < MANY and all(type(key) is str for key in mapping):
            return {key: self.of(item) for key, item in mapping.items()}
        return [self.of(list(mapping.keys())), self.of(list(mapping.values()))]

    def _items_identity(self, items: Any) -> Any:
        """The identity of a list, a tuple or a set; a long one is a checksum."""
        identities = list(items)
        if len(items) < MANY or not set(map(type, items)) <= set(_PLAIN):
            identities = [self.of(item) for item in items]
        if isinstance(items, set | frozenset):
            identities.sort(key=lambda item: json.dumps(item, sort_keys=True))
        return identities if len(identities) < MANY else digest(identities)

    def _text_identity(self, value: str | Path) -> Any:
        """The identity of a text: the text, or the contents of the file or folder that it names.

        A specification such as "gold(FILE)" has the identities of its files, too.
        """
        path = Path(value)
        if os.path.isfile(path):  # noqa: PTH113 - False for a name that no file can have
            self.files.add(path.absolute())
            return {"sha256": sha256(path)}
        if os.sep in str(value) and os.path.isdir(path):  # noqa: PTH112 - may be a model, too large to be read
            states = ((file.name, file.stat()) for file in sorted(path.iterdir()))
            return [[name, state.st_size, state.st_mtime_ns] for name, state in states]
        if isinstance(value, Path):
            return str(value)
        parts = list(self._components(value))
        return [value, *parts] if parts else value

    def _components(self, text: str) -> Iterator[Any]:
        """The identities of the user's components and of the files in a specification."""
        if len(text) > 1000:
            return
        try:
            specifications = parse(text)
        except ParameterError:  # a text that is no specification
            return
        for name, parameters in specifications:
            for component in _registered(name):
                yield self.of(component)
            for parameter_text in parameters.values():
                parameter = read_value(parameter_text)
                if isinstance(parameter, str) and parameter != text:
                    parameter_identity = self._text_identity(parameter)
                    if parameter_identity != parameter:
                        yield parameter_identity

    def _knowledge_identity(self, value: KnowledgeBase | Corpus | Store) -> Any:
        """The identity of a corpus or a knowledge base; all stores are equal."""
        if isinstance(value, Corpus):
            return value.fingerprint
        if isinstance(value, Store):
            return "store"
        self.memos.append(value)
        is_shuffled = value.mention_table is not None
        inputs = [value.corpus.fingerprint, value.source.fingerprint, is_shuffled]
        encoder = value.embedder
        # A function cannot be compared by content; its vectors can.
        if isinstance(encoder, GivenEncoder | GivenVectors):
            return [*inputs, encoder.fingerprint(value.store)]
        if dataclasses.is_dataclass(encoder):  # its repr may hide prompts
            return [*inputs, self.of(encoder)]
        if " object at 0x" in repr(encoder):
            raise NoKeyError(f"its encoder {encoder!r} has no repr that names it")
        return [*inputs, repr(encoder), self.of(type(encoder))]

    def _instance_identity(self, value: Any) -> Any:
        """The identity of an object: its class and attributes, or how a library's is copied."""
        kind = type(value)
        if self.is_library(kind):
            return self._identity_by_copy(value)
        fingerprint = getattr(value, "fingerprint", None)
        if type(fingerprint) is str and module_origin(kind.__module__) == "package":
            return [kind.__qualname__, fingerprint]
        attributes = {"class": self.of(kind)}
        for name, part in _attributes(value):
            attributes[name] = self.of(part)
        if _has_hidden_state(kind):
            return [attributes, self._identity_by_copy(value)]
        return attributes

    def _identity_by_copy(self, value: Any) -> Any:
        """The identity of an object by the function and arguments with which `copy` copies it."""
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
        listed = [list(part) if isinstance(part, Iterator) else part for part in parts]
        if any(argument is value for argument in listed[1]):
            raise NoKeyError(
                f"it holds {called(value)}, which cannot be compared by content"
            )
        return [full_name(kind), digest([self.of(part) for part in listed])]


def _has_hidden_state(kind: type) -> bool:
    """Whether objects of a class may have state outside their attributes.

    They may if a base class is compiled, or defines how its objects are copied.
    """
    bases = kind.__mro__[:-1]  # without `object`
    is_compiled = any(not base.__flags__ & _HEAP_TYPE for base in bases)
    members = {name for base in bases for name in vars(base)}
    return is_compiled or not members.isdisjoint(("__reduce__", "__reduce_ex__"))


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """The (name, value) of an object's attributes on which its results depend.

    Left out are cached properties, which are computed from the others, and the fields of this
    package's classes with `compare=False`, such as caches of vectors.
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
    """The names of the slots of a class and its bases."""
    names: list[str] = []
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        names += [slots] if isinstance(slots, str) else list(slots)
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def _registered(name: str) -> Iterator[Any]:
    """The components of users and of other packages that are registered under a name."""
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
    """The installed entry points of a group."""
    return tuple(entry_points(group=group))


def _scalar(value: object) -> Any:
    """The identity of a value that has no parts."""
    if isinstance(value, bytes | bytearray):
        return [type(value).__name__, hashlib.sha256(value).hexdigest()]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if type(value) in _BY_REPR:
        return [type(value).__name__, repr(value)]
    return value
