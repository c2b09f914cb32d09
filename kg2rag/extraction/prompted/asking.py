"""Prompts -> outcomes over several tries: the first usable answer that the store has, or that is bought now.

A try is one answer of the model. Faults of the connection are no tries: they are retried by the connection, and never
stored. An unusable answer is stored, since it was paid for; the next try is sent differently (`ChatModel.again`). The
store alone records the tries, so any run finds the same answers, wherever an earlier one was stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel

from kg2rag.compute.llm import ChatModel, Failure
from kg2rag.compute.llm.outcomes import Outcome
from kg2rag.extraction.prompted.style import Messages


@dataclass(frozen=True, slots=True)
class Settled:
    """The outcome of a prompt; `tries` answers were needed, and `wasted` are those before it, paid for and unusable."""

    outcome: Outcome
    tries: int = 1
    wasted: tuple[Failure, ...] = ()


def unusable(outcome: Outcome | None) -> bool:
    """Whether the model answered otherwise than requested; other failures brought no answer at all."""
    return isinstance(outcome, Failure) and outcome.kind == "output"


def settle(
    model: ChatModel, prompts: Sequence[Messages], schema: type[BaseModel], *, retry_failed: bool, progress: str
) -> list[Settled]:
    """Send what was never answered; with `retry_failed`, send once more what has only unusable answers.

    Raises
    ------
    CompletionError : the endpoint refuses the key, or does not know the model.
    """
    settled = [Settled(outcome) for outcome in model.complete_many(prompts, schema, progress=progress)]
    open_ = [at for at, one in enumerate(settled) if unusable(one.outcome)]
    while open_:
        again = replace(model, again=settled[open_[0]].tries)
        stored = {at: again.stored(prompts[at], schema) for at in open_}
        fresh = [at for at in open_ if stored[at] is None] if retry_failed else []
        bought = again.complete_many([prompts[at] for at in fresh], schema, progress=f"{progress}, asking again")
        found = {at: outcome for at, outcome in stored.items() if outcome is not None}
        for at, outcome in (*found.items(), *zip(fresh, bought, strict=True)):
            settled[at] = _next(settled[at], outcome)
        open_ = [at for at, outcome in found.items() if unusable(outcome)]
    return settled


def latest(model: ChatModel, prompt: Messages, schema: type[BaseModel]) -> Outcome | None:
    """What `settle` would find for a prompt without sending it: an answer, the last unusable one, or None."""
    outcome, tries = model.stored(prompt, schema), 1
    while unusable(outcome):
        following = replace(model, again=tries).stored(prompt, schema)
        if following is None:
            break
        outcome, tries = following, tries + 1
    return outcome


def _next(before: Settled, outcome: Outcome) -> Settled:
    assert isinstance(before.outcome, Failure)  # else it would not have been sent again
    return Settled(outcome, before.tries + 1, (*before.wasted, before.outcome))
