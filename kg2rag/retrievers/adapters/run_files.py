"""A file of rankings -> a run: a mapping by query id, or a frame with a row for each hit.

Read are TREC's six columns (Anserini, pyserini, PyTerrier, ranx), MS MARCO's three (query, passage,
rank), ColBERT's four (and score), tables with a header (CSV, TSV, Parquet), JSON from query to
passage to score (BEIR, ranx), JSON with a hit or a query a record (DPR, RankLLM), and ranx's .lz4.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from kg2rag.retrievers.adapters import trec
from kg2rag.text.decoding import decode
from kg2rag.text.records import (
    DataError,
    delimited_rows,
    parse_json,
    parse_parquet,
    quote,
)
from kg2rag.types.gold_columns import GOLD, is_gold_column

QUERY_COLUMNS = ("query_id", "qid", "q_id", "query-id", "question_id")
QUERY_TEXTS = ("query", "question", "user_input")
"""The columns with the text of a query, which names it if there is no id."""
PASSAGE_COLUMNS = (
    # docno precedes docid, which PyTerrier uses for the position in its index.
    *("passage_id", "docno", "docid", "doc_id", "corpus-id", "corpus_id"),
    *("chunk_id", "pid", "document_id", "id", "_id"),
)
DOCUMENT_COLUMNS = (
    *("document", "doc", "source", "file", "filename", "file_name"),
    *("document_uri", "url", "uri", "path"),
    *("text", "content", "page_content", "contents"),
)
"""The columns with names of documents or texts of passages, which are hits if no column has ids."""
SCORE_COLUMNS = ("score", "_score", "similarity", "relevance", "relevance_score")
QUERY_OBJECTS = ("query", "question", "topic", "request")
"""The fields of objects that hold the id of the query of a record."""
RANKED_COLUMNS = ("query_id", "passage_id", "rank", "score")
DELIMITERS = ("\t", ",", ";")


def load_run(path: Path) -> Any:
    """The run in a file, read by its suffix and its first line; a mapping or a frame.

    DataError names the file and, in text, the line.
    """
    if path.is_dir():
        return _run_of_parts(path)
    suffix = trec.without_packing(path).suffix.lower()
    if suffix == ".lz4":
        return _ranx_run(path)
    content = trec.unpacked(path)
    if suffix in (".parquet", ".parq"):
        return parse_parquet(content, path).to_pandas()
    return _run_of_text(decode(content, path), suffix, path)


def _run_of_text(text: str, suffix: str, path: Path) -> Any:
    """The run in a text, by the suffix of its file and its first line."""
    first_line = next((line for line in text.split("\n") if line.strip()), "")
    if suffix in (".json", ".jsonl") or first_line.startswith(('{"', '[{"')):
        return _json_run(text, path)
    delimiter = _header_delimiter(first_line)
    if delimiter:
        rows = delimited_rows(text.splitlines(keepends=True), path, delimiter)
        return pd.DataFrame([_stripped(record) for _, record in rows])
    if len(first_line.split()) in (3, 4):
        return _ranked_lines(text, path)
    return trec.parse(text, path)


def _run_of_parts(folder: Path) -> pd.DataFrame:
    """The run in the parts of a folder, as Spark and Dask write it; hidden files and marks are left out."""
    parts = [file for file in sorted(folder.iterdir()) if file.name[0] not in "._"]
    frames = [load_run(file) for file in parts]
    if not frames or not all(isinstance(frame, pd.DataFrame) for frame in frames):
        raise DataError(
            f"{folder} holds no tables of one run. Give a file, or a folder of tables with query_id, passage_id and "
            "score."
        )
    run: pd.DataFrame = pd.concat(frames, ignore_index=True)
    return run


def _stripped(record: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(cell).strip() for name, cell in record.items()}


def _ranx_run(path: Path) -> Any:
    from ranx.io import load_lz4  # slow to import

    # A `ranx.Run` would be compiled for ten seconds.
    try:
        value = load_lz4(str(path))
    # whatever the decompression of a damaged file raises
    except Exception as error:
        raise DataError(
            f"{path} is no run of ranx ({error}). Is the file complete?"
        ) from error
    return _run_of_value(value, path)


def _header_delimiter(line: str) -> str:
    """The separator of a header with a column of queries; "" if the line is no header."""
    if len(line) > csv.field_size_limit():
        return ""
    for delimiter in DELIMITERS:
        cells = next(csv.reader([line.strip()], delimiter=delimiter), [])
        names = {cell.strip().casefold() for cell in cells}
        if len(cells) > 1 and not names.isdisjoint((*QUERY_COLUMNS, *QUERY_TEXTS)):
            return delimiter
    return ""


def _ranked_lines(text: str, path: Path) -> pd.DataFrame:
    """The run in a text whose lines have query, passage and rank (MS MARCO), and a score (ColBERT).

    The first line of a query must have rank 1, since other whole numbers may be scores.
    """
    rows = []
    queries: set[str] = set()
    for number, line in enumerate(text.split("\n"), start=1):
        cells = line.split()
        if not cells:
            continue
        row = dict(zip(RANKED_COLUMNS, cells, strict=False))
        is_first = row["query_id"] not in queries
        if len(row) < len(cells) or not _is_rank(row.get("rank", ""), is_first):
            raise DataError(
                f"{path}, line {number}: {quote(line)} is no `query passage rank`, or `query passage rank score`, "
                "with ranks from 1 on. Are these scores? Add the header query_id, passage_id, score."
            )
        queries.add(row["query_id"])
        rows.append(row)
    return pd.DataFrame(rows)


def _is_rank(text: str, is_first: bool) -> bool:
    """Whether a cell is the rank of a hit; that of the first hit of a query is 1."""
    return text.isdecimal() and (text == "1" or (not is_first and int(text) > 1))


def _json_run(text: str, path: Path) -> Any:
    """The run in a text of one JSON value, or of a JSON object in each line."""
    return _run_of_value(_json_value(text, path), path)


def _run_of_value(value: Any, path: Path) -> Any:
    """The run in the value of a JSON file or an .lz4 file; DataError if it is none."""
    if isinstance(value, list | Mapping):
        run = run_of_records(value, path)
        if isinstance(run, pd.DataFrame):
            return run
        if run and all(map(_is_ranking, run.values())):
            return run
    raise DataError(
        f"{path}: no run. Needed: {{query: {{passage: score}}}}, or records with query_id, passage_id and score."
    )


def run_of_records(value: Any, where: object) -> Any:
    """Records of hits or queries, in a list, by query, or only one, as a frame; any other mapping as it is."""
    if isinstance(value, Mapping) and _is_record(value):
        value = [value]
    if isinstance(value, Mapping):
        value = _only_run(value, where)
        if not any(map(_has_objects, value.values())):
            return value
        value = [_query_record(query, ranking) for query, ranking in value.items()]
    return pd.DataFrame(list(_hit_records(value, where)))


def _is_record(value: Mapping[str, Any]) -> bool:
    """Whether a mapping is the record of a hit or a query, by the id or text of its query."""
    return any(isinstance(id_, str | int) for id_ in _query_ids(value).values())


def _only_run(value: Mapping[str, Any], where: object) -> Mapping[str, Any]:
    """The mapping from query to passage to score at any depth of a value (MTEB); without one, the value.

    DataError: there are several, as of several subsets or splits.
    """
    runs = dict(_runs_within(value, ""))
    if len(runs) > 1:
        raise DataError(
            f"{where} holds several runs: {', '.join(runs)}. Give one of them, as a mapping."
        )
    return next(iter(runs.values()), value)


def _runs_within(
    value: Mapping[str, Any], place: str
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The mappings from query to passage to score in a value, with their places such as "default/test"."""
    mappings = {name: v for name, v in value.items() if isinstance(v, Mapping)}
    if (
        mappings
        and len(mappings) == len(value)
        and all(map(_are_scores, mappings.values()))
    ):
        yield place, value
        return
    for name, mapping in mappings.items():
        yield from _runs_within(mapping, f"{place}/{name}".strip("/"))


