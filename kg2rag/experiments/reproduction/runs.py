"""Ledgers + a folder of data sets -> ours, theirs, difference and verdict, a row a published number and run.

Runs over the same data share one knowledge base. What cannot be run here is listed with what it needs: a number that
is missing is blank, never zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kg2rag.compute import SentenceEncoder
from kg2rag.compute.progress import bar as progress_bar
from kg2rag.datasets import load
from kg2rag.experiments.reproduction import verdicts
from kg2rag.experiments.reproduction.ledger import Ledger, Ours, Published
from kg2rag.experiments.reproduction.tables import COLUMNS, TEXTS, Reproduction
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.systems import build
from kg2rag.types import Corpus, QADataset

SIZE = "passages"
"""The metric that counts hits."""


@dataclass(frozen=True)
class Measured:
    """A metric over the questions of a run: its mean, the standard deviation between questions, and their number."""

    mean: float
    sd: float
    questions: int


Found = Mapping[str, Mapping[str, Measured]]
"""Run -> our metric -> what was measured."""


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
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    questions = frame["questions"].astype("Int64")
    return Reproduction(
        frame.assign(primary=frame["primary"].eq(True), questions=questions, **frame[list(TEXTS)].fillna(""))
    )


def row_name(ledger: Ledger, row: Published, name: str) -> str:
    """The name of the row of one set, in `only` and in the commands."""
    return f"{ledger.name}/{row.system}/{name}"


def runs_of(row: Published, name: str) -> list[Ours]:
    """Our runs beside a published row on one set; `metrics` of each says for every metric measured what it is here."""
    return [
        ours.model_copy(update={"metrics": ours.metrics or {metric: metric for metric in row.values[name]}})
        for ours in row.ours
        if ours.set == name
    ]


def _rows(ledger: Ledger, row: Published, name: str, found: Found) -> list[dict[str, object]]:
    """The lines of a published row on one set: one a metric and run, or one a metric that nothing measures."""
    runs = runs_of(row, name)
    command = f'kg2rag reproduce eval/ledger/{ledger.name}.toml --only "{row_name(ledger, row, name)}" --data DATA'
    lines: list[dict[str, object]] = []
    for metric, theirs in row.values[name].items():
        about = {
            "ledger": ledger.name,
            "against": ledger.against,
            "baseline": ledger.baseline,
            "published": row.system,
            "source": row.source,
            "set": ledger.sets[name].name,
            "metric": metric,
            "theirs": theirs,
        }
        measuring = [ours for ours in runs if metric in ours.metrics]
        if not measuring:
            needed = [ledger.needs.get(metric, ""), "" if runs else row.needs]
            lines.append(about | {"verdict": "not run", "why": f"needs {'; '.join(filter(None, needed))}"})
        for ours in measuring:
            one = found.get(_key(ours), {}).get(ours.metrics[metric])
            ran = {"system": ours.name, "primary": ours.primary, "command": command}
            if one is None:
                lines.append(about | ran | {"verdict": "not run", "why": f"needs the folder {ours.folder}"})
            else:
                lines.append(about | ran | _compared(ledger, ours, metric, theirs, one))
    return lines


def _compared(ledger: Ledger, ours: Ours, metric: str, theirs: float, one: Measured) -> dict[str, object]:
    """Our number, its difference and the verdict, with what the verdict rests on."""
    scale = 1.0 if ours.metrics[metric] == SIZE else ledger.scale
    value, sd = one.mean * scale, one.sd * scale
    line = {"ours": value, "difference": value - theirs, "sd": sd, "questions": one.questions, "why": ours.note}
    published = ledger.sets[ours.set].questions
    rounding = verdicts.half_unit(theirs, ledger.decimals)
    if not ours.primary:
        return line | {"verdict": "sensitivity"}
    if not ours.comparable:
        return line | {"verdict": "not comparable"}
    if ledger.against == "released":
        if published not in (None, one.questions):
            raise ValueError(
                f"{ledger.name}: {ours.name!r} ran {one.questions} questions, the released code {published}."
            )
        return line | {"tolerance": rounding, "verdict": verdicts.sameness(value - theirs, rounding)}
    if published is None or ours.sample is None:
        raise ValueError(f"{ledger.name}: {ours.name!r} is judged without the numbers of questions, or without sample.")
    allowed = verdicts.tolerance(sd, one.questions, published, ours.sample, rounding)
    return line | {"tolerance": allowed, "verdict": verdicts.verdict(value - theirs, allowed)}


def _run_all(runs: Sequence[Ours], root: Path, *, progress: bool) -> Found:
    """What every distinct run measures."""
    found: dict[str, dict[str, Measured]] = {}
    shared: dict[tuple[object, ...], list[Ours]] = {}
    for ours in runs:
        shared.setdefault(_base(ours), []).append(ours)
    with progress_bar(len(runs), "reproducing", "run", shown=progress) as bar:
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


def _measure(ours: Ours, data: QADataset, kb: KnowledgeBase) -> dict[str, Measured]:
    from kg2rag.evaluation import evaluate

    system = build(ours.system, kb, **ours.parameters)
    rankings = system.retrieve_batch(data.queries, ours.k)
    wanted = sorted(set(ours.metrics.values()) - {SIZE})
    scores = evaluate(rankings, data, wanted, name=ours.system)
    scores[SIZE] = [len(ranking) for ranking in rankings]
    return {
        str(metric): Measured(float(column.mean()), float(column.std()), len(column))
        for metric, column in scores.items()
    }


def _base(ours: Ours) -> tuple[object, ...]:
    """What runs must share to share a knowledge base."""
    return (ours.data, ours.folder, ours.split, ours.setting, ours.passages, ours.titles, ours.graph, ours.dtype)


def _key(ours: Ours) -> str:
    """What a run's numbers depend on."""
    return repr((_base(ours), ours.system, sorted(ours.parameters.items()), ours.k, sorted(ours.metrics.items())))
