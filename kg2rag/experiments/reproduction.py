"""Ledgers and data sets -> published and own number, difference and verdict, per run and metric.

`NOTE` defines the tolerance of a published mean and the verdicts. It assumes that a subset is drawn
at random, and that the published scores, which are not known, have the standard deviation of ours.
Verdicts against published numbers and against runs of released code, which leave nothing to chance,
are counted separately. Runs over the same data share one knowledge base. A number that cannot be
measured here is blank, never zero.
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
from kg2rag.experiments.ledger import Ledger, OurRun, Published, Sample
from kg2rag.knowledge import KnowledgeBase
from kg2rag.report import text_table
from kg2rag.report.markup import pipe_table
from kg2rag.retrievers.contract import Retriever
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
    """Half a unit of the last printed digit of a value.

    decimals : the least number of decimals, since a TOML file may have 53.2 for a printed 53.20.
    """
    exponent = Decimal(repr(value)).normalize().as_tuple().exponent
    return 0.5 * 10.0 ** -max(decimals, -int(exponent))


def tolerance(
    sd: float, ours: int, theirs: int, sample: Sample, rounding: float
) -> float:
    """The difference of means that chance and rounding explain, see `NOTE`.

    sd : standard deviation of our scores between questions.
    ours, theirs : our and their number of questions.
    rounding : half a unit of the last printed digit.

    ValueError: there is one question, which has no standard deviation, or the subset is larger than
    the whole.
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
    """The verdict on a difference: word n for one of up to n times `allowed`, else the last."""
    # A difference of 0.4 and a tolerance of 0.4 may differ in their last binary digits.
    ratio = math.ceil(round(abs(difference) / allowed, 9))
    return words[min(max(ratio, 1), len(words)) - 1]


@dataclass(frozen=True, eq=False, repr=False)
class Reproduction:
    """One row per published number and run, with the columns `COLUMNS`.

    `verdict` is one of `PUBLISHED` or `RELEASED`, or "sensitivity" (a run that is not primary),
    "not comparable" or "not run", with the reason in `why`. `sd` is the standard deviation of our
    scores between `questions` questions.
    """

    frame: pd.DataFrame

    @classmethod
    def load(cls, path: Path | str) -> Reproduction:
        """The reproduction in a file of `kg2rag reproduce --out FILE.csv`."""
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
        """One row per improvement over a paper's baseline, theirs and ours, by primary runs.

        The effect ratio is our improvement as a multiple of theirs; it is blank if one of the two
        runs is not comparable, with the reason in `why`. tau is Kendall's tau-b between the two
        orders of the comparable systems, blank below three (both: Breuer et al., SIGIR 2020).
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
        """The numbers that were not measured, by their first requirement, the most frequent first.

        Columns needs, numbers (how many) and ledgers.
        """
        first = self.frame["why"].str.removeprefix("needs ").str.partition(";")[0]
        rows = []
        for need, part in self.of("not run").groupby(first, sort=False):
            rows.append((need, len(part), ", ".join(dict.fromkeys(part["ledger"]))))
        rows.sort(key=lambda row: -row[1])
        return pd.DataFrame(rows, columns=["needs", "numbers", "ledgers"])

    def sections(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """The title and the texts of each table of the report that is not empty."""
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
        """The tables of `sections` as Markdown, each under its title, and `NOTE`."""
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
    """Kendall's tau-b between their scores of systems and ours; NaN for fewer than three systems."""
    from scipy.stats import kendalltau

    if len(rows) < 3:
        return math.nan
    return float(kendalltau(rows["theirs"], rows["ours"]).statistic)


