"""A trial -> what a retriever promised and did not keep; each promise a function that yields sentences.

`PROMISES` names them all; `check_retriever` lists the names of those that were broken.
"""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from kg2rag.knowledge.base import KnowledgeBase
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.dense import Dense
from kg2rag.testing.trial import Trial, difference, named, remarks
from kg2rag.testing.working_out import worked_out
from kg2rag.testing.worlds import is_ordinary
from kg2rag.types.formulas import FORMULA, for_stage
from kg2rag.types.passages import Query
from kg2rag.types.rankings import Ranking

SHALLOW = 7
Promise = Callable[[Trial], Iterator[str]]


def answers(trial: Trial) -> Iterator[str]:
    """Every query gets a ranking under its id, in the order of the queries; none, and an empty list, is fine."""
    try:
        found = trial.rankings
    except Exception as error:  # noqa: BLE001 (whatever a user's class raises is the finding)
        yield f"{_culprit(trial)}: {type(error).__name__}: {error}"
        return
    wanted = [query.id for query in trial.queries]
    given = [ranking.query_id for ranking in found]
    for at, query in enumerate(trial.queries):
        if at >= len(given) or given[at] != query.id:
            instead = f"the ranking of {given[at]!r}" if at < len(given) else "no ranking"
            yield f"{named(query)}: {instead} at its place, of {len(given)} rankings for {len(wanted)} queries"
    if len(given) > len(wanted):
        yield f"{len(given)} rankings for {len(wanted)} queries"
    if (none := trial.system.retrieve_batch([], trial.k)) != []:
        yield f"no queries: expected [], got {none!r}"


def _culprit(trial: Trial) -> str:
    """The first query that fails alone, or the batch."""
    for query in trial.queries:
        try:
            trial.system.retrieve_batch([query], trial.k)
        except Exception:  # noqa: BLE001
            return named(query)
    return f"the batch of {len(trial.queries)} queries"


def at_most_k(trial: Trial) -> Iterator[str]:
    """No ranking has more than `k` hits."""
    for query, ranking in _each(trial):
        if len(ranking) > trial.k:
            yield f"{named(query)}: {len(ranking)} hits at k = {trial.k}"


def known_passages(trial: Trial) -> Iterator[str]:
    """Hits are passages of the corpus, each once."""
    ids = trial.kb.corpus.ids if trial.kb is not None else None
    for query, ranking in _each(trial):
        known = ids if ids is not None else ranking.ids
        unknown = [row for row in ranking.rows.tolist() if not 0 <= row < len(known)]
        if unknown:
            yield f"{named(query)}: a hit at row {unknown[0]}, but the corpus has {len(known)} passages"
        elif ids is not None and ranking.passage_ids != [ids[row] for row in ranking.rows.tolist()]:
            yield f"{named(query)}: the hits' ids are not those of the corpus; hand `kb.corpus.ids` to `rank`"
        elif len(np.unique(ranking.rows)) < len(ranking):
            yield f"{named(query)}: a passage is a hit twice, of {ranking.passage_ids}"


def finite_scores(trial: Trial) -> Iterator[str]:
    """Scores are numbers."""
    for query, ranking in _each(trial):
        for row, score in zip(ranking.rows.tolist(), ranking.scores.tolist(), strict=True):
            if not np.isfinite(score):
                yield f"{named(query)}: the score of {ranking.ids[row]!r} is {score}"


def canonical_order(trial: Trial) -> Iterator[str]:
    """Hits are ordered by falling score, equal scores by corpus position."""
    for query, ranking in _each(trial):
        order = np.lexsort((ranking.rows, -ranking.scores))
        wrong = np.flatnonzero(order != np.arange(len(ranking)))
        if len(wrong):
            at = int(wrong[0])
            before = ranking.hit(at + 1)
            belongs = ranking.hit(int(order[at]) + 1)
            yield (
                f"{named(query)}: {before.passage_id} ({before.score!r}) is hit {at + 1}, where "
                f"{belongs.passage_id} ({belongs.score!r}) belongs; order hits with `rank`"
            )


def candidates(trial: Trial) -> Iterator[str]:
    """A query with candidates gets none but these."""
    for query, ranking in _each(trial):
        if query.candidates is not None:
            others = [id_ for id_ in ranking.passage_ids if id_ not in query.candidates]
            if others:
                yield f"{named(query)}: {others[0]!r} is none of its {len(query.candidates)} candidates"


def batches(trial: Trial) -> Iterator[str]:
    """A batch equals its queries one by one, in any order."""
    alone = [trial.system.retrieve_batch([query], trial.k)[0] for query in trial.queries]
    turned = trial.system.retrieve_batch(trial.queries[::-1], trial.k)[::-1]
    for how, others in (("alone", alone), ("in a batch of another order", turned)):
        yield from _differences(trial, others, f"in a batch and {how}")


def prefixes(trial: Trial) -> Iterator[str]:
    """The hits at a smaller `k` are a prefix of those at a larger one: internal depths are parameters, never `k`."""
    for k in (1, SHALLOW, 10 * max(trial.k, 1000)):
        other = trial.system.retrieve_batch(trial.queries, k)
        small, large = (trial.k, other) if k > trial.k else (k, trial.rankings)
        shallow = trial.rankings if k > trial.k else other
        for query, one, two in zip(trial.queries, shallow, large, strict=True):
            if wrong := difference(one, two.top(small), metadata=False):
                yield f"{named(query)}, at k = {small} and k = {max(k, trial.k)}: {wrong}"


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
        return
    yield from _differences(trial, again.retrieve_batch(trial.queries, trial.k), "before and after pickling")


