"""Training questions -> groups of (question and the passage before, passage) with labels, for the cross-encoder.

What is wrong is drawn from the question's own paragraphs, which its data set chose to mislead, and BM25's first over
the whole corpus: neither depends on a fitted number, and neither needs an encoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kg2rag.knowledge import KnowledgeBase, LexicalSettings
from kg2rag.retrievers.mention_chains.cross import paired
from kg2rag.types import QADataset, Question, best

RIGHT, WRONG = 1, 3
"""Passages of a group, at most."""
LEXICAL = 10  # BM25's first hits among which a wrong passage is drawn
WITH_CONTEXT = 0.75  # share of groups that read a passage before
RIGHT_CONTEXT = 0.7  # and how often it is a gold one


@dataclass(frozen=True)
class Group:
    """One text on the left, several on the right, and which of these the question needs."""

    question: str
    passages: tuple[str, ...]
    labels: tuple[float, ...]


def groups_of(data: QADataset, questions: Sequence[Question], seed: int) -> list[Group]:
    """One group a question, drawn by `seed`; a question whose gold is not among the passages gives none."""
    lexical = KnowledgeBase.build(data.corpus).lexical(LexicalSettings())
    found = []
    for at, question in enumerate(questions):
        scores = lexical.scores(question.text)
        near = [row for row in best(scores, LEXICAL).tolist() if scores[row] > 0]
        own = data.corpus.rows(question.candidates or ()).tolist()
        gold = sorted({row for rows in data.gold_rows(question).values() for row in rows})
        wrong = sorted({*near, *own} - set(gold))
        if gold and wrong:
            found.append(_group(data, question.text, gold, wrong, np.random.default_rng((seed, at))))
    return found


def _group(data: QADataset, text: str, gold: list[int], wrong: list[int], random: np.random.Generator) -> Group:
    """A group whose passage before, if any, is not among those on the right."""
    source: int | None = None
    if random.random() < WITH_CONTEXT:
        from_gold = random.random() < RIGHT_CONTEXT
        chosen = gold if from_gold else wrong
        source = int(random.choice(chosen)) if len(chosen) > 1 else None
    right, others = ([row for row in rows if row != source] for rows in (gold, wrong))
    rows = [
        *random.permutation(right)[:RIGHT].tolist(),
        *random.permutation(others)[:WRONG].tolist(),
    ]
    pairs = [paired(text, data.corpus, row, source) for row in rows]
    labels = tuple(float(row in right) for row in rows)
    return Group(pairs[0][0], tuple(passage for _, passage in pairs), labels)
