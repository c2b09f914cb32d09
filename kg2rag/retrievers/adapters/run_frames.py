"""A run as a frame of any library, or as a Series of pandas -> passages and scores by query."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from kg2rag.retrievers.adapters.run_files import (
    DOCUMENT_COLUMNS,
    PASSAGE_COLUMNS,
    QUERY_COLUMNS,
    QUERY_TEXTS,
    SCORE_COLUMNS,
)
from kg2rag.text.printed_values import parsed_literal
from kg2rag.types.coerce_corpus import fields_of_columns, python_value
from kg2rag.types.gold_columns import GOLD, is_gold_column

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "query_id": (*QUERY_COLUMNS, *QUERY_TEXTS),
    "passage_id": PASSAGE_COLUMNS,
    "score": SCORE_COLUMNS,
    "rank": ("rank",),
}
"""Column of a run -> the names that it may have; one of `rank` and `score` may be missing.

The only column whose name ends in "score" is that of scores, too. Of several columns of passages, the
first with an id of the corpus counts.
"""


def is_frame(rankings: object) -> bool:
    """Whether a value is a frame of any library, or a Series of pandas."""
    return isinstance(rankings, pd.Series | pd.DataFrame) or isinstance(
        nw.from_native(rankings, pass_through=True), nw.DataFrame | nw.LazyFrame
    )


def _run_frame(rankings: Any, name: str, ids: Container[str]) -> pd.DataFrame:
    """A frame of any library as a pandas frame with the names of `COLUMNS` and numeric columns."""
    frame = _with_run_columns(_pandas_frame(rankings), name, ids)
    frame = _with_lists_unfolded(frame)
    for column in {"score", "rank"} & set(frame.columns):
        frame = frame.assign(**{column: _finite_numbers(frame, column, name)})
    if "score" not in frame.columns:
        frame = frame.assign(score=1 / (1 + frame["rank"] - frame["rank"].min()))
    return frame.assign(
        query_id=[str(python_value(query)) for query in frame["query_id"]]
    )


def _pandas_frame(rankings: Any) -> pd.DataFrame:
    """The pandas frame of a frame or Series, with the levels of an index of queries as columns."""
    if isinstance(rankings, pd.Series):
        rankings = rankings.to_frame(_series_name(rankings))
    if not isinstance(rankings, pd.DataFrame):
        rankings = nw.from_native(rankings).lazy().collect(backend="pandas").to_native()
    frame: pd.DataFrame = _with_parsed_lists(_with_unique_columns(rankings))
    levels = [str(level).casefold() for level in frame.index.names]
    has_queries = not {str(column).casefold() for column in frame}.isdisjoint(
        QUERY_COLUMNS
    )
    if has_queries or set(levels).isdisjoint(QUERY_COLUMNS):
        return frame
    return frame.reset_index()


def _with_unique_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with one of each two columns of one name; ValueError: their values differ."""
    for column in frame.columns[frame.columns.duplicated()]:
        first, *others = (cells for _, cells in frame[column].items())
        if not all(first.equals(other) for other in others):
            raise ValueError(
                f"run: several columns are called {column!r}, with other values. Rename them."
            )
    return frame.loc[:, ~frame.columns.duplicated()]


