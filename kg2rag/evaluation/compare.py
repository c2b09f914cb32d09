"""Systems + a data set -> a `Comparison`: run, time, check and score them side by side.

What a system is, this file does not know: anything with `retrieve_batch(queries, k)` and a telling `repr`.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from kg2rag.corpus import QADataset
from kg2rag.evaluation import provenance
from kg2rag.evaluation.checks import check_candidates, check_rankings
from kg2rag.evaluation.comparison import Comparison, score_table
from kg2rag.evaluation.metrics import Unit, evaluate, parse_metrics
from kg2rag.types import Query, Ranking

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_METRICS = ("recall@2", "recall@5", "recall@10", "all_recall@5", "mrr@10")
DEPTHS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
"""Where the recall curve is measured: about evenly spaced on a log axis."""
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")


class System(Protocol):
    """Anything that ranks passages for a batch of queries; `kg2rag.pipeline.Retriever` is one.

    Where it also has `prepare(queries)`, that is called first and not timed: it builds indexes and encodes queries.
    """

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """One ranking of at most `k` hits a query, in the order of the queries."""
        ...


def compare(
    systems: Mapping[str, System],
    data: QADataset,
    *,
    metrics: Sequence[str] = DEFAULT_METRICS,
    k: int = 100,
    baseline: str | None = None,
    seed: int = 0,
    batch_size: int = 100,
    progress: bool = True,
    unit: Unit | None = None,
    command: str | None = None,
) -> Comparison:
    """Run systems on the same questions and compare them with a baseline.

    Parameters
    ----------
    systems : name -> system; the order is that of every table. Names become file names: letters, digits and `._+-`.
    metrics : any of ranx's, `all_recall@k`, `support_f1@k` and its like; see `kg2rag.evaluation.metrics`.
    k : hits a query; a metric may not read deeper.
    baseline : whom the others are tested against; "dense" where there is one, else the first.
    seed : of bootstrap and randomisation test.
    batch_size : queries handed to a system at once; changes speed, never a result.
    progress : a bar a system on stderr, where that is a terminal.
    unit : judge "passage"s or "document"s; the data set's own unit where not given.
    command : what the user typed, for `config.json`.

    Raises
    ------
    ValueError : anything wrong with the arguments, before any work; or a ranking that cannot be judged, after it.
    Exception : what a system raises, with a note that names the system and the first query of the batch.
    """
    started, begin, load = datetime.now(UTC), time.perf_counter(), provenance.load_average()
    names = _check_systems(systems)
    baseline = _check_baseline(baseline, names)
    parse_metrics(metrics, k)
    if k < 1 or batch_size < 1:
        raise ValueError(f"k and batch_size must be at least 1, not {k} and {batch_size}.")
    rankings, ms_per_query = {}, {}
    for name in names:
        rankings[name], ms_per_query[name] = _run(name, systems[name], data, k, batch_size, progress=progress)
    frames = {name: _scores(rankings[name], data, metrics, k, unit, name) for name in names}
    per_query = _per_query(frames, data, metrics)
    return Comparison(
        rankings=rankings,
        per_query=per_query,
        scores=score_table(per_query, metrics, baseline, seed),
        curve=_curve(frames, k),
        ms_per_query=ms_per_query,
        baseline=baseline,
        config={
            "data": _describe(data, unit or data.unit),
            "systems": {name: repr(systems[name]) for name in names},
            "metrics": list(metrics),
            "k": k,
            "baseline": baseline,
            "seed": seed,
            "batch_size": batch_size,
            "command": command,
            "started": started.isoformat(timespec="seconds"),
            "seconds": round(time.perf_counter() - begin, 3),
            "ms_per_query": {name: round(ms, 3) for name, ms in ms_per_query.items()},
            "load_average": {"start": load, "end": provenance.load_average()},
            **provenance.environment(),
        },
    )


def _check_systems(systems: Mapping[str, System]) -> list[str]:
    if not systems:
        raise ValueError("No system to compare. Pass at least one, such as {'bm25': BM25(kb)}.")
    lower: dict[str, str] = {}
    for name, system in systems.items():
        if not _SAFE_NAME.fullmatch(name):
            raise ValueError(
                f"System name {name!r} cannot name a file. Use a letter or digit, then letters, digits and '._+-'."
            )
        if name.lower() in lower:
            raise ValueError(f"System names {lower[name.lower()]!r} and {name!r} differ only in case; files may not.")
        lower[name.lower()] = name
        if not callable(getattr(system, "retrieve_batch", None)):
            raise TypeError(f"System {name!r} is {system!r}, which has no retrieve_batch(queries, k).")
    return list(systems)


def _check_baseline(baseline: str | None, names: list[str]) -> str:
    if baseline is None:
        return "dense" if "dense" in names else names[0]
    if baseline not in names:
        raise ValueError(f"Unknown baseline {baseline!r}. Known: {', '.join(names)}.")
    return baseline


def _run(
    name: str, system: System, data: QADataset, k: int, batch_size: int, *, progress: bool
) -> tuple[list[Ranking], float]:
    """All rankings of one system, checked, and its milliseconds per query."""
    from tqdm import tqdm

    queries, rankings, seconds = data.queries, [], 0.0
    quiet = not (progress and sys.stderr.isatty())
    with tqdm(total=len(queries), desc=name, unit="query", disable=quiet, file=sys.stderr) as bar:
        _call(name, queries[0], getattr(system, "prepare", None) or _nothing, queries)
        for start in range(0, len(queries), batch_size):
            batch = queries[start : start + batch_size]
            before = time.perf_counter()
            rankings += _call(name, batch[0], system.retrieve_batch, batch, k)
            seconds += time.perf_counter() - before
            bar.update(len(batch))
    check_rankings(rankings, data, k=k, name=name)
    check_candidates(rankings, queries, name)
    return rankings, 1000 * seconds / len(queries)


def _call(name: str, first: Query, method: Any, *arguments: object) -> Any:
    try:
        return method(*arguments)
    except Exception as error:  # whatever a system raises is raised on, with where it happened
        error.add_note(f"System {name!r} failed in the batch that begins with query {first.id!r}: {first.text!r}")
        raise


def _nothing(_: object) -> None:
    """Stand in for `prepare` where a system has none."""


def _scores(
    rankings: Sequence[Ranking], data: QADataset, metrics: Sequence[str], k: int, unit: Unit | None, name: str
) -> pd.DataFrame:
    curve = [f"recall@{depth}" for depth in _depths(k)]
    return evaluate(rankings, data, list(dict.fromkeys([*metrics, *curve])), unit, name)


def _depths(k: int) -> list[int]:
    return sorted({depth for depth in DEPTHS if depth < k} | {k})


def _curve(frames: Mapping[str, pd.DataFrame], k: int) -> pd.DataFrame:
    """Mean recall at growing depth: index k, one column a system."""
    import pandas as pd

    depths = _depths(k)
    columns = {name: [float(frame[f"recall@{depth}"].mean()) for depth in depths] for name, frame in frames.items()}
    return pd.DataFrame(columns, index=pd.Index(depths, name="k"))


def _per_query(frames: Mapping[str, pd.DataFrame], data: QADataset, metrics: Sequence[str]) -> pd.DataFrame:
    """One row a system and question: query_id, system, type, hops, question, then the metrics."""
    import pandas as pd

    about = pd.DataFrame(
        {
            "query_id": [question.id for question in data.questions],
            "type": [question.type for question in data.questions],
            "hops": pd.array([question.hops for question in data.questions], dtype="Int64"),
            "question": [question.text for question in data.questions],
        }
    )
    parts = []
    for name, frame in frames.items():
        part = pd.concat([about, frame[list(metrics)].reset_index(drop=True)], axis=1)
        part.insert(1, "system", name)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _describe(data: QADataset, unit: Unit) -> dict[str, object]:
    return {
        "name": data.name,
        "setting": data.setting,
        "unit": unit,
        "questions": len(data),
        "passages": len(data.corpus),
        "corpus_fingerprint": data.corpus.fingerprint,
        "source": dict(data.source),
    }
