"""Metrics, named or functions, and rankings + gold -> one score per query; the only module that scores by ranx.

`recall@5` reads five hits, `recall@500tokens` as many whole hits, best first, as fit in 500 tokens, `recall` all. ranx
[1] computes every named metric; added here are its missing checks, three definitions that it lacks (`all_recall@k`, 1
where every gold passage is in the top k; `last_hop@k`, PhaseGraph's [2], 1 where the last of its chain is; HotpotQA's
supporting sentences), what fits in a number of tokens, and functions of the user's own.

[1] Bassani, "ranx: A Blazing-Fast Python Library for Ranking Evaluation and Comparison", ECIR 2022 (0.3.21 here).
[2] arXiv 2603.28886.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from threading import Lock

import numpy as np
import pandas as pd

from kg2rag.compute import EncoderTokens, TokenCounter
from kg2rag.evaluation.gold import check_rankings, judged_hits, noted, supporting_sentences
from kg2rag.text.registry import Registry, nearest
from kg2rag.types import Corpus, FloatArray, GoldUnit, IntArray, QADataset, Ranking, called

MetricFunction = Callable[[Ranking, Mapping[str, int]], float]
"""(ranking, gold id -> grade) -> score; the ids of both name what is judged, passages or documents."""
Metrics = Sequence[str | MetricFunction] | Mapping[str, str | MetricFunction]
"""Names and functions, a function under its `__name__`; or column name -> name or function."""

DEFAULT_METRICS = ("recall@2", "recall@5", "recall@10", "recall@500tokens", "all_recall@5", "mrr@10")
CUT = tuple("all_recall dcg dcg_burges f1 hit_rate hits last_hop map mrr ndcg ndcg_burges precision recall".split())
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
_RESERVED = "query_id system type hops gold question ms_per_query".split()  # columns of result tables
_IMPORT = Lock()


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
        base = "recall" if self.base in ("all_recall", "last_hop") else self.base
        return base + ("" if self.k is None else f"@{self.k}")

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
            near = nearest(base.partition("@")[0], (*CUT, *WHOLE, *SUPPORT))
            close = "" if near is None else f" Did you mean {name.replace(base.partition('@')[0], near, 1)!r}?"
            raise ValueError(f"Unknown metric {name!r}. Known: {known_metrics()}; k and N count from 1.{close}")
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

    Raises ValueError: no metric, a name given twice or unknown, a function without a name that can head a column, a
    depth beyond the `k` hits of a ranking. TypeError: no list or mapping of names and functions.
    """
    if isinstance(metrics, str) or not isinstance(metrics, Mapping | Sequence):
        raise TypeError(f"metrics must be a list of names and functions, or a mapping, not {called(metrics)}.")
    pairs = metrics.items() if isinstance(metrics, Mapping) else ((None, given) for given in metrics)
    parsed = [_parsed(name, given) for name, given in pairs]
    if not parsed:
        raise ValueError(f"No metric given. Known: {known_metrics()}.")
    names = [metric.name for metric in parsed]
    for metric in parsed:
        if names.count(metric.name) > 1:
            raise ValueError(f"Metric {metric.name!r} is given twice in {names}.")
        if k is not None and metric.k is not None and metric.k > k:
            told = f"Metric {metric.name!r} reads {metric.k} hits, but k is {k}."
            raise ValueError(f"{told} Ask for k={metric.k} or more.")
    return parsed


def _parsed(name: str | None, given: str | MetricFunction) -> Metric:
    """A metric under a name of the user's, or its own: the column is no other one's, nor a known metric's."""
    if isinstance(given, str) and name in (None, given):
        return Metric.parse(given)
    if not isinstance(given, str) and not callable(given):
        raise TypeError(f"A metric is a name or a function (ranking, gold) -> float, not {called(given)}.")
    own = name or getattr(given, "__name__", "<lambda>")
    if own == "<lambda>":
        raise ValueError(f"The metric {given!r} has no name. Pass metrics={{'its_name': function}}.")
    if not isinstance(own, str) or not _COLUMN.fullmatch(own) or own in _RESERVED:
        raise ValueError(
            f"Metric name {own!r} cannot head a column. Use a letter, then letters, digits and '_.@+-', and none of: "
            f"{', '.join(_RESERVED)}."
        )
    try:
        Metric.parse(own)
    except ValueError:
        return replace(Metric.parse(given), name=own) if isinstance(given, str) else Metric(own, own, function=given)
    raise ValueError(f"Metric name {own!r} is that of another metric. Give yours a name of its own.")


