"""A comparison, run under other instruction sets of this processor -> how far its numbers, rankings and stars move.

Libraries add up in another order with other vector instructions, so that a text's vector differs in its last bits. What
this does to a table is measured here, as far as one processor can stand for others: each run builds everything anew in
a store of its own, under environment variables by which oneDNN, MKL, torch and FAISS hold back instructions.
"""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from kg2rag.compute import processor
from kg2rag.evaluation import Comparison
from kg2rag.experiments.reproduction.verification import run_compare
from kg2rag.report import stars

FIRST = 10  # passages whose order is compared
AS_IT_IS = "as it is"
_AVX2 = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
_OLDEST = {"ONEDNN_MAX_CPU_ISA": "SSE41", "ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}

Settings = Mapping[str, Mapping[str, str]]


def offered() -> Settings:
    """The settings that this processor can run, by name; the first changes nothing."""
    newer = {"no more than AVX2": _AVX2} if "avx512f" in processor().split() else {}
    return {
        AS_IT_IS: {},
        **newer,
        "oneDNN: no more than AVX": {"ONEDNN_MAX_CPU_ISA": "AVX"},
        "oneDNN: no more than SSE 4.1": {"ONEDNN_MAX_CPU_ISA": "SSE41"},
        "MKL: what every processor has": {"MKL_CBWR": "COMPATIBLE"},
        "torch: no vector instructions": {"ATEN_CPU_CAPABILITY": "default"},
        "all of these, and FAISS": {**_OLDEST, "FAISS_OPT_LEVEL": "generic"},
    }


@dataclass(frozen=True)
class Across:
    """How far each setting moves a comparison from the first one.

    Attributes
    ----------
    frame : one row a setting but the first: `largest` change of a mean score, in points, with its `system` and
        `metric`; per cent of a system's `questions` with another score in any metric, and of its `rankings` whose first
        ten differ; `stars` that changed, of all rows of the table.
    """

    frame: pd.DataFrame

    @property
    def largest(self) -> float:
        """The largest change of a mean score, in points."""
        return float(self.frame["largest"].max())

    @property
    def stars(self) -> int:
        """The most stars that a setting changed."""
        return int(self.frame["stars"].max())


def across(arguments: Sequence[str], settings: Settings | None = None, *, keep: Path | None = None) -> Across:
    """Run `kg2rag compare ARGUMENTS` once for each setting, and compare the others with the first.

    Parameters
    ----------
    settings : name -> environment variables, two or more; `offered` where not given.
    keep : where the comparisons and their stores are kept. One that is there already is opened, not run again, so that
        what was interrupted goes on. ValueError: it is of another command.

    Raises
    ------
    RuntimeError : a run failed; the message is its own.
    """
    chosen = offered() if settings is None else settings
    if len(chosen) < 2:
        raise ValueError(f"{len(chosen)} settings: two or more are needed, the first to compare the others with.")
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary) if keep is None else keep
        found = {name: _comparison(arguments, place / _slug(name), chosen[name]) for name in chosen}
    first, *others = found
    return Across(pd.DataFrame([{"setting": name, **moved(found[name], found[first])} for name in others]))


def _comparison(arguments: Sequence[str], folder: Path, variables: Mapping[str, str]) -> Comparison:
    """A comparison under one setting, as it is kept or made now, with its store beside it."""
    command = [*arguments, "--out", str(folder)]
    if not (folder / "config.json").is_file():
        run_compare(command, {**variables, "KG2RAG_STORE": f"{folder}.store"})
    kept = Comparison.load(folder)
    if kept.config["command"] != (wanted := f"kg2rag compare {shlex.join(command)}"):
        raise ValueError(f"{folder} was made by {kept.config['command']!r}, not by {wanted!r}. Name another folder.")
    return kept


def _slug(name: str) -> str:
    return re.sub(r"\W+", "-", name.lower())


def moved(other: Comparison, first: Comparison) -> dict[str, object]:
    """How far a comparison is from another one of the same systems and questions: the columns of `Across.frame`."""
    scores, before = (each.scores.set_index(["system", "metric"]) for each in (other, first))
    change = 100 * (scores["mean"] - before["mean"]).abs()
    system, metric = change.index[int(change.to_numpy().argmax())]
    metrics = first.metrics
    alike = (other.per_query[metrics] - first.per_query[metrics]).abs().max(axis=1) == 0
    rankings = [
        one.top(FIRST).passage_ids == two.top(FIRST).passage_ids
        for system in first.rankings
        for one, two in zip(other.rankings[system], first.rankings[system], strict=True)
    ]
    changed = [stars(one) != stars(two) for one, two in zip(scores["p_holm"], before["p_holm"], strict=True)]
    return {
        "largest": float(change.max()),
        "system": system,
        "metric": metric,
        "questions": 100 * float((~alike).mean()),
        "rankings": 100 * (1 - sum(rankings) / len(rankings)),
        "stars": sum(changed),
    }
