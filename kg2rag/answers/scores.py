"""Answers and a data set -> exact match and token F1 by the rules of the set's own scorer, with intervals.

Three scorers that differ in edge cases only: SQuAD v1.1 [1]; HotpotQA [2], where yes, no and noanswer are right or
wrong as a whole and supporting facts are scored too, alone and jointly; MuSiQue [3], where two answers that both
normalise to nothing agree. The formulas are theirs. The treatment of failed questions is ours: the official scripts
score a missing answer 0; here it is left out of the means, counted and listed.

[1] Rajpurkar et al., "SQuAD: 100,000+ Questions for Machine Comprehension of Text", EMNLP 2016 (evaluate-v1.1.py).
[2] Yang et al., "HotpotQA", EMNLP 2018, Sec. 4.2 and 5.2 (hotpot_evaluate_v1.py).
[3] Trivedi et al., "MuSiQue: Multihop Questions via Single-hop Question Composition", TACL 2022 (metrics/answer.py).
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from kg2rag.answers.reader import Answers
from kg2rag.compute import Failure
from kg2rag.evaluation.gold import Sentence
from kg2rag.evaluation.statistics import interval_of_mean
from kg2rag.types import QADataset, Question

Rules = Literal["squad", "hotpotqa", "musique"]

_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ALL_OR_NOTHING = ("yes", "no", "noanswer")


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
    check_rules(rules)
    if not golds:
        raise ValueError(f"No gold answer to score {prediction!r} against.")
    guess = normalise_answer(prediction)
    wanted = [normalise_answer(gold) for gold in golds]
    overlaps = [_overlap(guess, gold, rules) for gold in wanted]
    f1, precision, recall = max(overlaps, key=lambda overlap: overlap[0])
    return AnswerScore(float(guess in wanted), f1, precision, recall)


def score_supporting(predicted: Collection[Sentence], gold: Collection[Sentence]) -> AnswerScore:
    """HotpotQA's score of supporting facts, which are sets of (title, sentence index)."""
    found, wanted = set(predicted), set(gold)
    right = len(found & wanted)
    precision = right / len(found) if found else 0.0
    recall = right / len(wanted) if wanted else 0.0
    return AnswerScore(float(found == wanted), _harmonic(precision, recall), precision, recall)


def joint(answer: AnswerScore, supporting: AnswerScore) -> AnswerScore:
    """HotpotQA's joint score: products of exact matches, of precisions and of recalls; F1 of the latter two."""
    precision = answer.precision * supporting.precision
    recall = answer.recall * supporting.recall
    return AnswerScore(answer.em * supporting.em, _harmonic(precision, recall), precision, recall)


def check_rules(rules: str) -> None:
    """Raise ValueError where no scorer has that name."""
    if rules not in get_args(Rules):
        raise ValueError(f"Unknown rules {rules!r}. Known: {', '.join(get_args(Rules))}.")


def _overlap(guess: str, gold: str, rules: Rules) -> tuple[float, float, float]:
    """F1, precision and recall of two normalised answers as bags of words."""
    if rules == "hotpotqa" and guess != gold and (guess in _ALL_OR_NOTHING or gold in _ALL_OR_NOTHING):
        return 0.0, 0.0, 0.0
    if rules == "musique" and not (guess and gold):
        agreed = float(guess == gold)
        return agreed, agreed, agreed
    common = (Counter(guess.split()) & Counter(gold.split())).total()
    if not common:
        return 0.0, 0.0, 0.0
    precision, recall = common / len(guess.split()), common / len(gold.split())
    return _harmonic(precision, recall), precision, recall


def _harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


_PREFIXES = ("", "support_", "joint_")