class PassageTokens:
    """How many tokens each passage of a corpus has, title and text; each is counted once, when first needed.

    `counter` : the default encoder's own tokenizer where not given.
    """

    def __init__(self, corpus: Corpus, counter: TokenCounter | None = None) -> None:
        self.corpus = corpus
        self.counter = counter or EncoderTokens()
        self._counts = np.full(len(corpus), -1, dtype=np.int64)

    def count(self, rankings: Sequence[Ranking]) -> None:
        """Count the passages of many rankings in one go."""
        rows = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *(ranking.rows for ranking in rankings)]))
        rows = rows[self._counts[rows] < 0]
        if len(rows):
            contents = self.corpus.contents
            self._counts[rows] = self.counter.count([contents[row] for row in rows.tolist()])

    def of(self, ranking: Ranking) -> IntArray:
        """(n_hits,) tokens of each hit."""
        self.count([ranking])
        return self._counts[ranking.rows]

    def cut(self, rankings: Sequence[Ranking], budget: int) -> list[Ranking]:
        """As many whole hits, best first, as fit in `budget` tokens; ids and scores alone, no paths.

        It stops at the first hit that does not fit, so a larger budget never loses what a smaller one had. (A reader's
        context, `tokens.cut`, passes over it and tries the next.)
        """
        self.count(rankings)
        counts = self._counts
        kept = [int(np.searchsorted(np.cumsum(counts[r.rows]), budget, side="right")) for r in rankings]
        return [Ranking(r.query_id, r.rows[:n], r.scores[:n], r.ids) for r, n in zip(rankings, kept, strict=True)]


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

    rankings : one per question, in the order of the questions; an empty ranking has score 0 in every named metric.
    metrics : names and functions `(ranking, gold) -> float`.
    unit : what is judged. "document" lifts passages to documents, each at the rank of its best passage; the default
        is the data set's own unit. Supporting sentences are counted over passages whatever the unit.
    name : of the system, for messages.
    tokens : what metrics `@Ntokens` count with; the default encoder's tokenizer where not given.

    Returns float64 with index `query_id`. Raises ValueError: a question without ranking, a hit the corpus lacks, an
    unknown metric, a unit the data cannot judge.
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
        here, read = [metric for metric in metrics if metric.tokens == budget], rankings
        if budget is not None:
            tokens = tokens or PassageTokens(data.corpus)
            read = tokens.cut(rankings, budget)
        judged, gold = judged_hits(read, data, unit)
        other = (*SUPPORT, "last_hop")
        of_ranx = dict.fromkeys(one.formula for one in here if one.function is None and one.base not in other)
        scores = score(gold.by_number, [ranking.rows.tolist() for ranking in judged], of_ranx)
        for metric in here:
            if metric.function is not None:
                columns[metric.name] = function_scores(metric, judged, gold.by_id)
            elif metric.base in SUPPORT:
                sentences = supporting_sentences(read, data, metric.k)
                columns[metric.name] = score(*sentences, [metric.formula])[metric.formula]
            elif metric.base == "last_hop":
                hits = [ranking.rows.tolist() for ranking in judged]
                columns[metric.name] = score(last_hops(data, unit), hits, [metric.formula])[metric.formula]
            else:
                found = scores[metric.formula]
                columns[metric.name] = (found == 1).astype(float) if metric.base == "all_recall" else found
    index = pd.Index([question.id for question in data.questions], name="query_id", dtype=object)
    return pd.DataFrame({metric.name: columns[metric.name] for metric in metrics}, index=index)


