"""A retriever, or how to build one -> nothing, or a `ContractError` that lists every promise it breaks.

Those of a ranking and from call to call are in `promises`; here, each parameter is changed: is it used, and are wrong
values refused.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from kg2rag.retrievers.contract import Retriever, Stage
from kg2rag.testing.promises import IN_EVERY_WORLD, IN_THE_FIRST, OF_RANKINGS, broken
from kg2rag.testing.trial import Trial, differing, facts, named
from kg2rag.testing.worlds import is_ordinary, knowledge_bases, queries_for
from kg2rag.text.registry import unknown
from kg2rag.types import Query, annotations_of, fits

Builder = Callable[..., Retriever]
K = 20
HASH_SEED = "another hash seed changes nothing"
PROMISES = (*OF_RANKINGS, *IN_EVERY_WORLD, *IN_THE_FIRST, HASH_SEED)
_LISTED = re.compile(r"(?:one of|Known:) ([^:]+?)(?:, not .*|\.)")


class ContractError(AssertionError):
    """A retriever broke promises; `broken` maps each one's name to what happened first."""

    def __init__(self, name: str, broken: Mapping[str, str]) -> None:
        self.broken = dict(broken)
        listed = "".join(f"\n- {promise}: {sentence}." for promise, sentence in broken.items())
        super().__init__(f"{name} breaks {len(broken)} of the contract's promises:{listed}")


def check_retriever(
    system: Retriever | Builder,
    asked: Sequence[Query] | None = None,
    *,
    k: int = K,
    excused: Mapping[str, str] | None = None,
    other_process: bool = True,
) -> None:
    """Check that a retriever keeps the contract of `kg2rag.Retriever`.

    Parameters
    ----------
    system : a class or function that builds one from a knowledge base, such as `MentionPPR` or `lambda kb: Dense(kb)
        >> Mine(kb)`, which is tried on several random worlds; or a retriever, tried with the queries `asked`.
    k : hits a query.
    excused : promise -> why it does not hold here. An excuse that is not needed is a failure too.
    other_process : whether to compare with a process of another PYTHONHASHSEED, which costs some seconds.

    Raises ContractError: promises are broken; the message names each, the query, what was expected and what came.
    ValueError: a retriever without queries; an unknown promise is excused.

    Examples
    --------
    >>> from kg2rag import BM25
    >>> check_retriever(BM25, other_process=False)
    """
    excused = excused or {}
    for promise in excused:
        if promise not in PROMISES and not promise.startswith("parameter "):
            raise ValueError(unknown("promise", promise, PROMISES))
    if not isinstance(system, Retriever):
        worlds = knowledge_bases().items()
        trials = [Trial(system(kb), asked or queries_for(kb, world), k, world, kb) for world, kb in worlds]
    elif asked:
        trials = [Trial(system, asked, k)]
    else:
        raise ValueError("Give queries with a retriever, or how to build one: check_retriever(MentionPPR).")
    found: dict[str, str] = {}
    for promise, sentence in _broken(trials, None if isinstance(system, Retriever) else system, excused, other_process):
        found.setdefault(promise, sentence)
    wrong = {promise: sentence for promise, sentence in found.items() if promise not in excused}
    wrong |= {one: f"it is excused ({why}) but holds" for one, why in excused.items() if one not in found}
    if wrong:
        raise ContractError(getattr(system, "__name__", type(system).__name__), wrong)


def _broken(
    trials: Sequence[Trial], builder: Builder | None, excused: Collection[str], other_process: bool
) -> Iterator[tuple[str, str]]:
    first = trials[0]
    for trial in trials:
        found = dict(broken(trial, {**IN_EVERY_WORLD, **IN_THE_FIRST} if trial is first else IN_EVERY_WORLD))
        yield from ((promise, f"on {trial.world}, {one}" if trial.world else one) for promise, one in found.items())
        if not set(found) <= set(excused):
            return  # the other worlds would mostly repeat it
    own: list[Parameter] = []
    if builder is not None:
        kinds, given = annotations_of(builder), list(inspect.signature(builder).parameters.values())[1:]
        for one in (one for one in given if one.default is not one.empty):
            make = partial(lambda name, value: builder(first.kb, **{name: value}), one.name)
            own.append(Parameter(one.name, one.default, kinds.get(one.name), make))
    for parameter in own or _fields(first.system, lambda changed: changed):
        for check in (is_used, is_checked, is_deep):
            yield from ((f"parameter {parameter.name}", sentence) for sentence in check(parameter, first))
    if other_process:
        differ = differing({"": first.system}, {"": first.rankings}, first.queries, first.k)
        yield from ((HASH_SEED, sentence) for _, sentence in differ)


@dataclass(frozen=True)
class Parameter:
    """One parameter; `make(value)` builds the system with it."""

    name: str
    value: Any
    annotation: Any
    make: Callable[[object], Retriever]

    @property
    def kinds(self) -> set[Any]:
        """The types that the annotation allows."""
        is_union = get_origin(self.annotation) in (Union, UnionType)
        return set(get_args(self.annotation)) if is_union else {self.annotation}


