"""Passages -> triples by a language model behind any OpenAI-compatible endpoint, every answer paid for once.

`PromptedTriples` plans and runs; a `PromptStyle` has the prompts (`prompts.toml`). The model's store keeps answers as
they arrive: a run that was stopped, in whatever way, continues where it was. What several passages say of one entity
becomes one record: its descriptions joined, or merged by the model.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from kg2rag.compute import ChatModel, EncoderTokens, Failure, TokenCounter
from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.extraction.prompted.answers import (
    LONGEST,
    ExtractionError,
    ExtractionRun,
    FailedCall,
    Said,
    Settled,
    clean_entities,
    clean_triples,
    infer_schema,
    settle,
    tidy,
)
from kg2rag.extraction.prompted.plan import ExtractionPlan, Progress, StepPlan, look
from kg2rag.extraction.prompted.schema import Entities, Facts, GraphSchema, Stated
from kg2rag.extraction.prompted.style import STYLES, Excerpt, PromptStep, PromptStyle
from kg2rag.text.normalisation import entity_key
from kg2rag.types import Corpus, Triple, at_least, check

__all__ = ["STYLES", "Excerpt", "ExtractionError", "ExtractionPlan", "ExtractionRun", "FailedCall", "GraphSchema"]
__all__ += ["PromptStep", "PromptStyle", "PromptedTriples", "infer_schema"]

VERSION = 1  # raise it when cleaning changes, so that stored graphs are rebuilt
MOST = 8
"""Different descriptions of an entity that are kept, those of the first passages."""


class Merged(BaseModel):
    """One description of a thing."""

    model_config = ConfigDict(extra="ignore", json_schema_extra={"additionalProperties": False})

    description: str


MERGING = PromptStep(
    name="merging",
    instruction="""\
Merge descriptions of one thing, each from another text, into one of at most three sentences. State what any of them \
states, once, and nothing that none does; where two contradict each other, state both. \
Answer with a JSON object: {"description": "…"}.""",
    question="{title}\n\nDescriptions: {text}",
    examples=(),
    schema=Merged,
    growth=1.0,
)


class _Record(NamedTuple):
    """An entity as the passages describe it; `excerpt` asks for one description, of `several`."""

    entity: Entity
    excerpt: Excerpt
    several: bool


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
    merge_descriptions: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.style, str):
            if self.style not in STYLES:
                raise ValueError(f"Unknown style {self.style!r}. Known: {', '.join(STYLES)}.")
            object.__setattr__(self, "style", STYLES[self.style])
        check(self, limit=at_least(1))
        if self.merge_descriptions and self._style.types is None:
            raise ValueError(f"Style {self._style.name!r} has no descriptions to merge. Use 'typed'.")

    @property
    def fingerprint(self) -> str:
        """sha256 over the style's texts, the model and its sampling, and the parameters."""
        request = self.model.request("") | {"messages": []}
        options: dict[str, object] = {"limit": self.limit, "longest": LONGEST, "structured": self.model.structured}
        if self.merge_descriptions:  # a key of its own, so that those of graphs without stay what they are
            options["merging"] = MERGING.instruction
        key = [VERSION, self._style.fingerprint, request, options]
        return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()

    def plan(
        self, corpus: Corpus, *, retry_failed: bool = False, counter: TokenCounter | None = None
    ) -> ExtractionPlan:
        """What `run` would send and what the store already has; sends nothing. `counter` estimates the tokens.

        Which descriptions are to be merged is only known of passages whose answers are in the store.
        """
        counter, stored, steps = counter or EncoderTokens(), _Collected(corpus, self), list[StepPlan]()
        by_text = {(excerpt.title, excerpt.text): excerpt for excerpt in self._style.excerpts(corpus, self.limit)}
        progress = Progress(dict.fromkeys(by_text.values(), ()))  # equal texts are sent once
        for step in self._style.steps:
            plan, answers, progress = look(step, progress, self.model, counter, retry_failed=retry_failed)
            steps.append(plan)
            for excerpt, answer in answers.items():
                stored.add(step, excerpt, Settled(answer))
            progress.known = {excerpt: stored.names.get(excerpt, ()) for excerpt in answers}
        if self.merge_descriptions:
            merging = Progress({one.excerpt: () for one in stored.records() if one.several})
            steps.append(look(MERGING, merging, self.model, counter, retry_failed=retry_failed)[0])
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
        found = _Collected(corpus, self)
        every: list[Settled] = []

        def ask(step: PromptStep, excerpts: Iterable[Excerpt]) -> list[Excerpt]:
            """Those that were answered."""
            waiting = list(excerpts)
            prompts = [step.messages(excerpt, found.names.get(excerpt, ())) for excerpt in waiting]
            settled = settle(self.model, prompts, step.form, retry_failed=retry_failed, progress=step.name)
            every.extend(settled)
            return [excerpt for excerpt, one in zip(waiting, settled, strict=True) if found.add(step, excerpt, one)]

        waiting = list(self._style.excerpts(corpus, self.limit))
        for step in self._style.steps:
            waiting = ask(step, waiting)
        records = found.records()
        if self.merge_descriptions:
            ask(MERGING, (one.excerpt for one in records if one.several))
        entities = [
            replace(one.entity, description=found.merged.get(one.excerpt) or one.entity.description) for one in records
        ]
        extraction = found.extraction(self._asked(corpus), entities)
        usage = self.model.usage([outcome for one in every for outcome in (*one.wasted, one.outcome)])
        failures = sorted(found.failures, key=lambda failure: (failure[0].row, failure[0].sentence))
        return ExtractionRun(extraction, tuple(call for _, call in failures), usage)

    def _asked(self, corpus: Corpus) -> int:
        return len(corpus) if self.limit is None else min(self.limit, len(corpus))

    @property
    def _style(self) -> PromptStyle:
        assert isinstance(self.style, PromptStyle)  # a name was looked up in __post_init__
        return self.style


