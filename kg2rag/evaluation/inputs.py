"""Systems, graphs and sets as a person gives them -> checked and named, before any work; and rankings, checked."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from kg2rag.evaluation.identity import knowledge_bases
from kg2rag.knowledge import KnowledgeBase
from kg2rag.report.table import MACRO
from kg2rag.retrievers.adapters import as_system
from kg2rag.retrievers.systems import build_all, label
from kg2rag.types import QADataset, Query, Ranking, called

T = TypeVar("T")
Strategy = Callable[[KnowledgeBase], Any]
"""Makes a system from a knowledge base: a class such as `HippoRAG2`, or any function."""
Graphs = Mapping[str, KnowledgeBase | Sequence[KnowledgeBase]]
"""Name -> knowledge base, or several of them for a placebo under several seeds."""
Sets = list[QADataset] | tuple[QADataset, ...] | Mapping[str, QADataset]
"""Data sets under their own names, or name -> data set."""
Systems = Mapping[str, Any]
SystemsOfSets = Callable[[QADataset], Systems] | Mapping[str, Systems]
"""A function that makes the systems of a data set, or set -> its systems."""
EQUAL = 2e-6
"""Share by which the score of a hit may lie above the one before: scores are rounded before they order."""
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")


def check_systems(systems: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Name -> the systems of that name, several where they differ by seed.

    Raises TypeError: no mapping, or a value that is not a system; ValueError: none, or a name that cannot name a file.
    """
    if not isinstance(systems, Mapping):
        raise TypeError(
            f"systems must be a mapping name -> system, not {called(systems)}. Write {{'dense': Dense(kb)}}."
        )
    if not systems:
        raise ValueError("No system to compare. Pass at least one, such as {'bm25': BM25(kb)}.")
    _require_names("System", list(systems))
    return {name: _same_system(name, given) for name, given in systems.items()}


def given_systems(systems: Any, graphs: Graphs | None, data: QADataset) -> dict[str, list[Any]]:
    """Name -> systems as `check_systems`; functions, runs and, over `graphs`, strategies are made systems first."""
    systems = _named(systems, data)
    if isinstance(systems, Mapping) and graphs is not None:
        systems = over_graphs(systems, graphs)
    elif isinstance(systems, Mapping):
        systems = {name: as_system(name, given, data) for name, given in systems.items()}
    return check_systems(systems)


def _named(systems: Any, data: QADataset) -> Any:
    """Systems and names of such, in a list or alone, by what they are called; anything else as it is."""
    if isinstance(systems, str) or (hasattr(systems, "retrieve_batch") and not isinstance(systems, type)):
        systems = [systems]
    if not isinstance(systems, list | tuple):
        return systems
    bases = (kb for one in systems for kb in knowledge_bases(one) if kb.corpus.fingerprint == data.corpus.fingerprint)
    kb, made = next(bases, None), list[tuple[str, Any]]()
    for one in systems:
        if isinstance(one, str):
            kb = kb or KnowledgeBase.build(data.corpus)
            made += build_all(kb, [one]).items()
        else:
            made.append((label(one), one))
    return _each_once(made, "Name them: compare({'a': ..., 'b': ...}, data).")


def _each_once(made: Sequence[tuple[str, Any]], remedy: str) -> dict[str, Any]:
    names = [name for name, _ in made]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"Two systems would be called {twice[0]!r}. {remedy}")
    return dict(made)


def _require_names(what: str, names: Sequence[object]) -> None:
    """Raise ValueError where a name cannot name a file, or two would name the same one."""
    lower: dict[str, str] = {}
    for name in names:
        if not isinstance(name, str) or not _SAFE_NAME.fullmatch(name):
            raise ValueError(
                f"{what} name {name!r} cannot name a file. Use a letter or digit, then letters, digits and '._+-'."
            )
        if other := lower.get(name.lower()):
            raise ValueError(f"{what} names {other!r} and {name!r} differ at most in case; files may not.")
        lower[name.lower()] = name


