"""The texts that models must read before the first ranking -> one line about the cost."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from kg2rag.compute import (
    CPU,
    Embedder,
    EndpointEncoder,
    GivenEncoder,
    SentenceEncoder,
    Store,
    counter_of,
    processor_seconds,
)
from kg2rag.compute.parallel import LINE_SECONDS
from kg2rag.text.cells import duration

MIN_TEXTS = 32  # fewer texts are read faster than estimated
TIMED_TEXTS = 16  # texts that are read to estimate the total time
# Texts that are looked up to estimate the share without a stored output.
SAMPLE_TEXTS = 256
CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, eq=False)
class Workload:
    """Texts that a model must read before a system returns its first ranking.

    Parameters
    ----------
    name : the name of the texts, such as "passages".
    texts : all texts, whether or not the store has the model's output for them.
    read : passes some texts through the model.
    lacking : selects the texts without a stored output.
    includes : the name of texts whose vectors come out of the same passes, at no further cost.
    on_processor : whether this process computes, so that its processor time is the cost.
    remark : reports the share of some texts that the model cuts; "" for none.
    endpoint : the model of the endpoint that receives the texts; "" for a local model.
    """

    name: str
    texts: Sequence[Any]
    read: Callable[[Sequence[Any]], object]
    lacking: Callable[[Sequence[Any]], Sequence[Any]] = list
    remark: Callable[[Sequence[Any]], str] = lambda _: ""
    endpoint: str = ""
    includes: str = ""
    on_processor: bool = False

    @classmethod
    def encoding(
        cls, name: str, texts: Sequence[str], embedder: Embedder, store: Store
    ) -> Workload:
        """The workload of an encoder; empty for a user's class or a fast model2vec model."""
        if not isinstance(embedder, SentenceEncoder | GivenEncoder | EndpointEncoder):
            return cls(name, (), list)
        work = cls(
            name,
            texts,
            partial(embedder.encode, store=store),
            partial(embedder.lacking, store=store),
        )
        if isinstance(embedder, EndpointEncoder):
            return replace(work, endpoint=embedder.model)
        if isinstance(embedder, SentenceEncoder):
            return replace(
                work,
                remark=partial(_cut_texts, embedder=embedder, store=store),
                on_processor=embedder.device == CPU,
            )
        return work

    def estimate(self) -> Estimate:
        """The estimated cost of the texts to read; empty for fewer than `MIN_TEXTS`."""
        sample = self.texts[:: max(1, len(self.texts) // SAMPLE_TEXTS)]
        lacking = list(self.lacking(sample))
        count = round(len(self.texts) * len(lacking) / max(1, len(sample)))
        if count < MIN_TEXTS:
            return Estimate()
        texts = f"{count:,} {self.name}"
        if self.endpoint:
            tokens = (
                sum(map(len, lacking)) / CHARACTERS_PER_TOKEN / len(lacking) * count
            )
            return Estimate(
                sent=f"{texts} are sent to {self.endpoint}, about {tokens:,.0f} tokens"
            )
        timed = lacking[:: max(1, len(lacking) // TIMED_TEXTS)]
        self.read(timed[:1])  # loads the model
        clock = processor_seconds if self.on_processor else time.perf_counter
        start = clock()
        self.read(timed[1:])
        seconds = (clock() - start) / (len(timed) - 1) * count
        return Estimate(seconds, f"{texts}{self.remark(timed)}")


class Estimate(NamedTuple):
    """The estimated cost of a workload.

    `seconds` is the time of a local model, `read` describes the texts that it reads, and `sent` the
    texts that an endpoint receives.
    """

    seconds: float = 0.0
    read: str = ""
    sent: str = ""


def announce(title: str, workloads: Iterable[Workload]) -> None:
    """Print the texts that models must read before the first ranking, and the time, in one line.

    Nothing is printed if it takes less than `LINE_SECONDS` and nothing is sent to an endpoint.
    """
    estimates = [work.estimate() for work in _distinct(workloads)]
    parts = [estimate.sent for estimate in estimates if estimate.sent]
    seconds = sum(estimate.seconds for estimate in estimates)
    if seconds >= LINE_SECONDS:
        texts = "; ".join(estimate.read for estimate in estimates if estimate.read)
        parts.insert(
            0, f"models need about {duration(seconds)} on this machine for {texts}"
        )
    if parts:
        print(f"{title}: {'; '.join(parts)}", file=sys.stderr)  # noqa: T201


def _distinct(workloads: Iterable[Workload]) -> list[Workload]:
    """The workloads that differ in name or size, without those that another one includes."""
    work_of = {
        (work.name, len(work.texts)): work for work in workloads if len(work.texts)
    }
    included = {(work.includes, len(work.texts)) for work in work_of.values()}
    return [work for key, work in work_of.items() if key not in included]


def _cut_texts(sample: Sequence[str], embedder: SentenceEncoder, store: Store) -> str:
    """A remark on the texts of a sample that exceed the model's limit; "" for none."""
    limit = embedder.describe(store)["max_tokens"] or math.inf
    n_cut = sum(count > limit for count in counter_of(embedder).count(sample))
    return (
        f" ({n_cut} of a sample of {len(sample)} are cut at {limit} tokens)"
        if n_cut
        else ""
    )
