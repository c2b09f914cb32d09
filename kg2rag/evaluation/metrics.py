"""Rankings + gold -> one score per query and metric; the only module that scores by ranx.

ranx [1] computes every named metric; added here are its missing checks, two definitions that it lacks (`all_recall@k`,
1 where every gold passage is in the top k; HotpotQA's supporting sentences), what fits in a number of tokens, and
functions of the user's own.

[1] Bassani, "ranx: A Blazing-Fast Python Library for Ranking Evaluation and Comparison", ECIR 2022 (0.3.21 here).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Real
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd

from kg2rag.compute import EncoderTokens, TokenCounter
from kg2rag.evaluation.gold import judged_hits, supporting_sentences
from kg2rag.evaluation.inputs import check_rankings, noted
from kg2rag.evaluation.metric_names import SUPPORT, Metric, Metrics, parse_metrics
from kg2rag.types import Corpus, FloatArray, GoldUnit, IntArray, QADataset, Ranking

REPEATED = 10
"""So many questions are scored twice, to detect a metric that draws random numbers or remembers its calls."""
_IMPORT = Lock()


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

    Parameters
    ----------
    rankings : one per question, in the order of the questions; an empty ranking has score 0 in every named metric.
    metrics : names and functions `(ranking, gold) -> float`; see `metric_names`.
    unit : what is judged. "document" lifts passages to documents, each at the rank of its best passage; the default
        is the data set's own unit. Supporting sentences are counted over passages whatever the unit.
    name : of the system, for messages.
    tokens : what metrics `@Ntokens` count with; the default encoder's tokenizer where not given.

    Returns
    -------
    Index `query_id`; float64.

    Raises
    ------
    ValueError : a question without ranking, a hit the corpus lacks, an unknown metric, a unit the data cannot judge.
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
        of_ranx = dict.fromkeys(one.formula for one in here if one.function is None and one.base not in SUPPORT)
        scores = score(gold.by_number, [ranking.rows.tolist() for ranking in judged], of_ranx)
        for metric in here:
            if metric.function is not None:
                columns[metric.name] = function_scores(metric, judged, gold.by_id)
            elif metric.base in SUPPORT:
                sentences = supporting_sentences(read, data, metric.k)
                columns[metric.name] = score(*sentences, [metric.formula])[metric.formula]
            else:
                found = scores[metric.formula]
                columns[metric.name] = (found == 1).astype(float) if metric.base == "all_recall" else found
    index = pd.Index([question.id for question in data.questions], name="query_id", dtype=object)
    return pd.DataFrame({metric.name: columns[metric.name] for metric in metrics}, index=index)


def function_scores(metric: Metric, rankings: Sequence[Ranking], gold: Sequence[Mapping[str, int]]) -> FloatArray:
    """(n_queries,) what a metric's function returns for each ranking, empty ones included.

    Raises TypeError: it returned no number; ValueError: NaN or infinite, or another number for the same question.
    """
    assert metric.function is not None
    scores = np.empty(len(rankings))
    for place, (ranking, wanted) in enumerate(zip(rankings, gold, strict=True)):
        where, calls = f"Metric {metric.name!r}, query {ranking.query_id!r}", 2 if place < REPEATED else 1
        with noted(f"{where} failed."):  # each call has a copy of the gold: what it changes is its own
            found: list[object] = [metric.function(ranking, dict(wanted)) for _ in range(calls)]
        for one in found:
            if not isinstance(one, Real | np.bool_):
                raise TypeError(f"{where}: a metric returns a number, not {one!r} ({type(one).__name__}).")
            if not math.isfinite(one):
                raise ValueError(f"{where}: the score is {one!r}. Return a finite number; 0 where nothing was found.")
        scores[place] = value = float(found[0])  # type: ignore[arg-type]
        if (again := float(found[-1])) != value:  # type: ignore[arg-type]
            raise ValueError(
                f"{where}: {value!r}, then {again!r}. A metric must give the same score for the same ranking: fix its "
                "seed, keep no state."
            )
    return scores


def score(
    gold: Sequence[Mapping[int, int]], ranked: Sequence[Sequence[int]], metrics: Iterable[str]
) -> dict[str, FloatArray]:
    """Ranx's scores of ranked numbers: metric -> (n_queries,), in the order given.

    Parameters
    ----------
    gold : per query, relevant number -> grade of 1 or more; at least one each.
    ranked : per query, numbers from 0, best first, each once.
    """
    from numba import get_num_threads, set_num_threads

    scores_of, threads = _ranx(), get_num_threads()
    scores = {name: np.zeros(len(gold)) for name in metrics}
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


def _ranx() -> Any:
    """`ranx.evaluate`; without the layer that ranx gives numba, which is not safe where threads score at once."""
    from numba import config

    with _IMPORT:
        layer = config.THREADING_LAYER
        from ranx import evaluate as scores_of

        config.THREADING_LAYER = layer
    return scores_of


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
