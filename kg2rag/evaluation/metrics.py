"""Metrics, named or functions, and rankings with gold -> one score per query.

`recall@5` reads five hits, `recall@500tokens` as many whole hits, best first, as fit in 500 tokens,
`recall` all. ranx computes every named metric (see `ranx_scores`). Added here: checks of names and
depths, three definitions that ranx lacks (`all_recall@k`, 1 if every gold passage is in the top k;
`last_hop@k`, PhaseGraph's [1], 1 if the last passage of the chain is; HotpotQA's supporting
sentences), token budgets, and functions of the user.

[1] arXiv 2603.28886.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
import pandas as pd

from kg2rag.evaluation.gold import (
    check_rankings,
    judged_hits,
    note_on_error,
    supporting_sentences,
)
from kg2rag.evaluation.passage_tokens import PassageTokens
from kg2rag.evaluation.ranx_scores import score
from kg2rag.report.score_sheet import UNBOUNDED
from kg2rag.text.registry import Registry, nearest
from kg2rag.types import FloatArray, GoldUnit, QADataset, Ranking, called

MetricFunction = Callable[[Ranking, Mapping[str, int]], float]
"""(ranking, gold id -> grade) -> score; both have ids of passages, or both of documents."""
Metrics = Sequence[str | MetricFunction] | Mapping[str, str | MetricFunction]
"""Names and functions, a function under its `__name__`; or column name -> name or function."""

DEFAULT_METRICS = (
    "recall@2",
    "recall@5",
    "recall@10",
    "recall@500tokens",
    "all_recall@5",
    "mrr@10",
)
CUT = tuple(
    "all_recall dcg dcg_burges f1 hit_rate hits last_hop map mrr ndcg ndcg_burges precision "
    "recall".split()
)
"""Metrics with a depth, `@k`, or a budget, `@Ntokens`; without one they read the whole ranking."""
WHOLE = ("r-precision",)
"""Metrics whose definition has a depth; ranx ignores any other, so `@k` is an error."""
SUPPORT = ("support_f1", "support_precision", "support_recall")
"""HotpotQA's supporting-sentence metrics, with or without `@k`, where k counts passages."""
ANSWER_METRICS = ("answer_em", "answer_f1", "answer_in_context")
"""Columns of a comparison with a reader, see `reader_answers`; all lie in [0, 1]."""
FUNCTIONS: Registry[MetricFunction] = Registry(
    "metric",
    {
        # "name": "package.module:function"
    },
    group="kg2rag.metrics",
)
"""Functions of metrics that ranx lacks."""
_COLUMN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.@+-]*")
_RESERVED = (
    "query_id",
    "system",
    "type",
    "hops",
    "gold",
    "question",
    "ms_per_query",
    *ANSWER_METRICS,
)
"""Columns of result tables, which no metric may be called."""
_RANK_BIASED_PRECISION = re.compile(r"rbp\.\d{1,2}")
_BASE_AND_DEPTH = re.compile(r"([a-z0-9_-]+)(?:@([1-9]\d*)(tokens)?)?")


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric and its column name.

    It reads `k` hits, or whole hits of `tokens` tokens, or all hits if both are None.
    """

    name: str
    base: str
    k: int | None = None
    tokens: int | None = None
    function: MetricFunction | None = None

    @property
    def formula(self) -> str:
        """The metric that ranx computes on cut rankings and judged units."""
        if self.base in SUPPORT:
            return self.base.removeprefix("support_")
        base = self.base
        if base in ("all_recall", "last_hop"):
            base = "recall"
        return base if self.k is None else f"{base}@{self.k}"

    @classmethod
    def parse(cls, name: str) -> Metric:
        """The metric of that name. ValueError: unknown name; the message lists the known ones."""
        if (
            _RANK_BIASED_PRECISION.fullmatch(name)
            and float(name.removeprefix("rbp")) > 0
        ):
            return cls(name, name)
        match = _BASE_AND_DEPTH.fullmatch(name)
        if match is None or match[1] not in (*CUT, *WHOLE, *SUPPORT):
            if name in FUNCTIONS.names():
                return cls(name, name, function=FUNCTIONS.entry(name))
            raise ValueError(_unknown_metric(name))
        base, depth, tokens = match.groups()
        if depth is None:
            return cls(name, base)
        if base in WHOLE:
            raise ValueError(
                f"Metric {name!r}: {base} defines its depth and takes no '@k'. Write {base!r}."
            )
        if tokens:
            return cls(name, base, tokens=int(depth))
        return cls(name, base, k=int(depth))


def _unknown_metric(name: str) -> str:
    """The message for an unknown metric, with the known ones and the nearest."""
    base = name.partition("@")[0]
    near = nearest(base, (*CUT, *WHOLE, *SUPPORT))
    suggestion = (
        "" if near is None else f" Did you mean {name.replace(base, near, 1)!r}?"
    )
    return f"Unknown metric {name!r}. Known: {known_metrics()}; k and N count from 1.{suggestion}"


def bounds(name: str) -> tuple[float, float] | None:
    """The range of a metric by its column name; None if it is unbounded or unknown."""
    if name in ANSWER_METRICS:
        return (0.0, 1.0)
    try:
        metric = Metric.parse(name)
    except ValueError:
        return None
    return None if metric.function or metric.base in UNBOUNDED else (0.0, 1.0)


def known_metrics() -> str:
    """The names of all metrics, for messages and help texts."""
    cut = ", ".join(f"{base}[@k]" for base in sorted(CUT + SUPPORT))
    whole_lists = ", ".join((*WHOLE, *FUNCTIONS.names()))
    return f"{cut}, each also @Ntokens (as recall@500tokens), {whole_lists}, rbp.NN (persistence 0.NN)"


def parse_metrics(metrics: Metrics, k: int | None = None) -> list[Metric]:
    """The metrics of a user's list or mapping, in their order.

    Raises
    ------
    ValueError : there is no metric, a name is repeated or unknown, a function has no name that can
        head a column, or a metric reads deeper than `k`.
    TypeError : `metrics` is no list or mapping of names and functions.
    """
    if isinstance(metrics, Mapping):
        named = list(metrics.items())
    elif isinstance(metrics, Sequence) and not isinstance(metrics, str):
        named = [(_name_of(metric), metric) for metric in metrics]
    else:
        raise TypeError(
            f"metrics must be a list of names and functions, or a mapping, not {called(metrics)}."
        )
    if not named:
        raise ValueError(f"No metric given. Known: {known_metrics()}.")
    parsed = [_named_metric(name, metric) for name, metric in named]
    _check_metrics(parsed, k)
    return parsed


def _check_metrics(parsed: Sequence[Metric], k: int | None) -> None:
    """Raise ValueError if two metrics have one name, or one reads deeper than `k`."""
    names = [metric.name for metric in parsed]
    for metric in parsed:
        if names.count(metric.name) > 1:
            raise ValueError(f"Metric {metric.name!r} is given twice in {names}.")
        if k is not None and metric.k is not None and metric.k > k:
            raise ValueError(
                f"Metric {metric.name!r} reads {metric.k} hits, but k is {k}. Ask for k={metric.k} or more."
            )


def _name_of(metric: str | MetricFunction) -> str:
    """The column of a metric in a list: its name, or the name of its function."""
    if isinstance(metric, str):
        return metric
    name = getattr(metric, "__name__", "<lambda>")
    if callable(metric) and name == "<lambda>":
        raise ValueError(
            f"The metric {metric!r} has no name. Pass metrics={{'its_name': function}}."
        )
    return str(name)


def _named_metric(name: str, metric: str | MetricFunction) -> Metric:
    """The metric of a column; ValueError: the name of the column is not allowed, or another metric's."""
    if isinstance(metric, str) and metric == name:
        return Metric.parse(metric)
    if not isinstance(metric, str) and not callable(metric):
        raise TypeError(
            f"A metric is a name or a function (ranking, gold) -> float, not {called(metric)}."
        )
    if (
        not isinstance(name, str)
        or not _COLUMN_NAME.fullmatch(name)
        or name in _RESERVED
    ):
        raise ValueError(
            f"Metric name {name!r} cannot head a column. Use a letter, then letters, digits and '_.@+-', and none of: "
            f"{', '.join(_RESERVED)}."
        )
    if _is_known(name):
        raise ValueError(
            f"Metric name {name!r} is that of another metric. Choose another name for yours."
        )
    if isinstance(metric, str):
        return replace(Metric.parse(metric), name=name)
    return Metric(name, name, function=metric)


