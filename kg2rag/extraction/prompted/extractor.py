"""A corpus and a language model -> triples, with every answer paid for once and every failure named.

The prompts are in `prompts.toml`, retries in `outcome`, the estimate in `plan`. The model's store keeps
answers as they arrive: a run that was stopped, in whatever way, continues where it was.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field

from kg2rag.compute import ChatModel, Completion, EncoderTokens, TokenCounter, Usage
from kg2rag.extraction import Entity, Extraction
from kg2rag.extraction.prompted.descriptions import INSTRUCTION, Records, gathered, merged, plan_merging
from kg2rag.extraction.prompted.outcome import Collected, ExtractionError, ExtractionRun, Settled, latest, settle
from kg2rag.extraction.prompted.plan import ExtractionPlan, Progress, StepPlan, look
from kg2rag.extraction.prompted.style import STYLES, PromptStyle
from kg2rag.types import Corpus, at_least, check

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