def _same_system(name: str, given: Any) -> list[Any]:
    """A system, or one under several seeds, as a list."""
    alike = list(given) if isinstance(given, list | tuple) else [given]
    if not alike:
        raise ValueError(f"System {name!r} is an empty list. Pass a system, or one for every seed.")
    for system in alike:
        if isinstance(system, type) and hasattr(system, "retrieve_batch"):
            kind = system.__name__
            raise TypeError(
                f"System {name!r} is the class {kind}. Pass {kind}(kb), or graphs={{…}} to make one over each."
            )
        if not callable(getattr(system, "retrieve_batch", None)):
            raise TypeError(
                f"System {name!r} is {called(system)}, which has no retrieve_batch(queries, k). "
                "Pass a kg2rag.Retriever, such as BM25(kb), a function (text, k) -> passage ids, or a run."
            )
    if any(one == other for at, one in enumerate(alike) for other in alike[:at]):
        raise ValueError(f"System {name!r} contains one system twice. An equal seed is no repetition.")
    return alike


def replicates(system: T, seeds: int | Iterable[int]) -> list[T]:
    """The system under seeds 0 … n-1, or under those given, ready for `compare({"name": replicates(…)}, …)`.

    Raises
    ------
    TypeError : the system is no dataclass with a field `seed`.
    ValueError : fewer than two seeds, or one given twice.
    """
    chosen = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    if not dataclasses.is_dataclass(system) or "seed" not in {field.name for field in dataclasses.fields(system)}:
        raise TypeError(
            f"{system!r} has no field 'seed', so seeds change nothing in it. Pass a list of systems that differ by "
            "what is random in them."
        )
    if len(set(chosen)) < max(2, len(chosen)):
        raise ValueError(f"Several seeds need at least two, each once, not {chosen}.")
    replaceable: Any = system
    return [dataclasses.replace(replaceable, seed=seed) for seed in chosen]


def over_graphs(systems: Mapping[str, object], graphs: Graphs) -> dict[str, Any]:
    """Systems stay as they are; a strategy becomes one system for each graph, called "strategy.graph".

    Of a graph with several knowledge bases (a placebo under several seeds), the systems are one row: see `compare`.

    Raises
    ------
    ValueError : no graph, no strategy, or two systems of one name.
    TypeError : a graph that is no knowledge base.
    """
    if not graphs:
        raise ValueError("No graph to compare. Pass at least one, such as {'mentions': KnowledgeBase.build(corpus)}.")
    made: list[tuple[str, Any]] = []
    for name, system in systems.items():
        if isinstance(system, type) or not hasattr(system, "retrieve_batch"):
            made += [(f"{name}.{graph}", _over(name, system, graph, kbs)) for graph, kbs in graphs.items()]
        else:
            made.append((name, system))
    if made == list(systems.items()):
        raise ValueError(
            "Every system is built already. Pass strategies, such as {'hippo2': HippoRAG2}, to run over graphs."
        )
    return _each_once(made, "Rename one, or a graph.")


def _over(name: str, strategy: object, graph: str, kbs: KnowledgeBase | Sequence[KnowledgeBase]) -> object:
    if not callable(strategy):
        raise TypeError(f"Strategy {name!r} is {strategy!r}, which is no function of a knowledge base.")
    alike = [kbs] if isinstance(kbs, KnowledgeBase) else list(kbs)
    for kb in alike:
        if not isinstance(kb, KnowledgeBase):
            raise TypeError(f"Graph {graph!r} is {kb!r}, no KnowledgeBase. Make one with KnowledgeBase.build.")
    systems = [strategy(kb) for kb in alike]
    return systems if len(systems) > 1 else systems[0]


def named_sets(given: object) -> dict[str, QADataset]:
    """Name -> data set, at least one, each name once, and such as can name a folder.

    Raises TypeError: no data sets; ValueError: none, a name twice, one that cannot name a folder, or two settings.
    """
    if not isinstance(given, Mapping | list | tuple):
        raise TypeError(
            f"data must be a QADataset, several of them in a list, or name -> QADataset, not {called(given)}."
        )
    pairs = list(given.items()) if isinstance(given, Mapping) else [(getattr(one, "name", ""), one) for one in given]
    if not pairs:
        raise ValueError("No data set to compare on. Pass at least one, such as kg2rag.load('bundled').")
    for _, data in pairs:
        if not isinstance(data, QADataset):
            raise TypeError(
                f"Of several sets each must be a QADataset, not {called(data)}. kg2rag.load(name) gives one."
            )
    _require_names("Set", [name for name, _ in pairs])
    if MACRO in dict(pairs):
        raise ValueError(f"A set cannot be called {MACRO!r}, which heads a column of the table.")
    require_one_setting({name: data.setting for name, data in pairs})
    return dict(pairs)


