"""A corpus and a language model -> triples, with every answer paid for once and every failure named.

The prompts are in `prompts.toml`, retries in `outcome`, the estimate in `plan`. The model's store keeps
answers as they arrive: a run that was stopped, in whatever way, continues where it was.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

from kg2rag.compute import ChatModel, EncoderTokens, TokenCounter, Usage
from kg2rag.extraction import Extraction
from kg2rag.extraction.prompted.outcome import Collected, ExtractionError, ExtractionRun, Settled, settle
from kg2rag.extraction.prompted.plan import ExtractionPlan, Progress, StepPlan, look
from kg2rag.extraction.prompted.style import STYLES, PromptStyle
from kg2rag.types import Corpus, at_least, check

VERSION = 1  # raise it when cleaning changes, so that stored graphs are rebuilt


@dataclass(frozen=True)
class PromptedTriples:
    """Triples by a language model.

    Parameters
    ----------
    style : "openie" (two calls a passage: entities, then triples about them), "kg2rag" (one call a sentence), or a
        `PromptStyle` of your own.
    limit : only the first so many passages, for a trial; the others are counted in the notes. A later run without it
        repeats no call.
    longest : of an entity or a part of a triple, in characters; what is longer is dropped and counted.

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

    def __post_init__(self) -> None:
        if isinstance(self.style, str):
            if self.style not in STYLES:
                raise ValueError(f"Unknown style {self.style!r}. Known: {', '.join(STYLES)}.")
            object.__setattr__(self, "style", STYLES[self.style])
        check(self, limit=at_least(1), longest=at_least(1))

    @property
    def fingerprint(self) -> str:
        """sha256 over the style's texts, the model and its sampling, and the parameters."""
        request = self.model.request("") | {"messages": []}
        endpoint = self.model.cache_as or self.model.base_url.rstrip("/")
        options = {"limit": self.limit, "longest": self.longest, "structured": self.model.structured}
        key = [VERSION, self._style.fingerprint, endpoint, request, options]
        return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()

    def plan(
        self, corpus: Corpus, *, retry_failed: bool = False, counter: TokenCounter | None = None
    ) -> ExtractionPlan:
        """What `run` would send and what the store already has; sends nothing. `counter` estimates the tokens."""
        by_text = {(excerpt.title, excerpt.text): excerpt for excerpt in self._style.excerpts(corpus, self.limit)}
        progress = Progress(dict.fromkeys(by_text.values(), ()))  # equal texts are sent once
        steps: list[StepPlan] = []
        for step in self._style.steps:
            plan, progress = look(
                step, progress, self.model, counter or EncoderTokens(), longest=self.longest, retry_failed=retry_failed
            )
            steps.append(plan)
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
        collected = Collected(corpus, self.longest)
        every: list[Settled] = []
        waiting = list(self._style.excerpts(corpus, self.limit))
        for step in self._style.steps:
            prompts = [step.messages(excerpt, collected.names.get(excerpt, ())) for excerpt in waiting]
            settled = settle(self.model, prompts, step.schema, retry_failed=retry_failed, progress=step.name)
            every += settled
            waiting = [
                excerpt for excerpt, one in zip(waiting, settled, strict=True) if collected.add(step, excerpt, one)
            ]
        outcomes = [outcome for one in every for outcome in (*one.wasted, one.outcome)]
        usage = Usage.of(outcomes, self.model.prompt_price, self.model.completion_price)
        return ExtractionRun(collected.extraction(self._asked(corpus)), collected.failed(), usage)

    def _asked(self, corpus: Corpus) -> int:
        return len(corpus) if self.limit is None else min(self.limit, len(corpus))

    @property
    def _style(self) -> PromptStyle:
        assert isinstance(self.style, PromptStyle)  # a name was looked up in __post_init__
        return self.style
