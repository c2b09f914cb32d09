"""The rankings of a block of questions <-> an entry of the store, by the key of the run.

The key of a block has all that it depends on: class and parameters of the system (files by
content), knowledge bases, questions (not their gold), k and the code, see `run_key`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kg2rag.compute import Store
from kg2rag.evaluation.run_key import NoKeyError, run_key
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.system_parts import knowledge_bases
from kg2rag.text.records import as_parquet, read_json, read_parquet
from kg2rag.types import Notes, Query, Ranking, Triple

STAGE, RANKINGS, ABOUT = "runs", "rankings.parquet", "about.json"
LIBRARIES = ("bm25s", "faiss-cpu", "numpy", "scipy")
"""Libraries that compute scores; the fingerprint of an encoder has those of the encoder."""
WITH_PATHS = 20
"""Hits of a ranking whose paths are stored: paths are computed lazily, and most are never shown."""
_TRIPLE = pa.struct(
    [
        ("head", pa.string()),
        ("relation", pa.string()),
        ("tail", pa.string()),
        ("passage_id", pa.string()),
        ("description", pa.string()),
        ("strength", pa.float64()),
        ("confidence", pa.float64()),
    ]
)
_NAMES = tuple(_TRIPLE.names)  # a struct type computes its names at each access
_PART = pa.struct([("name", pa.string()), ("values", pa.list_(pa.float64()))])
_PATH = pa.struct([("row", pa.int64()), ("triples", pa.list_(_TRIPLE))])
SCHEMA = pa.schema(
    [
        ("query_id", pa.string()),
        ("rows", pa.list_(pa.int64())),
        ("scores", pa.list_(pa.float64())),
        ("stages", pa.list_(pa.string())),
        ("stage_codes", pa.list_(pa.int8())),
        ("parts", pa.list_(_PART)),
        ("paths", pa.list_(_PATH)),
        ("notes", pa.string()),
    ]
)
"""One row per question."""


def run_cache(system: object, k: int) -> tuple[RunCache | None, str]:
    """The cache of a system's run and ""; or None and the reason why the run cannot be stored."""
    kbs = knowledge_bases(system)
    if not getattr(system, "timed", True):
        return None, "its rankings were computed elsewhere"
    if not kbs:
        return None, "it has no knowledge base, so no store"
    try:
        return RunCache(kbs[0].store, run_key(system, k), kbs), ""
    except NoKeyError as error:
        return None, str(error)


@dataclass(frozen=True)
class RunCache:
    """The stored blocks of a system's run.

    Attributes
    ----------
    key : the parts of the key that all blocks share.
    kbs : the knowledge bases of the system.
    """

    store: Store
    key: Mapping[str, object]
    kbs: Sequence[KnowledgeBase]

    def find(self, queries: Sequence[Query]) -> Path | None:
        """The entry of a block; None if there is none, or it was made with another encoder.

        Such an entry is removed.
        """
        entry = self.store.find(STAGE, self._key(queries), libraries=LIBRARIES)
        if entry is None:
            return None
        for about, kb in zip(
            read_json(entry / ABOUT)["knowledge"], self.kbs, strict=True
        ):
            fingerprint = about["encoder"].get("fingerprint")
            if fingerprint is not None and fingerprint != kb.embedder.fingerprint(
                kb.store
            ):
                self.store.remove(entry)
                return None
        return entry

    def write(
        self,
        queries: Sequence[Query],
        rankings: Sequence[Ranking],
        about: object,
        *,
        fresh: bool,
    ) -> Path:
        """Write the entry of a block, and return its path; `fresh` replaces an existing entry."""
        key = self._key(queries)
        if fresh:
            self.store.remove(self.store.entry_path(STAGE, key, libraries=LIBRARIES))

        def fill(folder: Path) -> None:
            table = pa.Table.from_pylist(
                [_row(ranking) for ranking in rankings], schema=SCHEMA
            )
            (folder / RANKINGS).write_bytes(as_parquet(table))
            (folder / ABOUT).write_text(
                json.dumps(about, ensure_ascii=False), encoding="utf-8"
            )

        return self.store.entry(STAGE, key, fill, libraries=LIBRARIES)

    def read(
        self, entry: Path, ids: Sequence[str]
    ) -> tuple[list[Ranking], dict[str, Any]]:
        """The rankings and the record of an entry; `ids` are the passage ids of the corpus."""
        rows = read_parquet(entry / RANKINGS).to_pylist()
        return [_ranking(row, ids) for row in rows], read_json(entry / ABOUT)

    def _key(self, queries: Sequence[Query]) -> dict[str, object]:
        """The key of a block."""
        texts = repr([(query.id, query.text, query.candidates) for query in queries])
        checksum = hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()
        return {**self.key, "questions": checksum}


def _row(ranking: Ranking) -> dict[str, Any]:
    """A ranking as a row of `SCHEMA`."""
    paths = []
    for row in ranking.rows[:WITH_PATHS].tolist():
        path = ranking.paths.get(row, ())
        if path:
            triples = [
                {name: getattr(triple, name) for name in _NAMES} for triple in path
            ]
            paths.append({"row": row, "triples": triples})
    return {
        "query_id": ranking.query_id,
        "rows": ranking.rows,
        "scores": ranking.scores,
        "stages": ranking.stages,
        "stage_codes": ranking.stage_codes,
        "parts": [
            {"name": name, "values": values}
            for name, values in ranking.score_parts.items()
        ],
        "paths": paths,
        "notes": json.dumps(ranking.notes.to_json(), ensure_ascii=False),
    }


def _ranking(row: Mapping[str, Any], ids: Sequence[str]) -> Ranking:
    """The ranking in a row of `SCHEMA`; `ids` are the passage ids of the corpus."""
    codes = row["stage_codes"]
    score_parts = {}
    for part in row["parts"]:
        score_parts[part["name"]] = np.array(part["values"], dtype=np.float64)
    paths = {}
    for path in row["paths"]:
        paths[path["row"]] = tuple(Triple(**triple) for triple in path["triples"])
    return Ranking(
        row["query_id"],
        np.array(row["rows"], dtype=np.int64),
        np.array(row["scores"], dtype=np.float64),
        ids,
        stages=tuple(row["stages"]),
        stage_codes=None if codes is None else np.array(codes, dtype=np.int8),
        score_parts=score_parts,
        paths=paths,
        notes=Notes.from_json(json.loads(row["notes"])),
    )
