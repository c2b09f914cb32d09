"""A corpus and a prompt style -> what extraction would take: calls, tokens, cost, and what the store already has.

Tokens are estimates. They are counted with the encoder's tokenizer, which is not the language model's; the length of
an answer is that of the text times the style's own `growth`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kg2rag.compute import ChatModel, Completion, TokenCounter
from kg2rag.extraction.prompted.answers import latest, unusable
from kg2rag.extraction.prompted.style import Excerpt, Messages, PromptStep

if TYPE_CHECKING:
    import pandas as pd
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
    """What `PromptedTriples.run` would do; prices are per million tokens.

    `to_ask` are the calls that the run would send, faults and retries aside; tokens are of these, estimated.
    """

    passages: int
    style: str
    model: str
    steps: tuple[StepPlan, ...]
    prompt_price: float | None = None
    completion_price: float | None = None

    to_ask: int = field(init=False)
    prompt_tokens: int = field(init=False)
    completion_tokens: int = field(init=False)

    def __post_init__(self) -> None:
        for name in ("to_ask", "prompt_tokens", "completion_tokens"):
            object.__setattr__(self, name, sum(getattr(step, name) for step in self.steps))

    @property
    def cost(self) -> float | None:
        """Of the calls to ask, in the currency of the prices; None where a price is not known."""
        if self.prompt_price is None or self.completion_price is None:
            return None
        return (self.prompt_tokens * self.prompt_price + self.completion_tokens * self.completion_price) / 1e6

    def to_frame(self) -> pd.DataFrame:
        """One row a step."""
        import pandas as pd

        return pd.DataFrame(self.steps)

    def __repr__(self) -> str:
        cost = "unknown (no prices given)" if self.cost is None else f"about {self.cost:.2f}"
        return (
            f"{self.passages:,} passages, style {self.style}, model {self.model}: {self.to_ask:,} calls to ask, about "
            f"{self.prompt_tokens:,} + {self.completion_tokens:,} tokens, cost {cost}.\n"
            f"{self.to_frame().to_string(index=False)}"
        )


@dataclass
class Progress:
    """The state of the excerpts of a corpus before a step.

    Of `known` excerpts the earlier steps are answered, with these entities; of `coming` ones they are still to be sent,
    with the estimated tokens of their entities; of `blocked` ones the earlier step has an unusable answer.
    """

    known: dict[Excerpt, Sequence[str]]
    coming: dict[Excerpt, float] = field(default_factory=dict)
    blocked: int = 0


def look(
    step: PromptStep, before: Progress, model: ChatModel, counter: TokenCounter, *, retry_failed: bool
) -> tuple[StepPlan, dict[Excerpt, Completion[Any]], Progress]:
    """The plan of a step, the answers that the store has, and the excerpts that the next step has to wait for."""
    prompts = {excerpt: step.messages(excerpt, names) for excerpt, names in before.known.items()}
    outcomes = {excerpt: latest(model, prompt, step.form) for excerpt, prompt in prompts.items()}
    answers = {excerpt: outcome for excerpt, outcome in outcomes.items() if isinstance(outcome, Completion)}
    failed = {excerpt for excerpt, outcome in outcomes.items() if unusable(outcome) and not retry_failed}
    waiting = [excerpt for excerpt in outcomes if excerpt not in answers and excerpt not in failed] + [*before.coming]

    prompts |= {excerpt: step.messages(excerpt) for excerpt in before.coming}
    texts = dict(zip(prompts, counter.count([excerpt.text for excerpt in prompts]), strict=True))
    sent = {excerpt: n + before.coming.get(excerpt, 0) for excerpt, n in _sent(step, prompts, model, counter).items()}
    coming = {excerpt: step.growth * texts[excerpt] for excerpt in waiting}
    plan = StepPlan(
        step=step.name,
        calls=len(prompts) + before.blocked,
        stored=len(answers),
        unusable=len(failed) + before.blocked,
        to_ask=len(waiting),
        prompt_tokens=round(sum(sent[excerpt] for excerpt in waiting)),
        completion_tokens=round(sum(coming.values())),
    )
    return plan, answers, Progress({}, coming, before.blocked + len(failed))


def _sent(
    step: PromptStep, prompts: Mapping[Excerpt, Messages], model: ChatModel, counter: TokenCounter
) -> dict[Excerpt, int]:
    """Tokens of each prompt; what all prompts of a step share is counted once."""
    shared = step.messages(Excerpt(0, "", ""))[:-1]
    # What the model adds: a message with the schema, where the endpoint does not take it as a parameter.
    added = model.request(shared, step.form)["messages"]
    tokens = sum(counter.count([message["content"] for message in added])) + PER_MESSAGE * (len(added) + 1)
    questions = counter.count([prompt[-1]["content"] for prompt in prompts.values()])
    return {excerpt: tokens + count for excerpt, count in zip(prompts, questions, strict=True)}
