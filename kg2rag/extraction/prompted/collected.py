"""Settled calls -> names, facts and failures by excerpt, and from those the `Extraction`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from kg2rag.compute.llm import Completion
from kg2rag.extraction import Extraction, Mention
from kg2rag.extraction.prompted.answers import Entities, Facts, RawTriple
from kg2rag.extraction.prompted.asking import Settled
from kg2rag.extraction.prompted.cleaning import clean_facts, clean_names
from kg2rag.extraction.prompted.outcome import FailedCall
from kg2rag.extraction.prompted.style import Excerpt, PromptStep
from kg2rag.types.corpus import Corpus
from kg2rag.types.passages import Triple

FAILED = "failed passages, whose triples are missing or incomplete"


@dataclass
class Collected:
    """What the calls of a corpus have brought so far.

    Attributes
    ----------
    longest : of a name or a part of a triple, in characters.
    names, facts : by excerpt, in the order of the excerpts.
    failures : in the order of the steps.
    """

    corpus: Corpus
    longest: int
    names: dict[Excerpt, list[str]] = field(default_factory=dict)
    facts: dict[Excerpt, list[RawTriple]] = field(default_factory=dict)
    failures: list[tuple[Excerpt, FailedCall]] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)

    def add(self, step: PromptStep, excerpt: Excerpt, settled: Settled) -> bool:
        """Take in a call; whether it was answered, so that the excerpt's next step can be sent."""
        if not isinstance(settled.outcome, Completion):
            failure = FailedCall.of(self.corpus.ids[excerpt.row], step, excerpt, settled)
            self.failures.append((excerpt, failure))
            return False
        self.notes["answers from a second or later try"] += settled.tries > 1
        answer = settled.outcome.parsed
        if isinstance(answer, Entities):
            self.names[excerpt] = clean_names(answer.entities, self.longest, self.notes)
        elif isinstance(answer, Facts):
            self.facts[excerpt] = answer.triples
        return True

    def failed(self) -> tuple[FailedCall, ...]:
        """The failed calls in the order of the passages and their sentences."""
        ordered = sorted(self.failures, key=lambda failure: (failure[0].row, failure[0].sentence))
        return tuple(call for _, call in ordered)

    def extraction(self, n_asked: int) -> Extraction:
        """The triples and mentions, those of failed passages as far as they came, of the first `n_asked` passages."""
        ids = self.corpus.ids
        mentions = [Mention(name, ids[excerpt.row]) for excerpt, found in self.names.items() for name in found]
        triples, notes = self._triples(), self.notes
        stating = {triple.passage_id for triple in triples}
        lost = {call.passage_id for _, call in self.failures}
        notes["passages without a triple"] = sum(id_ not in stating and id_ not in lost for id_ in ids[:n_asked])
        notes[FAILED] = len(lost)
        notes["passages beyond the limit, not asked about"] = len(ids) - n_asked
        return Extraction(tuple(triples), tuple(mentions), notes={cause: n for cause, n in notes.items() if n})

    def _triples(self) -> Sequence[Triple]:
        by_row: dict[int, list[RawTriple]] = {}
        for excerpt, found in self.facts.items():
            by_row.setdefault(excerpt.row, []).extend(found)
        return [
            Triple(*fact, passage_id=self.corpus.ids[row])
            for row, found in by_row.items()
            for fact in clean_facts(found, self.longest, self.notes)
        ]
