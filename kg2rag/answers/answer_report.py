"""Answers and a data set -> means with intervals over the answered questions, and a list of the failed ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kg2rag.answers.answer_metrics import AnswerScore, Rules, check_rules, joint, score_answer, score_supporting
from kg2rag.answers.reader import Answers
from kg2rag.compute import Failure
from kg2rag.evaluation.sentences import Sentence
from kg2rag.evaluation.statistics import interval_of_mean
from kg2rag.types import QADataset, Question

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
        support_* and joint_* metrics; `kg2rag.evaluation.sentences.returned_sentences` reads them off rankings.
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