def texts(column: pd.Series, decimals: int) -> list[str]:
    """The texts of a column: points with `decimals`, a tolerance with one more, ratios with two.

    A missing value is blank; a missing effect ratio, whose reason is in the same row, is a dash.
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
    """Run the runs of ledgers whose data are there, and compare them with the published numbers.

    data : the folder with the folders of the runs.
    only : selects rows whose "ledger/system/set" contains this text, in any case; "" for all.
    hosts : the hosts of endpoints that the ledgers may name; passages and questions are sent to
    them.

    ValueError: `only` selects no row, or the catalogue or a data set refuses a run.
    """
    root = Path(data)
    published = _rows_to_run(ledgers, only)
    runs: list[OurRun] = []
    for _, row, name in published:
        runs += [our for our in row.runs_on(name) if (root / our.folder).is_dir()]
    with allowed_hosts(hosts):
        scores = _scores(runs, root, progress=progress)
    rows: list[dict[str, object]] = []
    for ledger, row, name in published:
        rows += _rows_of_published(ledger, row, name, scores)
    frame = pd.DataFrame(rows, columns=list(COLUMNS)).astype({"questions": "Int64"})
    texts_of_rows = frame[list(TEXTS)].astype(object).fillna("")
    return Reproduction(
        frame.assign(primary=frame["primary"].eq(True), **texts_of_rows)
    )


def _rows_to_run(
    ledgers: Sequence[Ledger], only: str
) -> list[tuple[Ledger, Published, str]]:
    """The (ledger, row, set) whose "ledger/system/set" contains `only`; ValueError: there is none."""
    selected = []
    known = set()
    for ledger in ledgers:
        for row in ledger.published:
            label = f"{ledger.name}/{row.system}"
            known.add(label)
            for name in row.values:
                if only.lower() in f"{label}/{name}".lower():
                    selected.append((ledger, row, name))
    if not selected:
        raise ValueError(
            f"No row of the ledgers contains {only!r}. There are: {', '.join(sorted(known))}."
        )
    return selected


def _rows_of_published(
    ledger: Ledger, row: Published, name: str, scores: Mapping[str, pd.DataFrame]
) -> Iterator[dict[str, object]]:
    """The rows of `Reproduction` for a published row on one set, one per metric and run.

    A metric without a run has one row.
    """
    runs = row.runs_on(name)
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
        measuring = [run for run in runs if metric in run.metrics]
        if not measuring:
            needed = [ledger.needs.get(metric, ""), "" if runs else row.needs]
            yield {
                **line,
                "verdict": "not run",
                "why": f"needs {'; '.join(filter(None, needed))}",
            }
        for our_run in measuring:
            run_line = {
                **line,
                "system": our_run.name,
                "primary": our_run.primary,
                "command": command,
            }
            run_scores = scores.get(_key(our_run))
            if run_scores is None:
                why = f"needs the folder {our_run.folder}"
                yield {**run_line, "verdict": "not run", "why": why}
            else:
                result = _compare(ledger, our_run, metric, theirs, run_scores)
                yield {**run_line, **result}


def _compare(
    ledger: Ledger, our_run: OurRun, metric: str, theirs: float, scores: pd.DataFrame
) -> dict[str, object]:
    """The columns of a run on one metric: ours, difference, sd, questions, tolerance, verdict, why.

    scores : one row per question, one column per metric.
    """
    per_question = scores[our_run.metrics[metric]]
    if our_run.metrics[metric] != SIZE:
        per_question = per_question * ledger.scale
    value = float(per_question.mean())
    sd = float(per_question.std())
    n = len(per_question)
    line = {
        "ours": value,
        "difference": value - theirs,
        "sd": sd,
        "questions": n,
        "why": our_run.note,
    }
    if not our_run.primary:
        return {**line, "verdict": "sensitivity"}
    if not our_run.comparable:
        return {**line, "verdict": "not comparable"}
    published = ledger.sets[our_run.set].questions
    allowed = half_unit(theirs, ledger.decimals)
    if ledger.against == "released":
        if published not in (None, n):
            raise ValueError(
                f"{ledger.name}: {our_run.name!r} ran {n} questions, the released code {published}."
            )
        return {
            **line,
            "tolerance": allowed,
            "verdict": verdict(value - theirs, allowed, RELEASED),
        }
    assert published is not None and our_run.sample is not None  # noqa: PT018 (the ledger has checked both)
    allowed = tolerance(sd, n, published, our_run.sample, allowed)
    return {**line, "tolerance": allowed, "verdict": verdict(value - theirs, allowed)}


def _scores(
    runs: Sequence[OurRun], root: Path, *, progress: bool
) -> dict[str, pd.DataFrame]:
    """Key of each distinct run -> its scores, one row per question and one column per metric."""
    scores_of: dict[str, pd.DataFrame] = {}
    with progress_bar(len(runs), "reproducing", "run", shown=progress) as bar:
        for _, group in groupby(sorted(runs, key=_base), key=_base):
            runs_of_base = list(group)
            data, kb = _open_inputs(runs_of_base[0], root)
            systems = [
                build(our_run.system, kb, **our_run.parameters)
                for our_run in runs_of_base
            ]
            announce_work(systems, data, max(our_run.k for our_run in runs_of_base))
            for our_run, system in zip(runs_of_base, systems, strict=True):
                if _key(our_run) not in scores_of:
                    scores_of[_key(our_run)] = _scores_of_run(our_run, system, data)
                bar.update()
    return scores_of


def _scores_of_run(our_run: OurRun, system: Retriever, data: QADataset) -> pd.DataFrame:
    """The scores of a run, one row per question, and its numbers of hits."""
    name = our_run.name
    rankings = run(system, data, our_run.k, name=name, progress=False).rankings
    metrics = sorted(set(our_run.metrics.values()) - {SIZE})
    scores = evaluate(rankings, data, metrics, name=name)
    return scores.assign(**{SIZE: [len(ranking) for ranking in rankings]})


def _open_inputs(our_run: OurRun, root: Path) -> tuple[QADataset, KnowledgeBase]:
    """The data set and the knowledge base of a run."""
    folder = root / our_run.folder
    data = load(
        our_run.data, path=folder, setting=our_run.setting, passages=our_run.passages
    )
    if not our_run.titles:
        untitled = [replace(passage, title="") for passage in data.corpus]
        data = replace(data, corpus=Corpus.from_passages(untitled))
    kind, bracket, file = our_run.graph.removesuffix(")").partition("(")
    graph = f"{kind}({json.dumps(str(folder / file))})" if bracket else kind
    encoder = SentenceEncoder(dtype=our_run.dtype)
    return data, KnowledgeBase.build(data.corpus, graph, embedder=encoder)


def _base(our_run: OurRun) -> str:
    """The key of a run's knowledge base."""
    names = ("data", "folder", "setting", "passages", "titles", "graph", "dtype")
    return repr([getattr(our_run, name) for name in names])


def _key(our_run: OurRun) -> str:
    """The key of a run's scores."""
    parameters = sorted(our_run.parameters.items())
    metrics = sorted(our_run.metrics.items())
    return repr((_base(our_run), our_run.system, parameters, our_run.k, metrics))
