"""Other ways to order the same candidates, beside the mixture of `mention_chains`: each set by the fit of the others.

Those without coefficients fuse ranks. The fitted ones see only the other training sets.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import pandas as pd
from fit import Example, Sets, fit, ordered, signals_of

from kg2rag.retrievers.mention_chains.candidates import MODELS
from kg2rag.retrievers.mention_chains.chains import Ranker
from kg2rag.types import FloatArray

PLAIN = ("bm25", "dense")
CONSTANT = 60  # of reciprocal rank fusion
Signals = Mapping[str, FloatArray]
Order = Callable[[Example], Sequence[int]]


def fused(example: Example, weights: Mapping[str, float]) -> list[int]:
    """Reciprocal rank fusion of some searches."""
    scores: dict[int, float] = {}
    for name, weight in weights.items():
        for place, row in enumerate(example.searches[name], 1):
            scores[row] = scores.get(row, 0.0) + weight / (CONSTANT + place)
    return sorted(scores, key=lambda row: (-scores[row], row))


def percentile(example: Example) -> list[int]:
    """Mean percentile rank by walk and by cosine among the candidates, after PhaseGraph (arXiv 2603.28886)."""
    single = example.evidence.single
    ranks = [pd.Series(single[name]).rank(pct=True).to_numpy() for name in ("walk_gap", "cosine")]
    rows: list[int] = example.evidence.rows[np.argsort(-np.mean(ranks, axis=0), kind="stable")].tolist()
    return rows


def features(signals: Signals, *, interactions: bool) -> FloatArray:
    """(m, n_features): every signal of a candidate and, with interactions, each times the signals of the gate."""
    candidate = np.stack([signals[name] for name in (*MODELS["single"], *MODELS["chain"], "walk_gap", "bm25")], axis=1)
    gate = np.stack([signals[name] for name in MODELS["gate"]], axis=1)
    return np.concatenate([candidate, *([candidate * g[:, None] for g in gate.T] if interactions else [gate])], axis=1)


def classifier(
    known: Sequence[Sequence[tuple[Signals, FloatArray]]], *, boosted: bool
) -> Callable[[Signals], FloatArray]:
    """Scores by a logistic regression with interactions or by gradient boosting, of each candidate by itself."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x = np.concatenate([features(signals, interactions=not boosted) for each in known for signals, _ in each])
    y = np.concatenate([gold for each in known for _, gold in each])
    weights = np.concatenate([np.full(len(gold), 1 / (len(gold) * len(each))) for each in known for _, gold in each])
    weights *= len(weights) / weights.sum()
    if boosted:
        model = HistGradientBoostingClassifier(random_state=0).fit(x, y, sample_weight=weights)
    else:
        model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=3000))
        model.fit(x, y, logisticregression__sample_weight=weights)
    return lambda signals: model.predict_proba(features(signals, interactions=not boosted))[:, 1]


def orders(sets: Sets, chained: Collection[str], left: str) -> dict[str, Order]:
    """System -> its order of one question of the set that is left out."""
    others = {name: each for name, each in sets.items() if name != left}
    rest = [name for name in chained if name != left]
    with_tokens, without = (fit(others, rest, tokens=tokens) for tokens in (True, False))
    start, step = with_tokens.start, with_tokens.step
    known = [[(signals_of(one, start, step), one.gold.astype(float)) for one in each] for each in others.values()]
    logistic, boosted = (classifier(known, boosted=boosted) for boosted in (False, True))

    def by(score: Callable[[Signals], FloatArray]) -> Order:
        def order(one: Example) -> list[int]:
            scores = score(signals_of(one, start, step))
            rows: list[int] = one.evidence.rows[np.argsort(-scores, kind="stable")].tolist()
            return rows

        return order

    def trust(one: Example, ranker: Ranker = with_tokens) -> float:
        return ranker.trust(one.evidence.gate(ranker.start(one.evidence.single)))

    return {
        "bm25": lambda one: one.searches["bm25"],
        "dense": lambda one: one.searches["dense"],
        "hybrid": lambda one: fused(one, dict.fromkeys(PLAIN, 1)),
        "walk": lambda one: one.searches["walk"],
        "RRF of bm25, dense, walk": lambda one: fused(one, dict.fromkeys((*PLAIN, "walk"), 1)),
        "the same, gated": lambda one: fused(
            one, {"bm25": 1 - trust(one), "dense": 1 - trust(one), "walk": trust(one)}
        ),
        "percentile ranks": percentile,
        "chains alone": by(with_tokens.chain),
        "alone only": by(with_tokens.single),
        "logistic, interactions": by(logistic),
        "gradient boosting": by(boosted),
        "mixture, no token vectors": lambda one: ordered(one, without),
        "mixture": lambda one: ordered(one, with_tokens),
    }


def scored(sets: Sets, chained: Collection[str]) -> pd.DataFrame:
    """A row a question, set and system: recall@5 by the fit of the other sets."""
    return pd.DataFrame(
        {"set": left, "question": at, "system": name, "recall@5": one.recall(order(one))}
        for left, examples in sets.items()
        for name, order in orders(sets, chained, left).items()
        for at, one in enumerate(examples)
    )
