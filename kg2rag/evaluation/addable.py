"""A saved comparison, and what is to be added to it -> an error that names the difference where it is another's.

What is added is judged beside what stands: on the same questions and passages, over the same graph and encoder in the
same number format, with the same options. The machine and the code may be others; the configuration says which.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kg2rag.evaluation import described
from kg2rag.types import QADataset

_DEVICE = re.compile(r",? ?device='[^']*'")
_FORMAT = re.compile(r",? ?(?:dtype|device)='[^']*'")
_PARTS: Mapping[str, Callable[[Mapping[str, Any]], object]] = {
    "corpus": lambda kb: kb["corpus"],
    "graph": lambda kb: f"{kb['graph']['fingerprint']}{', shuffled' if kb['shuffled'] else ''}",
    "encoder": lambda kb: _DEVICE.sub("", str(kb["encoder"]["encoder"])),
}
"""What a knowledge base is, wherever its files lie and whatever computes its vectors."""


def require_options(where: str, config: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """ValueError: an option that is given, and not None, is not that of the comparison; `where` names its file."""
    for name, value in given.items():
        then = config["data"]["unit"] if name == "unit" else config.get(name)
        if value is not None and value != then:
            raise ValueError(f"{name} is {value!r}; {where} has {then!r}. Leave it out: what is added is judged alike.")


def require_questions(where: str, config: Mapping[str, Any], data: QADataset) -> None:
    """ValueError: other questions, gold, passages or setting than those of the comparison."""
    then = config["data"]
    now = {**described.data(data), "unit": then["unit"]}
    for name in ("questions_sha256", "corpus_fingerprint", "setting"):
        if now[name] != then.get(name):
            raise ValueError(
                f"{name} of {data.name!r} is {now[name]} ({len(data)} questions, {len(data.corpus)} passages); "
                f"{where} has {then.get(name)} ({then['questions']} questions, {then['passages']} passages). Add to a "
                "comparison on the same data, or make a new one."
            )


def require_new(where: str, config: Mapping[str, Any], names: Iterable[str]) -> None:
    """ValueError: a name that is taken, or differs only in case from one that is, which names the same file."""
    taken = {name.lower(): name for name in config["systems"]}
    for name in names:
        if name.lower() in taken:
            raise ValueError(
                f"{where} has a system {taken[name.lower()]!r} already. Give the new one another name, or make a new "
                "comparison."
            )


def require_single_seeds(where: str, config: Mapping[str, Any]) -> None:
    """ValueError: a system of the comparison ran under several seeds; only the first one's run was saved."""
    if config.get("seeds"):
        raise ValueError(
            f"{where}: {', '.join(config['seeds'])} ran under several seeds, and only the first one's run is kept, so "
            "the curves cannot be made anew. Compare all systems again."
        )


def require_knowledge(where: str, config: Mapping[str, Any], systems: Mapping[str, object]) -> None:
    """ValueError: a system reads another corpus, graph or encoder than those of the comparison.

    Where no system of the comparison read any knowledge base, there is none to differ from.
    """
    then = [_parts(kb) for kb in config["knowledge"]]
    for kb in described.knowledge(systems, {}, encoder=False) if then else []:
        now = _parts(kb)
        if now in then:
            continue
        nearest = max(then, key=lambda one: sum(one[name] == now[name] for name in now))
        differing = [f"{name} {now[name]} (there: {nearest[name]})" for name in now if nearest[name] != now[name]]
        raise ValueError(
            f"{', '.join(kb['systems'])} read what no system of {where} reads: {'; '.join(differing)}. Build them over "
            "what the others search, or make a new comparison."
        )


def require_vectors(where: str, config: Mapping[str, Any], knowledge: Iterable[Mapping[str, Any]]) -> None:
    """ValueError: the vectors that were used have another fingerprint: other weights, or another number format."""
    then = {str(_parts(kb)): kb["encoder"] for kb in config["knowledge"]}
    for kb in knowledge:
        now, before = kb["encoder"], then.get(str(_parts(kb)), {})
        if {"fingerprint"} <= set(now) & set(before) and now["fingerprint"] != before["fingerprint"]:
            said = [f"{one['fingerprint']} ({one.get('dtype', 'unknown format')})" for one in (now, before)]
            raise ValueError(
                f"{', '.join(kb['systems'])} read vectors {said[0]}; {where} has {said[1]}. Nothing was added. "
                "KG2RAG_DTYPE or --dtype sets the format."
            )


def same_counter(then: str, now: str) -> bool:
    """Whether two counters of tokens, by their `repr`, count alike: an encoder's number format changes no token."""
    return _FORMAT.sub("", then) == _FORMAT.sub("", now)


def _parts(kb: Mapping[str, Any]) -> dict[str, object]:
    return {name: part(kb) for name, part in _PARTS.items()}
