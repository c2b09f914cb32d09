"""A system, data, the machine -> what a result depends on, as JSON values: the key of a run, and what is recorded.

`identity` and `code_version` are of the key in the run cache; the rest stands beside the numbers and is never used.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import kg2rag
from kg2rag.compute import GivenEncoder, GivenVectors, processor
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.knowledge import KnowledgeBase
from kg2rag.text.records import sha256
from kg2rag.types import Corpus, GoldUnit, QADataset

_ROOMS = ("types", "text", "compute", "extraction", "knowledge", "retrievers")
"""The rooms whose code a ranking depends on."""
_LIBRARIES = (
    "kg2rag bm25s datasets faiss-cpu networkx numba numpy pandas pyarrow ranx scikit-learn scipy sentence-transformers "
    "torch transformers"
).split()
_NO_DIFFERENCE = (
    "started seconds ms_per_query build_seconds runs load_average command batch_size threads blas graphs graph_unread "
    "graph_use graph_systems not_cached fingerprint"
).split()
"""Keys of a configuration that say nothing of what its numbers were to be."""
_THREAD_SETTINGS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
_CHECKOUT = Path(__file__).resolve().parents[2]


class NoKeyError(TypeError):
    """Something in a system does not say what it computes, so that its runs cannot be kept."""


def _parts(value: object) -> Iterator[object]:
    """A value and all that it is made of, depth first; a knowledge base and a corpus are not taken apart."""
    yield value
    inside: Any = value if isinstance(value, list | tuple) else ()
    if _is_made_of_fields(value) and not isinstance(value, KnowledgeBase | Corpus):
        inside = [getattr(value, one.name) for one in fields(value)]  # type: ignore[arg-type]
    elif isinstance(value, Mapping):
        inside = value.values()
    for one in inside:
        yield from _parts(one)


def _is_made_of_fields(value: object) -> bool:
    return is_dataclass(value) and not isinstance(value, type)


def knowledge_bases(system: object) -> list[KnowledgeBase]:
    """The knowledge bases of a system and of the systems in it, each once."""
    return list({id(one): one for one in _parts(system) if isinstance(one, KnowledgeBase)}.values())


def remark(system: object) -> str:
    """What a system, and the retrievers that it is made of, say of their rankings; "" for nothing."""
    of = (one for one in _parts(system) if one is system or hasattr(one, "retrieve_batch"))
    return " ".join(dict.fromkeys(str(one.remark) for one in of if getattr(one, "remark", "")))  # type: ignore[attr-defined]


def tuning(system: object, data: QADataset | None = None) -> list[dict[str, Any]]:
    """What was fitted or chosen by looking at questions, in a system and those in it: `TUNING` of their modules.

    Where questions of `data` are among those that coefficients were fitted on, compared by their texts, a row says so.
    """
    modules = dict.fromkeys(type(one).__module__ for one in _parts(system) if _is_made_of_fields(one))
    rows = (row for name in modules for row in getattr(sys.modules.get(name), "TUNING", ()))
    found = [{**row._asdict(), "sets": list(row.sets), "training": list(row.training)} for row in rows]
    if data is None:
        return found
    for one in _parts(system):
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
    for room in _ROOMS:
        for file in sorted((root / room).rglob("*")):
            if file.is_file() and file.parent.name != "__pycache__":
                digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def environment() -> dict[str, Any]:
    """Versions, platform, processor, threads and commit; None where unknown."""
    from threadpoolctl import threadpool_info

    torch, versions = sys.modules.get("torch"), dict[str, str | None].fromkeys(_LIBRARIES)
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    blas = (one for one in threadpool_info() if one["user_api"] == "blas")
    named = (" ".join(str(one.get(part) or "") for part in ("internal_api", "version", "architecture")) for one in blas)
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": processor(),
        "versions": versions,
        "threads": {
            "cores": cores,
            "torch": None if torch is None else torch.get_num_threads(),
            **{name: os.environ.get(name) for name in _THREAD_SETTINGS},
        },
        "blas": sorted({name.strip() for name in named}),  # the instructions that it chose change last bits
        "commit": commit(),
    }


def load_average() -> float | None:
    """Processes waiting for a core over the last minute, or None where the platform does not report it."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def commit() -> dict[str, object] | None:
    """The git commit of the checkout that this package runs from, and whether files differ from it, or None."""
    git = shutil.which("git") if (_CHECKOUT / ".git").exists() else None

    def ask(*arguments: str) -> str:
        command = [git or "", "-C", str(_CHECKOUT), *arguments]
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)  # noqa: S603 - no shell
        return answer.stdout.strip()

    head = ask("rev-parse", "--verify", "--quiet", "HEAD") if git else ""
    return {"id": head, "changed": bool(ask("status", "--porcelain", "-uno"))} if head else None


