"""Passages -> triples by a language model behind an OpenAI-compatible endpoint.

`PromptedTriples` plans and runs; a `PromptStyle` has the prompts (`prompts.toml`). The model's store
keeps each answer as it arrives, so that it is paid once and a stopped run continues.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kg2rag.compute import EncoderTokens, TokenCounter
from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.llm import ChatModel, Failure
from kg2rag.llm.extraction import answers
from kg2rag.llm.extraction.answers import (
    ExtractionError,
    ExtractionRun,
    FailedCall,
    RelationAnswer,
    Settled,
)
from kg2rag.llm.extraction.plan import ExtractionPlan, step_plans
from kg2rag.llm.extraction.schema import (
    MAX_NAME_CHARACTERS,
    Entities,
    Facts,
    GraphSchema,
    Stated,
)
from kg2rag.llm.extraction.style import STYLES, Excerpt, PromptStep, PromptStyle
from kg2rag.llm.replies import Outcome
from kg2rag.text.normalisation import entity_key
from kg2rag.types import Corpus, Triple, at_least, check

__all__ = [
    "STYLES",
    "Excerpt",
    "ExtractionError",
    "ExtractionPlan",
    "ExtractionRun",
    "FailedCall",
    "GraphSchema",
    "PromptStep",
    "PromptStyle",
    "PromptedTriples",
]

VERSION = 2  # raise it if the cleaning changes, so that stored graphs are rebuilt
MAX_DESCRIPTIONS = 8
"""The maximum of different descriptions per entity: those of the first passages."""


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

    `plan(corpus)` estimates the cost; `run(corpus)` returns triples and failures;
    `extract(corpus)`, which `KnowledgeBase` calls, raises where any passage failed.
    """

    model: ChatModel
    style: PromptStyle | str = field(default=STYLES["openie"])
    limit: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.style, str):
            if self.style not in STYLES:
                raise ValueError(
                    f"Unknown style {self.style!r}. Known: {', '.join(STYLES)}."
                )
            object.__setattr__(self, "style", STYLES[self.style])
        check(self, limit=at_least(1))

    @property
    def fingerprint(self) -> str:
        """sha256 over the style's texts, the model and its sampling, and the parameters."""
        # The model and its sampling: a request without its messages.
        request = self.model.request("") | {"messages": []}
        options = {
            "limit": self.limit,
            "longest": MAX_NAME_CHARACTERS,
            "structured": self.model.structured,
        }
        key = [VERSION, self._style.fingerprint, request, options]
        return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()

    def plan(
        self,
        corpus: Corpus,
        *,
        retry_failed: bool = False,
        counter: TokenCounter | None = None,
    ) -> ExtractionPlan:
        """The calls of `run` and the stored answers; sends nothing. `counter` estimates tokens."""
        # Equal texts are sent once.
        excerpts = {
            (excerpt.title, excerpt.text): excerpt
            for excerpt in self._style.excerpts(corpus, self.limit)
        }
        counter = counter or EncoderTokens()
        steps = step_plans(
            self._style,
            excerpts.values(),
            self.model,
            counter,
            retry_failed=retry_failed,
        )
        return ExtractionPlan(
            self._n_passages(corpus), self._style.name, self.model.model, tuple(steps)
        )

    def extract(self, corpus: Corpus) -> Extraction:
        """The triples, and for styles that name entities the mentions, of the whole corpus.

        ExtractionError where a passage failed; its `run` has the triples of the others.
        CompletionError as `run`.
        """
        run = self.run(corpus)
        if run.failures:
            raise ExtractionError(run)
        return run.extraction

    def run(self, corpus: Corpus, *, retry_failed: bool = False) -> ExtractionRun:
        """Send the calls without a stored answer; failures are part of the result.

        A call without an answer (time-out, rate limit, server error) is sent again by every run.
        One with an unusable answer is sent again, differently (`ChatModel.again`), only with
        `retry_failed`, once a run. A failed passage keeps the triples of its other calls.
        CompletionError where the endpoint refuses the key, or does not know the model.
        """
        collection = _Collection(corpus, self._style.types or GraphSchema())
        outcomes: list[Outcome] = []
        waiting = list(self._style.excerpts(corpus, self.limit))
        for step in self._style.steps:
            prompts = [
                step.messages(excerpt, collection.names.get(excerpt, ()))
                for excerpt in waiting
            ]
            forms = [step.form_for(excerpt) for excerpt in waiting]
            settled = answers.settle(
                self.model,
                prompts,
                forms,
                retry_failed=retry_failed,
                progress=step.name,
            )
            for call in settled:
                outcomes += [*call.wasted, call.outcome]
            calls = zip(waiting, settled, strict=True)
            waiting = [
                excerpt
                for excerpt, call in calls
                if collection.add(step, excerpt, call)
            ]
        collection.failures.sort(
            key=lambda failure: (failure[0].row, failure[0].sentence)
        )
        failed_calls = tuple(call for _, call in collection.failures)
        extraction = collection.extraction(self._n_passages(corpus))
        return ExtractionRun(extraction, failed_calls, self.model.usage(outcomes))

    def _n_passages(self, corpus: Corpus) -> int:
        """The number of passages that are asked about."""
        return len(corpus) if self.limit is None else min(self.limit, len(corpus))

    @property
    def _style(self) -> PromptStyle:
        """The style, which `__post_init__` looked up if it was a name."""
        assert isinstance(self.style, PromptStyle)
        return self.style


