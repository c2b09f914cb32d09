"""Training questions -> what `mention_chains` knows of each one's candidates, and which of them are gold."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kg2rag.compute import Embedder
from kg2rag.compute.progress import bar as progress_bar
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.mention_chains.retriever import MentionChains
from kg2rag.retrievers.mention_chains.signals import Evidence
from kg2rag.types import QADataset

BLOCK = 32  # questions between two updates of the progress bar


@dataclass(frozen=True)
class Example:
    """One question: the evidence of m candidates, and (m,) whether each is gold."""

    evidence: Evidence
    gold: NDArray[np.bool_]


def examples_of(data: QADataset, leave_out: Collection[str] = (), embedder: Embedder | None = None) -> list[Example]:
    """The questions of a set but some, by id; one whose gold is no candidate, or all of them, teaches nothing."""
    system = MentionChains(KnowledgeBase.build(data.corpus, embedder=embedder))
    kept = [(question, query) for question, query in zip(data.questions, data.queries, strict=True)]
    kept = [(question, query) for question, query in kept if question.id not in leave_out]
    found: list[Example] = []
    with progress_bar(len(kept), data.name, "question") as bar:
        for at in range(0, len(kept), BLOCK):
            block = kept[at : at + BLOCK]
            for (question, _), searched in zip(block, system.searched([query for _, query in block]), strict=True):
                if searched is not None:
                    gold = {row for rows in data.gold_rows(question).values() for row in rows}
                    found.append(Example(searched.evidence, np.isin(searched.evidence.rows, sorted(gold))))
            bar.update(len(block))
    return found


def folds_of(sets: Mapping[str, Sequence[Example]], folds: int, seed: int) -> dict[str, NDArray[np.int64]]:
    """The fold of every question, set by set; folds of a set are of equal size."""
    random = np.random.default_rng(seed)
    return {name: random.permutation(len(examples)) % folds for name, examples in sets.items()}


def format_of(embedder: Embedder) -> str:
    """The number format in which an embedder computes; what it gives is float32 always."""
    return str(getattr(embedder, "dtype", "float32"))
