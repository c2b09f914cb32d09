"""A trial -> what is wrong with how the retriever behaves: from call to call, copied, configured and beside others."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Iterator, Sequence

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.dense import Dense
from kg2rag.testing.trial import Trial, difference, named
from kg2rag.types import Ranking

SHALLOW = 7


def batches(trial: Trial) -> Iterator[str]:
    """A batch equals its queries one by one, in any order."""
    alone = [trial.system.retrieve_batch([query], trial.k)[0] for query in trial.queries]
    yield from _differences(trial, alone, "in a batch and alone")
    turned = trial.system.retrieve_batch(trial.queries[::-1], trial.k)[::-1]
    yield from _differences(trial, turned, "in a batch and in a batch of another order")


def prefixes(trial: Trial) -> Iterator[str]:
    """The hits at a smaller `k` are a prefix of those at a larger one: internal depths are parameters, never `k`."""
    for k in (1, SHALLOW, 10 * max(trial.k, 1000)):
        small, large = sorted((k, trial.k))
        found = trial.system.retrieve_batch(trial.queries, k)
        for query, own, other in zip(trial.queries, trial.rankings, found, strict=True):
            shallow, deep = (other, own) if k < trial.k else (own, other)
            if wrong := difference(shallow, deep.top(small), notes=False):
                yield f"{named(query)}, at k = {small} and k = {large}: {wrong}"


def bounds_of_k(trial: Trial) -> Iterator[str]:
    """A `k` below 1 is refused with a ValueError."""
    for k in (0, -1):
        try:
            trial.system.retrieve_batch(trial.queries[:1], k)
        except ValueError:
            continue
        yield f"k = {k} is accepted"


def preparing(trial: Trial) -> Iterator[str]:
    """Preparing, once or for no query, changes no ranking."""
    trial.system.prepare([])
    trial.system.prepare(trial.queries)
    yield from _differences(trial, trial.system.retrieve_batch(trial.queries, trial.k), "before and after `prepare`")


def tracing(trial: Trial) -> Iterator[str]:
    """The rankings of a trace are those of a retrieval."""
    traced = [trace.ranking for trace in trial.system.trace_batch(trial.queries, trial.k)]
    yield from _differences(trial, traced, "in `retrieve_batch` and in `trace_batch`")


def pickling(trial: Trial) -> Iterator[str]:
    """A pickled system, as other processes get it, gives the same rankings."""
    try:
        again = pickle.loads(pickle.dumps(trial.system))  # noqa: S301 (our own, of a moment ago)
    except Exception as error:  # noqa: BLE001
        yield f"it cannot be pickled: {type(error).__name__}: {error}"
    else:
        yield from _differences(trial, again.retrieve_batch(trial.queries, trial.k), "before and after pickling")


def configuration(trial: Trial) -> Iterator[str]:
    """Components are dataclasses that equal their copies and whose `repr` shows every parameter, and no data."""
    system = trial.system
    for part in _components(system):
        if type(part).__dataclass_params__.frozen is False:  # type: ignore[attr-defined]
            yield f"{type(part).__name__} can be changed: declare it @dataclass(frozen=True)"
        for field in dataclasses.fields(part):  # type: ignore[arg-type]
            is_parameter = isinstance(getattr(part, field.name), bool | int | float | str | None)
            if is_parameter and not field.repr and field.default is not dataclasses.MISSING:
                yield f"{type(part).__name__}.{field.name} is not in the repr, which is part of the cache key"
    if not dataclasses.is_dataclass(system):
        yield f"{type(system).__name__} is no dataclass: its parameters cannot be read"
    elif (copy := dataclasses.replace(system)) != system or hash(copy) != hash(system):
        yield "a copy by dataclasses.replace does not equal it"
    if "KnowledgeBase" in repr(system):
        yield "the repr shows the knowledge base: declare kb = field(repr=False)"


def _components(part: object) -> Iterator[object]:
    """A system and the dataclasses that it is made of, the knowledge base left out."""
    members = part if isinstance(part, tuple) else ()
    if dataclasses.is_dataclass(part) and not isinstance(part, KnowledgeBase | type):
        yield part
        members = tuple(getattr(part, field.name) for field in dataclasses.fields(part))
    for member in members:
        yield from _components(member)


def no_silent_fallback(trial: Trial) -> Iterator[str]:
    """A ranking that is another strategy's for some queries says so, in its notes."""
    for yardstick in () if trial.kb is None else (Dense(trial.kb), BM25(trial.kb)):
        theirs = yardstick.retrieve_batch(trial.queries, trial.k)
        rows = list(zip(trial.queries, trial.rankings, theirs, strict=True))
        judged = [row for row in rows if len(row[1]) > 1 and row[0].candidates is None]
        some = [(query, own) for query, own, other in judged if _same(own, other)]
        for query, own in some if len(some) < len(judged) else ():  # else it is that strategy
            if not own.notes.said():
                whose = f"the ranking is {type(yardstick).__name__}'s"
                yield f"{named(query)}: {whose}, without a word of it in the notes"


def _same(one: Ranking, other: Ranking) -> bool:
    """Equal hits with no part of their own: a reranker's may have the scores of a plain ranking too."""
    alike = one.passage_ids == other.passage_ids and one.scores.tolist() == other.scores.tolist()
    return alike and set(one.score_parts) <= set(other.score_parts)


def _differences(trial: Trial, others: Sequence[Ranking], when: str) -> Iterator[str]:
    for query, one, other in zip(trial.queries, trial.rankings, others, strict=True):
        if wrong := difference(one, other):
            yield f"{named(query)}, {when}: {wrong}"
