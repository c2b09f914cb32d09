"""An answer and its gold -> exact match and token F1, by the rules of the scorer of a data set.

The scorers differ in edge cases only: SQuAD v1.1 [1]; HotpotQA [2], where yes, no and noanswer are
right or wrong as a whole; MuSiQue [3], where two answers that are both empty after normalisation
agree. The formulas are theirs.

[1] Rajpurkar et al., "SQuAD: 100,000+ Questions for Machine Comprehension of Text", EMNLP 2016
(evaluate-v1.1.py). [2] Yang et al., "HotpotQA", EMNLP 2018, Sec. 4.2 and 5.2
(hotpot_evaluate_v1.py). [3] Trivedi et al., "MuSiQue: Multihop Questions via Single-hop Question
Composition", TACL 2022 (metrics/answer.py).
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

import numpy as np

from kg2rag.types import QADataset, require

Rules = Literal["squad", "hotpotqa", "musique"]

ALL_OR_NOTHING = ("yes", "no", "noanswer")
"""Normalised answers that are right or wrong as a whole, and need not be in a context."""
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


class Answers(Protocol):
    """The answers of a reader: for each question id a text, or a failure."""

    @property
    def texts(self) -> Mapping[str, str]:
        """The answers, without the failed questions."""

    @property
    def failed(self) -> Mapping[str, object]:
        """Id of each question without an answer -> the reason."""

    @property
    def usage(self) -> object:
        """The cost of the answers, described by `str`; None if no model was called."""


class AnswerScore(NamedTuple):
    """Exact match (0 or 1), and F1 in [0, 1]."""

    em: float
    f1: float


def normalise_answer(text: str) -> str:
    """A text in lower case, without ASCII punctuation and articles, with single spaces.

    >>> normalise_answer("The  U.S. Army, a history")
    'us army history'
    """
    return " ".join(
        _ARTICLE.sub(" ", text.lower().translate(_WITHOUT_PUNCTUATION)).split()
    )


def score_answer(
    prediction: str, golds: Sequence[str], rules: Rules = "squad"
) -> AnswerScore:
    """The scores of an answer against the best gold answers.

    Exact match and F1 are each the maximum over gold answers, perhaps of different ones.
    """
    require("rules", rules, Rules)
    if not golds:
        raise ValueError(f"No gold answer to score {prediction!r} against.")
    guess = normalise_answer(prediction)
    references = [normalise_answer(gold) for gold in golds]
    f1 = max(_f1(guess, gold, rules) for gold in references)
    return AnswerScore(float(guess in references), f1)


def _f1(guess: str, gold: str, rules: Rules) -> float:
    """The F1 of two normalised answers as bags of words."""
    if (
        rules == "hotpotqa"
        and guess != gold
        and (guess in ALL_OR_NOTHING or gold in ALL_OR_NOTHING)
    ):
        return 0.0
    if rules == "musique" and not (guess and gold):
        return float(guess == gold)
    common = (Counter(guess.split()) & Counter(gold.split())).total()
    if not common:
        return 0.0
    precision, recall = common / len(guess.split()), common / len(gold.split())
    return 2 * precision * recall / (precision + recall)


def is_in_context(context: str, golds: Sequence[str]) -> float:
    """1 if a context contains a gold answer word by word, otherwise 0.

    NaN if every gold answer is empty or such as yes and no.
    """
    references = [normalise_answer(gold) for gold in golds]
    references = [gold for gold in references if gold and gold not in ALL_OR_NOTHING]
    if not references:
        return np.nan
    text = f" {normalise_answer(context)} "
    return float(any(f" {gold} " in text for gold in references))


def check_answers(data: QADataset) -> None:
    """Raise ValueError if a question has no gold answer."""
    without = [question.id for question in data.questions if not question.answers]
    if without:
        share = f"{len(without)} of {len(data.questions)} questions have no gold answer (first: {without[0]!r})"
        raise ValueError(
            f"{data.name}: {share}. Answers can be scored for sets that have them."
        )