def require_one_setting(settings: Mapping[str, str]) -> None:
    """Raise ValueError where sets are searched in different settings (set -> setting): their mean says nothing."""
    if len(set(settings.values())) > 1:
        listed = ", ".join(f"{name} ({setting})" for name, setting in settings.items())
        raise ValueError(
            f"No macro-average over different settings: {listed}. Load them in one, such as setting='pooled' "
            "(--setting pooled), or compare on each alone."
        )


def systems_of(systems: object, name: str, data: QADataset, sets: Sequence[str]) -> Systems:
    """The systems of one set.

    Raises TypeError: systems that were built over one corpus; ValueError: systems of other sets than those compared on.
    """
    if callable(systems):
        made: Systems = systems(data)
        return made
    if isinstance(systems, list | tuple) and all(isinstance(one, str) for one in systems):
        return systems  # type: ignore[return-value]  # names, built over each set
    if not isinstance(systems, Mapping) or any(not isinstance(one, Mapping) for one in systems.values()):
        raise TypeError(
            "A system searches one corpus, so several sets need their own: pass a function of a data set, such as "
            "lambda data: kg2rag.systems.build_all(KnowledgeBase.build(data.corpus), ['bm25', 'dense']), or "
            "{set: {name: system}}."
        )
    if set(systems) != set(sets):
        raise ValueError(f"Systems are given for {', '.join(systems)}; the sets are {', '.join(sets)}.")
    own: Systems = systems[name]
    return own


def check_rankings(
    rankings: Sequence[Ranking],
    data: QADataset,
    *,
    queries: Sequence[Query] | None = None,
    k: int | None = None,
    name: str = "",
) -> None:
    """Refuse rankings that cannot be judged; of some `queries`, or of all questions.

    Raises
    ------
    TypeError : something is no `Ranking`.
    ValueError : a question has no ranking, or one in another place; a ranking is longer than `k`, has rows or ids that
        the corpus lacks, a passage twice, rising scores, or a hit that is not among its query's candidates.
    """
    run = f"run {name!r}" if name else "this run"
    for ranking in rankings:
        if not isinstance(ranking, Ranking):
            raise TypeError(f"{run} contains {called(ranking)} where a Ranking is needed; see Ranking.of.")
    asked = data.queries if queries is None else queries
    wanted, given = [one.id for one in asked], [ranking.query_id for ranking in rankings]
    present = set(given)
    if lacking := [id_ for id_ in wanted if id_ not in present]:
        raise ValueError(
            f"{run} lacks {len(lacking)} of {len(wanted)} queries (first: {lacking[0]!r}). "
            "Every query needs a ranking, if an empty one."
        )
    if given != wanted:
        raise ValueError(f"{run} has {len(given)} rankings for {len(wanted)} queries, or not in their order.")
    for ranking, query in zip(rankings, asked, strict=True):
        if wrong := _wrong(ranking, query, data, k):
            raise ValueError(f"{run}, query {ranking.query_id!r}: {wrong}")


def _wrong(ranking: Ranking, query: Query, data: QADataset, k: int | None) -> str:
    """What forbids to judge a ranking; "" where nothing does."""
    rows, ids, build = ranking.rows, data.corpus.ids, "Build rankings with Ranking.of."
    if k is not None and len(rows) > k:
        return f"{len(rows)} hits where at most {k} were requested."
    if len(rows) and not (rows.min() >= 0 and rows.max() < len(ids)):
        return f"a hit at row {rows.max()}, but the corpus has {len(ids)} passages."
    if ranking.ids is not ids and ranking.passage_ids != [ids[row] for row in rows.tolist()]:
        return f"its passage ids are not those of {data.name}'s corpus. Was it built on another corpus?"
    if len(np.unique(rows)) != len(rows):
        return f"a passage is ranked twice. {build}"
    rises = np.diff(ranking.scores) > EQUAL * np.abs(ranking.scores[:-1])
    if rises.any() or not np.isfinite(ranking.scores).all():
        return f"scores must be finite and must not rise. {build}"
    allowed = query.candidates
    if allowed is not None and (strangers := sorted(set(ranking.passage_ids) - set(allowed))):
        return (
            f"{strangers[0]!r} is not among its {len(allowed)} candidates (setting 'distractor'). A system must honour "
            "Query.candidates."
        )
    return ""


@contextmanager
def noted(where: str) -> Iterator[None]:
    """Whatever is raised inside is raised on, with a note that says where it happened."""
    try:
        yield
    except Exception as error:
        error.add_note(where)
        raise