def _are_scores(hits: Mapping[str, Any]) -> bool:
    """Whether the values of a mapping are numbers."""
    return all(isinstance(score, int | float) for score in hits.values())


def _json_value(text: str, path: Path) -> Any:
    """The value of a JSON text; the list of values if each line has an object."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if len(lines) > 1 and lines[0].startswith("{") and lines[0].endswith("}"):
        return [
            parse_json(line, f"{path}, line {number}")
            for number, line in enumerate(lines, start=1)
        ]
    return parse_json(text, path)


def _is_ranking(hits: Any) -> bool:
    return isinstance(hits, Mapping | list)


def _has_objects(ranking: Any) -> bool:
    """Whether the hits of a query are objects, in a list or, as in DPR, in a list of its record."""
    if isinstance(ranking, Mapping):
        return any(isinstance(value, list | Mapping) for value in ranking.values())
    return isinstance(ranking, list) and any(
        isinstance(hit, Mapping) for hit in ranking
    )


def _query_record(query: str, ranking: Any) -> dict[str, Any]:
    if isinstance(ranking, Mapping):
        return {**ranking, "query_id": query}
    return {"query_id": query, "hits": ranking}


def _hit_records(records: Any, path: object) -> Iterator[dict[str, Any]]:
    """The record of each hit, from records of hits, or of queries that have a list of hits.

    A hit of a query's record gets the id of the query.
    """
    for number, record in enumerate(records, start=1):
        if not isinstance(record, Mapping):
            raise DataError(f"{path}, record {number}: {quote(record)} is no object.")
        hits = _hits_of_query(record)
        if hits is None:
            yield dict(record)
            continue
        ids = _query_ids(record)
        for hit in hits:
            yield {**ids, **hit}


def _query_ids(record: Mapping[str, Any]) -> dict[str, Any]:
    """The id of a query in its record, or in the object of the query within it (RankLLM), or its text."""
    ids = _fields_of(record, QUERY_COLUMNS)
    if ids:
        return ids
    for query in filter(_is_object, _fields_of(record, QUERY_OBJECTS).values()):
        ids = _fields_of(query, (*QUERY_COLUMNS, "id"))
        if ids:
            return {"query_id": next(iter(ids.values()))}
    for text in _fields_of(record, QUERY_TEXTS).values():
        if isinstance(text, str):
            return {"query_id": text}
    return {}


def _fields_of(record: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The fields of a record with some names, in the order of these."""
    return {name: record[name] for name in names if name in record}


