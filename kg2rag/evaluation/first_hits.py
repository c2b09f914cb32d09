"""The first hits of every ranking, with all that explains them <-> one Parquet file of a saved comparison.

TREC runs have ids and scores alone. Kept here are the beginning of each hit's text, its stage, path and parts of the
score, the gold it counts as, and what the strategy noted, so that a saved folder can be read without its data set.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kg2rag.report.question_explanation import QuestionExplanation, excerpt
from kg2rag.text.parquet import read_parquet, write_parquet
from kg2rag.text.records import DataError, parse_json
from kg2rag.types import Explanation, Notes, QADataset, Question, Ranking, Triple

FILE = "first_hits.parquet"
KEPT = 10
"""Hits of each ranking that are kept."""
LETTERS = 320
"""Of a passage that are kept."""
_TRIPLE = pa.struct(
    [(name, pa.string()) for name in ("head", "relation", "tail", "passage_id", "description")]
    + [(name, pa.float64()) for name in ("strength", "confidence")]
)
_OF_TRIPLE = tuple(_TRIPLE.names)  # arrow works the names out at every look
_PART = pa.struct([("name", pa.string()), ("value", pa.float64())])
_HIT = pa.struct(
    [
        *((name, pa.string()) for name in ("passage_id", "text", "stage")),
        ("score", pa.float64()),
        ("parts", pa.list_(_PART)),
        ("path", pa.list_(_TRIPLE)),
    ]
)
_GOLD = pa.struct([("id", pa.string()), ("passages", pa.list_(pa.string()))])
SCHEMA = pa.schema(
    [
        ("system", pa.string()),
        ("query_id", pa.string()),
        ("answers", pa.list_(pa.string())),
        ("gold", pa.list_(_GOLD)),
        ("notes", pa.string()),
        ("hits", pa.list_(_HIT)),
    ]
)
"""One row a system and question; `gold` has the passages of the ranking that count as each gold id, `notes` is JSON."""


def dump(rankings: Mapping[str, Sequence[Ranking]], data: QADataset) -> bytes:
    """The file of some rankings of a data set, in the order of systems and questions; the same bytes for the same."""
    sink, texts = BytesIO(), _Texts(data)
    rows = (
        [_row(name, one, question, texts) for one, question in zip(run, data.questions, strict=True)]
        for name, run in rankings.items()
    )
    write_parquet(sink, (pa.Table.from_pylist(one, schema=SCHEMA) for one in rows), SCHEMA, compression="zstd")
    return sink.getvalue()


class _Texts(dict[str, str]):
    """Passage id -> the beginning of its text, each worked out once: systems return the same passages."""

    def __init__(self, data: QADataset) -> None:
        super().__init__()
        self.data = data

    def __missing__(self, id_: str) -> str:
        self[id_] = excerpt(id_, self.data, LETTERS)
        return self[id_]


def _row(system: str, ranking: Ranking, question: Question, texts: _Texts) -> dict[str, Any]:
    data = texts.data
    ids, ranked = data.corpus.ids, set(ranking.passage_ids)
    counted = {id_: [ids[row] for row in rows] for id_, rows in data.gold_rows(question).items()}
    return {
        "system": system,
        "query_id": ranking.query_id,
        "answers": list(question.answers),
        "gold": [{"id": id_, "passages": [one for one in found if one in ranked]} for id_, found in counted.items()],
        "notes": json.dumps(ranking.notes.to_json(), ensure_ascii=False),
        "hits": list(_hits(ranking, texts)),
    }


def _hits(ranking: Ranking, texts: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for hit in ranking.top(KEPT):
        yield {
            "passage_id": hit.passage_id,
            "text": texts[hit.passage_id],
            "stage": hit.stage,
            "score": hit.score,
            "parts": [{"name": name, "value": value} for name, value in hit.score_parts.items()],
            "path": [{name: getattr(triple, name) for name in _OF_TRIPLE} for triple in hit.path],
        }


@dataclass(frozen=True, eq=False)
class FirstHits:
    """The file, read. Its rows are found by system and question."""

    table: pa.Table

    @classmethod
    def load(cls, file: Path) -> FirstHits:
        """Read the file; DataError where it is another one's or damaged."""
        table = read_parquet(file)
        if not table.schema.equals(SCHEMA):
            raise DataError(f"{file}: its columns are not those of first hits. Compare again.")
        return cls(table)

    def explained(self, rankings: Mapping[str, Ranking], question: str, k: int = KEPT) -> QuestionExplanation:
        """What loaded rankings return for a question and why, as a fresh comparison shows it; at most `KEPT` hits.

        `rankings` : system -> its loaded ranking of the question, which has ids and scores. `question` : its text.
        """
        explanations, answers, gold = {}, [], []
        for name, ranking in rankings.items():
            row = self._row(name, ranking.query_id)
            kept = {one["id"]: tuple(one["passages"]) for one in row["gold"]}
            texts = {hit["passage_id"]: hit["text"] for hit in row["hits"]}
            explanations[name] = Explanation(_restored(ranking, row), min(k, KEPT), texts, "", kept)
            answers, gold = row["answers"], list(kept)
        query = next(iter(rankings.values())).query_id
        return QuestionExplanation(question, explanations, tuple(gold), tuple(answers), query)

    def restored(self, system: str, rankings: Sequence[Ranking]) -> list[Ranking]:
        """Loaded rankings of a system with the stages, parts of scores, paths and notes of their first hits."""
        rows = {row["query_id"]: row for row in self._of(system).to_pylist()}
        missing = next((one.query_id for one in rankings if one.query_id not in rows), None)
        if missing is not None:
            raise DataError(f"No first hits of {system!r} for question {missing!r}. Compare again.")
        return [_restored(one, rows[one.query_id]) for one in rankings]

    def gold(self, system: str) -> dict[str, frozenset[str]]:
        """Question id -> the passages of a system's ranking that count as gold."""
        rows = self._of(system).select(["query_id", "gold"]).to_pylist()
        return {row["query_id"]: frozenset(id_ for one in row["gold"] for id_ in one["passages"]) for row in rows}

    def texts(self, system: str, query_id: str) -> dict[str, str]:
        """Passage id -> the beginning of its text, of the hits kept."""
        return {hit["passage_id"]: hit["text"] for hit in self._row(system, query_id)["hits"]}

    def _of(self, system: str) -> pa.Table:
        return self.table.filter(pc.equal(self.table["system"], system))

    def _row(self, system: str, query_id: str) -> dict[str, Any]:
        rows = self._of(system)
        found: list[dict[str, Any]] = rows.filter(pc.equal(rows["query_id"], query_id)).to_pylist()
        if not found:
            raise DataError(f"No first hits of {system!r} for question {query_id!r}. Compare again.")
        return found[0]


