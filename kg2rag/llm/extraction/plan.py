"""A corpus and a prompt style -> what extraction would take: calls, tokens, cost, and what the store already has.

Tokens are estimates. They are counted with the encoder's tokenizer, which is not the language model's; the length of
an answer is that of the text times the style's own `growth`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kg2rag.compute import TokenCounter
from kg2rag.llm import ChatModel, Completion
from kg2rag.llm.extraction.answers import latest, named_in, should_ask_again
from kg2rag.llm.extraction.schema import Entities
from kg2rag.llm.extraction.style import Excerpt, PromptStyle

PER_MESSAGE = 4
"""Tokens that a chat template puts around a message, about."""


@dataclass(frozen=True, slots=True)
class StepPlan:
    """One step.

    Attributes
    ----------
    calls : different calls; the sum of the next three.
    stored : answered usably. unusable : answered otherwise than requested, or waiting for such a call; they
        fail unless they are sent again. to_ask : those the run would send.
    prompt_tokens, completion_tokens : of the calls to ask, estimated.
    """

    step: str
    calls: int
    stored: int
    unusable: int
    to_ask: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, repr=False)
class ExtractionPlan:
    """What `PromptedTriples.run` would do, faults and retries aside; prices are per million tokens."""

    passages: int
    style: str
    model: str
    steps: tuple[StepPlan, ...]
    prompt_price: float | None = None
    completion_price: float | None = None

    def total(self, what: str) -> int:
        """The sum of a column of the steps, such as "to_ask"."""
        return sum(getattr(step, what) for step in self.steps)

    @property
    def cost(self) -> float | None:
        """Of the calls to ask, in the currency of the prices; None where a price is not known."""
        if self.prompt_price is None or self.completion_price is None:
            return None
        prompts, answers = self.total("prompt_tokens"), self.total("completion_tokens")
        return (prompts * self.prompt_price + answers * self.completion_price) / 1e6

    def __repr__(self) -> str:
        import pandas as pd

        cost = "unknown (no prices given)" if self.cost is None else f"about {self.cost:.2f}"
        asked, prompts, answers = (f"{self.total(what):,}" for what in ("to_ask", "prompt_tokens", "completion_tokens"))
        return (
            f"{self.passages:,} passages, style {self.style}, model {self.model}: {asked} calls to ask, about "
            f"{prompts} + {answers} tokens, cost {cost}.\n{pd.DataFrame(self.steps).to_string(index=False)}"
        )


def planned(
    style: PromptStyle, excerpts: Iterable[Excerpt], model: ChatModel, counter: TokenCounter, *, retry_failed: bool
) -> Iterator[StepPlan]:
    """The plan of every step."""
    known: dict[Excerpt, Sequence[str]] = dict.fromkeys(excerpts, ())  # their earlier steps are answered: the entities
    coming: dict[Excerpt, float] = {}  # theirs are still to be sent: the tokens of the answers
    blocked = 0  # theirs have unusable answers
    for step in style.steps:
        stored = {one: latest(model, step.messages(one, names), step.form_for(one)) for one, names in known.items()}
        retried = {one for one, outcome in stored.items() if should_ask_again(outcome) and retry_failed}
        answers = {
            one: outcome for one, outcome in stored.items() if isinstance(outcome, Completion) and one not in retried
        }
        failed = {one for one, outcome in stored.items() if should_ask_again(outcome)} - retried - answers.keys()
        waiting = [*(one for one in stored if one not in answers and one not in failed), *coming]
        questions = [step.messages(one, known.get(one, ()))[-1]["content"] for one in waiting]
        # The same for all: the other messages, and one with the schema where the endpoint takes it as no parameter.
        typical = waiting[0] if waiting else Excerpt(0, "", "")
        shared = model.request(step.messages(Excerpt(0, "", ""))[:-1], step.form_for(typical))["messages"]
        each = sum(counter.count([message["content"] for message in shared])) + PER_MESSAGE * (len(shared) + 1)
        sent = sum(counter.count(questions)) + each * len(waiting) + sum(coming.values())
        calls = len(stored) + len(coming) + blocked
        blocked += len(failed)
        lengths = counter.count([one.text for one in waiting])
        coming = {one: step.growth * length for one, length in zip(waiting, lengths, strict=True)}
        numbers = len(answers), blocked, len(waiting), round(sent), round(sum(coming.values()))
        yield StepPlan(step.name, calls, *numbers)
        if step.schema is Entities:
            known = {one: named_in(answer.parsed, Counter()) for one, answer in answers.items()}
