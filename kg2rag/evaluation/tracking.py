"""A comparison, or a configuration of a sweep -> flat names and numbers, for a tracker of experiments.

Trackers take one level of names: MLflow letters, digits, `_-. /` alone, the slash making groups; Weights & Biases any
text. `recall@5` of `bm25` becomes `bm25/recall_at_5`. No tracker is imported here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

LONGEST = 500
"""Characters of a parameter's value, the least that a common tracker keeps; what is longer ends in `…`."""
BESIDE = {"ci_low": "low", "ci_high": "high", "p_holm": "p_holm"}
"""Column of `Comparison.scores` -> what is put behind the name of the metric."""
OF_DATA = ("name", "setting", "unit", "questions", "passages", "corpus_fingerprint", "questions_sha256")
OF_RUN = ("baseline", "k", "seed", "family", "clustered", "fingerprint")
_SIGNS = {"@": "_at_", "+": "_plus_", "%": "_percent", "=": "-", "*": "_star"}
_OTHER = re.compile(r"[^A-Za-z0-9_\-. /]+")


def key(*parts: str) -> str:
    """The parts of a name, joined by slashes, in the signs that every tracker takes.

    >>> key("dense+bm25", "recall@5")
    'dense_plus_bm25/recall_at_5'
    """
    named = ["".join(_SIGNS.get(sign, sign) for sign in part.replace("/", "-")) for part in parts]
    return "/".join(_OTHER.sub("_", part).strip(" ") for part in named)


def flat(values: Iterable[tuple[tuple[str, ...], Any]]) -> dict[str, Any]:
    """Parts of a name and a value -> name and value; ValueError where two names become one."""
    found: dict[str, Any] = {}
    first: dict[str, tuple[str, ...]] = {}
    for parts, value in values:
        name = key(*parts)
        if name in first:
            raise ValueError(
                f"{' of '.join(reversed(first[name]))} and {' of '.join(reversed(parts))} would both be called "
                f"{name!r}. Rename a system or a metric."
            )
        first[name], found[name] = parts, value
    return found


def numbers(values: Iterable[tuple[tuple[str, ...], Any]]) -> dict[str, float]:
    """The same of numbers, those that are blank left out."""
    named = flat((parts, math.nan if pd.isna(value) else float(value)) for parts, value in values)
    return {name: value for name, value in named.items() if not math.isnan(value)}


def metrics_of(scores: pd.DataFrame, costs: pd.DataFrame) -> dict[str, float]:
    """`system/metric` -> mean, with `_low`, `_high` and `_p_holm` beside it, and each cost under its own name.

    Parameters
    ----------
    scores : as `Comparison.scores`.
    costs : one row a system, one column a cost.
    """
    rows = scores.to_dict("records")
    means = [((row["system"], row["metric"]), row["mean"]) for row in rows]
    beside = [
        ((row["system"], f"{row['metric']}_{ending}"), row[column])
        for row in rows
        for column, ending in BESIDE.items()
        if column in row
    ]
    spent = [((str(name), str(cost)), value) for cost in costs for name, value in costs[cost].items()]
    return numbers([*means, *beside, *spent])


def parameters_of(config: Mapping[str, Any]) -> dict[str, str]:
    """What a comparison was run with, as texts: its data, its own options, versions, and each system's `repr`."""
    data: Mapping[str, Any] = config.get("data", {})
    source: Mapping[str, Any] = data.get("source", {})
    about: list[tuple[tuple[str, ...], Any]] = [(("data", name), data[name]) for name in OF_DATA if name in data]
    about += [
        (("data", name), source[name]) for name in ("loader", "split", "revision") if source.get(name) is not None
    ]
    about += [((name,), config[name]) for name in OF_RUN if name in config]
    about += [(("system", name), written) for name, written in config.get("systems", {}).items()]
    about += [(("version", name), number) for name, number in config.get("versions", {}).items() if name == "kg2rag"]
    return flat((parts, shortened(value)) for parts, value in about)


def shortened(value: object) -> str:
    """A value as text, of at most `LONGEST` characters."""
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
