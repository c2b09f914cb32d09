"""Systems, their runs, the data, the machine -> what a result depends on, as JSON values: recorded, never used."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from kg2rag.compute import processor
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.knowledge import KnowledgeBase
from kg2rag.text.records import sha256
from kg2rag.types import GoldUnit, QADataset

LIBRARIES = (
    "kg2rag bm25s datasets faiss-cpu networkx numba numpy pandas pyarrow ranx scikit-learn scipy sentence-transformers "
    "torch transformers"
).split()
NO_DIFFERENCE = (
    "started seconds ms_per_query build_seconds runs load_average command batch_size threads blas graphs graph_unread "
    "graph_use not_kept fingerprint"
).split()
"""Keys of a configuration that say nothing of what its numbers were to be."""
_THREAD_SETTINGS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
_CHECKOUT = Path(__file__).resolve().parents[2]


def environment() -> dict[str, Any]:
    """Versions, platform, processor, threads and commit; None where unknown."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": processor(),
        "versions": {name: _version(name) for name in LIBRARIES},
        "threads": threads(),
        "blas": linear_algebra(),
        "commit": commit(),
    }


def threads() -> dict[str, object]:
    """Cores this process may use, thread settings of the environment, and torch's, where torch is loaded."""
    torch = sys.modules.get("torch")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    settings = {name: os.environ.get(name) for name in _THREAD_SETTINGS}
    return {"cores": cores, "torch": None if torch is None else torch.get_num_threads(), **settings}


def linear_algebra() -> list[str]:
    """The libraries that add up matrix products, with their version and the instructions they chose."""
    from threadpoolctl import threadpool_info

    parts = ("internal_api", "version", "architecture")
    found = (one for one in threadpool_info() if one["user_api"] == "blas")
    return sorted({" ".join(str(one.get(part) or "") for part in parts).strip() for one in found})


def load_average() -> float | None:
    """Processes waiting for a core over the last minute, or None where the platform does not report it."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def commit() -> dict[str, object] | None:
    """The git commit of the checkout that this package runs from, and whether files differ from it, or None."""
    git = shutil.which("git")
    if git is None or not (_CHECKOUT / ".git").exists():
        return None
    head = _ask(git, "rev-parse", "--verify", "--quiet", "HEAD")
    return {"id": head, "changed": bool(_ask(git, "status", "--porcelain", "-uno"))} if head else None


def _ask(git: str, *arguments: str) -> str:
    command = [git, "-C", str(_CHECKOUT), *arguments]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)  # noqa: S603 - no shell
    return answer.stdout.strip()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def of_run(kbs: Sequence[KnowledgeBase], before: Sequence[Mapping[str, int]]) -> dict[str, Any]:
    """What some questions of a run read: knowledge bases, with the encoders that were asked, and graphs.

    `before` : the counts of the knowledge bases before the run.
    """
    did = [kb.counts - Counter(counts) for kb, counts in zip(kbs, before, strict=True)]
    return {
        "load_average": load_average(),
        "knowledge": [kb.described(encoder=counts["encodings"] > 0) for kb, counts in zip(kbs, did, strict=True)],
        "graphs": [{"source": repr(kb.source), **sizes} for kb in kbs if (sizes := kb.graph_sizes)],
        "read_graph": any(counts["graph reads"] > 0 for counts in did),
    }


def of_blocks(blocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What a whole run read, when it began and where, from its blocks."""
    first = min(blocks, key=lambda block: str(block["started"]))
    return {
        **first["environment"],
        "started": first["started"],
        "load_average": first["load_average"],
        "knowledge": max((block["knowledge"] for block in blocks), key=lambda one: len(str(one))),
        "graphs": max((block["graphs"] for block in blocks), key=len),
        "read_graph": any(block["read_graph"] for block in blocks),
    }


def now() -> str:
    """The time, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def of_runs(runs: Mapping[str, Mapping[str, Any]], systems: Mapping[str, object]) -> dict[str, Any]:
    """The part of a configuration that says what its systems read, on which machine and when.

    `runs` : name -> `Run.about`. Machine and versions are those of the first run; `runs` has what others were made by.
    """
    first, *_ = runs.values()
    shared = {
        name: first[name] for name in ("python", "platform", "processor", "versions", "threads", "blas", "commit")
    }
    other = {
        name: {"started": about["started"], "load_average": about["load_average"]}
        | {key: about[key] for key, value in shared.items() if about[key] != value}
        for name, about in runs.items()
    }
    given = {name: given_graphs(systems[name]) for name, about in runs.items() if not about["read_graph"]}
    graphs = {json.dumps(one): one for about in runs.values() for one in about["graphs"]}
    return {
        "knowledge": _together(runs),
        "graphs": list(graphs.values()),
        "graph_unread": {name: found for name, found in given.items() if found},
        **shared,
        "started": min(about["started"] for about in runs.values()),
        "runs": other,
    }


def _together(runs: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each knowledge base once, with the systems that read it, and its encoder as whoever opened it describes it."""
    found: dict[str, dict[str, Any]] = {}
    for name, about in runs.items():
        for kb in about["knowledge"]:
            outline = json.dumps([kb["corpus"], kb["shuffled"], kb["graph"], kb["encoder"]["encoder"]])
            one = found.setdefault(outline, {"systems": [], **kb})
            one["systems"].append(name)
            one["encoder"] = max(one["encoder"], kb["encoder"], key=len)
    return list(found.values())


