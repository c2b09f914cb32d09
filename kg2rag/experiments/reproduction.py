"""Ledgers and data sets -> ours, theirs, difference and verdict per published number and run.

The tolerance of a published mean and its verdict are defined in `NOTE`; a subset is taken to be
drawn at random, our deviation for theirs, whose scores are not known. Verdicts are of two kinds
that are never counted together: against what somebody else published, and against our own run of
released code, where no chance is left. Runs over the same data share one knowledge base. What
cannot be run here is blank, never zero.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import groupby
from pathlib import Path

import pandas as pd
from rich.console import Group

from kg2rag.compute import SentenceEncoder
from kg2rag.compute.endpoint import allowed_hosts
from kg2rag.compute.parallel import progress_bar
from kg2rag.datasets import load
from kg2rag.evaluation import evaluate
from kg2rag.evaluation.runs import announce_work, run
from kg2rag.experiments.ledger import Ledger, Ours, Published, Sample
from kg2rag.knowledge import KnowledgeBase
from kg2rag.report import text_table
from kg2rag.report.markup import pipe_table
from kg2rag.retrievers.systems import build
from kg2rag.types import Corpus, QADataset

SIZE = "passages"
"""The metric that counts hits."""
PUBLISHED, RELEASED = ("ok", "close", "off"), ("same", "differs")
COLUMNS = tuple(
    "ledger against baseline published source set metric theirs ours difference sd questions "
    "tolerance verdict system primary why command".split()
)
TEXTS = ("baseline", "source", "system", "why", "command")
"""Columns of texts, which may be empty."""
SHOWN = tuple(
    "ledger published set metric theirs ours difference tolerance verdict system why".split()
)
NUMBERS = (
    "theirs",
    "ours",
    "difference",
    "tolerance",
    "numbers",
    "their gain",
    "our gain",
    "effect ratio",
    "tau",
)
SIGNED = ("difference", "their gain", "our gain")
NOTE = (
    "Tolerance: 1.96 standard errors of the difference of the means, plus half a unit of the last "
    "printed digit. The standard error is s · sqrt((N - n) / (N · n)) if our n questions are a "
    "subset of their N, otherwise s · sqrt(1/n + 1/N); s is our standard deviation between "
    "questions. ok: within the tolerance; close: within twice the tolerance; off: beyond. Released "
    "code: same if the printed digits are equal."
)


def half_unit(value: float, decimals: int) -> float:
    """Half a unit of the last printed digit.

    A file has 53.2 where 53.20 was printed, so `decimals` is the least number of decimals.
    """
    exponent = Decimal(repr(value)).normalize().as_tuple().exponent
    return 0.5 * 10.0 ** -max(decimals, -int(exponent))


def tolerance(
    sd: float, ours: int, theirs: int, sample: Sample, rounding: float
) -> float:
    """The difference of means that chance and rounding explain, see `NOTE`.

    `rounding` is half a unit of the last digit.

    ValueError : one question, which has no standard deviation; a subset of more questions than
    there are.
    """
    if ours < 2:
        raise ValueError(
            f"{ours} questions have no standard deviation, and so no tolerance: two or more are needed."
        )
    if sample == "subset" and ours > theirs:
        raise ValueError(
            f"{ours} questions cannot be a subset of the {theirs} that were published."
        )
    return (
        1.96 * sd * math.sqrt(1 / ours + (1 if sample == "other" else -1) / theirs)
        + rounding
    )


def verdict(difference: float, allowed: float, words: Sequence[str] = PUBLISHED) -> str:
    """The first word for an allowed difference, the second up to twice as much, then the third."""
    # Rounding makes a difference of 0.4 equal to a tolerance of 0.4 in binary fractions.
    excess = math.ceil(round(abs(difference) / allowed, 9))
    return words[min(max(excess, 1), len(words)) - 1]


@dataclass(frozen=True, eq=False, repr=False)
class Reproduction:
    """One row per published number and run of ours, columns `COLUMNS`.

    `verdict` is one of `PUBLISHED` or `RELEASED`, or "sensitivity" (a run beside the one that is
    judged), "not comparable" or "not run" (`why` says why). `sd` : of our score between our
    `questions`.
    """

    frame: pd.DataFrame

    @classmethod
    def load(cls, path: Path | str) -> Reproduction:
        """Read a file that `kg2rag reproduce --out FILE.csv` wrote."""
        frame = pd.read_csv(path, dtype={"questions": "Int64"})
        return cls(frame.assign(**frame[list(TEXTS)].astype(object).fillna("")))

    def of(self, *verdicts: str) -> pd.DataFrame:
        """The rows with one of some verdicts."""
        return self.frame[self.frame["verdict"].isin(verdicts)]

    def summary(self) -> dict[str, dict[str, int]]:
        """Kind of verdict -> verdict -> number of rows."""
        unjudged = ("sensitivity", "not comparable", "not run")
        kinds = {"published": PUBLISHED, "released": RELEASED, "no verdict": unjudged}
        counts = {}
        for kind, names in kinds.items():
            counts[kind] = {name: len(self.of(name)) for name in names}
        return counts

    def gains(self) -> pd.DataFrame:
        """Improvements over each paper's baseline, theirs and ours, of the runs that are `primary`.

        The effect ratio is our improvement as a multiple of theirs, blank if one of the two runs is
        not comparable, as `why` says; tau is Kendall's tau-b between the two orders of the
        comparable systems, blank below three (both: Breuer et al., SIGIR 2020).
        """
        keys = ["ledger", "set", "metric"]
        runs = self.frame[self.frame["primary"] & self.frame["ours"].notna()]
        is_comparable = runs["verdict"] != "not comparable"
        tau_of = {
            key: _rank_correlation(part)
            for key, part in runs[is_comparable].groupby(keys)
        }
        reasons = runs["published"] + " is not comparable: " + runs["why"]
        runs = runs.assign(why=reasons.mask(is_comparable, ""))
        baselines = runs[runs["published"] == runs["baseline"]]
        pairs = runs.merge(baselines, on=keys, suffixes=("", " of baseline"))
        pairs = pairs[pairs["published"] != pairs["published of baseline"]]
        theirs = pairs["theirs"] - pairs["theirs of baseline"]
        ours = pairs["ours"] - pairs["ours of baseline"]
        why = pairs["why"].where(pairs["why"] != "", pairs["why of baseline"])
        why = why.mask(theirs == 0, "their gain is 0")
        gains = pairs[keys].assign(system=pairs["published"])
        gains["their gain"] = theirs
        gains["our gain"] = ours
        gains["effect ratio"] = (ours / theirs).where(why == "")
        rows = pairs[keys].itertuples(index=False, name=None)
        gains["tau"] = [tau_of.get(key, math.nan) for key in rows]
        return gains.assign(why=why).reset_index(drop=True)

    def needs(self) -> pd.DataFrame:
        """The rows that were not run, by their first requirement, the most frequent first."""
        first = self.frame["why"].str.removeprefix("needs ").str.partition(";")[0]
        rows = []
        for need, part in self.of("not run").groupby(first, sort=False):
            rows.append((need, len(part), ", ".join(dict.fromkeys(part["ledger"]))))
        rows.sort(key=lambda row: -row[1])
        return pd.DataFrame(rows, columns=["needs", "numbers", "ledgers"])

    def sections(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Title and texts of each table that is not empty."""
        counts = {}
        for kind, n_rows in self.summary().items():
            counts[kind] = ", ".join(f"{name} {n}" for name, n in n_rows.items())
        published = self.of(*PUBLISHED)[list(SHOWN)]
        released = self.of(*RELEASED)[list(SHOWN)]
        unjudged = self.of("sensitivity", "not comparable")[list(SHOWN)].drop(
            columns="tolerance"
        )
        tables = (
            (f"Against published numbers ({counts['published']})", published, 1),
            (f"Our runs of released code ({counts['released']})", released, 2),
            ("Without a verdict", unjudged, 1),
            (f"Not run ({len(self.of('not run'))})", self.needs(), 1),
            ("Gains over the baseline, and the order of the systems", self.gains(), 1),
        )
        for title, table, decimals in tables:
            if len(table):
                yield (
                    title,
                    pd.DataFrame(
                        {name: texts(table[name], decimals) for name in table}
                    ),
                )

    def to_markdown(self) -> str:
        """The tables of `sections`, each under its title."""
        lines: list[str] = []
        for title, table in self.sections():
            rows = pipe_table(list(table.columns), table.to_numpy().tolist(), NUMBERS)
            lines += [f"## {title}", "", *rows, ""]
        return "\n".join([*lines, NOTE, ""])

    def __rich__(self) -> Group:
        left = {*COLUMNS, "needs", "ledgers"} - set(NUMBERS)
        tables = []
        for title, part in self.sections():
            tables.append(
                text_table(title, part.columns, part.to_numpy().tolist(), left)
            )
        return Group(*tables, NOTE)


