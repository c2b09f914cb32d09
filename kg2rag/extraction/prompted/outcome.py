"""What an extraction by a language model ends in: triples, the calls that failed, and what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING

from kg2rag.compute.llm import Failure, Usage
from kg2rag.extraction import Extraction
from kg2rag.extraction.prompted.asking import Settled
from kg2rag.extraction.prompted.style import Excerpt, PromptStep

if TYPE_CHECKING:
    import pandas as pd


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

    @classmethod
    def of(cls, passage_id: str, step: PromptStep, excerpt: Excerpt, settled: Settled) -> FailedCall:
        """The record of a settled call, whose outcome is a failure."""
        failure = settled.outcome
        assert isinstance(failure, Failure)
        call = step.name if excerpt.sentence < 0 else f"{step.name}, sentence {excerpt.sentence}"
        return cls(passage_id, call, failure.kind, failure.reason, failure.attempts, settled.tries)

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


def usage_of(settled: Iterable[Settled], prompt_price: float | None, completion_price: float | None) -> Usage:
    """The usage of some calls, the unusable answers before the last included."""
    every = [outcome for one in settled for outcome in (*one.wasted, one.outcome)]
    return Usage.of(every, prompt_price, completion_price)