class _Collection:
    """The contents of the answers so far.

    Attributes
    ----------
    names : excerpt -> the entities that its answer names.
    relations : corpus row -> the relations in the answers about the passage.
    described : key of a name -> the entities of the answers with types.
    failures : the failed calls, with their excerpts.
    notes : counts of what was cleaned, dropped or cut, by cause.
    """

    def __init__(self, corpus: Corpus, schema: GraphSchema) -> None:
        self.corpus = corpus
        self.schema = schema
        self.names: dict[Excerpt, list[str]] = {}
        self.relations: defaultdict[int, list[RelationAnswer]] = defaultdict(list)
        self.described: defaultdict[str, list[Entity]] = defaultdict(list)
        self.failures: list[tuple[Excerpt, FailedCall]] = []
        self.notes: Counter[str] = Counter()

    def add(self, step: PromptStep, excerpt: Excerpt, settled: Settled) -> bool:
        """Add the outcome of a call; returns whether it has an answer, so that the next step is sent."""
        outcome = settled.outcome
        if isinstance(outcome, Failure):
            call = step.name
            if excerpt.sentence >= 0:
                call = f"{step.name}, sentence {excerpt.sentence}"
            failed_call = FailedCall(
                self.corpus.ids[excerpt.row],
                call,
                outcome.kind,
                outcome.reason,
                outcome.attempts,
                settled.tries,
            )
            self.failures.append((excerpt, failed_call))
            return False
        self.notes["answers from a second or later try"] += settled.tries > 1
        self.notes[
            "answers cut at the limit of tokens, whose whole items are kept"
        ] += outcome.cut
        answer = outcome.parsed
        if isinstance(answer, Entities):
            self.names[excerpt] = answers.names_in(answer, self.notes)
        elif isinstance(answer, Facts):
            self.relations[excerpt.row] += map(RelationAnswer, answer.triples)
        elif isinstance(answer, Stated):
            self._add_stated(excerpt, answer)
        return True

    def _add_stated(self, excerpt: Excerpt, answer: Stated) -> None:
        """Add the entities and relations of an answer with types."""
        stated_entities = (
            Entity(entity.name, entity.type, entity.description)
            for entity in answer.entities
        )
        entities = answers.clean_entities(stated_entities, self.schema, self.notes)
        self.names[excerpt] = [entity.name for entity in entities]
        for entity in entities:
            self.described[entity_key(entity.name)].append(entity)
        for relation in answer.relations:
            parts = (relation.source, relation.relation, relation.target)
            self.relations[excerpt.row].append(
                RelationAnswer(
                    parts, relation.strength, relation.confidence, relation.description
                )
            )

    def extraction(self, n_asked: int) -> Extraction:
        """The extraction from all answers; `n_asked` first passages were asked about."""
        ids = self.corpus.ids
        notes = self.notes
        entities = [self._merged(described) for described in self.described.values()]
        mentions = [
            Mention(name, ids[excerpt.row])
            for excerpt, names in self.names.items()
            for name in names
        ]
        triples: list[Triple] = []
        for row, relations in self.relations.items():
            triples += answers.clean_triples(relations, self.schema, ids[row], notes)
        failed = {call.passage_id for _, call in self.failures}
        accounted = failed | {triple.passage_id for triple in triples}
        notes["passages without a triple"] = sum(
            id_ not in accounted for id_ in ids[:n_asked]
        )
        notes["failed passages, whose triples are missing or incomplete"] = len(failed)
        notes["passages beyond the limit, not asked about"] = len(ids) - n_asked
        return Extraction(tuple(triples), tuple(mentions), tuple(entities), notes)

    def _merged(self, entities: Sequence[Entity]) -> Entity:
        """One entity for several with one key: the first name, the most frequent type.

        Its description joins the first `MAX_DESCRIPTIONS` different ones.
        """
        types = Counter(entity.type for entity in entities if entity.type)
        texts = [entity.description for entity in entities if entity.description]
        descriptions = list(dict.fromkeys(texts))
        excess = max(0, len(descriptions) - MAX_DESCRIPTIONS)
        self.notes[
            f"descriptions beyond an entity's first {MAX_DESCRIPTIONS}, left out"
        ] += excess
        type_ = types.most_common(1)[0][0] if types else ""
        description = " ".join(descriptions[:MAX_DESCRIPTIONS])
        return replace(entities[0], type=type_, description=description)