def _restored(ranking: Ranking, row: Mapping[str, Any]) -> Ranking:
    """A loaded ranking with the stages, parts of scores, paths and notes of its first hits.

    DataError where the run has other first hits than the file.
    """
    hits = row["hits"]
    if [hit["passage_id"] for hit in hits] != ranking.passage_ids[: len(hits)]:
        raise DataError(f"{FILE} and the run of {row['system']!r} differ at {ranking.query_id!r}. Compare again.")
    stages = tuple(dict.fromkeys([*(hit["stage"] for hit in hits), ""]))
    codes = np.full(len(ranking), len(stages) - 1, dtype=np.int8)
    codes[: len(hits)] = [stages.index(hit["stage"]) for hit in hits]
    names = dict.fromkeys(part["name"] for hit in hits for part in hit["parts"])
    parts = {name: np.full(len(ranking), np.nan) for name in names}
    scores = ranking.scores.copy()
    for at, hit in enumerate(hits):
        scores[at] = hit["score"]
        for part in hit["parts"]:
            parts[part["name"]][at] = part["value"]
    paths = {int(ranking.rows[at]): _path(hit["path"]) for at, hit in enumerate(hits) if hit["path"]}
    notes = Notes.from_json(parse_json(row["notes"], f"{FILE}, notes"))
    return replace(
        ranking, scores=scores, stages=stages, stage_codes=codes, score_parts=parts, paths=paths, notes=notes
    )


def _path(triples: Sequence[Mapping[str, Any]]) -> tuple[Triple, ...]:
    return tuple(Triple(**triple) for triple in triples)
