"""The texts that the models of some systems have to read before the first ranking -> one line about their cost."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from kg2rag.compute import (
    Embedder,
    EndpointEncoder,
    GivenEncoder,
    SentenceEncoder,
    Store,
    counter_of,
)
from kg2rag.compute.parallel import LINE_SECONDS

MIN_TEXTS = 32  # fewer are read before an estimate would be of use
TIMED_TEXTS = 16  # that are read to estimate the time of all
SAMPLE_TEXTS = 256  # that are looked up in the store to estimate how many it lacks
MINUTES_FROM_SECONDS = 90
CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, eq=False)
class Workload:
    """Texts that a model has to read before a system returns its first ranking.

    Parameters
    ----------
    name : of the texts, such as "passages".
    texts : all of them, whether or not the store has what the model makes of them.
    read : passes some of them through the model.
    lacking : those of some texts that the store has no result for.
    includes : the name of texts whose vectors come out of the same passes, so that they cost nothing.
    remark : says how much of some texts the model does not read; "" if it reads all.
    endpoint : the model of an endpoint that the texts are sent to; "" for a model that runs here.
    """

    name: str
    texts: Sequence[Any]
    read: Callable[[Sequence[Any]], object]
    lacking: Callable[[Sequence[Any]], Sequence[Any]] = list
    remark: Callable[[Sequence[Any]], str] = lambda _: ""
    endpoint: str = ""
    includes: str = ""

    @classmethod
    def encoding(
        cls, name: str, texts: Sequence[str], embedder: Embedder, store: Store
    ) -> Workload:
        """The work of an encoder; no texts for one of the user's class, or a model2vec model, which is fast."""
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
            return replace(work, remark=partial(_cut_texts, embedder=embedder, store=store))
        return work

    def estimate(self) -> Estimate:
        """How many texts the model has to read and what that costs, from a sample."""
        sample = self.texts[:: max(1, len(self.texts) // SAMPLE_TEXTS)]
        lacking = list(self.lacking(sample))
        count = round(len(self.texts) * len(lacking) / max(1, len(sample)))
        if count < MIN_TEXTS:
            return Estimate()
        texts = f"{count:,} {self.name}"
        if self.endpoint:
            tokens = sum(map(len, lacking)) / CHARACTERS_PER_TOKEN / len(lacking) * count
            return Estimate(sent=f"{texts} are sent to {self.endpoint}, about {tokens:,.0f} tokens")
        timed = lacking[:: max(1, len(lacking) // TIMED_TEXTS)]
        self.read(timed[:1])  # loads the model
        start = time.perf_counter()
        self.read(timed[1:])
        seconds = (time.perf_counter() - start) / (len(timed) - 1) * count
        return Estimate(seconds, f"{texts}{self.remark(timed)}")


class Estimate(NamedTuple):
    """The seconds that models need on this machine, for which texts, and what is sent elsewhere; "" for nothing."""

    seconds: float = 0.0
    read: str = ""
    sent: str = ""


def announce(title: str, workloads: Iterable[Workload]) -> None:
    """Print in one line, after a title, what models have to read before the first ranking, and how long that takes.

    Nothing is printed if it takes less than `LINE_SECONDS` and nothing is sent to an endpoint.
    """
    estimates = [work.estimate() for work in _distinct(workloads)]
    parts = [estimate.sent for estimate in estimates if estimate.sent]
    seconds = sum(estimate.seconds for estimate in estimates)
    if seconds >= LINE_SECONDS:
        duration = f"{seconds:.0f} seconds"
        if seconds >= MINUTES_FROM_SECONDS:
            duration = f"{seconds / 60:.0f} minutes"
        texts = "; ".join(estimate.read for estimate in estimates if estimate.read)
        parts.insert(0, f"models need about {duration} on this machine for {texts}")
    if parts:
        print(f"{title}: {'; '.join(parts)}", file=sys.stderr)  # noqa: T201


def _distinct(workloads: Iterable[Workload]) -> list[Workload]:
    """Each workload once, by its name and size, without those that another one includes."""
    work_of = {(work.name, len(work.texts)): work for work in workloads if len(work.texts)}
    included = {(work.includes, len(work.texts)) for work in work_of.values()}
    return [work for key, work in work_of.items() if key not in included]


def _cut_texts(sample: Sequence[str], embedder: SentenceEncoder, store: Store) -> str:
    """How many texts of a sample are longer than the model reads; "" for none."""
    limit = embedder.describe(store)["max_tokens"] or math.inf
    n_cut = sum(count > limit for count in counter_of(embedder).count(sample))
    return f" ({n_cut} of a sample of {len(sample)} are cut at {limit} tokens)" if n_cut else ""