def _is_known(name: str) -> bool:
    """Whether a metric has this name."""
    try:
        Metric.parse(name)
    except ValueError:
        return False
    return True


def evaluate(
    rankings: Sequence[Ranking],
    data: QADataset,
    metrics: Metrics,
    *,
    unit: GoldUnit | None = None,
    name: str = "",
    tokens: PassageTokens | None = None,
) -> pd.DataFrame:
    """The score of every query, one column per metric, in the order of the questions.

    Parameters
    ----------
    rankings : one per question, in the order of the questions; an empty ranking has score 0 in
        every named metric.
    metrics : names and functions `(ranking, gold) -> float`.
    unit : unit of judgement. "document" lifts passages to documents, each at the rank of its best
        passage; the default is the unit of the gold. Supporting sentences always count over passages.
    name : name of the system, for messages.
    tokens : token counts for metrics `@Ntokens`; the default is the tokenizer of the default encoder.

    Returns a frame of float64 with index `query_id`.

    Raises ValueError: a question without ranking, a hit that the corpus lacks, an unknown metric, a
    unit that the data cannot judge.
    """
    parsed = parse_metrics(metrics)
    check_rankings(rankings, data, name=name)
    return checked_scores(rankings, data, parsed, unit=unit or data.unit, tokens=tokens)