def parameters(value: object) -> Any:
    """A system's class and parameters, those of the systems in it included; what is no JSON value as its `repr`.

    A parameter that is the path of a file, or holds one, comes with the file's checksum. Of what a `repr` hides, as a
    recorded run or a prompt, there is a checksum alone. Knowledge bases are left out.

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
    if isinstance(value, (str, Path)) and is_file(value):
        return {"file": str(value), "sha256": sha256(Path(value))}
    if isinstance(value, str) and (files := files_in(value)):
        return {"value": value, "sha256": [sha256(Path(file)) for file in files]}
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def files_in(value: str) -> list[str]:
    """The files that a parameter such as "ngram+gold(FILE)" names."""
    return [part for part in re.split(r"[:+=(),]", value)[1:] if is_file(part)]


def is_file(value: str | Path) -> bool:
    """Whether there is a file of that name."""
    try:
        return Path(value).is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _checksum(value: object) -> str | None:
    """Of a text, a mapping or an array; None for an object that does not say what it holds."""
    if isinstance(value, np.ndarray):
        return hashlib.sha256(value.tobytes()).hexdigest()
    if isinstance(value, (str, Mapping)):
        return hashlib.sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()
    return None


def tuning(described: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Name -> what was fitted or chosen by looking at questions, in a system and those in it: `TUNING` of their files.

    `described` : name -> the system's `parameters`.
    """
    found = {name: _tuned(about) for name, about in described.items()}
    return {name: rows for name, rows in found.items() if rows}


def _tuned(about: Any) -> list[dict[str, Any]]:
    files = dict.fromkeys(name.rpartition(".")[0] for name in _classes(about))
    rows = (row for file in files for row in getattr(sys.modules.get(file), "TUNING", ()))
    return [{**row._asdict(), "sets": list(row.sets), "training": list(row.training)} for row in rows]


def _classes(about: Any) -> Iterator[str]:
    if isinstance(about, Mapping):
        if "class" in about:
            yield about["class"]
        for each in about.values():
            yield from _classes(each)
    elif isinstance(about, list):
        for each in about:
            yield from _classes(each)


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


def given_graphs(system: object) -> list[str]:
    """The graphs of a system's knowledge bases that somebody chose, by class and files; not the default one."""
    own = Mentions().fingerprint
    return list(dict.fromkeys(_short(kb.source) for kb in knowledge_bases(system) if kb.source.fingerprint != own))


def _short(source: object) -> str:
    """Class and names of files, those of the sources in it included; folders differ between machines."""
    given = [getattr(source, one.name) for one in fields(source)] if is_dataclass(source) else []
    parts = [part for one in given for part in (one if isinstance(one, (list, tuple)) else [one])]
    shown = [part for part in parts if isinstance(part, Path) or is_dataclass(part)]
    said = [part.name if isinstance(part, Path) else _short(part) for part in shown]
    return type(source).__name__ + (f"({', '.join(said)})" if said else "")


def remarks(systems: Mapping[str, object]) -> dict[str, str]:
    """Name -> what a system, or a retriever that it is made of, says of its rankings; only those that say anything."""
    said = {name: " ".join(dict.fromkeys(_remarks(system))) for name, system in systems.items()}
    return {name: text for name, text in said.items() if text}


def _remarks(system: object) -> Iterator[str]:
    if own := getattr(system, "remark", ""):
        yield str(own)
    if is_dataclass(system):
        for part in (getattr(system, field.name) for field in fields(system)):
            for one in part if isinstance(part, tuple) else (part,):
                if hasattr(one, "retrieve_batch"):
                    yield from _remarks(one)


def data(one: QADataset, unit: GoldUnit | None = None) -> dict[str, Any]:
    """Name, source and checksums of a data set; `gold_out_of_reach` caps the recall of every system."""
    name = str if one.unit == "passage" else lambda id_: one.corpus.doc_ids[one.corpus.row(id_)]
    beyond = (q.candidates is not None and not set(q.gold) <= set(map(name, q.candidates)) for q in one.questions)
    return {
        "name": one.name,
        "setting": one.setting,
        "unit": unit or one.unit,
        "questions": len(one),
        "passages": len(one.corpus),
        "corpus_fingerprint": one.corpus.fingerprint,
        "questions_sha256": questions(one),
        "source": dict(one.source),
        "gold_out_of_reach": sum(beyond),
    }


def questions(data: QADataset) -> str:
    """A checksum of all questions: ids, texts, gold, candidates and answers."""
    digest = hashlib.sha256()
    for question in data.questions:
        digest.update(repr(question).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def fingerprint(config: Mapping[str, Any]) -> str:
    """Of a configuration: two that are equal were to give equal numbers; time, load and speed do not count."""
    kept = {name: value for name, value in config.items() if name not in NO_DIFFERENCE}
    return hashlib.sha256(json.dumps(kept, sort_keys=True, default=str).encode()).hexdigest()[:16]
