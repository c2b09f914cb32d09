"""Prompts -> answers over several tries -> cleaned entities and triples; failures are listed.

A try is one answer of the model. Faults of the connection are no tries: the connection retries them,
and they are never stored. An unusable answer is stored, since it was paid for; the next try is sent
differently (`ChatModel.again`). The store records the tries.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from pydantic import BaseModel

from kg2rag.extraction import Entity, Extraction
from kg2rag.llm import ChatModel, Completion, Failure, Usage
from kg2rag.llm.extraction.schema import (
    GREATEST,
    LEAST,
    MAX_NAME_CHARACTERS,
    UNSTATED,
    Entities,
    GraphSchema,
)
from kg2rag.llm.extraction.style import Messages
from kg2rag.llm.replies import Outcome
from kg2rag.text.normalisation import entity_key
from kg2rag.types import Triple


class Settled(NamedTuple):
    """The outcome of a prompt after several tries.

    Attributes
    ----------
    outcome : the outcome that counts.
    tries : the number of tries.
    wasted : the outcomes of the other tries, which were paid, too.
    """

    outcome: Outcome
    tries: int = 1
    wasted: tuple[Outcome, ...] = ()

    def followed_by(self, outcome: Outcome) -> Settled:
        """The state after another try; only a whole answer replaces a cut one."""
        if isinstance(self.outcome, Completion) and (
            isinstance(outcome, Failure) or outcome.cut
        ):
            return Settled(self.outcome, self.tries + 1, (*self.wasted, outcome))
        return Settled(outcome, self.tries + 1, (*self.wasted, self.outcome))


def should_ask_again(outcome: Outcome) -> bool:
    """Whether another try may help: the answer is unusable, or was cut."""
    if isinstance(outcome, Failure):
        return outcome.kind == "output"
    return outcome.cut


def settle(
    model: ChatModel,
    prompts: Sequence[Messages],
    forms: Sequence[type[BaseModel]],
    *,
    retry_failed: bool,
    progress: str,
) -> list[Settled]:
    """Send each unanswered prompt once; returns the state of every prompt.

    Of several tries the first whole answer counts, else the first that was cut, else the last failure.

    Parameters
    ----------
    forms : the form of the answer to each prompt.
    retry_failed : whether prompts with unusable or cut answers are sent once more.
    progress : the label of the progress bar.
    """
    outcomes = model.complete_many(prompts, forms, progress=progress)
    calls = zip(prompts, forms, outcomes, strict=True)
    settled = [after_stored_tries(model, *call) for call in calls]
    if not retry_failed:
        return settled
    rows_of_try: defaultdict[int, list[int]] = defaultdict(list)
    for row, call in enumerate(settled):
        if should_ask_again(call.outcome):
            rows_of_try[call.tries].append(row)
    for tries, rows in rows_of_try.items():
        retried_prompts = [prompts[row] for row in rows]
        retried_forms = [forms[row] for row in rows]
        retrying = replace(model, again=tries)
        label = f"{progress}, asking again"
        outcomes = retrying.complete_many(
            retried_prompts, retried_forms, progress=label
        )
        for row, outcome in zip(rows, outcomes, strict=True):
            settled[row] = settled[row].followed_by(outcome)
    return settled


def after_stored_tries(
    model: ChatModel, prompt: Messages, form: type[BaseModel], first: Outcome
) -> Settled:
    """The state of a prompt after the first try and the stored ones."""
    settled = Settled(first)
    while should_ask_again(settled.outcome):
        outcome = replace(model, again=settled.tries).stored(prompt, form)
        if outcome is None:
            break
        settled = settled.followed_by(outcome)
    return settled


def latest(model: ChatModel, prompt: Messages, form: type[BaseModel]) -> Outcome | None:
    """The stored outcome of a prompt as `settle` returns it; None if it was never answered."""
    first = model.stored(prompt, form)
    if first is None:
        return None
    return after_stored_tries(model, prompt, form, first).outcome


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A call without a usable answer.

    Attributes
    ----------
    call : the name of the step, with the number of the sentence if the excerpt is one ("triples, sentence 3").
    kind, reason : see `kg2rag.llm.chat_model.Failure`.
    attempts : the number of requests sent for the last try.
    tries : the number of tries; if `kind` is "output", `retry_failed` makes another.
    """

    passage_id: str
    call: str
    kind: str
    reason: str
    attempts: int
    tries: int

    def __str__(self) -> str:
        return f"{self.passage_id!r}, {self.call}: {self.kind}: {self.reason}"


@dataclass(frozen=True, eq=False)
class ExtractionRun:
    """The outcome of `PromptedTriples.run`.

    Attributes
    ----------
    extraction : the extraction from all usable answers; its notes count the failed passages.
    failures : the calls without a usable answer, in the order of the passages; `pd.DataFrame(failures)` is a table.
    usage : the calls, tokens and cost of all answers, unusable ones included.
    """

    extraction: Extraction = field(repr=False)
    failures: tuple[FailedCall, ...]
    usage: Usage

    @property
    def failed_passages(self) -> list[str]:
        """The passages with a failed call, each once, in the corpus's order."""
        return list(dict.fromkeys(failure.passage_id for failure in self.failures))