def _fields(part: Any, put: Callable[[Any], Any]) -> Iterator[Parameter]:
    """The fields of a component and of those inside it; `put` sets a changed component in its place."""
    kind: Any = type(part)
    annotations = annotations_of(kind)
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)

        def changed(new: object, name: str = field.name) -> Any:
            return put(replace(part, **{name: new}))

        def one_changed(new: object, at: int, members: Any = value, put: Callable[[Any], Any] = changed) -> Any:
            return put((*members[:at], new, *members[at + 1 :]) if isinstance(members, tuple) else new)

        members = value if isinstance(value, tuple) else (value,)
        inside = [at for at, each in enumerate(members) if isinstance(each, Retriever | Stage)]
        for at in inside:
            yield from _fields(members[at], partial(one_changed, at=at))
        if not inside and field.default is not dataclasses.MISSING and field.init:
            yield Parameter(field.name, value, annotations.get(field.name), changed)


def is_used(parameter: Parameter, trial: Trial) -> Iterator[str]:
    """Another value changes at least one ranking."""
    own, tried = [facts(ranking) for ranking in trial.rankings], list[object]()
    for value in (value for value in _others(parameter) if value != parameter.value):
        try:
            system = parameter.make(value)
        except (ValueError, TypeError):
            continue
        if repr(system) == repr(trial.system):
            yield f"{parameter.name} = {value!r} is accepted and does not show in the repr"
        tried.append(value)
        if own != [facts(ranking) for ranking in system.retrieve_batch(trial.queries, trial.k)]:
            return
    if tried:
        yield (
            f"{parameter.name} is ignored: with {', '.join(map(repr, tried))} in place of {parameter.value!r}, "
            f"no ranking of {len(trial.queries)} queries changes"
        )


def _others(parameter: Parameter) -> Sequence[object]:
    value, kinds = parameter.value, parameter.kinds
    if choices := [choice for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]:
        return choices
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int) or (value is None and int in kinds):
        return list(dict.fromkeys((1, 2, 3, (value or 10) // 2, 2 * (value or 10), 0)))
    if isinstance(value, float) or (value is None and float in kinds):
        given = value or 1.0
        return list(dict.fromkeys((given / 2, given * 2, 0.0, 0.01, 0.1, 0.9, 0.999, 1.0, 10.0)))
    if not isinstance(value, str):
        return []
    try:
        parameter.make("no such value")
    except (ValueError, TypeError) as error:  # the refusal lists the known names
        listed = _LISTED.search(str(error))
        return listed[1].split(", ") if listed else []
    return ["no such value"]


def is_deep(parameter: Parameter, trial: Trial) -> Iterator[str]:
    """A `depth` is how many hits are read: twice as many lead to other rankings, where all of them are shown."""
    value, n = parameter.value, len(trial.ids)
    if parameter.name == "depth" and isinstance(value, int) and 2 * value <= n:
        systems = (trial.system, parameter.make(2 * value))
        own, deeper = ([facts(one) for one in made.retrieve_batch(trial.queries, n)] for made in systems)
        if own == deeper:
            yield f"depth = {2 * value} gives the rankings of depth = {value}, of all {n} passages: are fewer hits read"


def is_checked(parameter: Parameter, trial: Trial) -> Iterator[str]:
    """Wrong types, and numbers that are none, are refused by an error that names the parameter; others work."""
    name, kinds = parameter.name, parameter.kinds
    tried = (None, "no number", True, 1.5, math.nan, math.inf, 7) if kinds & {int, float, bool, str} else ()
    wrong = [value for value in tried if not fits(value, parameter.annotation)]
    extreme = [*((-1, 0) if int in kinds else ()), *((-1.0, 1e6) if float in kinds else ())]
    ordinary = [at for at, query in enumerate(trial.queries) if is_ordinary(query)]
    for at, value in enumerate((*wrong, *extreme)):
        try:
            made = parameter.make(value)
        except (ValueError, TypeError) as error:
            if name not in str(error) and repr(value) not in str(error):
                yield f"the refusal of {name} = {value!r} names neither: {error}"
            continue
        except Exception as error:  # noqa: BLE001
            yield f"{name} = {value!r} raises {type(error).__name__} ({error}); refuse it with a ValueError"
            continue
        accepted = f"{name} = {value!r} is accepted"
        if at < len(wrong):
            yield f"{accepted}; call `check` (kg2rag.types.parameters) when it is made"
            continue
        try:
            found = made.retrieve_batch(trial.queries, trial.k)
        except Exception as error:  # noqa: BLE001
            failed = f"{type(error).__name__}: {error}"
            yield f"{accepted} and fails later with {failed}. Check its range when it is made"
            continue
        if any(len(trial.rankings[at]) for at in ordinary) and not any(len(found[at]) for at in ordinary):
            first = named(trial.queries[ordinary[0]])
            yield f"{accepted} and no query has a hit (first: {first}). Check its range when it is made"
