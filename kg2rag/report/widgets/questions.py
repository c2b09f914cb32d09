"""A comparison with its data and a choice -> two systems' rankings of a question, explained.

No widgets here: the panel makes a `Choice`, a `Board` answers it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from kg2rag.report.listing import Choice, Listing
from kg2rag.report.question_explanation import QuestionExplanation, check_same_questions, explain_rankings
from kg2rag.types import QADataset


@dataclass(frozen=True)
class Board(Listing):
    """A comparison and the data it was made of; ValueError where they do not belong together."""

    data: QADataset

    def __post_init__(self) -> None:
        check_same_questions(self.result.rankings, self.data)

    @cached_property
    def _at(self) -> Mapping[str, int]:
        return {question.id: at for at, question in enumerate(self.data.questions)}

    def explained(self, choice: Choice, query_id: str) -> QuestionExplanation:
        """The two rankings of a question, each hit explained, headed by the systems' scores on it."""
        at = self._at[query_id]
        names = (choice.left, choice.right)
        rankings = {name: self.result.rankings[name][at] for name in names}
        found = explain_rankings(rankings, self.data, self.data.questions[at], k=choice.hits)
        each = {name: replace(one, title=self.scores_line(name, query_id)) for name, one in found.explanations.items()}
        return replace(found, explanations=each)

    def caveat(self) -> str:
        """What loaded rankings lack, in words; empty for others."""
        if self.result.inputs is not None:
            return ""
        return "Loaded from files: rankings have ids and scores alone, no stages, parts of scores or paths."
