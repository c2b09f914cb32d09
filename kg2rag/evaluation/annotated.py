"""The configuration of a comparison -> the header of a run file, as ir_metadata asks for it.

Breuer, Keller & Schaer, "ir_metadata: An Extensible Metadata Schema for IR Experiments", SIGIR 2022: the PRIMAD
components (platform, research goal, implementation, method, actor, data) as YAML between two marks. What is not known
is left out; who ran it is for its author to add.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SCHEMA = "0.1"


def header(config: Mapping[str, Any], system: str) -> str:
    """The lines before the hits of one system's run, without comment signs."""
    import yaml

    added = (one for one in config.get("added", ()) if system in one["systems"])
    config = {**config, **next(added, {}), "systems": config["systems"]}
    about = {
        "schema_version": SCHEMA,
        "tag": system,
        "platform": _platform(config),
        "implementation": _implementation(config),
        "method": _method(config, system),
        "resources": {"runtime": {"ms per query": config["ms_per_query"].get(system)}},
        "data": _data(config),
    }
    text: str = yaml.safe_dump(about, sort_keys=False, allow_unicode=True, width=10_000)
    return f"ir_metadata.start\n{text}ir_metadata.end"


def _platform(config: Mapping[str, Any]) -> dict[str, Any]:
    versions = config.get("versions", {})
    return {
        "hardware": {"cpu": config.get("processor"), "threads": config.get("threads"), "blas": config.get("blas")},
        "operating system": {"kernel": config.get("platform")},
        "software": {
            "python": config.get("python"),
            "libraries": [f"{name} {one}" for name, one in versions.items() if one],
        },
    }


def _implementation(config: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "executable": {"cmd": config.get("command")},
        "source": {"lang": "python", "package": "kg2rag", "commit": config.get("commit")},
    }


def _method(config: Mapping[str, Any], system: str) -> dict[str, Any]:
    knowledge = [one for one in config.get("knowledge", []) if system in one["systems"]]
    return {
        "automatic": True,
        "score ties": "by corpus position; printed scores fall strictly",
        "retrieval": [{"name": system, "configuration": config["systems"][system]}],
        "parameters": config.get("parameters", {}).get(system),
        "knowledge": [{name: value for name, value in one.items() if name != "systems"} for one in knowledge],
        "tuned": config.get("tuning", {}).get(system, []),
        "seed": config.get("seed"),
        "fingerprint": config.get("fingerprint"),
    }


def _data(config: Mapping[str, Any]) -> dict[str, Any]:
    data = config["data"]
    kept = {name: value for name, value in data.items() if name not in ("name", "source")}
    return {"test collection": {"name": data["name"], "source": data.get("source"), **kept}}