def _rank_correlation(rows: pd.DataFrame) -> float:
    """Kendall's tau-b between their order of the systems and ours; NaN for fewer than three."""
    from scipy.stats import kendalltau

    if len(rows) < 3:
        return math.nan
    return float(kendalltau(rows["theirs"], rows["ours"]).statistic)


def texts(column: pd.Series, decimals: int) -> list[str]:
    """A column's texts: points with `decimals`, a tolerance with one more, ratios with two.

    A missing value is blank, but for an effect ratio a dash, whose reason stands beside it.
    """
    if not pd.api.types.is_float_dtype(column):
        return [str(value) for value in column]
    name = str(column.name)
    digits = {"tolerance": decimals + 1, "effect ratio": 2, "tau": 2}.get(
        name, decimals
    )
    missing = {"effect ratio": "–"}.get(name, "")
    sign = "+" if name in SIGNED else ""
    return [
        missing if math.isnan(value) else f"{value:{sign}z.{digits}f}"
        for value in column
    ]


def reproduce(
    ledgers: Sequence[Ledger],
    data: Path | str,
    *,
    only: str = "",
    hosts: Collection[str] = (),
    progress: bool = True,
) -> Reproduction:
    """Run what can be run of some ledgers.

    data : the folder below which the runs' folders lie.
    only : rows whose "ledger/system/set" contains this, whatever the case; by default all.
    hosts : the hosts of endpoints that the ledgers may name; passages and questions would be sent
    to them.

    ValueError: no row fits `only`, or a run that the catalogue or a data set refuses.
    """
    root = Path(data)
    published = _rows_to_run(ledgers, only)
    runs: list[Ours] = []
    for _, row, name in published:
        runs += [ours for ours in row.runs(name) if (root / ours.folder).is_dir()]
    with allowed_hosts(hosts):
        scores = _scores(runs, root, progress=progress)
    rows: list[dict[str, object]] = []
    for ledger, row, name in published:
        rows += _rows(ledger, row, name, scores)
    frame = pd.DataFrame(rows, columns=list(COLUMNS)).astype({"questions": "Int64"})
    texts_of_rows = frame[list(TEXTS)].astype(object).fillna("")
    return Reproduction(
        frame.assign(primary=frame["primary"].eq(True), **texts_of_rows)
    )


