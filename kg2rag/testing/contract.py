"""A retriever, or how to build one -> nothing, or a `ContractError` that lists every promise it breaks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from kg2rag.retrievers.contract import Retriever
from kg2rag.testing import variants
from kg2rag.testing.promises import IN_EVERY_WORLD, IN_THE_FIRST, OF_RANKINGS, broken
from kg2rag.testing.trial import Trial, differing
from kg2rag.testing.variants import Builder
from kg2rag.testing.worlds import knowledge_bases, queries_for
from kg2rag.text.registry import unknown
from kg2rag.types import Query

K = 20
HASH_SEED = "another hash seed changes nothing"
PROMISES = (*OF_RANKINGS, *IN_EVERY_WORLD, *IN_THE_FIRST, HASH_SEED)


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

    Raises
    ------
    ContractError : promises are broken; the message names each, the query, what was expected and what came.
    ValueError : a retriever without queries; an unknown promise is excused.

    Examples
    --------
    >>> from kg2rag import BM25
    >>> check_retriever(BM25, other_process=False)
    """
    excused = excused or {}
    for promise in excused:
        if promise not in PROMISES and not promise.startswith("parameter "):
            raise ValueError(unknown("promise", promise, PROMISES))
    found: dict[str, str] = {}
    for promise, sentence in _broken(_trials(system, asked, k), system, excused, other_process):
        found.setdefault(promise, sentence)
    wrong = {promise: sentence for promise, sentence in found.items() if promise not in excused}
    wrong |= {one: f"it is excused ({why}) but holds" for one, why in excused.items() if one not in found}
    if wrong:
        raise ContractError(getattr(system, "__name__", type(system).__name__), wrong)


def _trials(system: Retriever | Builder, asked: Sequence[Query] | None, k: int) -> list[Trial]:
    if not isinstance(system, Retriever):
        worlds = knowledge_bases().items()
        return [Trial(system(kb), asked or queries_for(kb, world), k, world, kb) for world, kb in worlds]
    if not asked:
        raise ValueError("Give queries with a retriever, or how to build one: check_retriever(MentionPPR).")
    return [Trial(system, asked, k)]


def _broken(
    trials: Sequence[Trial], system: Retriever | Builder, excused: Collection[str], other_process: bool
) -> Iterator[tuple[str, str]]:
    first = trials[0]
    for trial in trials:
        found = dict(broken(trial, {**IN_EVERY_WORLD, **IN_THE_FIRST} if trial is first else IN_EVERY_WORLD))
        yield from ((promise, f"on {trial.world}, {one}" if trial.world else one) for promise, one in found.items())
        if not set(found) <= set(excused):
            return  # the other worlds would mostly repeat it
    yield from variants.checks(first, None if isinstance(system, Retriever) else system)
    if other_process:
        differ = differing({"": first.system}, {"": first.rankings}, first.queries, first.k)
        yield from ((HASH_SEED, sentence) for _, sentence in differ)
