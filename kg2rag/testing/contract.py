"""A retriever, or how to build one -> nothing, or a `ContractError` that lists every promise it breaks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from kg2rag.retrievers.contract import Retriever
from kg2rag.testing import variants
from kg2rag.testing.processes import differing
from kg2rag.testing.promises import NEEDED, PROMISES
from kg2rag.testing.trial import Trial
from kg2rag.testing.variants import Builder
from kg2rag.testing.worlds import knowledge_bases, queries_for
from kg2rag.text.nearest import unknown
from kg2rag.types.passages import Query

K = 20
HASH_SEED = "another hash seed changes nothing"


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
    values: Mapping[str, Sequence[object]] | None = None,
    excused: Mapping[str, str] | None = None,
    other_process: bool = True,
) -> None:
    """Check that a retriever keeps the contract of `kg2rag.Retriever`.

    Parameters
    ----------
    system : a class or function that builds one from a knowledge base, such as `MentionPPR` or `lambda kb: Dense(kb)
        >> Mine(kb)`, which is tried on several random worlds; or a retriever, tried with the queries `asked`.
    k : hits a query.
    values : parameter -> further values to try, where ours (half, double, the names that a refusal lists) do not help.
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
    name = getattr(system, "__name__", type(system).__name__)
    excused = dict(excused or {})
    for promise in excused:
        if promise not in {*PROMISES, HASH_SEED} and not promise.startswith("parameter "):
            raise ValueError(unknown("promise", promise, [*PROMISES, HASH_SEED]))
    broken: dict[str, str] = {}
    for promise, sentence in _broken(system, asked, k, values or {}, excused, other_process):
        broken.setdefault(promise, sentence)
    for promise, reason in excused.items():
        if promise not in broken:
            broken[promise] = f"it is excused ({reason}) but holds"
        else:
            del broken[promise]
    if broken:
        raise ContractError(name, broken)


def _broken(
    system: Retriever | Builder,
    asked: Sequence[Query] | None,
    k: int,
    values: Mapping[str, Sequence[object]],
    excused: Collection[str],
    other_process: bool,
) -> Iterator[tuple[str, str]]:
    if isinstance(system, Retriever):
        if not asked:
            raise ValueError("Give queries with a retriever, or how to build one: check_retriever(MentionPPR).")
        trials, builder = [Trial(system, asked, k)], None
    else:
        builder = system
        trials = [
            Trial(builder(kb), queries_for(kb) if asked is None else asked, k, world, kb)
            for world, kb in knowledge_bases().items()
        ]
    for trial in trials:
        broken = list(_of_world(trial))
        yield from broken
        if not {promise for promise, _ in broken} <= set(excused):
            return  # the other worlds would mostly repeat it
    first = trials[0]
    yield from variants.checks(first, builder, values)
    if other_process:
        found = differing({"": first.system}, {"": first.rankings}, first.queries, k)
        yield from ((HASH_SEED, sentence) for _, sentence in found)


def _of_world(trial: Trial) -> Iterator[tuple[str, str]]:
    for promise, check in PROMISES.items():
        try:
            sentence = next(check(trial), None)
        except Exception as error:  # noqa: BLE001 (whatever a user's class raises is the finding)
            sentence = f"{type(error).__name__}: {error}"
        if sentence is not None:
            yield promise, f"{trial.where}{sentence}"
            if promise in NEEDED:
                return
