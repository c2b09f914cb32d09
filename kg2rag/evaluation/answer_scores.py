"""Answers and a data set -> exact match and token F1 by the rules of the set's own scorer, with intervals.

Three scorers that differ in edge cases only: SQuAD v1.1 [1]; HotpotQA [2], where yes, no and noanswer are right or
wrong as a whole; MuSiQue [3], where two answers that both normalise to nothing agree. The formulas are theirs. Failed
questions, which the official scripts score 0, are left out of the means here, counted and listed.

[1] Rajpurkar et al., "SQuAD: 100,000+ Questions for Machine Comprehension of Text", EMNLP 2016 (evaluate-v1.1.py).
[2] Yang et al., "HotpotQA", EMNLP 2018, Sec. 4.2 and 5.2 (hotpot_evaluate_v1.py).
[3] Trivedi et al., "MuSiQue: Multihop Questions via Single-hop Question Composition", TACL 2022 (metrics/answer.py).
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

import numpy as np
import pandas as pd

from kg2rag.evaluation.statistics import interval_of_mean
from kg2rag.types import QADataset, require

Rules = Literal["squad", "hotpotqa", "musique"]

ALL_OR_NOTHING = ("yes", "no", "noanswer")
"""Answers that are right or wrong as a whole, and that no context has to contain."""
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


class Answers(Protocol):
    """The answers of a reader: for each question id a text, or a failure."""

    @property
    def outcomes(self) -> Mapping[str, object]:
        """The text or the failure of each question."""

    @property
    def texts(self) -> Mapping[str, str]:
        """The answers, without the failed questions."""

    @property
    def failed(self) -> Mapping[str, object]:
        """The questions without an answer, and why."""

    @property
    def usage(self) -> object:
        """What the answers cost, in words by `str`; None if no model was called."""


class AnswerScore(NamedTuple):
    """Exact match (0 or 1), and F1, precision and recall in [0, 1]."""

    em: float
    f1: float
    precision: float
    recall: float


def normalise_answer(text: str) -> str:
    """Lower case, no ASCII punctuation, no articles, single spaces.

    >>> normalise_answer("The  U.S. Army, a history")
    'us army history'
    """
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_WITHOUT_PUNCTUATION)).split())


def score_answer(prediction: str, golds: Sequence[str], rules: Rules = "squad") -> AnswerScore:
    """The best agreement of an answer with any of the gold answers.

    Exact match and F1 are each the maximum over gold answers, not necessarily the same one; precision and recall are
    those of the best F1.
    """
    require("rules", rules, Rules)
    if not golds:
        raise ValueError(f"No gold answer to score {prediction!r} against.")
    guess = normalise_answer(prediction)
    references = [normalise_answer(gold) for gold in golds]
    overlaps = [_overlap(guess, gold, rules) for gold in references]
    f1, precision, recall = max(overlaps, key=lambda overlap: overlap[0])
    return AnswerScore(float(guess in references), f1, precision, recall)


def _overlap(guess: str, gold: str, rules: Rules) -> tuple[float, float, float]:
    """F1, precision and recall of two normalised answers as bags of words."""
    if rules == "hotpotqa" and guess != gold and (guess in ALL_OR_NOTHING or gold in ALL_OR_NOTHING):
        return 0.0, 0.0, 0.0
    if rules == "musique" and not (guess and gold):
        agreed = float(guess == gold)
        return agreed, agreed, agreed
    common = (Counter(guess.split()) & Counter(gold.split())).total()
    if not common:
        return 0.0, 0.0, 0.0
    precision, recall = common / len(guess.split()), common / len(gold.split())
    return 2 * precision * recall / (precision + recall), precision, recall


def is_in_context(context: str, golds: Sequence[str]) -> float:
    """1 if a context contains a gold answer word by word, else 0; NaN for answers such as yes and no."""
    references = [normalise_answer(gold) for gold in golds]
    references = [gold for gold in references if gold and gold not in ALL_OR_NOTHING]
    if not references:
        return np.nan
    text = f" {normalise_answer(context)} "
    return float(any(f" {gold} " in text for gold in references))


def score_answers(answers: Answers, data: QADataset, *, rules: Rules = "squad") -> pd.DataFrame:
    """Score a reader's answers to the questions of a data set.

    One row per question: query_id, type, hops, answer, failure, then one column per metric; NaN for a failed question.
    `mean_scores` has the means. ValueError: a question without gold answers; a set of answers that is not to the
    questions of this set.
    """
    require("rules", rules, Rules)
    check_answers(data)
    ids = {question.id for question in data.questions}
    differing = sorted(ids ^ set(answers.outcomes))
    if differing:
        first = differing[0]
        problem = "has neither an answer nor a failure" if first in ids else "is no question of the set"
        raise ValueError(
            f"{data.name}: {first!r} {problem}, and so are {len(differing) - 1} more. Score answers to this set."
        )
    rows = []
    for question in data.questions:
        text, failure = answers.texts.get(question.id), answers.failed.get(question.id)
        values = [np.nan] * 4 if text is None else score_answer(text, question.answers, rules)
        rows.append((question.id, question.type, question.hops, text, failure and str(failure), *values))
    return pd.DataFrame(rows, columns=["query_id", "type", "hops", "answer", "failure", *AnswerScore._fields])


def mean_scores(scores: pd.DataFrame, ids: Collection[str] | None = None, *, seed: int = 0) -> pd.DataFrame:
    """One row per metric: mean, ci_low, ci_high (95 %, bootstrap of that seed), n, over the answered questions only.

    `ids` : only these questions, such as those that two readers have both answered.
    """
    scored = scores[scores["failure"].isna()]
    if ids is not None:
        scored = scored[scored["query_id"].isin(set(ids))]
    metrics = list(AnswerScore._fields)
    mean = low = high = np.full(len(metrics), np.nan)  # without answers there is no mean, not a mean of 0
    if len(scored):
        values = scored[metrics].to_numpy(dtype=float)
        mean = values.mean(axis=0)
        low, high = interval_of_mean(values, seed=seed)
    return pd.DataFrame({"metric": metrics, "mean": mean, "ci_low": low, "ci_high": high, "n": len(scored)})


def check_answers(data: QADataset) -> None:
    """Raise ValueError if a question has no gold answer."""
    without = [question.id for question in data.questions if not question.answers]
    if without:
        share = f"{len(without)} of {len(data.questions)} questions have no gold answer (first: {without[0]!r})"
        raise ValueError(f"{data.name}: {share}. Answers can be scored for sets that have them.")
