"""A system -> what its rankings depend on, as JSON values: the key of the run cache, and what a configuration says."""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import kg2rag
from kg2rag.compute import GivenEncoder, GivenVectors
from kg2rag.knowledge import KnowledgeBase
from kg2rag.text.records import sha256
from kg2rag.types import Corpus, QADataset

ROOMS = ("types", "text", "compute", "extraction", "knowledge", "retrievers")
"""The rooms whose code a ranking depends on."""


class NoKeyError(TypeError):
    """Something in a system does not say what it computes, so that its runs cannot be kept."""


def parts(value: object) -> Iterator[object]:
    """A value and all that it is made of, depth first; a knowledge base and a corpus are not taken apart."""
    yield value
    inside: Any = value if isinstance(value, list | tuple) else ()
    if _is_made_of_fields(value) and not isinstance(value, KnowledgeBase | Corpus):
        inside = [getattr(value, one.name) for one in fields(value)]  # type: ignore[arg-type]
    elif isinstance(value, Mapping):
        inside = value.values()
    for one in inside:
        yield from parts(one)


def _is_made_of_fields(value: object) -> bool:
    return is_dataclass(value) and not isinstance(value, type)


def knowledge_bases(system: object) -> list[KnowledgeBase]:
    """The knowledge bases of a system and of the systems in it, each once."""
    return list({id(one): one for one in parts(system) if isinstance(one, KnowledgeBase)}.values())


def remark(system: object) -> str:
    """What a system, and the retrievers that it is made of, say of their rankings; "" for nothing."""
    of = (one for one in parts(system) if one is system or hasattr(one, "retrieve_batch"))
    return " ".join(dict.fromkeys(str(one.remark) for one in of if getattr(one, "remark", "")))  # type: ignore[attr-defined]


def tuning(system: object, data: QADataset | None = None) -> list[dict[str, Any]]:
    """What was fitted or chosen by looking at questions, in a system and those in it: `TUNING` of their modules.

    Where questions of `data` are among those that coefficients were fitted on, compared by their texts, a row says so.
    """
    modules = dict.fromkeys(type(one).__module__ for one in parts(system) if _is_made_of_fields(one))
    rows = (row for name in modules for row in getattr(sys.modules.get(name), "TUNING", ()))
    found = [{**row._asdict(), "sets": list(row.sets), "training": list(row.training)} for row in rows]
    if data is None:
        return found
    for one in parts(system):
        if seen := one.seen(data.queries) if hasattr(one, "seen") else 0:
            what = f"coefficients, fitted on {seen:,} of these {len(data):,} questions"
            name = type(one).__name__
            found.append({"system": name, "what": what, "kind": "fitted", "sets": [data.name], "training": []})
    return found


def without_folders(value: object) -> str:
    """The `repr` of a source or an encoder, its files and folders by their last names: the same on every machine."""
    if isinstance(value, Path) or (isinstance(value, str) and Path(value).is_absolute()):
        return repr(Path(value).name)
    if isinstance(value, list | tuple):
        return f"({', '.join(map(without_folders, value))})"
    if _is_made_of_fields(value) and type(value).__dataclass_params__.repr:  # type: ignore[attr-defined]
        shown = [f"{one.name}={without_folders(getattr(value, one.name))}" for one in fields(value) if one.repr]  # type: ignore[arg-type]
        return f"{type(value).__name__}({', '.join(shown)})"
    return repr(value)


