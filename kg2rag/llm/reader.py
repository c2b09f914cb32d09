"""(question, context) -> answer, by a language model.

A reader gets questions and context strings, no retriever. A question that fails is listed as
failed, with its reason, and is never scored as an empty answer. The prompts are ours.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Formatter

from kg2rag.llm import ChatModel, Completion, Failure, Usage
from kg2rag.llm.usage import CallPlan
from kg2rag.types import Query

_LABEL = "answer:"
_FIELDS = {"question", "context"}


@dataclass(frozen=True, slots=True)
class ReaderPrompt:
    """A prompt, and the location of the answer in its output.

    Attributes
    ----------
    template : the text with the fields `{question}` and `{context}`; other braces are doubled.
    labelled : whether the answer follows the last "Answer:" at the start of a line, after reasoning; an output without
        this label is then a failure. Otherwise the whole output is the answer, and the label may be missing.
    answer_tokens : the usual length of an output, for plans.
    """

    template: str
    labelled: bool = False
    answer_tokens: int = 10

    def __post_init__(self) -> None:
        fields = {
            name
            for _, name, _, _ in Formatter().parse(self.template)
            if name is not None
        }
        if fields != _FIELDS:
            placeholders = (
                ", ".join(f"{{{name}}}" for name in sorted(fields)) or "neither"
            )
            raise ValueError(
                f"A prompt has the fields {{question}} and {{context}}, no other; this one has {placeholders}."
            )

    def fill(self, question: str, context: str) -> str:
        """The text sent to the model."""
        return self.template.format(question=question, context=context)


_PROMPTS = tomllib.loads(
    Path(__file__).with_name("reader_prompts.toml").read_text(encoding="utf-8")
)
SHORT = ReaderPrompt(**_PROMPTS["short"])
"""A prompt for the answer only, as exact match and F1 expect it."""
REASONED = ReaderPrompt(**_PROMPTS["reasoned"])
"""A prompt for reasoning and a line "Answer: …", for several hops; it costs more and needs more `max_tokens`."""


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of a reader: question id -> answer or failure, in the order of the questions.

    `usage` : calls, tokens and cost of all answers; None if no model was called.
    """

    outcomes: Mapping[str, str | Failure]
    usage: Usage | None = None

    @property
    def texts(self) -> dict[str, str]:
        """The answers, without the failed questions."""
        return {
            id_: outcome
            for id_, outcome in self.outcomes.items()
            if isinstance(outcome, str)
        }

    @property
    def failed(self) -> dict[str, Failure]:
        """The failures of the questions without an answer."""
        return {
            id_: outcome
            for id_, outcome in self.outcomes.items()
            if isinstance(outcome, Failure)
        }


@dataclass(frozen=True)
class Reader:
    """A language model that answers questions from their contexts.

    `prompt` : `SHORT`, `REASONED`, or one of your own.
    """

    model: ChatModel
    prompt: ReaderPrompt = SHORT

    def read(self, questions: Sequence[Query], contexts: Sequence[str]) -> Answers:
        """One outcome per question; stored completions of earlier runs are reused.

        `contexts` : one per question, as the model sees it; empty for an answer from the model's memory.

        Raises ValueError: too many or too few contexts, or two questions with one id.
        CompletionError: the endpoint refuses the key, or does not know the model.
        """
        prompts = self._prompts(questions, contexts)
        outcomes = [
            self._require_answer(outcome)
            for outcome in self.model.complete_many(prompts, progress="reading")
        ]
        answers = {
            question.id: outcome
            if isinstance(outcome, Failure)
            else self._answer(outcome.text)
            for question, outcome in zip(questions, outcomes, strict=True)
        }
        return Answers(answers, self.model.usage(outcomes))

    def plan(self, questions: Sequence[Query], contexts: Sequence[str]) -> CallPlan:
        """The estimated requests, tokens, time and cost of `read`."""
        return self.model.plan(
            self._prompts(questions, contexts), answer_tokens=self.prompt.answer_tokens
        )

    def _prompts(
        self, questions: Sequence[Query], contexts: Sequence[str]
    ) -> list[str]:
        ids = {question.id for question in questions}
        if len(contexts) != len(questions) or len(ids) < len(questions):
            raise ValueError(
                f"{len(questions)} questions, {len(ids)} ids, {len(contexts)} contexts: give one of each."
            )
        pairs = zip(questions, contexts, strict=True)
        return [self.prompt.fill(question.text, context) for question, context in pairs]

    def _require_answer(
        self, outcome: Completion[None] | Failure
    ) -> Completion[None] | Failure:
        """The outcome; a failure in place of a completion without an answer."""
        if isinstance(outcome, Failure) or self._answer(outcome.text):
            return outcome
        reason = f"no answer, after the label 'Answer:' if one is required; the output ends {outcome.text[-80:]!r}"
        counts = (outcome.attempts, outcome.prompt_tokens, outcome.completion_tokens)
        return Failure("output", reason, *counts, cached=outcome.cached)

    def _answer(self, output: str) -> str:
        """The answer in an output; "" if there is none."""
        lines = [output.strip()]
        if self.prompt.labelled:  # models often write the label in bold
            lines = [line.replace("*", "").strip() for line in output.splitlines()]
        labelled = [line for line in lines if line.casefold().startswith(_LABEL)]
        if labelled:
            return labelled[-1][len(_LABEL) :].strip()
        return "" if self.prompt.labelled else lines[0]