def _rows_to_run(
    ledgers: Sequence[Ledger], only: str
) -> list[tuple[Ledger, Published, str]]:
    """The pairs of published row and set whose "ledger/system/set" contains `only`."""
    selected = []
    known = set()
    for ledger in ledgers:
        for row in ledger.published:
            place = f"{ledger.name}/{row.system}"
            known.add(place)
            for name in row.values:
                if only.lower() in f"{place}/{name}".lower():
                    selected.append((ledger, row, name))
    if not selected:
        raise ValueError(
            f"No row of the ledgers contains {only!r}. There are: {', '.join(sorted(known))}."
        )
    return selected


def _rows(
    ledger: Ledger, row: Published, name: str, scores: Mapping[str, pd.DataFrame]
) -> Iterator[dict[str, object]]:
    """The lines of a published row on one set: one per metric and run.

    A metric without a run has one line.
    """
    runs = row.runs(name)
    only = f"{ledger.name}/{row.system}/{name}"
    command = (
        f'kg2rag reproduce eval/ledger/{ledger.name}.toml --only "{only}" --data DATA'
    )
    about = {
        "ledger": ledger.name,
        "against": ledger.against,
        "baseline": ledger.baseline,
    }
    about |= {
        "published": row.system,
        "source": row.source,
        "set": ledger.sets[name].name,
    }
    for metric, theirs in row.values[name].items():
        line = {**about, "metric": metric, "theirs": theirs}
        measuring = [ours for ours in runs if metric in ours.metrics]
        if not measuring:
            needed = [ledger.needs.get(metric, ""), "" if runs else row.needs]
            yield {
                **line,
                "verdict": "not run",
                "why": f"needs {'; '.join(filter(None, needed))}",
            }
        for ours in measuring:
            ran = {
                **line,
                "system": ours.name,
                "primary": ours.primary,
                "command": command,
            }
            run_scores = scores.get(_key(ours))
            if run_scores is None:
                yield {
                    **ran,
                    "verdict": "not run",
                    "why": f"needs the folder {ours.folder}",
                }
            else:
                yield {**ran, **_compared(ledger, ours, metric, theirs, run_scores)}


