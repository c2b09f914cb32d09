"""Rankings + gold -> one score per query and metric; the only module that calls ranx.

ranx [1] computes every named metric; added here are its missing checks, two definitions that it lacks (`all_recall@k`,
1 where every gold passage is in the top k, and HotpotQA's supporting sentences in `sentences.py`), and functions of the
user's own.

[1] Bassani, "ranx: A Blazing-Fast Python Library for Ranking Evaluation and Comparison", ECIR 2022 (0.3.21 here).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from kg2rag.evaluation.budgets import PassageTokens
from kg2rag.evaluation.checks import check_rankings
from kg2rag.evaluation.metric_names import SUPPORT, Metric, Metrics, function_scores, parse_metrics
from kg2rag.evaluation.sentences import supporting_sentences
from kg2rag.types import FloatArray, GoldUnit, QADataset, Ranking


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
    Index `query_id`; float64. Equal scores keep the order of the ranking.

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
        here = [metric for metric in metrics if metric.tokens == budget]
        if budget is None:
            read = rankings
        else:
            tokens = tokens or PassageTokens(data.corpus)
            read = tokens.cut(rankings, budget)
        columns |= _named(here, read, data, unit) | _supported(here, read, data) | _own(here, read, data, unit)
    index = pd.Index([question.id for question in data.questions], name="query_id", dtype=object)
    return pd.DataFrame({metric.name: columns[metric.name] for metric in metrics}, index=index)


def _named(
    metrics: Sequence[Metric], rankings: Sequence[Ranking], data: QADataset, unit: GoldUnit
) -> dict[str, FloatArray]:
    """Scores of ranx's metrics over passages or documents."""
    wanted = [metric for metric in metrics if metric.base not in SUPPORT and metric.function is None]
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


def _own(
    metrics: Sequence[Metric], rankings: Sequence[Ranking], data: QADataset, unit: GoldUnit
) -> dict[str, FloatArray]:
    """Scores of the user's functions."""
    wanted = [metric for metric in metrics if metric.function is not None]
    if not wanted:
        return {}
    judged, gold = lifted(rankings, data, unit)
    return {metric.name: function_scores(metric, judged, gold) for metric in wanted}


def as_numbers(
    rankings: Sequence[Ranking], data: QADataset, unit: GoldUnit
) -> tuple[list[list[int]], list[dict[int, int]]]:
    """Hits and gold as numbers of passages or documents."""
    judged, gold = lifted(rankings, data, unit)
    number = data.corpus.row if unit == "passage" else _document_numbers(data).__getitem__
    ranked = [ranking.rows.tolist() for ranking in judged]
    return ranked, [{number(id_): grade for id_, grade in grades.items()} for grades in gold]


def lifted(
    rankings: Sequence[Ranking], data: QADataset, unit: GoldUnit
) -> tuple[Sequence[Ranking], list[Mapping[str, int]]]:
    """Rankings and gold by the ids of what is judged; only here are passages lifted to documents.

    A document has the rank and the score of its best passage, and the highest grade of its gold passages.
    """
    if unit not in ("passage", "document"):
        raise ValueError(f"unit must be 'passage' or 'document', not {unit!r}.")
    corpus = data.corpus
    if unit == "passage":
        if data.unit == "document":
            raise ValueError(
                f"{data.name}: the gold names documents, so passages cannot be judged. Use unit='document'."
            )
        return rankings, [question.gold for question in data.questions]
    number = _document_numbers(data)
    documents = list(number)
    document = np.array([number[doc_id] for doc_id in corpus.doc_ids], dtype=np.int64)
    judged = []
    for ranking in rankings:
        of_hits = document[ranking.rows]
        first = np.sort(np.unique(of_hits, return_index=True)[1])
        judged.append(Ranking(ranking.query_id, of_hits[first], ranking.scores[first], documents))
    gold: list[Mapping[str, int]] = [question.gold for question in data.questions]
    return judged, gold if data.unit == "document" else [_lifted_gold(grades, data) for grades in gold]


def _document_numbers(data: QADataset) -> dict[str, int]:
    return {doc_id: number for number, doc_id in enumerate(dict.fromkeys(data.corpus.doc_ids))}


def _lifted_gold(gold: Mapping[str, int], data: QADataset) -> dict[str, int]:
    grades: dict[str, int] = {}
    for id_, grade in gold.items():
        doc_id = data.corpus.doc_ids[data.corpus.row(id_)]
        grades[doc_id] = max(grade, grades.get(doc_id, 0))
    return grades


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
    """
    from numba import get_num_threads, set_num_threads

    with warnings.catch_warnings():  # an invalid escape in ranx/data_structures/report.py; older Pythons deprecate it
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        import ranx

    computed = list(dict.fromkeys(metrics))
    if len(computed) < 2:  # given one metric alone, ranx looks it up without its "@k" and raises KeyError
        computed = list(dict.fromkeys([*metrics, "hits", "mrr"]))
    scores = {name: np.zeros(len(gold)) for name in computed}
    threads = get_num_threads()
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="unsafe cast from uint64 to int64")  # while ranx compiles
            for places, qrels, run in _arrays(gold, ranked):
                for name, found in ranx.evaluate(qrels, run, computed, return_mean=False).items():
                    scores[name][places] = found
    finally:
        set_num_threads(threads)  # below ten queries ranx leaves numba with one thread
    return {name: scores[name] for name in metrics}


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
