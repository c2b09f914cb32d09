"""Prompts -> answers over several tries -> names and facts fit for a graph, and every failure named.

A try is one answer of the model. Faults of the connection are no tries: they are retried by the connection, and never
stored. An unusable answer is stored, since it was paid for; the next try is sent differently (`ChatModel.again`). The
store records the tries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from pydantic import BaseModel

from kg2rag.extraction import Entity, Extraction
from kg2rag.llm import ChatModel, Completion, Failure, Usage
from kg2rag.llm.extraction.schema import GREATEST, LEAST, MAX_NAME_CHARACTERS, UNSTATED, Entities, GraphSchema
from kg2rag.llm.extraction.style import Messages
from kg2rag.llm.replies import Outcome
from kg2rag.text.normalisation import entity_key
from kg2rag.types import Triple


class Settled(NamedTuple):
    """The outcome of a prompt after `tries` answers; `wasted` are the others, which were paid for."""

    outcome: Outcome
    tries: int = 1
    wasted: tuple[Outcome, ...] = ()

    def followed_by(self, outcome: Outcome) -> Settled:
        """The state after another try: a cut answer is replaced only by a whole one."""
        if isinstance(self.outcome, Completion) and (isinstance(outcome, Failure) or outcome.cut):
            return Settled(self.outcome, self.tries + 1, (*self.wasted, outcome))
        return Settled(outcome, self.tries + 1, (*self.wasted, self.outcome))


def should_ask_again(outcome: Outcome | None) -> bool:
    """Whether another try may give more: the model answered otherwise than requested, or its answer was cut."""
    if isinstance(outcome, Failure):
        return outcome.kind == "output"
    return outcome is not None and outcome.cut


def settle(
    model: ChatModel,
    prompts: Sequence[Messages],
    forms: Sequence[type[BaseModel]],
    *,
    retry_failed: bool,
    progress: str,
) -> list[Settled]:
    """Send prompts that were never answered; with `retry_failed`, once more those with unusable or cut answers only.

    Of several tries the first whole answer counts, else the first that was cut, else the last failure.
    """
    settled = [Settled(outcome) for outcome in model.complete_many(prompts, forms, progress=progress)]
    open_rows = [row for row, call in enumerate(settled) if should_ask_again(call.outcome)]
    tries = 1
    while open_rows:
        again = replace(model, again=tries)
        stored = {row: again.stored(prompts[row], forms[row]) for row in open_rows}
        lacking = [row for row in open_rows if stored[row] is None and retry_failed]
        bought = again.complete_many(
            [prompts[row] for row in lacking], [forms[row] for row in lacking], progress=f"{progress}, asking again"
        )
        answered = {row: outcome for row, outcome in stored.items() if outcome is not None}
        for row, outcome in [*answered.items(), *zip(lacking, bought, strict=True)]:
            settled[row] = settled[row].followed_by(outcome)
        open_rows = [row for row, outcome in answered.items() if should_ask_again(outcome)]
        tries += 1
    return settled


def latest(model: ChatModel, prompt: Messages, form: type[BaseModel]) -> Outcome | None:
    """The outcome that `settle` would give a prompt without sending it; None if it was never answered."""
    outcome = model.stored(prompt, form)
    if outcome is None:
        return None
    settled = Settled(outcome)
    while should_ask_again(outcome):
        outcome = replace(model, again=settled.tries).stored(prompt, form)
        if outcome is None:
            break
        settled = settled.followed_by(outcome)
    return settled.outcome


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A call without a usable answer.

    Attributes
    ----------
    call : the step, and the sentence where the excerpt is one ("triples, sentence 3").
    kind, reason, attempts : as `kg2rag.llm.chat_model.Failure` has them; attempts are requests sent for the last try.
    tries : answers requested so far; another `retry_failed` requests the next, where `kind` is "output".
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
    extraction : of the usable answers; its notes count the failed passages.
    failures : the calls without a usable answer, in the order of the passages; `pd.DataFrame(failures)` is a table.
    usage : calls, tokens and cost, those of unusable answers included.
    """

    extraction: Extraction = field(repr=False)
    failures: tuple[FailedCall, ...]
    usage: Usage

    @property
    def failed_passages(self) -> list[str]:
        """The passages with a failed call, each once, in the corpus's order."""
        return list(dict.fromkeys(failure.passage_id for failure in self.failures))