class _Collected:
    """What the calls of a corpus have brought so far."""

    def __init__(self, corpus: Corpus, source: PromptedTriples) -> None:
        self.corpus, self.types = corpus, source._style.types or GraphSchema()
        self.names: dict[Excerpt, list[str]] = {}
        self.said: defaultdict[int, list[Said]] = defaultdict(list)
        self.described: defaultdict[str, list[tuple[int, Entity]]] = defaultdict(list)
        self.merged: dict[Excerpt, str] = {}
        self.failures: list[tuple[Excerpt, FailedCall]] = []
        self.notes: Counter[str] = Counter()

    def add(self, step: PromptStep, excerpt: Excerpt, settled: Settled) -> bool:
        """Take in a call; whether it was answered, so that the excerpt's next step can be sent."""
        outcome, row, rules = settled.outcome, excerpt.row, (self.types, self.notes)
        if isinstance(outcome, Failure):
            call = step.name if excerpt.sentence < 0 else f"{step.name}, sentence {excerpt.sentence}"
            call = f"merging the descriptions of {excerpt.title!r}" if step is MERGING else call
            reason = outcome.kind, outcome.reason, outcome.attempts, settled.tries
            self.failures.append((excerpt, FailedCall(self.corpus.ids[row], call, *reason)))
            return False
        self.notes["answers from a second or later try"] += settled.tries > 1
        answer = outcome.parsed
        if isinstance(answer, Entities):
            entities = clean_entities(map(Entity, answer.entities), *rules, str)
            self.names[excerpt] = [entity.name for entity in entities]
        elif isinstance(answer, Facts):
            self.said[row] += map(Said, answer.triples)
        elif isinstance(answer, Stated):
            named = (Entity(one.name, one.type, one.description) for one in answer.entities)
            entities = clean_entities(named, *rules, entity_key)
            self.names[excerpt] = [entity.name for entity in entities]
            for entity in entities:
                self.described[entity_key(entity.name)].append((row, entity))
            self.said[row] += (
                Said((one.source, one.relation, one.target), one.strength, one.confidence, one.description)
                for one in answer.relations
            )
        elif isinstance(answer, Merged):
            self.merged[excerpt] = tidy(answer.description)
            self.notes["merged descriptions that are blank, joined instead"] += not self.merged[excerpt]
        return True

    def records(self) -> list[_Record]:
        """Each described entity, in the order of first appearance: the type that most passages give, all they say."""
        found = []
        beyond = f"descriptions beyond an entity's first {MOST}, left out"
        for named in self.described.values():
            row, first = named[0]
            types = Counter(entity.type for _, entity in named if entity.type).most_common(1)
            said = list(dict.fromkeys(entity.description for _, entity in named if entity.description))
            self.notes[beyond] += max(0, len(said) - MOST)
            kept = said[:MOST]
            entity = replace(first, type=types[0][0] if types else "", description=" ".join(kept))
            about = f"{entity.name} ({entity.type})" if entity.type else entity.name
            found.append(_Record(entity, Excerpt(row, about, json.dumps(kept, ensure_ascii=False)), len(kept) > 1))
        return found

    def extraction(self, n_asked: int, entities: Iterable[Entity]) -> Extraction:
        """The triples and mentions, those of failed passages as far as they came, of the first `n_asked` passages."""
        ids, notes = self.corpus.ids, self.notes
        mentions = [Mention(name, ids[excerpt.row]) for excerpt, found in self.names.items() for name in found]
        triples: list[Triple] = []
        for row, given in self.said.items():
            triples += clean_triples(given, self.types, ids[row], notes)
        stating = {triple.passage_id for triple in triples}
        lost = {call.passage_id for _, call in self.failures}
        notes["passages without a triple"] = sum(id_ not in stating and id_ not in lost for id_ in ids[:n_asked])
        notes["failed passages, whose triples are missing or incomplete"] = len(lost)
        notes["passages beyond the limit, not asked about"] = len(ids) - n_asked
        return Extraction(tuple(triples), tuple(mentions), tuple(entities), notes)
