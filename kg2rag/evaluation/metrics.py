"""Rankings + gold -> one score per query and metric; the only module that scores by ranx.

ranx [1] computes every named metric; added here are its missing checks, three definitions that it lacks
(`all_recall@k`, 1 where every gold passage is in the top k; `judged@k`; HotpotQA's supporting sentences), what fits in
a number of tokens, and functions of the user's own.

[1] Bassani, "ranx: A Blazing-Fast Python Library for Ranking Evaluation and Comparison", ECIR 2022 (0.3.21 here).
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np
import pandas as pd

from kg2rag.compute import EncoderTokens, TokenCounter
from kg2rag.compute.hardware import has_threads
from kg2rag.evaluation.gold import as_numbers, judgements, lifted, supporting_sentences
from kg2rag.evaluation.inputs import check_rankings
from kg2rag.evaluation.metric_names import JUDGED, SUPPORT, Metric, Metrics, function_scores, parse_metrics
from kg2rag.types import Corpus, FloatArray, GoldUnit, IntArray, QADataset, Ranking

NAME = "ranx.metrics"
_IMPORT = Lock()
TIE_ORDERS = 200
"""Orders of equal scores that an expected score is the mean of; a recall is then known to .035 at worst."""


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
    ties: Literal["ranking", "expected"] = "ranking",
    seed: int = 0,
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
    ties : equal scores keep the order of the "ranking", here by corpus position; or the score is the one "expected" if
        they stood in random order [McSherry & Najork, "Computing Information Retrieval Performance Measures
        Efficiently in the Presence of Tied Scores", ECIR 2008], the mean over `TIE_ORDERS` drawn orders. Hits that the
        ranking was cut before have no part in it.
    seed : of the drawn orders.

    Returns
    -------
    Index `query_id`; float64.

    Raises
    ------
    ValueError : a question without ranking, a hit the corpus lacks, an unknown metric, a unit the data cannot judge.
    """
    parsed = parse_metrics(metrics)
    check_rankings(rankings, data, name=name)
    if ties not in ("ranking", "expected"):
        raise ValueError(f"ties must be 'ranking' or 'expected', not {ties!r}.")
    orders = [rankings] if ties == "ranking" else _tie_orders(rankings, seed)
    frames = [checked_scores(one, data, parsed, unit=unit or data.unit, tokens=tokens) for one in orders]
    mean: pd.DataFrame = sum(frames[1:], start=frames[0]) / len(frames)
    return mean


def _tie_orders(rankings: Sequence[Ranking], seed: int) -> Iterator[list[Ranking]]:
    """The rankings `TIE_ORDERS` times, hits of equal score in an order drawn anew."""
    rng = np.random.default_rng(seed)
    for _ in range(TIE_ORDERS):
        yield [
            replace(one, rows=one.rows[order])
            for one in rankings
            for order in [np.lexsort((rng.random(len(one)), -one.scores))]
        ]


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
        here = [metric for metric in metrics if metric.tokens == budget]
        if budget is None:
            read = rankings
        else:
            tokens = tokens or PassageTokens(data.corpus)
            read = tokens.cut(rankings, budget)
        columns |= (
            _named(here, read, data, unit)
            | _judged(here, read, data, unit)
            | _supported(here, read, data)
            | _own(here, read, data, unit)
        )
    index = pd.Index([question.id for question in data.questions], name="query_id", dtype=object)
    return pd.DataFrame({metric.name: columns[metric.name] for metric in metrics}, index=index)


def _named(
    metrics: Sequence[Metric], rankings: Sequence[Ranking], data: QADataset, unit: GoldUnit
) -> dict[str, FloatArray]:
    """Scores of ranx's metrics over passages or documents."""
    wanted = [one for one in metrics if one.base not in (*SUPPORT, *JUDGED) and one.function is None]
    if not wanted:
        return {}
    ranked, gold = as_numbers(rankings, data, unit)
    scores = score(gold, ranked, [metric.formula for metric in wanted])
    return {
        metric.name: (scores[metric.formula] == 1.0).astype(np.float64)
        if metric.base == "all_recall"
        else scores[metric.formula]
        for metric in wanted
    }


def _judged(
    metrics: Sequence[Metric], rankings: Sequence[Ranking], data: QADataset, unit: GoldUnit
) -> dict[str, FloatArray]:
    """`bpref` [Buckley & Voorhees, SIGIR 2004], and the share of the hits that anybody judged."""
    wanted = [metric for metric in metrics if metric.base in JUDGED]
    if not wanted:
        return {}
    ranked, _ = as_numbers(rankings, data, unit)
    grades = judgements(data, unit)
    known = [dict.fromkeys(one, 1) for one in grades]
    scores: dict[str, FloatArray] = {}
    for metric in wanted:
        if metric.base == "bpref":
            scores[metric.name] = score(grades, ranked, ["bpref"])["bpref"]
        else:
            share = metric.formula.replace("judged", "precision")
            scores[metric.name] = score(known, ranked, [share])[share]
    return scores


