"""A system that draws random numbers -> the same system under several seeds, for a mean with an error bar."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, TypeVar

T = TypeVar("T")


def replicates(system: T, seeds: int | Iterable[int]) -> list[T]:
    """The system under seeds 0 … n-1, or under those given, ready for `compare({"name": replicates(…)}, …)`.

    Raises
    ------
    TypeError : the system is no dataclass with a field `seed`.
    ValueError : fewer than two seeds, or one given twice.
    """
    chosen = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    names = [field.name for field in dataclasses.fields(system)] if dataclasses.is_dataclass(system) else []
    if "seed" not in names:
        raise TypeError(
            f"{system!r} has no field 'seed', so seeds change nothing in it. Pass a list of systems that differ by "
            "what is random in them."
        )
    if len(set(chosen)) < max(2, len(chosen)):
        raise ValueError(f"Several seeds need at least two, each once, not {chosen}.")
    replaceable: Any = system
    return [dataclasses.replace(replaceable, seed=seed) for seed in chosen]