def _compared(
    ledger: Ledger, ours: Ours, metric: str, theirs: float, scores: pd.DataFrame
) -> dict[str, object]:
    """Our number, its difference and the verdict, with what the verdict rests on."""
    per_question = scores[ours.metrics[metric]]
    if ours.metrics[metric] != SIZE:
        per_question = per_question * ledger.scale
    value = float(per_question.mean())
    sd = float(per_question.std())
    n = len(per_question)
    line = {
        "ours": value,
        "difference": value - theirs,
        "sd": sd,
        "questions": n,
        "why": ours.note,
    }
    if not ours.primary:
        return {**line, "verdict": "sensitivity"}
    if not ours.comparable:
        return {**line, "verdict": "not comparable"}
    published = ledger.sets[ours.set].questions
    allowed = half_unit(theirs, ledger.decimals)
    if ledger.against == "released":
        if published not in (None, n):
            raise ValueError(
                f"{ledger.name}: {ours.name!r} ran {n} questions, the released code {published}."
            )
        return {
            **line,
            "tolerance": allowed,
            "verdict": verdict(value - theirs, allowed, RELEASED),
        }
    assert published is not None and ours.sample is not None  # noqa: PT018 (the ledger has checked both)
    allowed = tolerance(sd, n, published, ours.sample, allowed)
    return {**line, "tolerance": allowed, "verdict": verdict(value - theirs, allowed)}


def _scores(
    runs: Sequence[Ours], root: Path, *, progress: bool
) -> dict[str, pd.DataFrame]:
    """Key of each distinct run -> its scores, one row per question and one column per metric."""
    scores_of: dict[str, pd.DataFrame] = {}
    with progress_bar(len(runs), "reproducing", "run", shown=progress) as bar:
        for _, group in groupby(sorted(runs, key=_base), key=_base):
            runs_of_base = list(group)
            data, kb = _open(runs_of_base[0], root)
            systems = [
                build(ours.system, kb, **ours.parameters) for ours in runs_of_base
            ]
            announce_work(systems, data, max(ours.k for ours in runs_of_base))
            for ours, system in zip(runs_of_base, systems, strict=True):
                if _key(ours) not in scores_of:
                    rankings = run(
                        system, data, ours.k, name=ours.name, progress=False
                    ).rankings
                    metrics = sorted(set(ours.metrics.values()) - {SIZE})
                    scores = evaluate(rankings, data, metrics, name=ours.name)
                    scores[SIZE] = [len(ranking) for ranking in rankings]
                    scores_of[_key(ours)] = scores
                bar.update()
    return scores_of


def _open(ours: Ours, root: Path) -> tuple[QADataset, KnowledgeBase]:
    """The questions and the knowledge base of a run."""
    folder = root / ours.folder
    data = load(ours.data, path=folder, setting=ours.setting, passages=ours.passages)
    if not ours.titles:
        untitled = [replace(passage, title="") for passage in data.corpus]
        data = replace(data, corpus=Corpus.from_passages(untitled))
    kind, bracket, file = ours.graph.removesuffix(")").partition("(")
    graph = f"{kind}({json.dumps(str(folder / file))})" if bracket else kind
    return data, KnowledgeBase.build(
        data.corpus, graph, embedder=SentenceEncoder(dtype=ours.dtype)
    )


def _base(ours: Ours) -> str:
    """The key of a run's knowledge base."""
    names = ("data", "folder", "setting", "passages", "titles", "graph", "dtype")
    return repr([getattr(ours, name) for name in names])


def _key(ours: Ours) -> str:
    """The key of a run's numbers."""
    parameters = sorted(ours.parameters.items())
    metrics = sorted(ours.metrics.items())
    return repr((_base(ours), ours.system, parameters, ours.k, metrics))