def configuration(trial: Trial) -> Iterator[str]:
    """Components are dataclasses that equal their copies and whose `repr` shows every parameter, and no data."""
    system = trial.system
    for part in components(system):
        if type(part).__dataclass_params__.frozen is False:  # type: ignore[attr-defined]
            yield f"{type(part).__name__} can be changed: declare it @dataclass(frozen=True)"
        for field in dataclasses.fields(part):  # type: ignore[arg-type]
            value = getattr(part, field.name)
            if _is_parameter(value) and not field.repr and field.default is not dataclasses.MISSING:
                yield f"{type(part).__name__}.{field.name} is not in the repr, which is part of the cache key"
    if not dataclasses.is_dataclass(system):
        yield f"{type(system).__name__} is no dataclass: its parameters cannot be read"
    elif dataclasses.replace(system) != system or hash(dataclasses.replace(system)) != hash(system):
        yield "a copy by dataclasses.replace does not equal it"
    if "KnowledgeBase" in repr(system):
        yield "the repr shows the knowledge base: declare kb = field(repr=False)"


def _is_parameter(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def components(part: object) -> Iterator[object]:
    """A system and the dataclasses that it is made of, the knowledge base left out."""
    if isinstance(part, tuple):
        for member in part:
            yield from components(member)
    elif dataclasses.is_dataclass(part) and not isinstance(part, KnowledgeBase | type):
        yield part
        for field in dataclasses.fields(part):
            yield from components(getattr(part, field.name))


def stages(trial: Trial) -> Iterator[str]:
    """Every hit names the stage that found it; its path cites passages of the corpus."""
    known = None if trial.kb is None else {*trial.kb.corpus.ids}
    for query, ranking in _each(trial):
        for hit in ranking:
            if not hit.stage:
                yield f"{named(query)}: {hit.passage_id} names no stage; give `rank` stages=(…,)"
            cited = [triple.passage_id for triple in hit.path if triple.passage_id]
            if known is not None and not known.issuperset(cited):
                yield f"{named(query)}: the path of {hit.passage_id} cites a passage that the corpus lacks"


def formulas(trial: Trial) -> Iterator[str]:
    """Where a ranking tells a formula (`types.formulas`), it gives the score of each hit from the hit's parts."""
    for query, ranking in _each(trial):
        if FORMULA not in ranking.metadata:
            continue
        for hit in ranking:
            formula = for_stage(ranking.metadata[FORMULA], hit.stage)
            try:
                score = worked_out(ranking, hit)
            except Exception as error:  # noqa: BLE001
                yield f"{named(query)}: {hit.passage_id}: the formula {formula!r} cannot be worked out: {error}"
                return
            if not np.isclose(score, hit.score, rtol=1e-6, atol=1e-12):
                yield (
                    f"{named(query)}: {formula!r} gives {score!r} for {hit.passage_id}, whose score is {hit.score!r} "
                    f"and whose parts are {dict(hit.score_parts)}"
                )


def finds_something(trial: Trial) -> Iterator[str]:
    """Questions in words of the corpus have hits: a failure raises and is never an empty ranking."""
    for query, ranking in _each(trial):
        if is_ordinary(query) and not len(ranking):
            yield f"{named(query)} is made of the corpus's words and has no hit"


def no_silent_fallback(trial: Trial) -> Iterator[str]:
    """A ranking that is another strategy's for some queries says so, under a key of its own in the metadata."""
    if trial.kb is None:
        return
    for yardstick in (Dense(trial.kb), BM25(trial.kb)):
        theirs = yardstick.retrieve_batch(trial.queries, trial.k)
        equal = [_same(one, other) for one, other in zip(trial.rankings, theirs, strict=True)]
        open_ = [len(ranking) > 1 and query.candidates is None for query, ranking in _each(trial)]
        some = [at for at, same in enumerate(equal) if same and open_[at]]
        if len(some) == sum(open_):
            continue  # it is that strategy
        for at in some:
            if not remarks(trial.rankings[at]):
                name = type(yardstick).__name__
                yield f"{named(trial.queries[at])}: the ranking is {name}'s, without a word of it in the metadata"


def _same(one: Ranking, other: Ranking) -> bool:
    """Equal hits with no part of their own: a reranker's may have the scores of a plain ranking too."""
    alike = one.passage_ids == other.passage_ids and one.scores.tolist() == other.scores.tolist()
    return alike and set(one.score_parts) <= set(other.score_parts)


def _each(trial: Trial) -> Iterator[tuple[Query, Ranking]]:
    return zip(trial.queries, trial.rankings, strict=False)


def _differences(trial: Trial, others: Sequence[Ranking], when: str) -> Iterator[str]:
    for query, one, other in zip(trial.queries, trial.rankings, others, strict=True):
        if wrong := difference(one, other):
            yield f"{named(query)}, {when}: {wrong}"


PROMISES: Mapping[str, Promise] = {
    "answers every query": answers,
    "at most k hits": at_most_k,
    "known passages": known_passages,
    "finite scores": finite_scores,
    "canonical order": canonical_order,
    "candidates": candidates,
    "a batch equals its queries": batches,
    "a smaller k is a prefix": prefixes,
    "k is checked": bounds_of_k,
    "preparing changes nothing": preparing,
    "a trace is a retrieval": tracing,
    "pickling": pickling,
    "configuration": configuration,
    "stages and paths": stages,
    "formula": formulas,
    "finds something": finds_something,
    "no silent fall-back": no_silent_fallback,
}
NEEDED = ("answers every query", "known passages")
"""Where one of these is broken, the others of that world are not tried."""
