"""A corpus and a prompt style -> the plan of an extraction: calls, tokens, cost.

Tokens are estimates. They are counted with the encoder's tokenizer, which is not the language
model's; the length of an answer is that of the text times the style's `growth`.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import pandas as pd

from kg2rag.compute import TokenCounter
from kg2rag.llm import ChatModel, Completion
from kg2rag.llm.extraction.answers import latest, names_in, should_ask_again
from kg2rag.llm.extraction.schema import Entities
from kg2rag.llm.extraction.style import Excerpt, PromptStep, PromptStyle
from kg2rag.llm.replies import Outcome
from kg2rag.llm.requests import TEMPLATE_TOKENS, corrected
from kg2rag.llm.usage import CallPlan


class StepPlan(NamedTuple):
    """The plan of one step.

    Attributes
    ----------
    step : the name of the step.
    unusable : the number of excerpts whose answer, or that of an earlier step, is unusable; they fail unless they are
        sent again.
    plan : the calls to send, and the number of usable answers that are stored.
    """

    step: str
    unusable: int
    plan: CallPlan


@dataclass(frozen=True, repr=False)
class ExtractionPlan:
    """The plan of `PromptedTriples.run` without faults and retries."""

    passages: int
    style: str
    model: str
    steps: tuple[StepPlan, ...]

    @property
    def whole(self) -> CallPlan:
        """All steps together; its duration is unknown if one of them has no stored answer."""
        return reduce(operator.add, [step.plan for step in self.steps])

    def __repr__(self) -> str:
        rows = []
        for step, unusable, plan in self.steps:
            tokens = (plan.prompt_tokens, plan.completion_tokens)
            rows.append((step, plan.stored, unusable, plan.calls, *tokens))
        columns = "step stored unusable to_ask prompt_tokens completion_tokens".split()
        table = pd.DataFrame(rows, columns=columns).to_string(index=False)
        return f"{self.passages:,} passages, style {self.style}, model {self.model}: {self.whole}.\n{table}"


def step_plans(
    style: PromptStyle,
    excerpts: Iterable[Excerpt],
    model: ChatModel,
    counter: TokenCounter,
    *,
    retry_failed: bool,
) -> Iterator[StepPlan]:
    """The plan of each step, in order; later steps are estimated from the stored answers to earlier ones."""
    # Excerpts whose earlier steps are answered -> entities.
    names: dict[Excerpt, Sequence[str]] = dict.fromkeys(excerpts, ())
    # Excerpts whose earlier step is still to be sent -> tokens of its answer.
    answer_tokens: dict[Excerpt, float] = {}
    blocked = 0  # the number of excerpts whose earlier step has an unusable answer
    for step in style.steps:
        stored = {
            excerpt: latest(
                model, step.messages(excerpt, entities), step.form_for(excerpt)
            )
            for excerpt, entities in names.items()
        }
        answered, unusable, unsent = _sorted_by_state(stored, retry_failed=retry_failed)
        waiting = [*unsent, *answer_tokens]
        blocked += len(unusable)
        prompt_tokens = float(_prompt_tokens(step, names, waiting, model, counter))
        prompt_tokens += sum(answer_tokens.values())
        lengths = counter.count([excerpt.text for excerpt in waiting])
        answer_tokens = {
            excerpt: step.growth * length
            for excerpt, length in zip(waiting, lengths, strict=True)
        }
        stored_tokens = (
            _prompt_tokens(step, names, list(answered), model, counter),
            round(
                step.growth * sum(counter.count([excerpt.text for excerpt in answered]))
            ),
        )
        estimate = (round(prompt_tokens), round(sum(answer_tokens.values())))
        tokens = corrected(estimate, stored_tokens, answered.values())
        plan = model.call_plan(len(waiting), answered.values(), tokens)
        yield StepPlan(step.name, blocked, plan)
        if step.schema is Entities:
            names = {
                excerpt: names_in(answer.parsed, Counter())
                for excerpt, answer in answered.items()
            }


def _sorted_by_state(
    stored: Mapping[Excerpt, Outcome | None], *, retry_failed: bool
) -> tuple[dict[Excerpt, Completion[Any]], list[Excerpt], list[Excerpt]]:
    """The excerpts by their stored outcomes: usable answers, excerpts of unusable ones, excerpts to send.

    With `retry_failed`, excerpts of unusable answers that may be asked about again are to send.
    """
    answered: dict[Excerpt, Completion[Any]] = {}
    unusable: list[Excerpt] = []
    unsent: list[Excerpt] = []
    for excerpt, outcome in stored.items():
        if outcome is None or (retry_failed and should_ask_again(outcome)):
            unsent.append(excerpt)
        elif isinstance(outcome, Completion):
            answered[excerpt] = outcome
        else:
            unusable.append(excerpt)
    return answered, unusable, unsent


def _prompt_tokens(
    step: PromptStep,
    names: Mapping[Excerpt, Sequence[str]],
    excerpts: Sequence[Excerpt],
    model: ChatModel,
    counter: TokenCounter,
) -> int:
    """The estimated tokens of the prompts about some excerpts.

    `names` : the entities that an earlier step named in each excerpt.
    """
    if not excerpts:
        return 0
    questions = [
        step.messages(excerpt, names.get(excerpt, ()))[-1]["content"]
        for excerpt in excerpts
    ]
    # All prompts share the messages before the question, and the schema if it is part of a message.
    # The schema limits lists by the length of a text; that of the first excerpt stands for all.
    shared_messages = step.messages(excerpts[0])[:-1]
    shared = model.request(shared_messages, step.form_for(excerpts[0]))["messages"]
    shared_tokens = sum(counter.count([message["content"] for message in shared]))
    shared_tokens += TEMPLATE_TOKENS * (len(shared) + 1)
    return sum(counter.count(questions)) + len(excerpts) * shared_tokens
