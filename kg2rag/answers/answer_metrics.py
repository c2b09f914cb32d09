"""Answers and gold answers -> exact match and token F1, by the rules of the data set's own scorer.

Three scorers that differ in edge cases only: SQuAD v1.1 [1]; HotpotQA [2], where yes, no and noanswer are right or
wrong as a whole and supporting facts are scored too, alone and jointly; MuSiQue [3], where two answers that both
normalise to nothing agree. The formulas are theirs. The treatment of failed questions is ours (`answer_report.py`): the
official scripts score a missing answer 0; here it is left out of the means, and counted.

[1] Rajpurkar et al., "SQuAD: 100,000+ Questions for Machine Comprehension of Text", EMNLP 2016 (evaluate-v1.1.py).
[2] Yang et al., "HotpotQA", EMNLP 2018, Sec. 4.2 and 5.2 (hotpot_evaluate_v1.py).
[3] Trivedi et al., "MuSiQue: Multihop Questions via Single-hop Question Composition", TACL 2022 (metrics/answer.py).
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple, get_args

from kg2rag.evaluation.sentences import Sentence

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
