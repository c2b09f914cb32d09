"""A corpus and a language model -> triples, with every answer paid for once and every failure named.

The prompts are in `prompts.toml`, retries in `outcome`, the estimate in `plan`. The model's store keeps
answers as they arrive: a run that was stopped, in whatever way, continues where it was.

What several passages say of one entity becomes one record: its descriptions joined, or merged by the model.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from pydantic import BaseModel, ConfigDict

from kg2rag.compute import ChatModel, Completion, EncoderTokens, Failure, TokenCounter, Usage
from kg2rag.extraction import Entity, Extraction
from kg2rag.extraction.prompted.answers import tidy, typical
from kg2rag.extraction.prompted.outcome import (
    Collected,
    ExtractionError,
    ExtractionRun,
    FailedCall,
    Settled,
    latest,
    settle,
    unusable,
)
from kg2rag.extraction.prompted.plan import PER_MESSAGE, ExtractionPlan, Progress, StepPlan, look
from kg2rag.extraction.prompted.style import STYLES, Messages, PromptStyle
from kg2rag.text.normalisation import entity_key
from kg2rag.types import Corpus, at_least, check

MOST = 8
"""Different descriptions of an entity that are kept, those of the first passages."""
INSTRUCTION = """\
Merge descriptions of one thing, each from another text, into one of at most three sentences. State what any of them \
states, once, and nothing that none does; where two contradict each other, state both. \
Answer with a JSON object: {"description": "…"}."""


class Merged(BaseModel):
    """One description of a thing."""

    model_config = ConfigDict(extra="ignore", json_schema_extra={"additionalProperties": False})

    description: str


@dataclass(frozen=True)
class Records:
    """An entity as the passages describe it; `passage_id` is the first that does, `descriptions` are different ones."""

    entity: Entity
    passage_id: str
    descriptions: tuple[str, ...]

    def prompt(self) -> Messages:
        """What asks a model to merge them."""
        about = f"{self.entity.name} ({self.entity.type})" if self.entity.type else self.entity.name
        listed = json.dumps(self.descriptions, ensure_ascii=False)
        return [
            {"role": "system", "content": INSTRUCTION},
            {"role": "user", "content": f"{about}\n\nDescriptions: {listed}"},
        ]


def gathered(named: Iterable[tuple[str, Entity]], notes: Counter[str]) -> list[Records]:
    """The records of each entity, in the order of their first appearance, its descriptions joined by a space.

    `named` : passage id and entity, in the order of the passages. The type is the one most of them give.
    """
    by_key: defaultdict[str, list[tuple[str, Entity]]] = defaultdict(list)
    for passage, entity in named:
        by_key[entity_key(entity.name)].append((passage, entity))
    found = []
    for records in by_key.values():
        said = tuple(dict.fromkeys(entity.description for _, entity in records if entity.description))
        notes[f"descriptions beyond an entity's first {MOST}, left out"] += max(0, len(said) - MOST)
        passage, first = records[0]
        kept = said[:MOST]
        entity = replace(first, type=typical(one for _, one in records), description=" ".join(kept))
        found.append(Records(entity, passage, kept))
    return found


def plan_merging(records: list[Records], model: ChatModel, counter: TokenCounter, *, retry_failed: bool) -> StepPlan:
    """What `merged` would send; a merged description is taken to be as long as what it is made of."""
    prompts = [one.prompt() for one in records if len(one.descriptions) > 1]
    outcomes = [latest(model, prompt, Merged) for prompt in prompts]
    bad = sum(unusable(outcome) for outcome in outcomes)
    asked = [
        prompt[-1]["content"]
        for prompt, outcome in zip(prompts, outcomes, strict=True)
        if not isinstance(outcome, Completion) and (retry_failed or not unusable(outcome))
    ]
    tokens = sum(counter.count(asked))
    shared = counter.count([INSTRUCTION])[0] + 3 * PER_MESSAGE
    return StepPlan(
        step="merging",
        calls=len(prompts),
        stored=sum(isinstance(outcome, Completion) for outcome in outcomes),
        unusable=0 if retry_failed else bad,
        to_ask=len(asked),
        prompt_tokens=tokens + shared * len(asked),
        completion_tokens=tokens,
        measured=False,
    )


def merged(
    records: list[Records], model: ChatModel, notes: Counter[str], *, retry_failed: bool
) -> tuple[list[Entity], list[FailedCall], list[Settled]]:
    """The entities with their descriptions merged by a model, the calls that failed, and all calls.

    Only entities of several descriptions are asked about; where a call fails, or brings nothing, they stay joined.
    """
    several = [at for at, one in enumerate(records) if len(one.descriptions) > 1]
    prompts = [records[at].prompt() for at in several]
    settled = settle(model, prompts, Merged, retry_failed=retry_failed, progress="merging descriptions")
    entities, failures = [one.entity for one in records], []
    for at, one in zip(several, settled, strict=True):
        outcome = one.outcome
        if isinstance(outcome, Failure):
            call = f"merging the descriptions of {records[at].entity.name!r}"
            reason = outcome.kind, outcome.reason, outcome.attempts, one.tries
            failures.append(FailedCall(records[at].passage_id, call, *reason))
        elif isinstance(outcome.parsed, Merged) and (text := tidy(outcome.parsed.description)):
            entities[at] = replace(entities[at], description=text)
        else:
            notes["merged descriptions that are blank, joined instead"] += 1
    return entities, failures, settled


VERSION = 1  # raise it when cleaning changes, so that stored graphs are rebuilt


@dataclass(frozen=True)
class PromptedTriples:
    """Triples by a language model.

    Parameters
    ----------
    style : "openie" (two calls a passage: entities, then triples about them), "kg2rag" (one call a sentence), "typed"
        (one call a passage: entities and relations with types, descriptions and weights; of given types with
        `STYLES["typed"].typed(schema)`), or a `PromptStyle` of your own.
    limit : only the first so many passages, for a trial; the others are counted in the notes. A later run without it
        repeats no call.
    longest : of an entity or a part of a triple, in characters; what is longer is dropped and counted.
    merge_descriptions : what several passages say of an entity is merged by the model, a call for each such entity;
        otherwise it is joined. For typed styles.

    Examples
    --------
    >>> extractor = PromptedTriples(ChatModel("http://localhost:8000/v1", "qwen2.5-7b", api_key_env=None), "openie")
    >>> extractor.style.per
    'passage'

    `extractor.plan(corpus)` estimates the cost; `run(corpus)` returns triples and failures; `extract(corpus)`,
    which `KnowledgeBase` calls, raises where any passage failed.
    """

    model: ChatModel
    style: PromptStyle | str = field(default=STYLES["openie"])
    limit: int | None = None
    longest: int = 100
    merge_descriptions: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.style, str):
            if self.style not in STYLES:
                raise ValueError(f"Unknown style {self.style!r}. Known: {', '.join(STYLES)}.")
            object.__setattr__(self, "style", STYLES[self.style])
        check(self, limit=at_least(1), longest=at_least(1))
        if self.merge_descriptions and not self._style.is_typed:
            raise ValueError(f"Style {self._style.name!r} has no descriptions to merge. Use 'typed'.")

    @property
    def fingerprint(self) -> str:
        """sha256 over the style's texts, the model and its sampling, and the parameters."""
        request = self.model.request("") | {"messages": []}
        options: dict[str, object] = {"limit": self.limit, "longest": self.longest, "structured": self.model.structured}
        if self.merge_descriptions:  # a key of its own, so that those of graphs without stay what they are
            options["merging"] = INSTRUCTION
        key = [VERSION, self._style.fingerprint, request, options]
        return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()

    def plan(
        self, corpus: Corpus, *, retry_failed: bool = False, counter: TokenCounter | None = None
    ) -> ExtractionPlan:
        """What `run` would send and what the store already has; sends nothing. `counter` estimates the tokens.

        Which descriptions are to be merged is only known of passages whose answers are in the store.
        """
        by_text = {(excerpt.title, excerpt.text): excerpt for excerpt in self._style.excerpts(corpus, self.limit)}
        progress = Progress(dict.fromkeys(by_text.values(), ()))  # equal texts are sent once
        steps: list[StepPlan] = []
        for step in self._style.steps:
            plan, progress = look(
                step, progress, self.model, counter or EncoderTokens(), longest=self.longest, retry_failed=retry_failed
            )
            steps.append(plan)
        if self.merge_descriptions:
            records = self._stored_records(corpus)
            steps.append(plan_merging(records, self.model, counter or EncoderTokens(), retry_failed=retry_failed))
        prices = self.model.prompt_price, self.model.completion_price
        return ExtractionPlan(self._asked(corpus), self._style.name, self.model.model, tuple(steps), *prices)

    def extract(self, corpus: Corpus) -> Extraction:
        """The triples, and for styles that name entities the mentions, of the whole corpus.

        Raises
        ------
        ExtractionError : a passage failed; its `run` has the triples of the others. CompletionError : as `run`.
        """
        run = self.run(corpus)
        if run.failures:
            raise ExtractionError(run)
        return run.extraction

    def run(self, corpus: Corpus, *, retry_failed: bool = False) -> ExtractionRun:
        """Send the calls that the store lacks; failures are part of the result, never silently missing triples.

        A call without an answer (time-out, rate limit, server error) is sent again by every run. One with an unusable
        answer is sent again, differently (`ChatModel.again`), only with `retry_failed`, once a run. A failed
        passage keeps the triples of its other calls.

        Raises
        ------
        CompletionError : the endpoint refuses the key, or does not know the model.
        """
        collected = Collected(corpus, self.longest, self._style.types)
        every: list[Settled] = []
        waiting = list(self._style.excerpts(corpus, self.limit))
        for step in self._style.steps:
            prompts = [step.messages(excerpt, collected.names.get(excerpt, ())) for excerpt in waiting]
            settled = settle(self.model, prompts, step.schema, retry_failed=retry_failed, progress=step.name)
            every += settled
            waiting = [
                excerpt for excerpt, one in zip(waiting, settled, strict=True) if collected.add(step, excerpt, one)
            ]
        entities, merging = self._entities(collected, retry_failed=retry_failed)
        every += merging
        outcomes = [outcome for one in every for outcome in (*one.wasted, one.outcome)]
        usage = Usage.of(outcomes, self.model.prompt_price, self.model.completion_price)
        return ExtractionRun(collected.extraction(self._asked(corpus), entities), collected.failed(), usage)

    def _entities(self, collected: Collected, *, retry_failed: bool) -> tuple[list[Entity], list[Settled]]:
        """The records of the described entities, and the calls that merged them; failed ones are added there."""
        records = gathered(collected.described, collected.notes)
        if not self.merge_descriptions:
            return [one.entity for one in records], []
        entities, failures, settled = merged(records, self.model, collected.notes, retry_failed=retry_failed)
        for failure in failures:
            collected.fail(failure)
        return entities, settled

    def _stored_records(self, corpus: Corpus) -> list[Records]:
        """What the answers in the store say of the entities."""
        (step,) = self._style.steps
        collected = Collected(corpus, self.longest, self._style.types)
        for excerpt in self._style.excerpts(corpus, self.limit):
            if isinstance(outcome := latest(self.model, step.messages(excerpt), step.schema), Completion):
                collected.add(step, excerpt, Settled(outcome))
        return gathered(collected.described, Counter())

    def _asked(self, corpus: Corpus) -> int:
        return len(corpus) if self.limit is None else min(self.limit, len(corpus))

    @property
    def _style(self) -> PromptStyle:
        assert isinstance(self.style, PromptStyle)  # a name was looked up in __post_init__
        return self.style
