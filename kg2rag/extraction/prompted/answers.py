"""Prompts -> answers over several tries -> names and facts fit for a graph, and every failure named.

A try is one answer of the model. Faults of the connection are no tries: they are retried by the connection, and never
stored. An unusable answer is stored, since it was paid for; the next try is sent differently (`ChatModel.again`). The
store alone records the tries, so any run finds the same answers, wherever an earlier one was stopped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from kg2rag.compute import ChatModel, CompletionError, Failure, Usage
from kg2rag.compute.llm import Outcome
from kg2rag.extraction import Entity, Extraction
from kg2rag.extraction.prompted.schema import FIELDS, GREATEST, LEAST, UNSTATED, GraphSchema
from kg2rag.extraction.prompted.style import Messages
from kg2rag.text.normalisation import entity_key
from kg2rag.types import Corpus, Triple, at_least, require


class Settled(NamedTuple):
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
    """Send what was never answered; with `retry_failed`, send once more what has only unusable answers."""
    settled = [Settled(outcome) for outcome in model.complete_many(prompts, schema, progress=progress)]
    open_ = [at for at, one in enumerate(settled) if unusable(one.outcome)]
    while open_:
        again = replace(model, again=settled[open_[0]].tries)
        stored = {at: again.stored(prompts[at], schema) for at in open_}
        fresh = [at for at in open_ if stored[at] is None] if retry_failed else []
        bought = again.complete_many([prompts[at] for at in fresh], schema, progress=f"{progress}, asking again")
        found = {at: outcome for at, outcome in stored.items() if outcome is not None}
        for at, outcome in (*found.items(), *zip(fresh, bought, strict=True)):
            before = settled[at]
            assert isinstance(before.outcome, Failure)  # else it would not have been sent again
            settled[at] = Settled(outcome, before.tries + 1, (*before.wasted, before.outcome))
        open_ = [at for at, outcome in found.items() if unusable(outcome)]
    return settled


def latest(model: ChatModel, prompt: Messages, schema: type[BaseModel]) -> Outcome | None:
    """What `settle` would find for a prompt without sending it: an answer, the last unusable one, or None."""
    outcome, tries = model.stored(prompt, schema), 1
    while unusable(outcome) and (following := replace(model, again=tries).stored(prompt, schema)) is not None:
        outcome, tries = following, tries + 1
    return outcome


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A call without a usable answer.

    Attributes
    ----------
    call : the step, and the sentence where the excerpt is one ("triples, sentence 3").
    kind, reason, attempts : as `kg2rag.compute.llm.Failure` has them; attempts are requests sent for the last try.
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

    extraction: Extraction
    failures: tuple[FailedCall, ...]
    usage: Usage

    @property
    def failed_passages(self) -> list[str]:
        """The passages with a failed call, each once, in the corpus's order."""
        return list(dict.fromkeys(failure.passage_id for failure in self.failures))

    def __repr__(self) -> str:
        kinds = Counter(one.kind for one in self.failures)
        failed = "".join(f", failed calls, {kind}: {count}" for kind, count in kinds.items())
        numbers = f"triples: {len(self.extraction.triples)}, failed passages: {len(self.failed_passages)}{failed}"
        return f"ExtractionRun({numbers}, usage: {self.usage})"


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


LONGEST = 100
"""Characters of an entity or a part of a triple; what is longer is dropped and counted."""
_QUOTES = "\"'“”‘’`"


def tidy(text: str) -> str:
    """One line, without the quotes around it; quotes that belong to the text ("5 o'clock") stay."""
    line = " ".join(text.split())
    while len(line) > 1 and line[0] in _QUOTES and line[-1] in _QUOTES:
        line = line[1:-1].strip()
    return "" if line in _QUOTES else line


def clean_entities(
    given: Iterable[Entity], types: GraphSchema, notes: Counter[str], key: Callable[[str], str]
) -> list[Entity]:
    """The entities without surrounding quotes and space, each once by the `key` of its name.

    Blank names and those above `LONGEST` characters drop. Types are in the schema's spelling; one outside a closed
    schema becomes none.
    """
    known = {entity_key(name): name for name in types.entity_types}
    kept: dict[str, Entity] = {}
    for one in given:
        name, kind = tidy(one.name), tidy(one.type)
        if not name:
            notes["dropped: entities that are blank"] += 1
            continue
        if len(name) > LONGEST:
            notes[f"dropped: entities longer than {LONGEST} characters"] += 1
            continue
        if known and kind and entity_key(kind) not in known:
            notes["entities of a type outside the schema, kept without one"] += 1
        found = Entity(name, known.get(entity_key(kind), "") if known else kind, tidy(one.description))
        first = kept.setdefault(key(name), found)
        kept[key(name)] = replace(
            first, type=first.type or found.type, description=first.description or found.description
        )
    return list(kept.values())


