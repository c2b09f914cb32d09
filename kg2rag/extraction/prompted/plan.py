"""A corpus and a prompt style -> what extraction would take: calls, tokens, cost, and what the store already has.

Tokens are estimates. They are counted with the encoder's tokenizer, which is not the language model's; the length of
an answer is that of the text times what the answers in the store came to, or the style's own `growth`, where there are
fewer than `ENOUGH`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from kg2rag.compute import ChatModel, Completion, TokenCounter
from kg2rag.extraction.prompted.answers import Entities, clean_names
from kg2rag.extraction.prompted.outcome import latest, unusable
from kg2rag.extraction.prompted.style import Excerpt, Messages, PromptStep

if TYPE_CHECKING:
    import pandas as pd
ENOUGH = 20
"""Stored answers of a step from which its tokens are measured rather than assumed."""
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
    measured : whether the estimates rest on stored answers.
    """

    step: str
    calls: int
    stored: int
    unusable: int
    to_ask: int
    prompt_tokens: int
    completion_tokens: int
    measured: bool


@dataclass(frozen=True)
class ExtractionPlan:
    """What `PromptedTriples.run` would do; prices are per million tokens."""

    passages: int
    style: str
    model: str
    steps: tuple[StepPlan, ...]
    prompt_price: float | None = None
    completion_price: float | None = None

    @property
    def to_ask(self) -> int:
        """Calls that the run would send, faults and retries aside."""
        return sum(step.to_ask for step in self.steps)

    @property
    def prompt_tokens(self) -> int:
        """Of the calls to ask, estimated."""
        return sum(step.prompt_tokens for step in self.steps)

    @property
    def completion_tokens(self) -> int:
        """Of the calls to ask, estimated."""
        return sum(step.completion_tokens for step in self.steps)

    @property
    def cost(self) -> float | None:
        """Of the calls to ask, in the currency of the prices; None where a price is not known."""
        if self.prompt_price is None or self.completion_price is None:
            return None
        return (self.prompt_tokens * self.prompt_price + self.completion_tokens * self.completion_price) / 1e6

    def to_frame(self) -> pd.DataFrame:
        """One row a step."""
        import pandas as pd

        return pd.DataFrame([asdict(step) for step in self.steps], columns=list(StepPlan.__dataclass_fields__))

    def _sentence(self) -> str:
        cost = "unknown (no prices given)" if self.cost is None else f"about {self.cost:.2f}"
        return (
            f"{self.passages:,} passages, style {self.style}, model {self.model}: {self.to_ask:,} calls to ask, about "
            f"{self.prompt_tokens:,} + {self.completion_tokens:,} tokens, cost {cost}."
        )

    def __str__(self) -> str:
        return f"{self._sentence()}\n{self.to_frame().to_string(index=False)}"

    def _repr_html_(self) -> str:
        from html import escape

        table: str = self.to_frame().to_html(index=False)
        return f"<p>{escape(self._sentence())}</p>{table}"


@dataclass
class Progress:
    """The state of the excerpts of a corpus before a step; `look` returns the state after it.

    Of `known` excerpts the earlier steps are answered, with these entities; of `coming` ones they are still to be sent,
    with the estimated tokens of their entities; of `blocked` ones the earlier step has an unusable answer.
    """

    known: dict[Excerpt, Sequence[str]]
    coming: dict[Excerpt, float] = field(default_factory=dict)
    blocked: int = 0


def look(
    step: PromptStep, progress: Progress, model: ChatModel, counter: TokenCounter, *, longest: int, retry_failed: bool
) -> tuple[StepPlan, Progress]:
    """The plan of a step, and the state of the excerpts after it; `longest` is that of `clean_names`."""
    prompts = {excerpt: step.messages(excerpt, names) for excerpt, names in progress.known.items()}
    outcomes = {excerpt: latest(model, prompt, step.schema) for excerpt, prompt in prompts.items()}
    answers = {excerpt: outcome for excerpt, outcome in outcomes.items() if isinstance(outcome, Completion)}
    unasked = [excerpt for excerpt in outcomes if excerpt not in answers]
    asked = [excerpt for excerpt in unasked if retry_failed or not unusable(outcomes[excerpt])]
    bad = len(unasked) - len(asked)

    tokens = _Tokens(step, model, counter)
    every = [*progress.known, *progress.coming]
    texts = dict(zip(every, counter.count([excerpt.text for excerpt in every]), strict=True))
    sent = tokens.of_prompts(prompts)
    growth, scale = _measured(answers, texts, sent)
    growth_taken = step.growth if growth is None else growth
    bare = tokens.of_prompts({excerpt: step.messages(excerpt) for excerpt in progress.coming})
    waiting = {excerpt: bare[excerpt] + more for excerpt, more in progress.coming.items()}
    plan = StepPlan(
        step=step.name,
        calls=len(progress.known) + len(progress.coming) + progress.blocked,
        stored=len(answers),
        unusable=bad + progress.blocked,
        to_ask=len(asked) + len(waiting),
        prompt_tokens=round(scale * (sum(sent[excerpt] for excerpt in asked) + sum(waiting.values()))),
        completion_tokens=round(growth_taken * sum(texts[excerpt] for excerpt in [*asked, *waiting])),
        measured=growth is not None,
    )
    named: dict[Excerpt, Sequence[str]] = {
        excerpt: clean_names(answer.parsed.entities, longest, Counter()) if isinstance(answer.parsed, Entities) else ()
        for excerpt, answer in answers.items()
    }
    ahead = {excerpt: growth_taken * texts[excerpt] for excerpt in [*asked, *waiting]}
    return plan, Progress(named, ahead, progress.blocked + bad)


def _measured(
    answers: Mapping[Excerpt, Completion[Entities]], texts: Mapping[Excerpt, int], sent: Mapping[Excerpt, int]
) -> tuple[float | None, float]:
    """Completion tokens by token of text, and the endpoint's prompt tokens by one of ours; None and 1 if not known."""
    counted = [
        (excerpt, answer.prompt_tokens, answer.completion_tokens)
        for excerpt, answer in answers.items()
        if answer.prompt_tokens is not None and answer.completion_tokens is not None
    ]
    if len(counted) < ENOUGH:
        return None, 1.0
    growth = sum(completion for _, _, completion in counted) / max(1, sum(texts[excerpt] for excerpt, _, _ in counted))
    return growth, sum(prompt for _, prompt, _ in counted) / sum(sent[excerpt] for excerpt, _, _ in counted)


class _Tokens:
    """Counts of texts and prompts; what all prompts of a step share is counted once."""

    def __init__(self, step: PromptStep, model: ChatModel, counter: TokenCounter) -> None:
        self.counter = counter
        shared = step.messages(Excerpt(0, "", ""))[:-1]
        # What the model adds: a message with the schema, where the endpoint does not take it as a parameter.
        added = model.request(shared, step.schema)["messages"]
        self._shared = sum(counter.count([message["content"] for message in added])) + PER_MESSAGE * (len(added) + 1)

    def of_prompts(self, prompts: Mapping[Excerpt, Messages]) -> dict[Excerpt, int]:
        questions = self.counter.count([prompt[-1]["content"] for prompt in prompts.values()])
        return {excerpt: self._shared + count for excerpt, count in zip(prompts, questions, strict=True)}
