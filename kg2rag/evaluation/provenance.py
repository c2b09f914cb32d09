"""Runs, data, the machine -> what a result depends on, as JSON values: recorded, never used."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from kg2rag.compute import processor
from kg2rag.evaluation.identity import knowledge_bases, without_folders
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.knowledge import KnowledgeBase
from kg2rag.types import GoldUnit, QADataset

LIBRARIES = (
    "kg2rag bm25s datasets faiss-cpu networkx numba numpy pandas pyarrow ranx scikit-learn scipy sentence-transformers "
    "torch transformers"
).split()
NO_DIFFERENCE = (
    "started seconds ms_per_query build_seconds runs load_average command batch_size threads blas graphs graph_unread "
    "graph_use graph_systems not_cached fingerprint"
).split()
"""Keys of a configuration that say nothing of what its numbers were to be."""
_THREAD_SETTINGS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
_CHECKOUT = Path(__file__).resolve().parents[2]


def environment() -> dict[str, Any]:
    """Versions, platform, processor, threads and commit; None where unknown."""
    from threadpoolctl import threadpool_info

    torch, versions = sys.modules.get("torch"), dict[str, str | None].fromkeys(LIBRARIES)
    for name in LIBRARIES:
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
    kept = {name: value for name, value in config.items() if name not in NO_DIFFERENCE}
    return hashlib.sha256(json.dumps(kept, sort_keys=True, default=str).encode()).hexdigest()[:16]