class ExtractionError(RuntimeError):
    """Some passages have no triples because a call failed; `run` holds what came of the others."""

    def __init__(self, run: ExtractionRun) -> None:
        super().__init__(run)
        self.run = run

    def __str__(self) -> str:
        return (
            f"{len(self.run.failed_passages)} passages failed; the first: {self.run.failures[0]}. All usable answers "
            "are kept: run(corpus, retry_failed=True) asks for the rest, and its result has the triples of the others."
        )


class Said(NamedTuple):
    """A relation as a model states it; `parts` are head, relation and tail, or nothing where it wrote no three."""

    parts: tuple[str, ...]
    strength: float = UNSTATED
    confidence: float = 1.0
    description: str = ""


_QUOTES = "\"'“”‘’`"


def tidy(text: str) -> str:
    """One line, without the quotes around it; quotes that belong to the text ("5 o'clock") stay."""
    line = " ".join(text.split())
    while len(line) > 1 and line[0] in _QUOTES and line[-1] in _QUOTES:
        line = line[1:-1].strip()
    return "" if line in _QUOTES else line


def named_in(answer: Entities, notes: Counter[str]) -> list[str]:
    """The names of an answer, each once."""
    return [one.name for one in clean_entities(map(Entity, answer.entities), GraphSchema(), notes, str)]


def clean_entities(
    given: Iterable[Entity], types: GraphSchema, notes: Counter[str], key: Callable[[str], str]
) -> list[Entity]:
    """The entities without surrounding quotes and space, each once by the `key` of its name.

    Blank names and those above `MAX_NAME_CHARACTERS` drop. Types are in the schema's spelling; one outside a closed
    schema becomes none.
    """
    known = {entity_key(name): name for name in types.entity_types}
    kept: dict[str, Entity] = {}
    for one in given:
        name, kind = tidy(one.name), tidy(one.type)
        if not 0 < len(name) <= MAX_NAME_CHARACTERS:
            notes[
                f"dropped: entities {f'longer than {MAX_NAME_CHARACTERS} characters' if name else 'that are blank'}"
            ] += 1
            continue
        if known and kind and entity_key(kind) not in known:
            notes["entities of a type outside the schema, kept without one"] += 1
        found = Entity(name, known.get(entity_key(kind), "") if known else kind, tidy(one.description))
        first = kept.setdefault(key(name), found)
        type_, about = first.type or found.type, first.description or found.description
        kept[key(name)] = replace(first, type=type_, description=about)
    return list(kept.values())


def clean_triples(given: Iterable[Said], types: GraphSchema, passage_id: str, notes: Counter[str]) -> list[Triple]:
    """The relations as triples of a passage, each once, with the greatest strength and confidence it was given.

    What a graph cannot have drops, by cause; a strength is brought into [1, 10], a confidence to at most 1.
    """
    known = {entity_key(name): name for name in types.relation_types}
    kept: dict[tuple[str, ...], Triple] = {}
    for one in given:
        parts = tuple(map(tidy, one.parts))
        head, relation, tail = (*parts, "", "", "")[:3]
        faults = {
            "triples without exactly three parts": len(parts) != 3,
            "triples with a blank part": not all(parts),
            f"triples with a part longer than {MAX_NAME_CHARACTERS} characters": any(
                len(part) > MAX_NAME_CHARACTERS for part in parts
            ),
            "triples from an entity to itself": entity_key(head) == entity_key(tail),
            "triples of a relation outside the schema": known and entity_key(relation) not in known,
            "triples of confidence 0": one.confidence <= 0,
        }
        if fault := next((name for name, found in faults.items() if found), None):
            notes[f"dropped: {fault}"] += 1
            continue
        weights = min(max(one.strength, LEAST), GREATEST), min(one.confidence, 1.0)
        notes["strengths and confidences out of range, brought into it"] += weights != (one.strength, one.confidence)
        notes["dropped: triples that a passage has already"] += parts in kept
        relation = known.get(entity_key(relation), relation)
        found = Triple(head, relation, tail, passage_id, *weights, tidy(one.description))
        first = kept.setdefault(parts, found)
        best = {name: max(getattr(first, name), getattr(found, name)) for name in ("strength", "confidence")}
        kept[parts] = replace(first, **best, description=first.description or found.description)
    return list(kept.values())
