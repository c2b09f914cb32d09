"""A loaded comparison, systems and a data set -> whether these made it: questions, corpus, parameters, graphs, encoder.

Machine, versions and number format are not compared: they are in the configuration, and `kg2rag verify` tells what they
are worth. Nor is the code, after a change of which a comparison is made again; a parameter that it has got since, and
that is at its default, is no difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pkgutil import resolve_name
from typing import Any

from kg2rag.evaluation import described
from kg2rag.types import QADataset

_MACHINE = re.compile(r",? ?(?:dtype|device)='[^']*'")


def require_same(config: Mapping[str, Any], systems: Mapping[str, Any], data: QADataset) -> None:
    """ValueError: the comparison of that configuration was not made by these systems on these questions; says why."""
    found = list(_differences(config, systems, data))
    if found:
        raise ValueError(f"Not what the comparison was made with: {'; '.join(found)}. Run kg2rag.compare again.")


def _differences(config: Mapping[str, Any], systems: Mapping[str, Any], data: QADataset) -> Iterator[str]:
    about = config["data"]
    if about["questions_sha256"] != described.questions(data):
        yield f"the questions of {data.name!r} ({len(data)}; then {about['questions']}), their texts or their gold"
    if about["corpus_fingerprint"] != data.corpus.fingerprint:
        yield f"the corpus ({len(data.corpus)} passages; then {about['passages']})"
    lacking, unknown = set(config["systems"]) - set(systems), set(systems) - set(config["systems"])
    if lacking or unknown:
        names = ", ".join(sorted(lacking or unknown))
        yield f"systems that are {'missing' if lacking else 'not in it'}: {names}"
        return
    then, now = config["parameters"], described.parameters(dict(systems))
    changed = [name for name in systems if not _equal(then[name], now[name])]
    if changed:
        yield f"the parameters of {', '.join(changed)}"
    read = {name: _read(kb) for kb in config["knowledge"] for name in kb["systems"]}
    reads = {name: _read(kb) for kb in described.knowledge(systems, {}, encoder=False) for name in kb["systems"]}
    changed = [name for name in systems if read.get(name) != reads.get(name)]
    if changed:
        yield f"the corpus, graph or encoder that {', '.join(changed)} read"


def _read(kb: Mapping[str, Any]) -> tuple[object, ...]:
    """What a knowledge base is, wherever its files lie and whatever computes its vectors."""
    encoder = _MACHINE.sub("", str(kb["encoder"]["encoder"]))
    return kb["corpus"], kb["shuffled"], kb["graph"]["fingerprint"], encoder


def _equal(then: Any, now: Any) -> bool:
    """Whether described parameters are the same; of a file its content counts, wherever it lies."""
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        if "sha256" in then and "sha256" in now:
            return bool(then["sha256"] == now["sha256"])
        since = {name: now[name] for name in set(now) - set(then)}
        return set(then) <= set(now) and all(_equal(then[name], now[name]) for name in then) and _default(now, since)
    if isinstance(then, list) and isinstance(now, list):
        return len(then) == len(now) and all(map(_equal, then, now))
    return bool(then == now)


def _default(described_as: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    """Whether some parameters of a component are its class's defaults."""
    if not given:
        return True
    if "class" not in described_as:
        return False
    module, _, name = str(described_as["class"]).rpartition(".")
    defaults = {one.name: one.default for one in fields(resolve_name(f"{module}:{name}"))}
    return all(one in defaults and described.parameters(defaults[one]) == value for one, value in given.items())