def of_run(kbs: Sequence[KnowledgeBase], before: Sequence[Mapping[str, int]]) -> dict[str, Any]:
    """What some questions of a run read: knowledge bases, with the encoders that were asked, and graphs.

    `before` : the counts of the knowledge bases before the run.
    """
    did, knowledge = [kb.counts - Counter(counts) for kb, counts in zip(kbs, before, strict=True)], []
    for kb, counts in zip(kbs, did, strict=True):
        encoder: dict[str, Any] = {"encoder": without_folders(kb.embedder)}
        if counts["encodings"] > 0:  # its weights are open
            encoder["fingerprint"] = kb.embedder.fingerprint(kb.store)
            encoder |= getattr(kb.embedder, "describe", lambda _: {})(kb.store)
        graph = {"source": without_folders(kb.source), "fingerprint": kb.source.fingerprint}
        about = {"corpus": kb.corpus.fingerprint, "passages": len(kb.corpus), "shuffled": kb.mention_table is not None}
        knowledge.append({**about, "graph": graph, "encoder": encoder})
    return {
        "load_average": load_average(),
        "knowledge": knowledge,
        "graphs": [{"source": without_folders(kb.source), **sizes} for kb in kbs if (sizes := kb.graph_sizes)],
        "read_graph": any(counts["graph reads"] > 0 for counts in did),
    }


def of_blocks(blocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What a whole run read, when it began and where, from its blocks."""
    first = min(blocks, key=lambda block: str(block["started"]))
    return {
        **first["environment"],
        **{key: first[key] for key in ("started", "load_average")},
        "knowledge": max((block["knowledge"] for block in blocks), key=lambda one: len(str(one))),
        "graphs": max((block["graphs"] for block in blocks), key=len),
        "read_graph": any(block["read_graph"] for block in blocks),
    }


def of_runs(runs: Mapping[str, Mapping[str, Any]], systems: Mapping[str, object]) -> dict[str, Any]:
    """The part of a configuration that says what its systems read, on which machine and when; `runs` are `Run.about`.

    Machine and versions are those of the first run; `runs` has what others were made by.
    """
    first, *_ = runs.values()
    machine = ("python", "platform", "processor", "versions", "threads", "blas", "commit")
    other, known = {}, dict[str, dict[str, Any]]()
    unread: dict[str, list[str]] = {}
    for name, about in runs.items():
        when = {key: about[key] for key in ("started", "load_average")}
        other[name] = when | {key: about[key] for key in machine if about[key] != first[key]}
        graphs = [kb.source for kb in knowledge_bases(systems[name]) if kb.source.fingerprint != Mentions().fingerprint]
        if graphs and not about["read_graph"]:  # that somebody chose; not the default one
            unread[name] = list(dict.fromkeys(map(without_folders, graphs)))
        for kb in about["knowledge"]:  # each once, with its encoder as whoever opened it describes it
            key = json.dumps([kb["corpus"], kb["shuffled"], kb["graph"], kb["encoder"]["encoder"]])
            one = known.setdefault(key, {"systems": [], **kb})
            one["systems"].append(name)
            one["encoder"] = max(one["encoder"], kb["encoder"], key=len)
    return {
        "knowledge": list(known.values()),
        "graphs": list({json.dumps(one): one for about in runs.values() for one in about["graphs"]}.values()),
        "graph_unread": unread,
        **{key: first[key] for key in machine},
        "started": min(about["started"] for about in runs.values()),
        "runs": other,
    }


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
        **({"without_gold": {"questions": len(one.unjudged), "judged": one.irrelevant}} if one.unjudged else {}),
    }


def questions(data: QADataset) -> str:
    """A checksum of all questions: ids, texts, gold, candidates and answers."""
    return hashlib.sha256("".join(map(repr, data.questions)).encode("utf-8", "surrogatepass")).hexdigest()


def fingerprint(config: Mapping[str, Any]) -> str:
    """Of a configuration: two that are equal were to give equal numbers; time, load and speed do not count."""
    kept = {name: value for name, value in config.items() if name not in _NO_DIFFERENCE}
    return hashlib.sha256(json.dumps(kept, sort_keys=True, default=str).encode()).hexdigest()[:16]