def checked_scores(
    rankings: Sequence[Ranking],
    data: QADataset,
    metrics: Sequence[Metric],
    *,
    unit: GoldUnit,
    tokens: PassageTokens | None = None,
) -> pd.DataFrame:
    """`evaluate` of rankings that have passed `check_rankings`."""
    columns: dict[str, FloatArray] = {}
    for budget in dict.fromkeys(metric.tokens for metric in metrics):
        cut_rankings = rankings
        if budget is not None:
            tokens = tokens or PassageTokens(data.corpus)
            cut_rankings = tokens.cut(rankings, budget)
        budget_metrics = [metric for metric in metrics if metric.tokens == budget]
        columns |= _scores_of_budget(cut_rankings, data, budget_metrics, unit)
    index = pd.Index(
        [question.id for question in data.questions], name="query_id", dtype=object
    )
    return pd.DataFrame(
        {metric.name: columns[metric.name] for metric in metrics}, index=index
    )


def _scores_of_budget(
    rankings: Sequence[Ranking],
    data: QADataset,
    metrics: Sequence[Metric],
    unit: GoldUnit,
) -> dict[str, FloatArray]:
    """Column -> scores (n_queries,) of rankings that are already cut to the token budget."""
    judged, gold = judged_hits(rankings, data, unit)
    hits = [ranking.rows.tolist() for ranking in judged]
    # Supporting sentences, the last hop and functions of the user have other inputs.
    formulas = dict.fromkeys(
        metric.formula
        for metric in metrics
        if metric.function is None and metric.base not in (*SUPPORT, "last_hop")
    )
    scores = score(gold.by_number, hits, formulas)
    columns = {}
    for metric in metrics:
        if metric.function is not None:
            columns[metric.name] = function_scores(metric, judged, gold.by_id)
        elif metric.base in SUPPORT:
            gold_sentences, sentences = supporting_sentences(rankings, data, metric.k)
            by_formula = score(gold_sentences, sentences, [metric.formula])
            columns[metric.name] = by_formula[metric.formula]
        elif metric.base == "last_hop":
            by_formula = score(last_hops(data, unit), hits, [metric.formula])
            columns[metric.name] = by_formula[metric.formula]
        elif metric.base == "all_recall":
            columns[metric.name] = (scores[metric.formula] == 1).astype(float)
        else:
            columns[metric.name] = scores[metric.formula]
    return columns


def last_hops(data: QADataset, unit: GoldUnit) -> list[dict[int, int]]:
    """For each question, the row of the last passage of its chain -> grade 1.

    ValueError: a question has no chain, or documents are judged.
    """
    problem = ""
    unchained = [question.id for question in data.questions if not question.chain]
    if unit != "passage":
        problem = "documents are judged"
    elif unchained:
        problem = f"question {unchained[0]!r} has no chain of gold"
    if problem:
        raise ValueError(
            f"{data.name}: last_hop needs the gold passages in the order of the hops, but {problem}."
        )
    return [{data.corpus.row(question.chain[-1]): 1} for question in data.questions]


def function_scores(
    metric: Metric, rankings: Sequence[Ranking], gold: Sequence[Mapping[str, int]]
) -> FloatArray:
    """The results of a metric's function for each ranking, (n_queries,), empty ones included.

    TypeError: the function returned no number; ValueError: it returned NaN or infinity.
    """
    assert metric.function is not None
    scores = np.empty(len(rankings))
    for i, (ranking, grades) in enumerate(zip(rankings, gold, strict=True)):
        where = f"Metric {metric.name!r}, query {ranking.query_id!r}"
        with note_on_error(f"{where} failed."):
            # The function gets a copy, which it may change.
            value: object = metric.function(ranking, dict(grades))
        if not isinstance(value, Real | np.bool_):
            raise TypeError(
                f"{where}: a metric returns a number, not {value!r} ({type(value).__name__})."
            )
        if not math.isfinite(value):
            raise ValueError(
                f"{where}: the score is {value!r}. Return a finite number; 0 if nothing was found."
            )
        scores[i] = float(value)
    return scores
