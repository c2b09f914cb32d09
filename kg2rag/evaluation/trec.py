"""Rankings <-> TREC run files: `query_id Q0 passage_id rank score system`, one hit a line.

The format is separated by blanks, so blanks and per cent signs of ids and names are written as `%20`, `%25` and so on
and read back. A query without hits has no line. Scores have nine significant digits; the rank is what counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote, unquote

import numpy as np

from kg2rag.types import Ranking

_UNSAFE = re.compile(r"[%\s]")


def dump(rankings: Iterable[Ranking], system: str) -> str:
    """The text of a run file."""
    tag = _encode(system)
    lines = []
    for ranking in rankings:
        query = _encode(ranking.query_id)
        hits = zip(ranking.passage_ids, ranking.scores.tolist(), strict=True)
        lines += [f"{query} Q0 {_encode(id_)} {rank} {score:.9g} {tag}\n" for rank, (id_, score) in enumerate(hits, 1)]
    return "".join(lines)


def load(path: Path) -> dict[str, list[tuple[str, float]]]:
    """Query id -> (passage id, score), best first by rank, of a run file.

    Raises
    ------
    ValueError : a line without six fields or with a rank or score that is no number; the message names it.
    """
    run: dict[str, list[tuple[int, str, float]]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if not line:
            continue
        fields = line.split()
        if len(fields) != 6:
            raise ValueError(
                f"{path}, line {number}: {len(fields)} fields instead of 6 (query Q0 passage rank score system)."
            )
        try:
            hit = (int(fields[3]), unquote(fields[2]), float(fields[4]))
        except ValueError as error:
            raise ValueError(
                f"{path}, line {number}: rank {fields[3]!r} or score {fields[4]!r} is no number."
            ) from error
        run.setdefault(unquote(fields[0]), []).append(hit)
    return {query: [(id_, score) for _, id_, score in sorted(hits)] for query, hits in run.items()}


def as_rankings(run: dict[str, list[tuple[str, float]]], query_ids: Iterable[str]) -> list[Ranking]:
    """Rankings of a loaded run, one a query, empty where the file has no line. Their rows count the run's own ids."""
    ids = list(dict.fromkeys(id_ for hits in run.values() for id_, _ in hits))
    row = {id_: i for i, id_ in enumerate(ids)}
    rankings = []
    for query_id in query_ids:
        hits = run.get(query_id, [])
        rows = np.array([row[id_] for id_, _ in hits], dtype=np.int64)
        rankings.append(Ranking(query_id, rows, np.array([score for _, score in hits], dtype=np.float64), ids))
    return rankings


def _encode(name: str) -> str:
    return _UNSAFE.sub(lambda match: quote(match[0], safe=""), name)
