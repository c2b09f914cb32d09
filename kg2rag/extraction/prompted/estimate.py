"""The bookkeeping behind `plan`: a step's excerpts -> which calls are stored, and what the others would take."""

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
from kg2rag.extraction.prompted.style import Excerpt, Messages, PromptStep

Names = Sequence[str]


@dataclass
class Progress:
    """The state of the excerpts of a corpus before a step; `look` returns the state after it.

    Attributes
    ----------
    known : excerpts whose earlier steps are answered, with the entities that these named.
    coming : excerpts whose earlier steps are still to be sent, with the estimated tokens of their entities.
    blocked : excerpts whose earlier step has an unusable answer.
    """

    known: dict[Excerpt, Names]
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
    texts = tokens.of_texts([*progress.known, *progress.coming])
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
    named = {excerpt: _names(answer, longest) for excerpt, answer in answers.items()}
    ahead = {excerpt: growth_taken * texts[excerpt] for excerpt in [*asked, *waiting]}
    return plan, Progress(named, ahead, progress.blocked + bad)


def _names(answer: Completion[Entities], longest: int) -> Names:
    return clean_names(answer.parsed.entities, longest, Counter()) if isinstance(answer.parsed, Entities) else ()


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

    def of_texts(self, excerpts: Sequence[Excerpt]) -> dict[Excerpt, int]:
        return dict(zip(excerpts, self.counter.count([excerpt.text for excerpt in excerpts]), strict=True))

    def of_prompts(self, prompts: Mapping[Excerpt, Messages]) -> dict[Excerpt, int]:
        questions = self.counter.count([prompt[-1]["content"] for prompt in prompts.values()])
        return {excerpt: self._shared + count for excerpt, count in zip(prompts, questions, strict=True)}
