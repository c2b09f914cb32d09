"""A corpus and a prompt style -> what extraction would take: calls, tokens, cost, and what the store already has.

Tokens are estimates. They are counted with the encoder's tokenizer, which is not the language model's; the length of
an answer is that of the text times what the answers in the store came to, or the style's own `growth`, where there are
fewer than `ENOUGH`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

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