class ExtractionError(RuntimeError):
    """Calls about some passages failed; `run` has the results of the others."""

    def __init__(self, run: ExtractionRun) -> None:
        super().__init__(run)
        self.run = run

    def __str__(self) -> str:
        return (
            f"{len(self.run.failed_passages)} passages failed; the first: {self.run.failures[0]}. All usable answers "
            "are kept: run(corpus, retry_failed=True) asks for the rest, and its result has the triples of the others."
        )


class RelationAnswer(NamedTuple):
    """A relation of an answer; `parts` are head, relation and tail, or () if they are not three."""

    parts: tuple[str, ...]
    strength: float = UNSTATED
    confidence: float = 1.0
    description: str = ""


_QUOTES = "\"'“”‘’`"


def tidy(text: str) -> str:
    """A text as one line without surrounding quotes; inner quotes ("5 o'clock") remain."""
    line = " ".join(text.split())
    while len(line) > 1 and line[0] in _QUOTES and line[-1] in _QUOTES:
        line = line[1:-1].strip()
    return "" if line in _QUOTES else line


def names_in(answer: Entities, notes: Counter[str]) -> list[str]:
    """The distinct valid names in an answer; `notes` counts the dropped ones."""
    names = []
    for name in map(tidy, answer.entities):
        fault = _fault_of_name(name)
        if fault:
            notes[f"dropped: entities {fault}"] += 1
        else:
            names.append(name)
    return list(dict.fromkeys(names))


def clean_entities(
    entities: Iterable[Entity], schema: GraphSchema, notes: Counter[str]
) -> list[Entity]:
    """The cleaned entities, each once by the `entity_key` of its name.

    Of several entities with one key, the first name, the first type and the first description count.
    Blank names and names above `MAX_NAME_CHARACTERS` are dropped. Types get the schema's spelling; a
    type outside a schema with entity types becomes "". `notes` counts both.
    """
    spelling = {entity_key(type_): type_ for type_ in schema.entity_types}
    cleaned: dict[str, Entity] = {}
    for entity in entities:
        name = tidy(entity.name)
        type_ = tidy(entity.type)
        fault = _fault_of_name(name)
        if fault:
            notes[f"dropped: entities {fault}"] += 1
            continue
        if spelling and type_ and entity_key(type_) not in spelling:
            notes["entities of a type outside the schema, kept without one"] += 1
        if spelling:
            type_ = spelling.get(entity_key(type_), "")
        merged = cleaned.get(entity_key(name), Entity(name))
        cleaned[entity_key(name)] = replace(
            merged,
            type=merged.type or type_,
            description=merged.description or tidy(entity.description),
        )
    return list(cleaned.values())


def _fault_of_name(name: str) -> str:
    """The fault of an entity's name; "" for a valid name."""
    if not name:
        return "that are blank"
    if len(name) > MAX_NAME_CHARACTERS:
        return f"longer than {MAX_NAME_CHARACTERS} characters"
    return ""


def clean_triples(
    relations: Iterable[RelationAnswer],
    schema: GraphSchema,
    passage_id: str,
    notes: Counter[str],
) -> list[Triple]:
    """The relations of a passage as distinct triples.

    Of equal triples, the maximum strength and confidence and the first description count. Strengths are
    clipped to [1, 10], confidences to at most 1. Invalid relations are dropped; `notes` counts them by
    cause.
    """
    spelling = {entity_key(name): name for name in schema.relation_types}
    cleaned: dict[tuple[str, ...], Triple] = {}
    for relation in relations:
        parts = tuple(map(tidy, relation.parts))
        fault = _fault_of(parts, relation.confidence, spelling)
        if fault:
            notes[f"dropped: triples {fault}"] += 1
            continue
        weights = (
            min(max(relation.strength, LEAST), GREATEST),
            min(relation.confidence, 1.0),
        )
        is_changed = weights != (relation.strength, relation.confidence)
        notes["strengths and confidences out of range, brought into it"] += is_changed
        notes["dropped: triples that a passage has already"] += parts in cleaned
        head, name, tail = parts
        name = spelling.get(entity_key(name), name)
        triple = Triple(
            head, name, tail, passage_id, *weights, tidy(relation.description)
        )
        cleaned[parts] = _stronger(cleaned.get(parts, triple), triple)
    return list(cleaned.values())


def _fault_of(
    parts: Sequence[str], confidence: float, relations: Mapping[str, str]
) -> str:
    """The fault of a triple; "" for a valid one.

    `relations` : the allowed relations by key; empty for any.
    """
    if len(parts) != 3:
        return "without exactly three parts"
    if not all(parts):
        return "with a blank part"
    if max(map(len, parts)) > MAX_NAME_CHARACTERS:
        return f"with a part longer than {MAX_NAME_CHARACTERS} characters"
    head, relation, tail = map(entity_key, parts)
    if head == tail:
        return "from an entity to itself"
    if relations and relation not in relations:
        return "of a relation outside the schema"
    if confidence <= 0:
        return "of confidence 0"
    return ""


def _stronger(first: Triple, second: Triple) -> Triple:
    """The first of two equal triples, with the maximum weights and the first description of both."""
    return replace(
        first,
        strength=max(first.strength, second.strength),
        confidence=max(first.confidence, second.confidence),
        description=first.description or second.description,
    )
