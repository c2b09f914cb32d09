"""Ledgers + a folder of data sets -> ours, theirs, difference and verdict, a row a published number.

Runs over the same data share one knowledge base. What cannot be run here is listed with what it needs: a number that
is missing is blank, never zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kg2rag.compute import SentenceEncoder
from kg2rag.datasets import load
from kg2rag.experiments.reproduction.ledger import Ledger, Ours, Published
from kg2rag.knowledge import KnowledgeBase
from kg2rag.report.markup import pipe_table
from kg2rag.retrievers.systems import build
from kg2rag.types import Corpus, QADataset

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

SHOWN = ("published", "set", "metric", "theirs", "ours", "difference", "tolerance", "verdict", "system", "why")
COLUMNS = ("ledger", *SHOWN, "command")
NUMBERS = ("theirs", "ours", "difference", "tolerance")
STYLES = {"ok": "green", "close": "yellow", "off": "bold red", "not comparable": "dim", "not run": "dim"}
SIZE = "passages"
"""The metric that counts hits."""


@dataclass(frozen=True, eq=False)
class Reproduction:
    """One row a published number and run of ours, columns `COLUMNS`; see `verdict`."""

    frame: pd.DataFrame

    def summary(self) -> dict[str, int]:
        """Verdict -> rows."""
        return {str(verdict): int(count) for verdict, count in self.frame["verdict"].value_counts().items()}

    def to_markdown(self) -> str:
        """The table without the commands: one a ledger, under its name."""
        lines = []
        for name, part in self.frame.groupby("ledger", sort=False):
            lines += [f"### {name}", "", *pipe_table(SHOWN, (_texts(row) for _, row in part.iterrows()), NUMBERS), ""]
        return "\n".join(lines)

    def __rich__(self) -> Table:
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for name in SHOWN:
            table.add_column(name, justify="right" if name in NUMBERS else "left", overflow="fold")
        for _, row in self.frame.iterrows():
            table.add_row(*_texts(row), style=STYLES[str(row["verdict"])])
        return table

    def __repr__(self) -> str:
        return f"Reproduction of {len(self.frame)} published numbers: {self.summary()}"

    def _repr_html_(self) -> str:
        html: str = self.frame.to_html(index=False, na_rep="", float_format="{:.1f}".format, escape=True)
        return html


def reproduce(ledgers: Sequence[Ledger], data: Path | str, *, only: str = "", progress: bool = True) -> Reproduction:
    """Run what can be run of some ledgers.

    Parameters
    ----------
    data : the folder below which the runs' folders lie.
    only : rows whose "ledger/system/set" contains this, whatever the case; all where empty.
    progress : a bar on stderr, where that is a terminal.

    Raises
    ------
    ValueError : no row fits `only`, or a run that the catalogue or a data set refuses.
    """
    import pandas as pd

    root = Path(data)
    wanted = [
        (ledger, row, name)
        for ledger in ledgers
        for row in ledger.published
        for name in row.values
        if only.lower() in row_name(ledger, row, name).lower()
    ]
    if not wanted:
        known = ", ".join(sorted({f"{ledger.name}/{row.system}" for ledger in ledgers for row in ledger.published}))
        raise ValueError(f"No row of the ledgers contains {only!r}. There are: {known}.")
    runs = [ours for _, row, name in wanted for ours in runs_of(row, name) if (root / ours.folder).is_dir()]
    found = _run_all(runs, root, progress=progress)
    rows = [line for ledger, row, name in wanted for line in _rows(ledger, row, name, found)]
    return Reproduction(pd.DataFrame(rows, columns=list(COLUMNS)))


def row_name(ledger: Ledger, row: Published, name: str) -> str:
    """The name of the row of one set, in `only` and in the commands."""
    return f"{ledger.name}/{row.system}/{name}"


def runs_of(row: Published, name: str) -> list[Ours]:
    """Our runs beside a published row on one set; a metric that `metrics` does not rename has the same name here."""
    return [
        ours.model_copy(update={"metrics": {metric: ours.metrics.get(metric, metric) for metric in row.values[name]}})
        for ours in row.ours
        if ours.set == name
    ]


def verdict(difference: float, ours: Ours) -> str:
    """Return "ok" within the tolerance, "close" within twice that, "off" beyond; "not comparable" where noted so."""
    if not ours.comparable:
        return "not comparable"
    # A difference of 3.4 is no more than a tolerance of 3.4, whatever binary fractions make of them.
    excess = round(abs(difference) / ours.tolerance, 9)
    return "ok" if excess <= 1 else "close" if excess <= 2 else "off"


def _rows(ledger: Ledger, row: Published, name: str, found: Mapping[str, dict[str, float]]) -> list[tuple[object, ...]]:
    runs = runs_of(row, name)
    command = f'kg2rag reproduce eval/ledger/{ledger.name}.toml --only "{row_name(ledger, row, name)}" --data DATA'
    lines: list[tuple[object, ...]] = []
    for metric, theirs in row.values[name].items():
        about = (ledger.name, row.system, ledger.sets[name].name, metric, theirs)
        if not runs:
            lines.append((*about, np.nan, np.nan, np.nan, "not run", "", f"needs {row.needs}", ""))
        for ours in runs:
            label = ours.label or ours.system
            if _key(ours) not in found:
                why = f"needs the folder {ours.folder}"
                lines.append((*about, np.nan, np.nan, ours.tolerance, "not run", label, why, command))
                continue
            measured = ours.metrics[metric]
            value = found[_key(ours)][measured] * (1 if measured == SIZE else ledger.scale)
            difference = value - theirs
            judged = verdict(difference, ours)
            lines.append((*about, value, difference, ours.tolerance, judged, label, ours.note, command))
    return lines


def _run_all(runs: Sequence[Ours], root: Path, *, progress: bool) -> dict[str, dict[str, float]]:
    """Run -> our metric -> its mean, for every distinct run."""
    from tqdm.auto import tqdm

    found: dict[str, dict[str, float]] = {}
    shared: dict[tuple[object, ...], list[Ours]] = {}
    for ours in runs:
        shared.setdefault(_base(ours), []).append(ours)
    with tqdm(total=len(runs), desc="reproducing", unit="run", disable=None if progress else True, leave=False) as bar:
        for group in shared.values():
            data, kb = _open(group[0], root)
            for ours in group:
                if _key(ours) not in found:
                    found[_key(ours)] = _measure(ours, data, kb)
                bar.update()
    return found


def _open(ours: Ours, root: Path) -> tuple[QADataset, KnowledgeBase]:
    """The questions and the knowledge base of a run."""
    folder = root / ours.folder
    data = load(ours.data, path=folder, split=ours.split, setting=ours.setting, passages=ours.passages)
    if not ours.titles:
        data = replace(data, corpus=Corpus.from_passages([replace(passage, title="") for passage in data.corpus]))
    kind, colon, file = ours.graph.partition(":")
    graph = f"{kind}:{folder / file}" if colon else kind
    return data, KnowledgeBase.build(data.corpus, graph, embedder=SentenceEncoder(dtype=ours.dtype))


def _measure(ours: Ours, data: QADataset, kb: KnowledgeBase) -> dict[str, float]:
    from kg2rag.evaluation import evaluate

    system = build(ours.system, kb, **ours.parameters)
    rankings = system.retrieve_batch(data.queries, ours.k)
    wanted = sorted(set(ours.metrics.values()) - {SIZE})
    scores = evaluate(rankings, data, wanted, name=ours.system)
    size = float(np.mean([len(ranking) for ranking in rankings]))
    return {SIZE: size, **{metric: float(scores[metric].mean()) for metric in wanted}}


def _base(ours: Ours) -> tuple[object, ...]:
    """What runs must share to share a knowledge base."""
    return (ours.data, ours.folder, ours.split, ours.setting, ours.passages, ours.titles, ours.graph, ours.dtype)


def _key(ours: Ours) -> str:
    """What a run's numbers depend on."""
    return repr((_base(ours), ours.system, sorted(ours.parameters.items()), ours.k, sorted(ours.metrics.items())))


def _texts(row: pd.Series) -> list[str]:
    """A row's texts; a number that is missing is blank."""
    texts = []
    for name in SHOWN:
        sign = "+" if name == "difference" else ""
        texts.append(
            str(row[name]) if name not in NUMBERS else "" if row[name] != row[name] else f"{row[name]:{sign}.1f}"
        )
    return texts
