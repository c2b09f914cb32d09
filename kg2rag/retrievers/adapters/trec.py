"""Rankings <-> TREC run files: `query_id Q0 passage_id rank score system`, one hit a line; gold <-> TREC qrels files.

The format is separated by blanks, so blanks and per cent signs of ids and names, and a number sign at their beginning,
are written as `%20`, `%25`, `%23` and so on and read back. A query without hits has no line. Files whose names end in
.gz or .xz are compressed. Lines that begin with a number sign are a header, as ir_metadata writes it; trec_eval knows
none, so one is written on request alone.

trec_eval ignores the rank: it sorts by score, in single precision, and equal scores by id. So a score is written as the
nearest single-precision number, and one that would not be below that of the hit before as the next smaller one: every
tool then reads the hits in their order.
"""

from __future__ import annotations

import gzip
import lzma
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import NDArray

from kg2rag.text.records import DataError, decode
from kg2rag.text.records import quote as quoted
from kg2rag.types import FloatArray, Ranking

_UNSAFE = re.compile(r"[%\s]|^#")
_OPEN = {".gz": gzip.decompress, ".xz": lzma.decompress}


def dump(rankings: Iterable[Ranking], system: str, header: str = "") -> str:
    """The text of a run file; each line of a header becomes a comment before the hits."""
    tag = _encode(system)
    lines = [f"# {line}".rstrip() + "\n" for line in header.splitlines()]
    for ranking in rankings:
        query = _encode(ranking.query_id)
        hits = zip(ranking.passage_ids, falling(ranking.scores).tolist(), strict=True)
        lines += [f"{query} Q0 {_encode(id_)} {rank} {score:.9g} {tag}\n" for rank, (id_, score) in enumerate(hits, 1)]
    return "".join(lines)


def falling(scores: FloatArray) -> NDArray[np.float32]:
    """(n,) in single precision and strictly falling, for scores that never rise.

    >>> falling(np.array([0.5, 0.5, 0.25])).tolist()
    [0.5, 0.4999999701976776, 0.25]
    """
    single = scores.astype(np.float32)
    for at in (np.flatnonzero(np.diff(single) >= 0) + 1).tolist():
        while at < len(single) and single[at] >= single[at - 1]:  # one that was lowered may meet the next
            single[at] = np.nextafter(single[at - 1], np.float32(-np.inf))
            at += 1
    return single


def load(path: Path) -> dict[str, list[tuple[str, float]]]:
    """Query id -> (passage id, score), best first by rank, of a run file.

    DataError: a line without six fields or with a rank or score that is no number; the message names it.
    """
    run: dict[str, list[tuple[int, str, float]]] = {}
    for where, (query, _, id_, rank, score, _) in _fields(path, "query Q0 passage rank score system"):
        try:
            hit = (int(rank), id_, float(score))
        except ValueError as error:
            raise DataError(f"{where}: rank {quoted(rank)} or score {quoted(score)} is no number.") from error
        run.setdefault(query, []).append(hit)
    return {query: [(id_, score) for _, id_, score in sorted(hits)] for query, hits in run.items()}


def as_rankings(run: Mapping[str, Sequence[tuple[str, float]]], query_ids: Iterable[str]) -> list[Ranking]:
    """Rankings of a loaded run, one a query, empty where the file has no line. Their rows count the run's own ids."""
    ids = list(dict.fromkeys(id_ for hits in run.values() for id_, _ in hits))
    row = {id_: i for i, id_ in enumerate(ids)}
    rankings = []
    for query_id in query_ids:
        hits = run.get(query_id, ())
        rows = np.array([row[id_] for id_, _ in hits], dtype=np.int64)
        rankings.append(Ranking(query_id, rows, np.array([score for _, score in hits], dtype=np.float64), ids))
    return rankings


def dump_qrels(gold: Mapping[str, Mapping[str, int]]) -> str:
    """The text of a qrels file, `query_id 0 passage_id grade`; `QADataset.qrels` is such a mapping."""
    judged = ((query, id_, grade) for query, own in gold.items() for id_, grade in own.items())
    return "".join(f"{_encode(query)} 0 {_encode(id_)} {grade}\n" for query, id_, grade in judged)


def load_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Query id -> gold id -> grade; passages judged irrelevant (grade 0 or less) are left out.

    DataError: a line without four fields, a grade that is no whole number, or a passage judged twice.
    """
    gold: dict[tuple[str, str], int] = {}
    for where, (query, _, id_, grade) in _fields(path, "query 0 passage grade"):
        if not re.fullmatch(r"-?\d{1,9}", grade):
            raise DataError(f"{where}: grade {quoted(grade)} is no whole number of nine digits at most.")
        if (query, id_) in gold:
            raise DataError(f"{where}: query {query!r} and passage {id_!r} are judged twice.")
        gold[query, id_] = int(grade)
    relevant: dict[str, dict[str, int]] = {}
    for (query, id_), value in gold.items():
        if value > 0:
            relevant.setdefault(query, {})[id_] = value
    return relevant


def _fields(path: Path, names: str) -> Iterator[tuple[str, list[str]]]:
    """The file with the number of each line that is not blank, and its fields, names decoded."""
    content, wanted = path.read_bytes(), names.split()
    try:
        content = _OPEN.get(path.suffix, bytes)(content)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise DataError(f"{path} is no whole {path.suffix} file: {error}.") from error
    for number, line in enumerate(decode(content, path).split("\n"), 1):
        fields, where = [] if line.startswith("#") else line.split(), f"{path}, line {number}"
        if fields and len(fields) != len(wanted):
            raise DataError(f"{where}: {len(fields)} fields instead of {len(wanted)} ({names}).")
        for at in (0, 2) if fields else ():
            try:
                fields[at] = unquote(fields[at], errors="strict")
            except UnicodeDecodeError:
                raise DataError(f"{where}: {quoted(fields[at])} is no UTF-8. Write a per cent sign as %25.") from None
        if fields:
            yield where, fields


def name_of(path: Path) -> str:
    """The system that a run file is called after: `runs/dense.trec.xz` -> "dense"."""
    plain = path.with_suffix("") if path.suffix in _OPEN else path
    return plain.stem


def _encode(name: str) -> str:
    return _UNSAFE.sub(lambda match: quote(match[0], safe=""), name)