def clean_triples(given: Iterable[Said], types: GraphSchema, passage_id: str, notes: Counter[str]) -> list[Triple]:
    """The relations as triples of a passage, each once, with the greatest strength and confidence it was given.

    What a graph cannot have drops, by cause; a strength is brought into [1, 10], a confidence to at most 1.
    """
    known = {entity_key(name): name for name in types.relation_types}
    kept: dict[tuple[str, ...], Triple] = {}
    for one in given:
        parts = tuple(map(tidy, one.parts))
        if cause := _fault(parts, one.confidence, known):
            notes[f"dropped: {cause}"] += 1
            continue
        head, relation, tail = parts
        weights = min(max(one.strength, LEAST), GREATEST), min(one.confidence, 1.0)
        notes["strengths and confidences out of range, brought into it"] += weights != (one.strength, one.confidence)
        notes["dropped: triples that a passage has already"] += parts in kept
        found = Triple(
            head, known.get(entity_key(relation), relation), tail, passage_id, *weights, tidy(one.description)
        )
        first = kept.setdefault(parts, found)
        kept[parts] = replace(
            first,
            strength=max(first.strength, found.strength),
            confidence=max(first.confidence, found.confidence),
            description=first.description or found.description,
        )
    return list(kept.values())


def _fault(parts: tuple[str, ...], confidence: float, known: dict[str, str]) -> str | None:
    """Why a graph cannot have a triple, as notes call it: a part of more than `LONGEST` characters is a sentence."""
    if len(parts) != 3:
        return "triples without exactly three parts"
    if not all(parts):
        return "triples with a blank part"
    if max(map(len, parts)) > LONGEST:
        return f"triples with a part longer than {LONGEST} characters"
    if entity_key(parts[0]) == entity_key(parts[2]):
        return "triples from an entity to itself"
    if known and entity_key(parts[1]) not in known:
        return "triples of a relation outside the schema"
    return None if confidence > 0 else "triples of confidence 0"


class TypesSeen(BaseModel):
    """The types of entities and relations that a text is about."""

    model_config = ConfigDict(extra="ignore", json_schema_extra={"additionalProperties": False})

    entity_types: list[str]
    relation_types: list[str]


INFER = """\
Design the schema of a knowledge graph for a collection of texts of which you see one. List the types of the entities \
that it names (singular common nouns, such as person, organisation, place) and the types of the relations between them \
(short verb phrases in the third person, such as works for, located in). Prefer general types that other texts of the \
collection will share; list none twice. Answer with a JSON object: \
{"entity_types": ["…", …], "relation_types": ["…", …]}."""


def infer_schema(model: ChatModel, corpus: Corpus, *, passages: int = 20, retry_failed: bool = False) -> GraphSchema:
    """Types that a model names for some passages, the 20 most frequent of each kind, ties in the order of the passages.

    `passages` : how many are read, evenly spaced over the corpus; a call each.

    Raises
    ------
    CompletionError : a call failed; it names the passage. ValueError : no passage brought a type.
    """
    require("passages", passages, int, at_least(1))
    count = min(passages, len(corpus))
    rows = [at * len(corpus) // count for at in range(count)]
    told = {"role": "system", "content": INFER}
    prompts = [[told, {"role": "user", "content": corpus[row].contents}] for row in rows]
    settled = settle(model, prompts, TypesSeen, retry_failed=retry_failed, progress="types")
    seen: dict[str, Counter[str]] = {name: Counter() for name in FIELDS}
    spelled: dict[tuple[str, str], str] = {}
    for row, (outcome, *_) in zip(rows, settled, strict=True):
        if isinstance(outcome, Failure):
            reason = f"the types of passage {corpus.ids[row]!r}: {outcome.reason}"
            raise CompletionError(replace(outcome, reason=reason))
        for name in FIELDS:
            names = [" ".join(each.split()) for each in getattr(outcome.parsed, name) if each.strip()]
            seen[name].update(dict.fromkeys(map(entity_key, names), 1))
            for each in names:
                spelled.setdefault((name, entity_key(each)), each)
    if not any(seen.values()):
        raise ValueError(f"The model named no type for any of {count} passages. Give a schema, or build without one.")
    kept = {name: {spelled[name, key]: "" for key, _ in seen[name].most_common(20)} for name in FIELDS}
    return GraphSchema(**kept)