def _own(
    metrics: Sequence[Metric], rankings: Sequence[Ranking], data: QADataset, unit: GoldUnit
) -> dict[str, FloatArray]:
    """Scores of the user's functions."""
    wanted = [metric for metric in metrics if metric.function is not None]
    if not wanted:
        return {}
    judged, gold = lifted(rankings, data, unit)
    return {metric.name: function_scores(metric, judged, gold.by_id) for metric in wanted}


def _supported(metrics: Sequence[Metric], rankings: Sequence[Ranking], data: QADataset) -> dict[str, FloatArray]:
    """Scores of the metrics over sentences: set-based, over every sentence of the first k passages."""
    wanted = [metric for metric in metrics if metric.base in SUPPORT]
    scores: dict[str, FloatArray] = {}
    for k in dict.fromkeys(metric.k for metric in wanted):
        gold, returned = supporting_sentences(rankings, data, k)
        here = [metric for metric in wanted if metric.k == k]
        found = score(gold, returned, [metric.base.removeprefix("support_") for metric in here])
        scores |= {metric.name: found[metric.base.removeprefix("support_")] for metric in here}
    return scores


def score(
    gold: Sequence[Mapping[int, int]], ranked: Sequence[Sequence[int]], metrics: Sequence[str]
) -> dict[str, FloatArray]:
    """Ranx's scores of ranked numbers: metric -> (n_queries,), in the order given.

    Parameters
    ----------
    gold : per query, relevant number -> grade of 1 or more; at least one each.
    ranked : per query, numbers from 0, best first, each once.

    Raises
    ------
    RuntimeError : in a process that was forked after numba's OpenMP threads were started, which would end it.
    """
    from numba import get_num_threads, set_num_threads

    if not has_threads():
        raise RuntimeError(
            "ranx cannot score in a forked process: its parent has started OpenMP's threads, which fork loses. Start "
            "processes by spawn or forkserver, or set NUMBA_THREADING_LAYER=workqueue."
        )
    scores = {name: np.zeros(len(gold)) for name in metrics}
    threads = get_num_threads()
    set_num_threads(1)  # waking the others takes longer than to score a thousand queries, and they spin meanwhile
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="unsafe cast from uint64 to int64")  # while ranx compiles
            for places, qrels, run in _arrays(gold, ranked):
                for name, found in scores.items():
                    found[places] = formula(name)(qrels, run)
    finally:
        set_num_threads(threads)
    return scores


def _arrays(
    gold: Sequence[Mapping[int, int]], ranked: Sequence[Sequence[int]]
) -> Iterator[tuple[list[int], FloatArray, FloatArray]]:
    """Queries with as many relevant and as many hits together: their places, qrels and run, (n, length, 2) each.

    Arrays, not `Qrels` and `Run`: those take three seconds a process to compile, twelve more for every new width of
    id, and compare hashes rounded to floats. Numbers and ranks leave nothing to hash or to sort: ranx wants gold by
    falling grade, and reorders hits of equal score, so 1/rank is the score. Queries without hits are left out: they
    score 0, and ranx raises where all are empty.
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


@cache
def formula(name: str) -> Callable[[FloatArray, FloatArray], FloatArray]:
    """(qrels, run), arrays as `metrics.score` makes them -> (n_queries,); of "recall", "recall@5" or "rbp.80", say."""
    base, dot, persistence = name.partition(".")
    base, _, depth = base.partition("@")
    parameter = float(f"0.{persistence}") if dot else int(depth or 0)  # ranx's 0 is no depth
    function = _metrics().metric_switch(base)
    return lambda qrels, run: function(qrels, run, parameter, 1)


def _metrics() -> Any:
    """`ranx.metrics`, as `import ranx.metrics` would load it, but without `ranx` itself: numba and numpy alone.

    All of ranx loads its plots, downloads and tests too: 3.7 s where this takes .7; `Qrels` and `Run` compile for 7 s.
    """
    with _IMPORT:
        if NAME not in sys.modules:
            package = find_spec("ranx")
            if package is None or not package.submodule_search_locations:
                raise ModuleNotFoundError("The package ranx is not installed. Run: pip install ranx", name="ranx")
            folder = Path(package.submodule_search_locations[0]) / "metrics"
            spec = spec_from_file_location(NAME, folder / "__init__.py", submodule_search_locations=[str(folder)])
            assert spec is not None
            assert spec.loader is not None
            module = module_from_spec(spec)
            sys.modules[NAME] = module  # stays: numba's cache imports it by its name
            try:
                spec.loader.exec_module(module)
            except BaseException:
                del sys.modules[NAME]
                raise
        return sys.modules[NAME]
