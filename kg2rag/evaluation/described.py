"""Systems -> what their results depend on, as JSON values: classes, parameters, files, graphs, encoders."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.knowledge import KnowledgeBase
from kg2rag.text.records import sha256
from kg2rag.types import QADataset

NO_DIFFERENCE = (  # of a configuration
    "started seconds ms_per_query load_average command batch_size threads blas graphs graph_unread graph_use "
    "fingerprint"
).split()


def parameters(value: object) -> Any:
    """A system's class and parameters, those of the systems in it included; what is no JSON value as its `repr`.

    A parameter that is the path of a file, or holds one ("gold:FILE"), comes with the file's checksum. Of what a `repr`
    hides, as a recorded run or a prompt, there is a checksum alone. Knowledge bases are left out: see `knowledge`.

    >>> parameters((1, "a", None))
    [1, 'a', None]
    """
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value)
        given = {one.name: getattr(value, one.name) for one in fields(value) if not one.name.startswith("_")}
        given = {name: one for name, one in given.items() if not isinstance(one, KnowledgeBase)}
        shown = {one.name for one in fields(value) if one.repr}
        kept = {name: parameters(one) for name, one in given.items() if name in shown}
        hidden = {name: _checksum(one) for name, one in given.items() if name not in shown}
        sums = {name: {"sha256": one} for name, one in hidden.items() if one is not None}
        return {"class": f"{kind.__module__}.{kind.__qualname__}", **kept, **sums}
    if isinstance(value, Mapping):
        return {str(key): parameters(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [parameters(one) for one in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, (str, Path)) and _is_file(value):
        return {"file": str(value), "sha256": sha256(Path(value))}
    if isinstance(value, str) and (files := [part for part in re.split("[:+=]", value)[1:] if _is_file(part)]):
        return {"value": value, "sha256": [sha256(Path(file)) for file in files]}
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def tuning(described: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Name -> what was fitted or chosen by looking at questions, in a system and those in it, by the register.

    `described` : name -> the system's `parameters`.
    """
    found = {name: _tuned(about) for name, about in described.items()}
    return {name: rows for name, rows in found.items() if rows}


def _tuned(about: Any) -> list[dict[str, Any]]:
    return [
        {name: row[name] for name in ("system", "what", "kind", "training", "sets")}
        for row in _register()
        if any(all(f".{part}." in name for part in row["system"].split("+")) for name in _classes(about))
    ]


@cache
def _register() -> list[dict[str, Any]]:
    text = resources.files("kg2rag.retrievers").joinpath("tuning.toml").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = tomllib.loads(text)["number"]
    return rows


def _classes(about: Any) -> Iterator[str]:
    if isinstance(about, Mapping):
        if "class" in about:
            yield f"{about['class']}."
        for each in about.values():
            yield from _classes(each)
    elif isinstance(about, list):
        for each in about:
            yield from _classes(each)


def _checksum(value: object) -> str | None:
    """Of a text, a mapping or an array; None for an object that does not say what it holds."""
    if isinstance(value, np.ndarray):
        return hashlib.sha256(value.tobytes()).hexdigest()
    if isinstance(value, (str, Mapping)):
        return hashlib.sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()
    return None


def encodings(systems: Mapping[str, object]) -> dict[int, int]:
    """How often each knowledge base of some systems was asked for vectors, by its identity."""
    return {id(kb): kb.encodings for system in systems.values() for kb in knowledge_bases(system)}


def knowledge(
    systems: Mapping[str, object], before: Mapping[int, int], *, encoder: bool = True
) -> list[dict[str, Any]]:
    """Each knowledge base that some systems read, with their names; see `KnowledgeBase.described`.

    Parameters
    ----------
    before : `encodings` before the systems were run. An encoder that was asked for nothing is not opened.
    encoder : False leaves the weights of all encoders unread.
    """
    found: dict[int, tuple[KnowledgeBase, list[str]]] = {}
    for name, system in systems.items():
        for kb in {id(kb): kb for kb in knowledge_bases(system)}.values():
            found.setdefault(id(kb), (kb, []))[1].append(name)
    return [
        {"systems": names, **kb.described(encoder=encoder and kb.encodings > before.get(id(kb), 0))}
        for kb, names in found.values()
    ]


def graph_reads(system: object) -> int:
    """How often the knowledge bases of a system were asked for their graph, or for what was built from it."""
    return sum(kb.graph_reads for kb in knowledge_bases(system))


def given_graphs(system: object) -> list[str]:
    """The graphs of a system's knowledge bases that somebody chose, by class and files; not the default one."""
    own = Mentions().fingerprint
    return list(dict.fromkeys(_short(kb.source) for kb in knowledge_bases(system) if kb.source.fingerprint != own))


def _short(source: object) -> str:
    """Class and names of files, those of the sources in it included; folders differ between machines."""
    given = [getattr(source, one.name) for one in fields(source)] if is_dataclass(source) else []
    parts = [part for one in given for part in (one if isinstance(one, (list, tuple)) else [one])]
    said = [part.name if isinstance(part, Path) else _short(part) for part in parts if _is_shown(part)]
    return type(source).__name__ + (f"({', '.join(said)})" if said else "")


def _is_shown(part: object) -> bool:
    return isinstance(part, Path) or is_dataclass(part)


def graphs(systems: Mapping[str, object]) -> list[dict[str, Any]]:
    """The graphs that were opened: source, entities and triples of each."""
    kbs = {id(kb): kb for system in systems.values() for kb in knowledge_bases(system)}
    return [{"source": repr(kb.source), **sizes} for kb in kbs.values() if (sizes := kb.graph_sizes)]


def knowledge_bases(value: object) -> Iterator[KnowledgeBase]:
    """The knowledge bases of a system and of the systems in it."""
    if isinstance(value, KnowledgeBase):
        yield value
    elif is_dataclass(value) and not isinstance(value, type):
        for one in fields(value):
            yield from knowledge_bases(getattr(value, one.name))
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from knowledge_bases(each)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from knowledge_bases(each)


def data(one: QADataset) -> dict[str, Any]:
    """Name, source and checksums of a data set."""
    return {
        "name": one.name,
        "setting": one.setting,
        "unit": one.unit,
        "questions": len(one),
        "passages": len(one.corpus),
        "corpus_fingerprint": one.corpus.fingerprint,
        "questions_sha256": questions(one),
        "source": dict(one.source),
    }


def questions(data: QADataset) -> str:
    """A checksum of all questions: ids, texts, gold, candidates and answers."""
    digest = hashlib.sha256()
    for question in data.questions:
        digest.update(repr(question).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def fingerprint(config: Mapping[str, Any]) -> str:
    """Of a configuration: two that are equal were to give equal numbers; time, load and speed do not count."""
    kept = {name: value for name, value in config.items() if name not in (*NO_DIFFERENCE, "added")}
    if added := [other for one in config.get("added", ()) if (other := _elsewhere(one, config))]:
        kept["added"] = added
    return hashlib.sha256(json.dumps(kept, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _elsewhere(added: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """What of some systems that were added is another than of the first: version, commit, machine; empty for none."""
    other = {
        name: value
        for name, value in added.items()
        if name not in (*NO_DIFFERENCE, "systems") and value != config.get(name)
    }
    return {"systems": added["systems"], **other} if other else {}


def _is_file(value: str | Path) -> bool:
    try:
        return Path(value).is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False
