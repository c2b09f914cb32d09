"""The options that several commands share, and what becomes of them: a data set, systems, their parameters."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from kg2rag.types.questions import QADataset


class Setting(StrEnum):
    """Where a question searches."""

    pooled = "pooled"
    distractor = "distractor"


class Passages(StrEnum):
    """What a passage is."""

    paragraph = "paragraph"
    sentence = "sentence"


Dataset = Annotated[str, typer.Argument(help="Name of the set; `kg2rag datasets list` names them.")]
DataPath = Annotated[Path | None, typer.Option("--path", help="File or folder of the set; the hub's copy otherwise.")]
Split = Annotated[str | None, typer.Option(help="Split of the set; its default otherwise.")]
SettingOption = Annotated[Setting | None, typer.Option("--setting", help="Search all passages, or each its own.")]
PassagesOption = Annotated[Passages | None, typer.Option("--passages", help="What a passage is.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Draw so many questions; the corpus stays whole.")]
Seed = Annotated[int, typer.Option(help="Of the draw, the bootstrap and the randomisation test.")]
GRAPHS = (
    "mentions, cooccurrence (no LLM); openie:, subkgs:, triples:, graphml:FILE; graph:, lightrag:, msgraphrag:FOLDER; "
    "dependency[:MODEL]; joined by + for their union."
)
Graph = Annotated[str, typer.Option(help=GRAPHS)]
Revision = Annotated[str | None, typer.Option(help="Revision of the hub's copy.")]


def load_data(
    dataset: str,
    path: Path | None,
    split: str | None,
    setting: Setting | None,
    passages: Passages | None,
    limit: int | None,
    seed: int,
    revision: str | None,
) -> QADataset:
    """The set that the options name."""
    from kg2rag.datasets import load

    return load(
        dataset,
        path=path,
        split=split,
        setting=setting.value if setting else None,
        passages=passages.value if passages else None,
        limit=limit,
        seed=seed,
        revision=revision,
    )


def wanted(systems: str) -> Sequence[str] | None:
    """Names of systems: "core", None for "all", or those listed."""
    from kg2rag.retrievers.systems import CORE

    if systems in ("core", "all"):
        return CORE if systems == "core" else None
    return [name.strip() for name in systems.split(",") if name.strip()]


def parse_settings(given: list[str]) -> dict[str, dict[str, object]]:
    """["bm25.k1=1.2"] -> {"bm25": {"k1": 1.2}}; values are JSON where they can be read as such, text otherwise."""
    settings: dict[str, dict[str, object]] = {}
    for setting in given:
        target, equals, value = setting.partition("=")
        system, dot, parameter = target.partition(".")
        if not (equals and dot and system and parameter):
            raise ValueError(f"--set {setting!r}: write system.parameter=value, such as bm25.k1=1.2.")
        try:
            settings.setdefault(system, {})[parameter] = json.loads(value)
        except json.JSONDecodeError:
            settings.setdefault(system, {})[parameter] = value
    return settings