@dataclass(frozen=True, eq=False, repr=False)
class AnswerReport:
    """The scores of a reader's answers.

    Attributes
    ----------
    per_question : query_id, type, hops, answer, failure, then one column per metric; NaN for failed questions.
    scores : one row per metric: mean, ci_low, ci_high (95 %, bootstrap), n; over answered questions only. Compare two
        reports on the questions that both answered: see `on`.
    failed : question id -> why it has no answer.
    """

    rules: Rules
    per_question: pd.DataFrame
    scores: pd.DataFrame
    failed: Mapping[str, Failure]
    seed: int = 0

    @property
    def n_answered(self) -> int:
        """The number of questions in the means."""
        return len(self.per_question) - len(self.failed)

    @property
    def n_failed(self) -> int:
        """The number of questions left out of the means."""
        return len(self.failed)

    @property
    def answered(self) -> list[str]:
        """The ids of the answered questions, in order."""
        return [id_ for id_ in self.per_question["query_id"] if id_ not in self.failed]

    def on(self, ids: Collection[str]) -> AnswerReport:
        """The report over some of the questions, such as those that another reader has answered as well."""
        kept = set(ids)
        unknown = sorted(kept - set(self.per_question["query_id"]))
        if unknown:
            raise ValueError(f"The report has no question {unknown[0]!r} ({len(unknown)} of {len(kept)} unknown).")
        part = self.per_question[self.per_question["query_id"].isin(kept)].reset_index(drop=True)
        failed = {id_: failure for id_, failure in self.failed.items() if id_ in kept}
        return AnswerReport(self.rules, part, _means(part, list(self.scores["metric"]), self.seed), failed, self.seed)

    def __repr__(self) -> str:
        return f"{self._headline}\n{self.scores.round(4).to_string(index=False)}"

    def _repr_html_(self) -> str:
        return f"<p>{self._headline}</p>{self.scores.round(4).to_html(index=False)}"

    @property
    def _headline(self) -> str:
        return f"{self.n_answered} answered, {self.n_failed} failed (left out), by the rules of {self.rules}"


def score_answers(
    answers: Answers,
    data: QADataset,
    *,
    rules: Rules = "squad",
    supporting: Mapping[str, Collection[Sentence]] | None = None,
    seed: int = 0,
) -> AnswerReport:
    """Score a reader's answers to the questions of a data set.

    Parameters
    ----------
    supporting : question id -> the sentences (doc_id, index from 0) offered as supporting facts, for HotpotQA's
        support_* and joint_* metrics; `kg2rag.evaluation.gold.returned_sentences` reads them off rankings.
    seed : of the bootstrap.

    Raises
    ------
    ValueError : a question without gold answers, or without an outcome or supporting facts; an answer to no question.
    """
    check_rules(rules)
    _check(answers, data, supporting)
    prefixes = _PREFIXES if supporting is not None else _PREFIXES[:1]
    metrics = [prefix + name for prefix in prefixes for name in AnswerScore._fields]
    texts, failed = answers.texts, answers.failed
    rows = []
    for question in data.questions:
        text, failure = texts.get(question.id), failed.get(question.id)
        offered = None if supporting is None else supporting[question.id]
        values = [np.nan] * len(metrics) if text is None else _scores(text, question, rules, offered)
        reason = None if failure is None else str(failure)
        rows.append((question.id, question.type, question.hops, text, reason, *values))
    frame = pd.DataFrame(rows, columns=["query_id", "type", "hops", "answer", "failure", *metrics])
    return AnswerReport(rules, frame, _means(frame, metrics, seed), failed, seed)


def _scores(text: str, question: Question, rules: Rules, offered: Collection[Sentence] | None) -> list[float]:
    answer = score_answer(text, question.answers, rules)
    if offered is None:
        return [*answer]
    facts = score_supporting(offered, question.supporting)
    return [*answer, *facts, *joint(answer, facts)]


def _means(frame: pd.DataFrame, metrics: list[str], seed: int) -> pd.DataFrame:
    values = frame.loc[frame["failure"].isna(), metrics].to_numpy(dtype=float)
    if len(values):
        mean, (low, high) = values.mean(axis=0), interval_of_mean(values, seed=seed)
    else:
        mean = low = high = np.full(len(metrics), np.nan)  # without answers there is no mean, not a mean of 0
    return pd.DataFrame({"metric": metrics, "mean": mean, "ci_low": low, "ci_high": high, "n": len(values)})


def _check(answers: Answers, data: QADataset, supporting: Mapping[str, Collection[Sentence]] | None) -> None:
    ids = [question.id for question in data.questions]
    known = set(ids)
    problems = {
        "have no gold answer": [question.id for question in data.questions if not question.answers],
        "have neither an answer nor a failure": [id_ for id_ in ids if id_ not in answers.outcomes],
    }
    if supporting is not None:
        problems["have no supporting sentences"] = [q.id for q in data.questions if not q.supporting]
        problems["have no entry in `supporting`"] = [id_ for id_ in ids if id_ not in supporting]
    for problem, found in problems.items():
        if found:
            raise ValueError(f"{data.name}: {len(found)} of {len(ids)} questions {problem} (first: {found[0]!r}).")
    strangers = [id_ for id_ in answers.outcomes if id_ not in known]
    if strangers:
        raise ValueError(
            f"{data.name}: {len(strangers)} answers belong to no question (first: {strangers[0]!r}). "
            "Are answers and data set from the same split?"
        )
