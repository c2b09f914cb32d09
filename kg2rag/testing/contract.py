"""A retriever or its builder -> a `ContractError` if it breaks promises of the contract.

The promises of rankings and of calls are in `promises`, those of parameters in `parameters`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from kg2rag.retrievers.contract import Retriever
from kg2rag.testing import parameters
from kg2rag.testing.parameters import Parameter
from kg2rag.testing.promises import (
    IN_EVERY_WORLD,
    IN_THE_FIRST,
    OF_RANKINGS,
    broken_promises,
)
from kg2rag.testing.trial import Trial, processes_differ
from kg2rag.testing.worlds import knowledge_bases, queries_for
from kg2rag.text.registry import unknown
from kg2rag.types import Query

Builder = Callable[..., Retriever]
K = 20
HASH_SEED = "another hash seed changes nothing"
PROMISES = (*OF_RANKINGS, *IN_EVERY_WORLD, *IN_THE_FIRST, HASH_SEED)


class ContractError(AssertionError):
    """A retriever breaks promises; `broken` maps the name of each to its first violation."""

    def __init__(self, name: str, broken: Mapping[str, str]) -> None:
        self.broken = dict(broken)
        listed = "".join(
            f"\n- {promise}: {violation}." for promise, violation in broken.items()
        )
        super().__init__(
            f"{name} breaks {len(broken)} of the contract's promises:{listed}"
        )


def check_retriever(
    system: Retriever | Builder,
    queries: Sequence[Query] | None = None,
    *,
    k: int = K,
    excused: Mapping[str, str] | None = None,
    other_process: bool = True,
) -> None:
    """Check that a retriever keeps the contract of `kg2rag.Retriever`.

    Parameters
    ----------
    system : a class or function that builds a retriever from a knowledge base, such as `MentionPPR`
        or `lambda kb: Dense(kb) >> Mine(kb)`, which is tried on several random worlds; or a
        retriever, tried with `queries`.
    queries : queries to try; the default is those of each world.
    k : hits per query.
    excused : promise -> the reason why it does not hold. An excuse for a promise that holds is a
        failure, too.
    other_process : compare with a process of another PYTHONHASHSEED, which takes some seconds.

    Raises
    ------
    ContractError : promises are broken; the message names each promise, the query, and the
        violation.
    ValueError : a retriever without queries; an excuse for an unknown promise.

    Examples
    --------
    >>> from kg2rag import BM25
    >>> check_retriever(BM25, other_process=False)
    """
    excuses = excused or {}
    for promise in excuses:
        if promise not in PROMISES and not promise.startswith("parameter "):
            raise ValueError(unknown("promise", promise, PROMISES))
    violations = dict[str, str]()
    trials = _trials_of(system, queries, k)
    for promise, violation in _violations(system, trials, excuses, other_process):
        violations.setdefault(promise, violation)
    faults = _unexcused(violations, excuses)
    if faults:
        raise ContractError(getattr(system, "__name__", type(system).__name__), faults)


def _unexcused(
    violations: Mapping[str, str], excuses: Mapping[str, str]
) -> dict[str, str]:
    """Promise -> violation without an excuse, or a note on an excuse without a violation."""
    faults = {}
    for promise, violation in violations.items():
        if promise not in excuses:
            faults[promise] = violation
    for promise, reason in excuses.items():
        if promise not in violations:
            faults[promise] = f"it is excused ({reason}) but holds"
    return faults


def _trials_of(
    system: Retriever | Builder, queries: Sequence[Query] | None, k: int
) -> list[Trial]:
    """The trials of a system: one with the user's queries, or one per world for a builder."""
    if not isinstance(system, Retriever):
        trials = []
        for world, kb in knowledge_bases().items():
            trials.append(
                Trial(system(kb), queries or queries_for(kb, world), k, world, kb)
            )
        return trials
    if not queries:
        raise ValueError(
            "Give queries with a retriever, or a class or function: check_retriever(MentionPPR)."
        )
    return [Trial(system, queries, k)]


def _violations(
    system: Retriever | Builder,
    trials: Sequence[Trial],
    excused: Collection[str],
    other_process: bool,
) -> Iterator[tuple[str, str]]:
    """The (promise, violation) of each broken promise, in the order of the checks.

    The checks end after the first world with a violation that is not excused.
    """
    first = trials[0]
    for trial in trials:
        promises = (
            {**IN_EVERY_WORLD, **IN_THE_FIRST} if trial is first else IN_EVERY_WORLD
        )
        violations = dict(broken_promises(trial, promises))
        for promise, violation in violations.items():
            prefix = f"on {trial.world}, " if trial.world else ""
            yield promise, f"{prefix}{violation}"
        if not set(violations) <= set(excused):
            return  # the other worlds would mostly repeat it
    yield from _parameter_violations(system, first)
    if other_process:
        systems = {"": first.system}
        for _, violation in processes_differ(
            systems, {"": first.rankings}, first.queries, first.k
        ):
            yield HASH_SEED, violation


def _parameter_violations(
    system: Retriever | Builder, trial: Trial
) -> Iterator[tuple[str, str]]:
    """The (promise, violation) of the parameters of a builder or, without any, of its system."""
    tested: list[Parameter] = []
    if not isinstance(system, Retriever):
        tested = parameters.parameters_of_builder(system, trial.kb)
    for parameter in tested or parameters.parameters_of_system(trial.system):
        for fault in parameters.faults_of(parameter, trial):
            yield f"parameter {parameter.name}", fault