def identity(value: object, *, record: bool = False) -> Any:
    """All that the rankings of a system depend on but the code of this package, as JSON values.

    Files count by their content, knowledge bases by corpus, graph and encoder, other people's classes by the file
    that defines them. NoKeyError: something that does not say what it computes, such as a function.

    record : to be read, not to be a key: files are named beside their checksums, of what a `repr` hides there is a
        checksum alone, what is no JSON value is its `repr`, and knowledge bases are left out.

    >>> identity((1, "a", None))
    [1, 'a', None]
    """
    within = partial(identity, record=record)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str | Path):
        return _text_or_files(value, record=record)
    if isinstance(value, Mapping):
        return {str(key): within(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return list(map(within, value if isinstance(value, list | tuple) else sorted(value, key=repr)))
    if not _is_made_of_fields(value) or isinstance(value, KnowledgeBase | Corpus):
        return repr(value) if record else _whole(value)
    own = [(one, getattr(value, one.name)) for one in fields(value) if not one.name.startswith("_")]  # type: ignore[arg-type]
    if not record:
        return {"class": _class(type(value)), **{one.name: within(part) for one, part in own}}
    shown = {one.name: within(part) for one, part in own if one.repr and not isinstance(part, KnowledgeBase)}
    sums = {one.name: {"sha256": _checksum(part)} for one, part in own if not one.repr and _checksum(part)}
    return {"class": f"{type(value).__module__}.{type(value).__qualname__}", **shown, **sums}


def _whole(value: object) -> Any:
    """Of what is not taken apart."""
    if isinstance(value, Corpus):
        return value.fingerprint
    if isinstance(value, np.ndarray | np.generic):
        return [str(value.dtype), value.shape, _checksum(np.asarray(value))]
    if not isinstance(value, KnowledgeBase):
        raise NoKeyError(f"{value!r} does not say what it computes")
    known = [value.corpus.fingerprint, value.source.fingerprint, value.mention_table is not None]
    encoder = value.embedder
    if isinstance(encoder, GivenEncoder | GivenVectors):  # a function says nothing, but its vectors do
        return [*known, encoder.fingerprint(value.store)]
    if not is_dataclass(encoder) and " object at 0x" in repr(encoder):
        raise NoKeyError(f"its encoder {encoder!r} has no repr that names it")
    # A repr need not show its prompts.
    return [*known, identity(encoder) if is_dataclass(encoder) else repr(encoder)]


def _checksum(value: object) -> str | None:
    if not isinstance(value, np.ndarray | str | Mapping):
        return None
    held = value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode("utf-8", "surrogatepass")
    return hashlib.sha256(held).hexdigest()


def _class(kind: type) -> list[str]:
    """The name of a class, and the content of the files that define it and its bases, of other packages than ours."""
    named = [f"{kind.__module__}.{kind.__qualname__}"]
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] not in ("kg2rag", "builtins", "abc", "typing"):
            try:
                file = inspect.getsourcefile(base)
            except TypeError:  # defined in a cell of a notebook, or by hand
                file = None
            if file is None or not Path(file).is_file():
                raise NoKeyError(f"its class {base.__qualname__} is defined in no file")
            named.append(sha256(Path(file)))
    return named


def _text_or_files(value: str | Path, *, record: bool) -> Any:
    """A text; or the content of the file or folder that it is, or of the files that "learned(FILE)" names."""
    if _is_file(value):
        return {**({"file": str(value)} if record else {}), "sha256": sha256(Path(value))}
    if not record and os.sep in str(value) and Path(value).is_dir():  # as that of a model, too large to be read
        states = ((file.name, file.stat()) for file in sorted(Path(value).iterdir()))
        return [[name, state.st_size, state.st_mtime_ns] for name, state in states]
    if isinstance(value, Path):
        return repr(value) if record else str(value)
    sums = [sha256(Path(part)) for part in re.split(r"[:+=(),]", value)[1:] if _is_file(part)]
    if not sums:
        return value
    return {"value": value, "sha256": sums} if record else [value, *sums]


def _is_file(value: str | Path) -> bool:
    try:
        return Path(value).is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


@cache
def code_version() -> str:
    """A checksum of the files that a ranking depends on, code and data: this package's, from `retrievers` downward."""
    root, digest = Path(kg2rag.__file__).parent, hashlib.sha256()
    for room in ROOMS:
        for file in sorted((root / room).rglob("*")):
            if file.is_file() and file.parent.name != "__pycache__":
                digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()
