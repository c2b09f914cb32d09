"""Metrics as they are requested, names and functions -> what each computes, how much it reads; and a function's scores.

`recall@5` reads five hits, `recall@500tokens` as many whole hits, best first, as fit in 500 tokens, `recall` all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kg2rag.text.registry import Registry, nearest
from kg2rag.types import Ranking, called

MetricFunction = Callable[[Ranking, Mapping[str, int]], float]
"""(ranking, gold id -> grade) -> score; the ids of both name what is judged, passages or documents."""
Metrics = Sequence[str | MetricFunction] | Mapping[str, str | MetricFunction]
"""Names and functions, a function under its `__name__`; or column name -> name or function."""

DEFAULT_METRICS = ("recall@2", "recall@5", "recall@10", "recall@500tokens", "all_recall@5", "mrr@10")
CUT = tuple("all_recall dcg dcg_burges f1 hit_rate hits map mrr ndcg ndcg_burges precision recall".split())
"""Metrics that take a depth, `@k`, or a budget, `@Ntokens`; without one they read the whole ranking."""
WHOLE = ("r-precision",)
"""Metrics that choose their depth themselves: ranx ignores a given one, so none is accepted."""
UNBOUNDED = ("dcg", "dcg_burges", "hits")
"""Metrics that may exceed 1."""
SUPPORT = ("support_f1", "support_precision", "support_recall")
"""HotpotQA's supporting-sentence metrics, with or without `@k`, where k counts passages."""
FUNCTIONS: Registry[MetricFunction] = Registry("metric", {}, group="kg2rag.metrics")
"""Functions of metrics that ranx lacks, "name": "package.module:function"."""
_COLUMN = re.compile(r"[A-Za-z][A-Za-z0-9_.@+-]*")
_RESERVED = "query_id system type hops gold cluster question ms_per_query".split()  # columns of result tables


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric under its column name: its base, and what it reads: `k` hits, `tokens` tokens, or (both None) all."""

    name: str
    base: str
    k: int | None = None
    tokens: int | None = None
    function: MetricFunction | None = None

    @property
    def formula(self) -> str:
        """Ranx's name of it, without what is cut or lifted before ranx."""
        if self.base in SUPPORT:
            return self.base.removeprefix("support_")
        return self.base.removeprefix("all_") + ("" if self.k is None else f"@{self.k}")

    @classmethod
    def parse(cls, name: str) -> Metric:
        """The metric of that name; ValueError lists the known ones."""
        if re.fullmatch(r"rbp\.\d{1,2}", name) and float(name[3:]) > 0:
            return cls(name, name)
        match = re.fullmatch(r"([a-z0-9_-]+)(?:@([1-9]\d*)(tokens)?)?", name)
        base, depth, tokens = match.groups() if match else (name, None, None)
        if base in WHOLE and depth:
            raise ValueError(f"Metric {name!r}: {base} chooses its depth itself and takes no '@k'. Write {base!r}.")
        if match is None or base not in (*CUT, *WHOLE, *SUPPORT):
            if name in FUNCTIONS.names():
                return cls(name, name, function=FUNCTIONS[name])
            raise ValueError(f"Unknown metric {name!r}. Known: {known_metrics()}; k and N count from 1.{_close(name)}")
        number = int(depth) if depth else None
        return cls(name, base, None, number) if tokens else cls(name, base, number)


def bounds(name: str) -> tuple[float, float] | None:
    """The range of a metric by its column name; None where it has none or it is not known, as of a function's."""
    try:
        metric = Metric.parse(name)
    except ValueError:
        return None
    return None if metric.function or metric.base in UNBOUNDED else (0.0, 1.0)


def known_metrics() -> str:
    """The names of all metrics, for messages and help texts."""
    cut = ", ".join(f"{base}[@k]" for base in sorted(CUT + SUPPORT))
    others = ", ".join((*WHOLE, *FUNCTIONS.names()))
    return f"{cut}, each also @Ntokens (as recall@500tokens), {others}, rbp.NN (persistence 0.NN)"


def parse_metrics(metrics: Metrics, k: int | None = None) -> list[Metric]:
    """The metrics requested, in their order.

    Raises
    ------
    ValueError : no metric, a name given twice or unknown, a function without a name that can head a column, a depth
        beyond the `k` hits of a ranking.
    TypeError : something that is neither a name nor a function.
    """
    if isinstance(metrics, str):
        raise ValueError(f"metrics must be a list of names, not the one string {metrics!r}. Write [{metrics!r}].")
    if not isinstance(metrics, Mapping | Sequence):
        raise TypeError(f"metrics must be a list of names and functions, or a mapping, not {called(metrics)}.")
    parsed = list(_parsed(metrics))
    if not parsed:
        raise ValueError(f"No metric given. Known: {known_metrics()}.")
    names = [metric.name for metric in parsed]
    for i, metric in enumerate(parsed):
        if metric.name in names[:i]:
            raise ValueError(f"Metric {metric.name!r} is given twice in {names}.")
        if k is not None and metric.k is not None and metric.k > k:
            raise ValueError(
                f"Metric {metric.name!r} reads {metric.k} hits, but k is {k}. Ask for k={metric.k} or more."
            )
    return parsed


def _parsed(metrics: Metrics) -> Iterator[Metric]:
    pairs = metrics.items() if isinstance(metrics, Mapping) else ((None, given) for given in metrics)
    for name, given in pairs:
        if not isinstance(given, str):
            yield _of_function(given, name or getattr(given, "__name__", None))
        elif name in (None, given):
            yield Metric.parse(given)
        else:
            yield replace(Metric.parse(given), name=_own_name(name))


def _of_function(function: MetricFunction, name: str | None) -> Metric:
    if not callable(function):
        raise TypeError(f"A metric is a name or a function (ranking, gold) -> float, not {called(function)}.")
    if name is None or name == "<lambda>":
        raise ValueError(f"The metric {function!r} has no name. Pass metrics={{'its_name': function}}.")
    own = _own_name(name)
    return Metric(own, own, function=function)


def _own_name(name: str) -> str:
    """A column name of the user's; ValueError where it is another column's or a known metric's."""
    if not isinstance(name, str) or not _COLUMN.fullmatch(name) or name in _RESERVED:
        raise ValueError(
            f"Metric name {name!r} cannot head a column. Use a letter, then letters, digits and '_.@+-', and none of: "
            f"{', '.join(_RESERVED)}."
        )
    try:
        Metric.parse(name)
    except ValueError:
        return name
    raise ValueError(f"Metric name {name!r} is that of another metric. Give yours a name of its own.")


def _close(name: str) -> str:
    base, at, depth = name.partition("@")
    found = nearest(base, (*CUT, *WHOLE, *SUPPORT))
    return "" if found is None else f" Did you mean {found + at + depth!r}?"
