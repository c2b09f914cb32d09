"""Rankings <-> a Parquet file: rows, scores, stages, parts of scores and notes, and the paths of the first hits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kg2rag.text.parquet import as_parquet, read_parquet
from kg2rag.types import FloatArray, Notes, Ranking, Triple

WITH_PATHS = 20
"""Hits of a ranking whose paths are kept: a path is often worked out only where it is shown."""
_TRIPLE = pa.struct(
    [(name, pa.string()) for name in ("head", "relation", "tail", "passage_id", "description")]
    + [(name, pa.float64()) for name in ("strength", "confidence")]
)
_NAMES = tuple(_TRIPLE.names)  # arrow works the names out at every look
SCHEMA = pa.schema(
    [
        ("query_id", pa.string()),
        ("rows", pa.list_(pa.int64())),
        ("scores", pa.list_(pa.float64())),
        ("stages", pa.list_(pa.string())),
        ("stage_codes", pa.list_(pa.int8())),
        ("parts", pa.list_(pa.struct([("name", pa.string()), ("values", pa.list_(pa.float64()))]))),
        ("paths", pa.list_(pa.struct([("row", pa.int64()), ("triples", pa.list_(_TRIPLE))]))),
        ("notes", pa.string()),
    ]
)
"""One row a question."""


def write_rankings(file: Path, rankings: Sequence[Ranking]) -> None:
    """Write rankings; the same bytes for the same rankings."""
    table = pa.Table.from_pylist([_row(one) for one in rankings], schema=SCHEMA)
    file.write_bytes(as_parquet(table))


def _row(ranking: Ranking) -> dict[str, Any]:
    paths = ((row, ranking.paths.get(row, ())) for row in ranking.rows[:WITH_PATHS].tolist())
    return {
        "query_id": ranking.query_id,
        "rows": ranking.rows,
        "scores": ranking.scores,
        "stages": ranking.stages,
        "stage_codes": ranking.stage_codes,
        "parts": [{"name": name, "values": values} for name, values in ranking.score_parts.items()],
        "paths": [
            {"row": row, "triples": [{name: getattr(triple, name) for name in _NAMES} for triple in path]}
            for row, path in paths
            if path
        ],
        "notes": json.dumps(ranking.notes.to_json(), ensure_ascii=False),
    }


def read_rankings(file: Path, ids: Sequence[str]) -> list[Ranking]:
    """The rankings of a file; `ids` are those of the corpus whose rows they count."""
    return [_ranking(row, ids) for row in read_parquet(file).to_pylist()]


def _ranking(row: Mapping[str, Any], ids: Sequence[str]) -> Ranking:
    codes = row["stage_codes"]
    return Ranking(
        row["query_id"],
        np.array(row["rows"], dtype=np.int64),
        _floats(row["scores"]),
        ids,
        stages=tuple(row["stages"]),
        stage_codes=None if codes is None else np.array(codes, dtype=np.int8),
        score_parts={part["name"]: _floats(part["values"]) for part in row["parts"]},
        paths={one["row"]: tuple(Triple(**triple) for triple in one["triples"]) for one in row["paths"]},
        notes=Notes.from_json(json.loads(row["notes"])),
    )


def _floats(values: Sequence[float]) -> FloatArray:
    return np.array(values, dtype=np.float64)
