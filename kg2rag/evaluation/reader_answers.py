"""A reader and rankings -> scored answers from the first passages, between two bounds.

The context of a system has the hits that `recall@Ntokens` counts: as many whole ones, best first,
as fit in N tokens. The bounds are the answers without passages ("closed book") and from the gold
passages; retrieval can only change scores between them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Protocol

import numpy as np
import pandas as pd

from kg2rag.evaluation.answer_scores import (
    Answers,
    Rules,
    check_answers,
    is_in_context,
    score_answer,
)
from kg2rag.evaluation.metrics import ANSWER_METRICS
from kg2rag.evaluation.passage_tokens import PassageTokens
from kg2rag.evaluation.power import questions_needed
from kg2rag.evaluation.statistics import LEVEL, interval_of_mean, p_values
from kg2rag.types import FloatArray, QADataset, Query, Question, Ranking

CLOSED_BOOK, GOLD_PASSAGES = "closed book", "gold passages"
BOUNDS = (CLOSED_BOOK, GOLD_PASSAGES)
EM, F1, IN_CONTEXT = ANSWER_METRICS
COLUMNS = ("system", "query_id", "answer", "failure", *ANSWER_METRICS)


class ReaderPlan(Protocol):
    """The requests that a reader would send; `str` describes them."""

    @property
    def calls(self) -> int:
        """The number of requests; stored answers need none."""


class AnswerReader(Protocol):
    """Answers each question from its context; `kg2rag.Reader` is such a reader."""

    def plan(self, questions: Sequence[Query], contexts: Sequence[str]) -> ReaderPlan:
        """The requests that `read` would send."""

    def read(self, questions: Sequence[Query], contexts: Sequence[str]) -> Answers:
        """An answer or a failure per question; an empty context asks for an answer from memory."""


def read_answers(
    reader: AnswerReader,
    rankings: Mapping[str, Sequence[Ranking]],
    data: QADataset,
    tokens: PassageTokens,
    *,
    budget: int,
    rules: Rules,
    confirm: Callable[[str], bool] | None,
) -> tuple[pd.DataFrame, str]:
    """The answers for every system and bound, and their cost in words.

    The table has one row per system or bound and question: system, query_id, answer, failure (None
    for an answer), then the metrics of `ANSWER_METRICS`. These are NaN for a failed question, and
    `answer_in_context` is NaN for answers such as yes and no.

    Each question is asked for all systems before the next one, so that a limit of spending leaves
    complete questions.

    budget : the largest number of tokens of a context.
    rules : the data set whose rules score answers, see `score_answer`.
    confirm : function of the plan that returns whether the requests are sent; None sends them.

    Raises RuntimeError: the plan was not confirmed; no question was answered for every system.
    """
    contexts = contexts_of(rankings, data, tokens, budget)
    queries = []
    texts = []
    for i, question in enumerate(data.questions):
        for name, context in contexts.items():
            queries.append(Query(_key(name, question.id), question.text))
            texts.append(context[i])
    plan = reader.plan(queries, texts)
    if plan.calls and confirm is not None and not confirm(str(plan)):
        raise RuntimeError(f"The plan was not confirmed, so nothing was sent: {plan}")
    answers = reader.read(queries, texts)
    frames = [
        _answer_rows(name, context, data, answers, rules)
        for name, context in contexts.items()
    ]
    table = pd.concat(frames, ignore_index=True)
    _require_answers(table, data)
    return table, str(answers.usage or "")


def _key(system: str, query_id: str) -> str:
    """The id of a request: a system or bound, and a question."""
    return f"{system}\t{query_id}"


def contexts_of(
    rankings: Mapping[str, Sequence[Ranking]],
    data: QADataset,
    tokens: PassageTokens,
    budget: int,
) -> dict[str, list[str]]:
    """Each system and then each bound -> the contexts of the questions, in their order."""
    gold = [_gold_ranking(data, question) for question in data.questions]
    contexts = {}
    for name, run in rankings.items():
        contexts[name] = _passage_texts(tokens.cut(run, budget), data)
    contexts[CLOSED_BOOK] = [""] * len(data)
    contexts[GOLD_PASSAGES] = _passage_texts(tokens.cut(gold, budget), data)
    return contexts


def _gold_ranking(data: QADataset, question: Question) -> Ranking:
    """The gold passages of a question, in the order of the corpus."""
    rows = sorted(set(chain.from_iterable(data.gold_rows(question).values())))
    return Ranking.from_scores(question.id, rows, np.ones(len(rows)), data.corpus.ids)


def _passage_texts(rankings: Sequence[Ranking], data: QADataset) -> list[str]:
    """For each ranking, one text of its numbered passages."""
    contents = data.corpus.contents
    texts = []
    for ranking in rankings:
        passages = [contents[row].strip() for row in ranking.rows.tolist()]
        numbered = [
            f"[{rank}] {passage}" for rank, passage in enumerate(passages, start=1)
        ]
        texts.append("\n\n".join(numbered))
    return texts


def _answer_rows(
    name: str, contexts: Sequence[str], data: QADataset, answers: Answers, rules: Rules
) -> pd.DataFrame:
    """The rows of the table of answers for one system or bound."""
    texts, failed = answers.texts, answers.failed
    rows = []
    for question, context in zip(data.questions, contexts, strict=True):
        key = _key(name, question.id)
        text = texts.get(key)
        failure, em, f1 = None, np.nan, np.nan
        if key in failed:
            failure = str(failed[key])
        if text is not None:
            em, f1 = score_answer(text, question.answers, rules)
        in_context = is_in_context(context, question.answers)
        rows.append((name, question.id, text, failure, em, f1, in_context))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _require_answers(answers: pd.DataFrame, data: QADataset) -> None:
    """Raise RuntimeError if no question was answered for every system."""
    failed = answers[answers["failure"].notna()]
    of_systems = failed[~failed["system"].isin(BOUNDS)]
    if of_systems["query_id"].nunique() == len(data):
        first = failed.iloc[0]
        counts = f"{len(failed)} of {len(answers)} requests failed"
        request = f"{first['system']}, question {first['query_id']!r}"
        raise RuntimeError(
            f"No question was answered for every system: {counts}. The first failure ({request}): "
            f"{first['failure']}. Received answers are stored; the same call asks for the others."
        )


def require_reader(reader: object, data: QADataset) -> None:
    """Raise TypeError or ValueError if a reader cannot answer the questions of a data set."""
    if not (
        callable(getattr(reader, "read", None))
        and callable(getattr(reader, "plan", None))
    ):
        raise TypeError(
            f"reader must have the methods plan and read, as kg2rag.Reader(model) has, not {reader!r}."
        )
    check_answers(data)


def bounds_table(answers: pd.DataFrame, seed: int) -> pd.DataFrame:
    """One row per bound and metric: system, metric, mean, ci_low, ci_high (95 %)."""
    rows = []
    for bound in BOUNDS:
        of_bound = answers[answers["system"] == bound]
        for metric in ANSWER_METRICS:
            values = of_bound[metric].dropna().to_numpy(dtype=float)
            if len(values):
                low, high = interval_of_mean(values, seed=seed)
                rows.append((bound, metric, values.mean(), float(low), float(high)))
    return pd.DataFrame(rows, columns=["system", "metric", "mean", "ci_low", "ci_high"])


def passage_gains(answers: pd.DataFrame) -> FloatArray:
    """The gains in F1 by the gold passages, one per question answered with and without them."""
    with_passages = answers[answers["system"] == GOLD_PASSAGES].set_index("query_id")[
        F1
    ]
    without = answers[answers["system"] == CLOSED_BOOK].set_index("query_id")[F1]
    return (with_passages - without).dropna().to_numpy(dtype=float)


def uses_passages(answers: pd.DataFrame, seed: int) -> bool:
    """Whether gold passages raise the F1 of a reader significantly.

    If not, its answers cannot show a difference between systems.
    """
    gains = passage_gains(answers)
    return len(gains) > 0 and gains.mean() > 0 and float(p_values(gains, seed)) < LEVEL


def questions_for(
    scores: Mapping[str, FloatArray], baseline: str, min_gain: float
) -> tuple[int, int] | None:
    """The fewest and the most questions that detect a gain `min_gain` over the baseline.

    Both are medians over the other systems. None below the least number of questions, see
    `questions_needed`.
    """
    gains = [
        values - scores[baseline] for name, values in scores.items() if name != baseline
    ]
    ranges = [questions_needed(differences, min_gain) for differences in gains]
    spans = [span for span in ranges if span is not None]
    if not spans:
        return None
    low, high = np.ceil(np.median(spans, axis=0)).astype(int).tolist()
    return low, high
