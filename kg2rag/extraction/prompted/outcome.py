"""Prompts -> answers over several tries -> what an extraction ends in: triples, failed calls, cost.

A try is one answer of the model. Faults of the connection are no tries: they are retried by the connection, and never
stored. An unusable answer is stored, since it was paid for; the next try is sent differently (`ChatModel.again`). The
store alone records the tries, so any run finds the same answers, wherever an earlier one was stopped.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING

from pydantic import BaseModel

from kg2rag.compute import ChatModel, Completion, Failure, Usage
from kg2rag.compute.llm import Outcome
from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.extraction.prompted.answers import (
    Entities,
    Facts,
    RawTriple,
    Stated,
    clean_entities,
    clean_facts,
    clean_names,
    clean_relations,
)
from kg2rag.extraction.prompted.schema import GraphSchema
from kg2rag.extraction.prompted.style import Excerpt, Messages, PromptStep
from kg2rag.types import Corpus, Triple

if TYPE_CHECKING:
    import pandas as pd


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
    while unusable(outcome):
        following = replace(model, again=tries).stored(prompt, schema)
        if following is None:
            break
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
    failures : the calls without a usable answer, in the order of the passages.
    usage : calls, tokens and cost, those of unusable answers included.
    """

    extraction: Extraction
    failures: tuple[FailedCall, ...]
    usage: Usage

    @property
    def failed_passages(self) -> list[str]:
        """The passages with a failed call, each once, in the corpus's order."""
        return list(dict.fromkeys(failure.passage_id for failure in self.failures))

    @property
    def summary(self) -> dict[str, object]:
        """The run in a few numbers; failures by kind."""
        return {
            "triples": len(self.extraction.triples),
            "failed passages": len(self.failed_passages),
            **{f"failed calls, {kind}": n for kind, n in Counter(one.kind for one in self.failures).items()},
            "usage": str(self.usage),
        }

    def __repr__(self) -> str:
        return f"ExtractionRun({', '.join(f'{name}: {value}' for name, value in self.summary.items())})"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{name}</th><td>{escape(str(v))}</td></tr>" for name, v in self.summary.items())
        return f"<table><caption>ExtractionRun</caption>{rows}</table>"

    def failed_frame(self) -> pd.DataFrame:
        """One row a failed call: passage_id, call, kind, reason, attempts, tries."""
        import pandas as pd

        return pd.DataFrame(
            [asdict(failure) for failure in self.failures], columns=list(FailedCall.__dataclass_fields__)
        )


class ExtractionError(RuntimeError):
    """Some passages have no triples because a call failed; `run` holds what came of the others."""

    def __init__(self, run: ExtractionRun) -> None:
        self.run = run
        super().__init__(
            f"{len(run.failed_passages)} passages failed; the first: {run.failures[0]}. All usable answers are kept: "
            "run(corpus, retry_failed=True) asks for the rest, and its result has the triples of the others."
        )

    def __reduce__(self) -> tuple[type[ExtractionError], tuple[ExtractionRun]]:
        return ExtractionError, (self.run,)


FAILED = "failed passages, whose triples are missing or incomplete"


@dataclass
class Collected:
    """What the calls of a corpus have brought so far; `failures` are in the order of the steps.

    A name or a part of a triple has at most `longest` characters, a type is one of `types`.
    """

    corpus: Corpus
    longest: int
    types: GraphSchema = field(default_factory=GraphSchema)
    names: dict[Excerpt, list[str]] = field(default_factory=dict)
    facts: dict[Excerpt, list[RawTriple]] = field(default_factory=dict)
    stated: dict[Excerpt, list[Triple]] = field(default_factory=dict)
    described: list[tuple[str, Entity]] = field(default_factory=list)
    failures: list[tuple[Excerpt, FailedCall]] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)

    def add(self, step: PromptStep, excerpt: Excerpt, settled: Settled) -> bool:
        """Take in a call; whether it was answered, so that the excerpt's next step can be sent."""
        if not isinstance(settled.outcome, Completion):
            failure, id_ = settled.outcome, self.corpus.ids[excerpt.row]
            call = step.name if excerpt.sentence < 0 else f"{step.name}, sentence {excerpt.sentence}"
            failed = FailedCall(id_, call, failure.kind, failure.reason, failure.attempts, settled.tries)
            self.failures.append((excerpt, failed))
            return False
        self.notes["answers from a second or later try"] += settled.tries > 1
        answer = settled.outcome.parsed
        if isinstance(answer, Entities):
            self.names[excerpt] = clean_names(answer.entities, self.longest, self.notes)
        elif isinstance(answer, Facts):
            self.facts[excerpt] = answer.triples
        elif isinstance(answer, Stated):
            self._add_stated(excerpt, answer)
        return True

    def _add_stated(self, excerpt: Excerpt, answer: Stated) -> None:
        id_, rules = self.corpus.ids[excerpt.row], (self.longest, self.notes)
        entities = clean_entities(answer, self.types, *rules)
        self.names[excerpt] = [entity.name for entity in entities]
        self.described += ((id_, entity) for entity in entities)
        self.stated[excerpt] = clean_relations(answer, self.types, id_, *rules)

    def fail(self, call: FailedCall) -> None:
        """Record a failed call about several passages, of which it names the first."""
        self.failures.append((Excerpt(self.corpus.row(call.passage_id), "", ""), call))

    def failed(self) -> tuple[FailedCall, ...]:
        """The failed calls in the order of the passages and their sentences."""
        ordered = sorted(self.failures, key=lambda failure: (failure[0].row, failure[0].sentence))
        return tuple(call for _, call in ordered)

    def extraction(self, n_asked: int, entities: Sequence[Entity] = ()) -> Extraction:
        """The triples and mentions, those of failed passages as far as they came, of the first `n_asked` passages.

        `entities` : the records of those that were described.
        """
        ids = self.corpus.ids
        mentions = [Mention(name, ids[excerpt.row]) for excerpt, found in self.names.items() for name in found]
        notes, by_row = self.notes, defaultdict[int, list[RawTriple]](list)
        for excerpt, given in self.facts.items():
            by_row[excerpt.row] += given
        triples = [
            Triple(*fact, passage_id=ids[row])
            for row, given in by_row.items()
            for fact in clean_facts(given, self.longest, notes)
        ]
        triples += (triple for given in self.stated.values() for triple in given)
        stating = {triple.passage_id for triple in triples}
        lost = {call.passage_id for _, call in self.failures}
        notes["passages without a triple"] = sum(id_ not in stating and id_ not in lost for id_ in ids[:n_asked])
        notes[FAILED] = len(lost)
        notes["passages beyond the limit, not asked about"] = len(ids) - n_asked
        counted = {cause: n for cause, n in notes.items() if n}
        return Extraction(tuple(triples), tuple(mentions), tuple(entities), counted)
