"""The bookkeeping behind `plan`: a step's units -> which calls are stored, and what the others would take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kg2rag.compute.llm import ChatModel, Completion
from kg2rag.compute.tokens import TokenCounter
from kg2rag.extraction.prompted.answers import Entities
from kg2rag.extraction.prompted.asking import latest, unusable
from kg2rag.extraction.prompted.cleaning import clean_names
from kg2rag.extraction.prompted.plan import ENOUGH, PER_MESSAGE, StepPlan
from kg2rag.extraction.prompted.style import Messages, Step, Unit

Names = Sequence[str]


@dataclass
class Standing:
    """Where the units of a corpus stand before a step, and, when `look` has run, after it.

    Attributes
    ----------
    known : units whose earlier steps are answered, with the entities that these named.
    coming : units whose earlier steps are still to be asked, with the tokens their entities may come to.
    blocked : units whose earlier step has an unusable answer.
    """

    known: dict[Unit, Names]
    coming: dict[Unit, float] = field(default_factory=dict)
    blocked: int = 0


def look(
    step: Step, standing: Standing, model: ChatModel, counter: TokenCounter, *, longest: int, retry_failed: bool
) -> tuple[StepPlan, Standing]:
    """The plan of a step, and where the units stand after it; `longest` is that of `clean_names`."""
    prompts = {unit: step.messages(unit, names) for unit, names in standing.known.items()}
    outcomes = {unit: latest(model, prompt, step.schema) for unit, prompt in prompts.items()}
    answers = {unit: outcome for unit, outcome in outcomes.items() if isinstance(outcome, Completion)}
    unasked = [unit for unit in outcomes if unit not in answers]
    asked = [unit for unit in unasked if retry_failed or not unusable(outcomes[unit])]
    bad = len(unasked) - len(asked)

    tokens = _Tokens(step, model, counter)
    texts = tokens.of_texts([*standing.known, *standing.coming])
    sent = tokens.of_prompts(prompts)
    growth, scale = _measured(answers, texts, sent)
    growth_taken = step.growth if growth is None else growth
    bare = tokens.of_prompts({unit: step.messages(unit) for unit in standing.coming})
    waiting = {unit: bare[unit] + more for unit, more in standing.coming.items()}
    plan = StepPlan(
        step=step.name,
        calls=len(standing.known) + len(standing.coming) + standing.blocked,
        stored=len(answers),
        unusable=bad + standing.blocked,
        to_ask=len(asked) + len(waiting),
        prompt_tokens=round(scale * (sum(sent[unit] for unit in asked) + sum(waiting.values()))),
        completion_tokens=round(growth_taken * sum(texts[unit] for unit in [*asked, *waiting])),
        measured=growth is not None,
    )
    named = {unit: _names(answer, longest) for unit, answer in answers.items()}
    ahead = {unit: growth_taken * texts[unit] for unit in [*asked, *waiting]}
    return plan, Standing(named, ahead, standing.blocked + bad)


def _names(answer: Completion[Entities], longest: int) -> Names:
    return clean_names(answer.parsed.entities, longest, Counter()) if isinstance(answer.parsed, Entities) else ()


def _measured(
    answers: Mapping[Unit, Completion[Entities]], texts: Mapping[Unit, int], sent: Mapping[Unit, int]
) -> tuple[float | None, float]:
    """Completion tokens by token of text, and the endpoint's prompt tokens by one of ours; None and 1 if not known."""
    counted = [
        (unit, answer.prompt_tokens, answer.completion_tokens)
        for unit, answer in answers.items()
        if answer.prompt_tokens is not None and answer.completion_tokens is not None
    ]
    if len(counted) < ENOUGH:
        return None, 1.0
    growth = sum(completion for _, _, completion in counted) / max(1, sum(texts[unit] for unit, _, _ in counted))
    return growth, sum(prompt for _, prompt, _ in counted) / sum(sent[unit] for unit, _, _ in counted)


class _Tokens:
    """Counts of texts and prompts; what all prompts of a step share is counted once."""

    def __init__(self, step: Step, model: ChatModel, counter: TokenCounter) -> None:
        self.counter = counter
        shared = step.messages(Unit(0, "", ""))[:-1]
        # What the model adds: the message that tells the schema, where the endpoint is not told otherwise.
        added = model.request(shared, step.schema)["messages"]
        self._shared = sum(counter.count([message["content"] for message in added])) + PER_MESSAGE * (len(added) + 1)

    def of_texts(self, units: Sequence[Unit]) -> dict[Unit, int]:
        return dict(zip(units, self.counter.count([unit.text for unit in units]), strict=True))

    def of_prompts(self, prompts: Mapping[Unit, Messages]) -> dict[Unit, int]:
        questions = self.counter.count([prompt[-1]["content"] for prompt in prompts.values()])
        return {unit: self._shared + count for unit, count in zip(prompts, questions, strict=True)}