def last_hops(data: QADataset, unit: GoldUnit) -> list[dict[int, int]]:
    """Per question the row of the passage that ends its chain, with grade 1. ValueError: one has no chain."""
    if unit != "passage" or (lacking := [one.id for one in data.questions if not one.chain]):
        why = f"question {lacking[0]!r} has no chain of gold" if unit == "passage" else "documents are judged"
        raise ValueError(f"{data.name}: last_hop needs the gold passages in the order of the hops, but {why}.")
    return [{data.corpus.row(one.chain[-1]): 1} for one in data.questions]


def function_scores(metric: Metric, rankings: Sequence[Ranking], gold: Sequence[Mapping[str, int]]) -> FloatArray:
    """(n_queries,) what a metric's function returns for each ranking, empty ones included.

    Raises TypeError: it returned no number; ValueError: NaN or infinite.
    """
    assert metric.function is not None
    scores = np.empty(len(rankings))
    for place, (ranking, wanted) in enumerate(zip(rankings, gold, strict=True)):
        where = f"Metric {metric.name!r}, query {ranking.query_id!r}"
        with noted(f"{where} failed."):  # it has a copy of the gold: what it changes is its own
            found: object = metric.function(ranking, dict(wanted))
        if not isinstance(found, Real | np.bool_):
            raise TypeError(f"{where}: a metric returns a number, not {found!r} ({type(found).__name__}).")
        if not math.isfinite(found):
            raise ValueError(f"{where}: the score is {found!r}. Return a finite number; 0 where nothing was found.")
        scores[place] = float(found)
    return scores


def score(
    gold: Sequence[Mapping[int, int]], ranked: Sequence[Sequence[int]], metrics: Iterable[str]
) -> dict[str, FloatArray]:
    """Ranx's scores of ranked numbers: metric -> (n_queries,), in the order given.

    gold : per query, relevant number -> grade of 1 or more; at least one each.
    ranked : per query, numbers from 0, best first, each once.
    """
    from numba import config, get_num_threads, set_num_threads

    with _IMPORT:  # ranx gives numba a layer that is not safe where threads score at once
        layer = config.THREADING_LAYER
        from ranx import evaluate as scores_of

        config.THREADING_LAYER = layer
    threads, scores = get_num_threads(), {name: np.zeros(len(gold)) for name in metrics}
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="unsafe cast from uint64 to int64")  # while ranx compiles
            for places, qrels, run in _arrays(gold, ranked):
                # One thread: to wake the others takes longer than a thousand queries. With "hits", for a single name
                # that has a depth raises KeyError.
                found = scores_of(qrels, run, [*scores, "hits"], return_mean=False, threads=1)
                for name, column in scores.items():
                    column[places] = found[name]
    finally:
        set_num_threads(threads)
    return scores


def _arrays(
    gold: Sequence[Mapping[int, int]], ranked: Sequence[Sequence[int]]
) -> Iterator[tuple[list[int], FloatArray, FloatArray]]:
    """Queries with as many relevant and as many hits together: their places, qrels and run, (n, length, 2) each.

    ranx compiles `Qrels` and `Run` for twelve seconds for every new width of id; numbers leave nothing to hash. It
    wants gold by falling grade, and reorders hits of equal score, so 1/rank is the score. Queries without hits are left
    out: they score 0, and ranx raises where all are empty.
    """
    shapes: dict[tuple[int, int], list[int]] = {}
    for place, (one, hits) in enumerate(zip(gold, ranked, strict=True)):
        if hits:
            shapes.setdefault((len(one), len(hits)), []).append(place)
    for (_, length), places in shapes.items():
        grades = [sorted(gold[place].items(), key=lambda item: (-item[1], item[0])) for place in places]
        run = np.empty((len(places), length, 2))
        run[:, :, 0] = [ranked[place] for place in places]
        run[:, :, 1] = 1 / np.arange(1, length + 1)
        yield places, np.array(grades, dtype=np.float64), run
