"""Other rankings of the candidates of `mention_chains`; each set is ranked by the fit of the other sets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import pandas as pd
from fit import Example, Questions, Sets, best_first, fit, ordered, signals_of

from kg2rag.retrievers.mention_chains.signals import MODELS, Signals
from kg2rag.types import FloatArray

CONSTANT = 60  # of reciprocal rank fusion
Scores = Callable[[Signals], FloatArray]
"""The signals of m candidates -> their scores, (m,)."""
Order = Callable[[Example], Sequence[int]]


def fused(example: Example, weights: Mapping[str, float]) -> list[int]:
    """Weighted reciprocal rank fusion of searches."""
    scores: dict[int, float] = {}
    for name, weight in weights.items():
        for rank, row in enumerate(example.rankings[name], 1):
            scores[row] = scores.get(row, 0.0) + weight / (CONSTANT + rank)
    return sorted(scores, key=lambda row: (-scores[row], row))


def mean_percentile(example: Example) -> list[int]:
    """The mean percentile by walk and by cosine among the candidates, after PhaseGraph (arXiv 2603.28886)."""
    signals = example.evidence.single
    percentiles = [
        pd.Series(signals[name]).rank(pct=True).to_numpy()
        for name in ("walk_gap", "cosine")
    ]
    return best_first(example, np.mean(percentiles, axis=0))


def features(signals: Signals) -> tuple[FloatArray, FloatArray]:
    """The features of m candidates, (m, n_features), and of the question, (m, n_gate) with equal rows."""
    names = (*MODELS["single"], *MODELS["chain"], "walk_gap", "bm25")
    candidate = np.stack([signals[name] for name in names], axis=1)
    return candidate, np.stack([signals[name] for name in MODELS["gate"]], axis=1)


def with_question(signals: Signals) -> FloatArray:
    """The features of candidate and question side by side."""
    return np.concatenate(features(signals), axis=1)


def with_interactions(signals: Signals) -> FloatArray:
    """The features of a candidate, and their products with each feature of the question."""
    candidate, question = features(signals)
    return np.concatenate(
        [candidate, *(candidate * column[:, None] for column in question.T)], axis=1
    )


def classifiers(sets: Sequence[Questions]) -> dict[str, Scores]:
    """Name -> the probability of gold by a classifier of single candidates; sets and questions have equal weights."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    samples = [
        (signals, gold, len(questions))
        for questions in sets
        for signals, gold in questions
    ]
    gold = np.concatenate([gold for _, gold, _ in samples])
    weights = np.concatenate(
        [
            np.full(len(gold), 1 / (len(gold) * set_size))
            for _, gold, set_size in samples
        ]
    )
    weights *= len(weights) / weights.sum()
    products = np.concatenate([with_interactions(signals) for signals, _, _ in samples])
    scaler = StandardScaler().fit(products)
    logistic = LogisticRegression(C=0.1, max_iter=3000)
    logistic.fit(scaler.transform(products), gold, sample_weight=weights)
    columns = np.concatenate([with_question(signals) for signals, _, _ in samples])
    boosted = HistGradientBoostingClassifier(random_state=0)
    boosted.fit(columns, gold, sample_weight=weights)

    def by_logistic(signals: Signals) -> FloatArray:
        scaled = scaler.transform(with_interactions(signals))
        return np.asarray(logistic.predict_proba(scaled)[:, 1])

    def by_boosting(signals: Signals) -> FloatArray:
        return np.asarray(boosted.predict_proba(with_question(signals))[:, 1])

    return {
        "logistic regression with interactions": by_logistic,
        "gradient boosting": by_boosting,
    }


def orders(sets: Sets, chained: Collection[str], left_out: str) -> dict[str, Order]:
    """Name -> a ranking for the questions of the set that is left out."""
    training_sets = {
        name: examples for name, examples in sets.items() if name != left_out
    }
    chained_others = [name for name in chained if name != left_out]
    ranker = fit(training_sets, chained_others, tokens=True)
    without_tokens = fit(training_sets, chained_others, tokens=False)

    def signals(example: Example) -> Signals:
        return signals_of(example, ranker.start, ranker.step)

    def by(score: Scores) -> Order:
        return lambda example: best_first(example, score(signals(example)))

    def weighted_fusion(example: Example) -> list[int]:
        chain_weight = ranker.chain_weight(
            example.evidence.gate(ranker.start(example.evidence.single))
        )
        return fused(
            example,
            {"bm25": 1 - chain_weight, "dense": 1 - chain_weight, "walk": chain_weight},
        )

    questions = []
    for examples in training_sets.values():
        questions.append([(signals(example), example.gold) for example in examples])
    of_two = {"bm25": 1, "dense": 1}
    of_three = {**of_two, "walk": 1}
    searches: dict[str, Order] = {
        "bm25": lambda example: example.rankings["bm25"],
        "dense": lambda example: example.rankings["dense"],
        "hybrid": lambda example: fused(example, of_two),
        "walk": lambda example: example.rankings["walk"],
        "fusion of bm25, dense and walk": lambda example: fused(example, of_three),
        "fusion with weights per question": weighted_fusion,
        "mean percentile of walk and dense": mean_percentile,
    }
    return {
        **searches,
        "chain ranking only": by(ranker.chain),
        "text ranking only": by(ranker.single),
        **{name: by(score) for name, score in classifiers(questions).items()},
        "mention_chains without token vectors": lambda example: ordered(
            example, without_tokens
        ),
        "mention_chains": lambda example: ordered(example, ranker),
    }


def scored(sets: Sets, chained: Collection[str]) -> pd.DataFrame:
    """One row per set, question and ranking: recall@5, by the fit of the other sets."""
    rows = []
    for left_out, examples in sets.items():
        for name, order in orders(sets, chained, left_out).items():
            for number, example in enumerate(examples):
                rows.append((left_out, number, name, example.recall(order(example))))
    return pd.DataFrame(rows, columns=["set", "question", "system", "recall@5"])
