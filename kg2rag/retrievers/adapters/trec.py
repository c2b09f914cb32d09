"""Rankings <-> TREC run files; gold <-> TREC qrels files.

A run file has one hit per line, `query_id Q0 passage_id rank score system`.

Blanks and per cent signs in ids and names, and an initial number sign, are written as `%20`, `%25`
and `%23` and decoded again. A query without hits has no line. Files whose names end in .gz or .xz
are compressed. Lines that begin with a number sign are a header (ir_metadata) and are skipped.

trec_eval ignores ranks: it sorts by score in single precision, and ties by id. A score is therefore
written as the nearest single-precision number below that of the previous hit.
"""

from __future__ import annotations

import gzip
import lzma
import math
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import NDArray

from kg2rag.text.decoding import decode
from kg2rag.text.records import DataError
from kg2rag.text.records import quote as quoted
from kg2rag.types import Ranking

_UNSAFE = re.compile(r"[%\s]|^#")
_OPEN = {".gz": gzip.decompress, ".xz": lzma.decompress}


def dump(rankings: Iterable[Ranking], system: str) -> str:
    """The text of a run file."""
    tag = _encode(system)
    lines = []
    for ranking in rankings:
        query_id = _encode(ranking.query_id)
        scores = _falling(ranking.scores.astype(np.float32)).tolist()
        hits = zip(ranking.passage_ids, scores, strict=True)
        for rank, (passage_id, score) in enumerate(hits, start=1):
            lines.append(
                f"{query_id} Q0 {_encode(passage_id)} {rank} {score:.9g} {tag}\n"
            )
    return "".join(lines)


def _falling(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """The scores, each at least one step of single precision below its predecessor."""
    if (np.diff(scores) < 0).all():
        return scores
    for i in range(1, len(scores)):
        if scores[i] >= scores[i - 1]:
            scores[i] = np.nextafter(scores[i - 1], np.float32(-np.inf))
    return scores


def unpacked(path: Path) -> bytes:
    """The contents of a file, decompressed; DataError: a compressed file is damaged."""
    content = path.read_bytes()
    try:
        return _OPEN.get(path.suffix, bytes)(content)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise DataError(f"{path} is no whole {path.suffix} file: {error}.") from error


def load(path: Path) -> dict[str, list[tuple[str, float]]]:
    """The run in a file, see `parse`."""
    return parse(decode(unpacked(path), path), path)


def parse(text: str, path: Path) -> dict[str, list[tuple[str, float]]]:
    """Query id -> (passage id, score), best first, of the text of a run file.

    Hits are ordered by score, as in trec_eval; ties by rank, then by position in the file (BEIR writes
    rank 0 for all hits).

    DataError names a line without six fields, with a rank that is no integer, a score that is not
    finite, or a name that is not UTF-8.
    """
    run: dict[str, list[tuple[int, str, float]]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.startswith("#"):
            query_id, hit = _parse_line(line, f"{path}, line {number}")
            run.setdefault(query_id, []).append(hit)
    ranked = {
        query: sorted(hits, key=lambda hit: (-hit[2], hit[0]))
        for query, hits in run.items()
    }
    return {
        query: [(id_, score) for _, id_, score in hits]
        for query, hits in ranked.items()
    }


def _parse_line(line: str, where: str) -> tuple[str, tuple[int, str, float]]:
    """The query of a line, and its hit: rank, passage and score."""
    try:
        query, _, id_, rank, score, _ = line.split()
        if not math.isfinite(float(score)):
            raise ValueError("the score is no finite number")
        hit = (int(rank), unquote(id_, errors="strict"), float(score))
        return unquote(query, errors="strict"), hit
    except ValueError as error:
        form = "`query Q0 passage rank score system`, with a per cent sign of a name written as %25"
        raise DataError(f"{where}: {quoted(line)} is no {form} ({error}).") from error


def as_rankings(
    run: Mapping[str, Sequence[tuple[str, float]]], query_ids: Iterable[str]
) -> list[Ranking]:
    """The rankings of a loaded run by query id, empty for queries without a line.

    Their rows index the ids of the run.
    """
    rankings = []
    ids: list[str] = []
    row_of: dict[str, int] = {}
    for query_id in query_ids:
        hits = run.get(query_id, ())
        rows = [row_of.setdefault(passage_id, len(row_of)) for passage_id, _ in hits]
        scores = np.array([score for _, score in hits], dtype=np.float64)
        rankings.append(Ranking(query_id, np.array(rows, dtype=np.int64), scores, ids))
    ids.extend(row_of)
    return rankings


def dump_qrels(gold: Mapping[str, Mapping[str, int]]) -> str:
    """The text of a qrels file, `query_id 0 passage_id grade`, from such as `QADataset.qrels`."""
    lines = []
    for query_id, grades in gold.items():
        lines += [
            f"{_encode(query_id)} 0 {_encode(passage_id)} {grade}\n"
            for passage_id, grade in grades.items()
        ]
    return "".join(lines)


def without_packing(path: Path) -> Path:
    """A path without the suffix of its compression."""
    return path.with_suffix("") if path.suffix in _OPEN else path


def name_of(path: Path) -> str:
    """The system of a run file: `runs/dense.trec.xz` -> "dense"."""
    return without_packing(path).stem


def _encode(name: str) -> str:
    return _UNSAFE.sub(lambda match: quote(match[0], safe=""), name)