def _hits_of_query(record: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The hits in the list of a query's record: objects, or ids, best first; None for the record of one hit.

    Answers of Elasticsearch, Qdrant and others have them in objects within the record.
    """
    lists = [
        value
        for name, value in record.items()
        if isinstance(value, list) and not _is_of_gold(name)
    ]
    # LightRAG has entities and relationships beside its chunks.
    objects = next(filter(_have_ids, lists), next(filter(_are_objects, lists), None))
    if objects is not None:
        return _with_ranks(list(map(_with_inner_ids, objects)))
    inner = [value for value in record.values() if isinstance(value, Mapping)]
    hits = next(filter(None, map(_hits_of_query, inner)), None)
    if hits is not None or len(lists) != 1:
        return hits
    return [
        {"passage_id": id_, "rank": rank} for rank, id_ in enumerate(lists[0], start=1)
    ]


def _is_of_gold(name: str) -> bool:
    """Whether a list has gold by its name, and not hits."""
    return name in GOLD or is_gold_column(name) or name == "gold_list"


def _with_inner_ids(hit: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a hit, with the ids in objects within it, as in `_source` of Elasticsearch."""
    inner = [value for value in hit.values() if isinstance(value, Mapping)]
    ids = {
        name: fields[name]
        for fields in inner
        for name in (*PASSAGE_COLUMNS, *DOCUMENT_COLUMNS)
        if name in fields
    }
    return {**ids, **{name: v for name, v in hit.items() if v is not None}}


def _with_ranks(hits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The hits of a query; without ranks and scores they are best first, as those of LangChain."""
    names = {name.casefold() for hit in hits for name in hit}
    if not names.isdisjoint(("rank", *SCORE_COLUMNS)) or any(
        name.endswith("score") for name in names
    ):
        return hits
    return [{**hit, "rank": rank} for rank, hit in enumerate(hits, start=1)]


def _are_objects(values: list[Any]) -> bool:
    return bool(values) and all(map(_is_object, values))


def _have_ids(values: list[Any]) -> bool:
    """Whether values are objects with an id of a passage."""
    return _are_objects(values) and not {
        name.casefold() for name in values[0]
    }.isdisjoint(PASSAGE_COLUMNS)


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)
