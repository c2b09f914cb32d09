"""What several passages say of one entity -> one record of it: its descriptions joined, or merged by the model."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pydantic import BaseModel, ConfigDict

from kg2rag.compute import ChatModel, Completion, Failure, TokenCounter
from kg2rag.extraction import Entity
from kg2rag.extraction.prompted.answers import tidy
from kg2rag.extraction.prompted.outcome import FailedCall, Settled, latest, settle, unusable
from kg2rag.extraction.prompted.plan import PER_MESSAGE, StepPlan
from kg2rag.extraction.prompted.style import Messages
from kg2rag.extraction.prompted.typed import typical
from kg2rag.text.normalisation import entity_key

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