def _with_parsed_lists(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with the lists in columns of printed lists, as CSV files have them."""
    printed = {
        column: frame[column].map(parsed_literal)
        for column in frame.columns
        if len(frame) and all(map(_is_printed_list, frame[column]))
    }
    return frame.assign(**printed) if printed else frame


def _is_printed_list(cell: object) -> bool:
    return isinstance(cell, str) and cell.startswith("[") and cell.endswith("]")


def _series_name(rankings: pd.Series) -> str:
    """The column of a Series: its name, by default the passages, or the scores if these are in the index."""
    return str(rankings.name or ("passage_id", "score")[rankings.index.nlevels > 1])


def _with_lists_unfolded(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with a row for each hit, where the cells of a query hold lists; these are best first."""
    cells = frame["passage_id"]
    if not len(cells) or not all(map(_is_list, cells)):
        return frame
    lists = [column for column in ("passage_id", "score", "rank") if column in frame]
    hits = frame.explode([name for name in lists if all(map(_is_list, frame[name]))])
    hits = hits.dropna(subset=["passage_id"])
    if {"score", "rank"}.isdisjoint(hits.columns):
        hits = hits.assign(rank=hits.groupby("query_id").cumcount() + 1)
    return hits


def _is_list(cell: object) -> bool:
    return isinstance(cell, list | tuple | np.ndarray)


def _with_run_columns(
    frame: pd.DataFrame, name: str, ids: Container[str]
) -> pd.DataFrame:
    """The frame with the names of `COLUMNS`; ValueError names a column that it lacks."""
    columns = list(map(str, frame.columns))
    frame = frame.rename(columns=fields_of_columns(columns, _names(frame, ids)))
    lacking = [
        column for column in ("query_id", "passage_id") if column not in frame.columns
    ]
    has_lists = not lacking and all(map(_is_list, frame["passage_id"]))
    if {"score", "rank"}.isdisjoint(frame.columns) and not has_lists:
        lacking.append("score")
    if lacking:
        raise ValueError(
            f"run {name!r} lacks the column {lacking[0]!r}. Needed: query_id, passage_id, and score or rank; it has "
            f"{', '.join(map(str, frame.columns)) or 'none'}."
        )
    return frame


def _names(frame: pd.DataFrame, ids: Container[str]) -> Mapping[str, Sequence[str]]:
    """`COLUMNS` with the names that the columns of passages and scores have in a frame."""
    columns = list(map(str, frame.columns))
    scores = [column for column in columns if column.casefold().endswith("score")]
    names: dict[str, Sequence[str]] = dict(COLUMNS)
    if len(scores) == 1:
        names["score"] = (*COLUMNS["score"], *scores)
    passages = _passage_columns(frame, ids)
    if passages:
        names["passage_id"] = passages
    return names


def _passage_columns(frame: pd.DataFrame, ids: Container[str]) -> list[str]:
    """The names of the columns of passages that have an id of the corpus.

    Without one, they are those of lists with such an id, apart from lists of gold.
    """
    names = [
        name
        for name in (*PASSAGE_COLUMNS, *DOCUMENT_COLUMNS)
        for column, cells in frame.items()
        if str(column).casefold() == name and _has_id(cells, ids)
    ]
    if names:
        return names
    return [
        str(column)
        for column, cells in frame.items()
        if _has_lists_of_hits(str(column), cells, ids)
    ]


def _has_lists_of_hits(column: str, cells: pd.Series, ids: Container[str]) -> bool:
    """Whether a column, unless it is one of gold, has only lists, with an id of the corpus."""
    if column in GOLD or is_gold_column(column):
        return False
    return all(map(_is_list, cells)) and _has_id(chain.from_iterable(cells), ids)


def _has_id(cells: Iterable[Any], ids: Container[str]) -> bool:
    """Whether a cell is an id of the corpus."""
    return any(str(python_value(cell)) in ids for cell in cells)


def _finite_numbers(frame: pd.DataFrame, column: str, name: str) -> np.ndarray:
    """The numbers of a column; ValueError names the hit that has none."""
    cells = pd.to_numeric(frame[column], errors="coerce")
    numbers = cells.to_numpy(dtype=np.float64, na_value=np.nan)
    damaged = frame[~np.isfinite(numbers)]
    if len(damaged):
        row = damaged.iloc[0]
        place = f"query {row['query_id']!r}, passage {row['passage_id']!r}"
        raise ValueError(
            f"run {name!r}, {place}: {column} is {row[column]}; give a number."
        )
    return numbers


def frame_hits(
    rankings: Any, name: str, ids: Container[str]
) -> dict[str, list[tuple[Any, Any]]]:
    """Query id -> passage ids and scores of a frame, best first; `ids` are those of the corpus.

    The order is by rank, or by score if ranks are missing or repeated within a query; ties keep the
    order of the frame.
    """
    frame = _run_frame(rankings, name, ids)
    if "rank" in frame.columns and not frame.duplicated(["query_id", "rank"]).any():
        frame = frame.sort_values("rank", kind="stable")
    else:
        frame = frame.sort_values("score", ascending=False, kind="stable")
    queries = frame.groupby("query_id", sort=False)
    return {
        str(query): list(zip(hits["passage_id"], hits["score"], strict=True))
        for query, hits in queries
    }
