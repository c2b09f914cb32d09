"""Finished configurations <-> one Parquet file: the same bytes for any order of finishing and any number of processes.

While a sweep runs, each configuration is a file of its own in `parts/`, written atomically; `results.parquet` is
assembled from them, one row group a configuration, in the order of the sweep, every few seconds and at the end, when
`parts/` is removed. Timings, which differ between runs, are in `timings.csv`, with a checksum of each line; what all
scores share, in `sweep.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kg2rag.compute import remove_leftovers, write
from kg2rag.evaluation.storage import CHECKSUM, checksum_of
from kg2rag.text.parquet import read_parquet, write_parquet
from kg2rag.text.records import DataError, parse_json, quote, read_delimited, read_json, reading, wrong

if TYPE_CHECKING:
    import pandas as pd

RESULTS, TIMINGS, ABOUT = "results.parquet", "timings.csv", "sweep.json"
COLUMNS = (
    ("number", pa.int32()),
    ("id", pa.string()),
    ("system", pa.string()),
    ("setting", pa.string()),
    ("graph", pa.string()),
    ("encoder", pa.string()),
    ("parameters", pa.string()),
    ("about", pa.string()),
    ("error", pa.string()),
    ("query_id", pa.string()),
    ("type", pa.string()),
    ("hops", pa.int32()),
    ("split", pa.string()),
    ("tokens", pa.int64()),
)
"""The columns before the metrics. `error` is null unless the configuration failed; a failed one has a single row with
null scores. `tokens` are those of the hits that the objective reads."""
_META = b"kg2rag"
TIMES = ("ms_per_query", "seconds")
CHECK = "crc32"
AGAIN = "Run the sweep again, into another folder, or restore the files that it wrote."


def schema(metrics: Iterable[str]) -> pa.Schema:
    """The columns of a results file."""
    return pa.schema([*COLUMNS, *((name, pa.float64()) for name in metrics)])


@dataclass
class ResultsFolder:
    """The folder of a sweep's results.

    Parameters
    ----------
    identity : what all scores of the sweep share.

    Attributes
    ----------
    errors : id of each finished configuration -> its error, "" where it did not fail.
    timings : likewise -> milliseconds a query without building and encoding (NaN where it failed), seconds of all.
    """

    path: Path
    schema: pa.Schema
    identity: Mapping[str, object]
    errors: dict[str, str] = field(default_factory=dict, init=False)
    timings: dict[str, tuple[float, float]] = field(default_factory=dict, init=False)
    _row_group: dict[str, int] = field(default_factory=dict, init=False)

    def open(self) -> None:
        """Read what is finished; ValueError where it belongs to another sweep."""
        about = self.path / ABOUT
        if about.is_file():
            self._check(read_about(self.path))
        if (self.path / RESULTS).is_file():
            with reading(self.path / RESULTS, AGAIN):
                self._read_results()
        for part in sorted(self._parts.glob("*.parquet")):
            with reading(part, AGAIN):
                rows = self._mine(part)
                if rows["id"].unique().to_pylist() != [part.stem]:
                    raise DataError(f"{part}: its rows are not those of configuration {part.stem}. {AGAIN}")
                self._note(rows, pq.read_schema(part))

    def begin(self, notes: Mapping[str, object]) -> None:
        """Make the folder, and write what all scores share beside `notes`."""
        self._parts.mkdir(parents=True, exist_ok=True)
        remove_leftovers(self.path)
        remove_leftovers(self._parts)
        about = json.loads(json.dumps({"identity": self.identity, **notes}, default=str))
        record = json.dumps({**about, CHECKSUM: checksum_of(about)}, indent=1, ensure_ascii=False)
        write(self.path / ABOUT, (record + "\n").encode())

    def add(self, table: pa.Table, ms_per_query: float, seconds: float) -> None:
        """Keep one configuration; from here on it is finished."""
        id_ = table["id"][0].as_py()
        times = {"ms_per_query": ms_per_query, "seconds": seconds}
        meta = json.dumps({**times, CHECK: checksum(id_, *map(str, times.values()))})
        marked = table.replace_schema_metadata({_META: meta.encode()})
        write(self._parts / f"{id_}.parquet", _parquet([marked], marked.schema))
        self._note(marked, marked.schema)

    def table(self, id_: str) -> pa.Table:
        """The rows of a finished configuration."""
        part = self._parts / f"{id_}.parquet"
        if part.is_file():
            return read_parquet(part).replace_schema_metadata(None)
        file = pq.ParquetFile(self.path / RESULTS, page_checksum_verification=True)
        return file.read_row_group(self._row_group[id_]).replace_schema_metadata(None)

    def assemble(self, order: Sequence[str], *, done: bool = False) -> None:
        """Write the one file and the timings, in the order given; `done` removes the parts.

        What is finished and not in the order follows it, by id: nothing that was computed is ever dropped.
        """
        order = [*order, *sorted(set(self.errors) - set(order))]
        ready = {id_: number for number, id_ in enumerate(order, start=1) if id_ in self.errors}
        schema = self.schema.with_metadata({_META: json.dumps(self.identity, sort_keys=True).encode()})
        tables = []
        for id_, number in ready.items():
            table = self.table(id_)
            column = pa.array([number] * len(table), pa.int32())
            tables.append(table.set_column(0, "number", column).replace_schema_metadata(schema.metadata))
        write(self.path / RESULTS, _parquet(tables, schema))
        lines = [[id_, *(f"{value:.4f}" for value in self.timings[id_])] for id_ in ready]
        rows = [["id", *TIMES, CHECK], *([*line, checksum(*line)] for line in lines)]
        write(self.path / TIMINGS, "".join(",".join(row) + "\n" for row in rows).encode())
        self._row_group = {id_: i for i, id_ in enumerate(ready)}
        if done:
            for part in self._parts.glob("*.parquet"):
                part.unlink()
            self._parts.rmdir()

    @property
    def _parts(self) -> Path:
        return self.path / "parts"

    def _check(self, record: Mapping[str, Mapping[str, object]]) -> None:
        mine = json.loads(json.dumps(self.identity, default=str))
        for key, value in record["identity"].items():
            if mine.get(key) != value:
                raise DataError(
                    f"{self.path} holds results of another sweep: its {key} is {quote(value)}, "
                    f"not {quote(mine.get(key))}. "
                    "Give another folder (--out)."
                )

    def _read_results(self) -> None:
        self._mine(self.path / RESULTS)
        file = pq.ParquetFile(self.path / RESULTS)
        for i in range(file.num_row_groups):
            rows = file.read_row_group(i, columns=["id", "error"])
            self._row_group[rows["id"][0].as_py()] = i
            self._note(rows, None)
        if (self.path / TIMINGS).is_file():
            times = read_timings(self.path / TIMINGS)
            self.timings |= {str(id_): (ms, seconds) for id_, ms, seconds in times.itertuples()}
        for id_ in self.errors:
            self.timings.setdefault(id_, (float("nan"), float("nan")))

    def _mine(self, file: Path) -> pa.Table:
        rows = checked(read_parquet(file), file)
        if rows.schema.names != self.schema.names:
            metrics = quote(rows.schema.names[len(COLUMNS) :])
            raise DataError(f"{file}: its metrics are {metrics}, not those of the sweep. {AGAIN}")
        return rows

    def _note(self, rows: pa.Table, schema: pa.Schema | None) -> None:
        id_ = rows["id"][0].as_py()
        self.errors[id_] = rows["error"][0].as_py() or ""
        if schema is not None:
            timing = json.loads(schema.metadata[_META])
            ms, seconds = (timing[name] for name in TIMES)
            if timing.get(CHECK) not in (None, checksum(id_, str(ms), str(seconds))):
                raise DataError(f"the timings of {id_}, {ms} and {seconds}, do not match their checksum. {AGAIN}")
            self.timings[id_] = float(ms), float(seconds)


def read_about(folder: Path) -> dict[str, Any]:
    """What all scores of a sweep share, and how it was run."""
    record = read_json(folder / ABOUT)
    for key, kind in (("identity", dict), ("objective", str)):
        if not (isinstance(record, dict) and isinstance(record.get(key), kind)):
            raise DataError(f"{folder / ABOUT}: no {key} of the sweep. {AGAIN}")
    # None in files of an earlier version.
    if (written := record.pop(CHECKSUM, None)) not in (None, checksum_of(record)):
        raise DataError(f"{folder / ABOUT} is not as it was written: its checksum is not {quote(written)}. {AGAIN}")
    return dict(record)


def read_timings(file: Path) -> pd.DataFrame:
    """By id: ms_per_query, seconds; each id once. Lines without a checksum are of an earlier version."""
    import pandas as pd

    rows: dict[str, tuple[float, float]] = {}
    for number, row in read_delimited(file, ","):
        with reading(file, AGAIN):
            id_, ms, seconds = (str(row[name]) for name in ("id", *TIMES))
            if id_ in rows:
                wrong(file, number, "id", id_, "an id of its own")
            if len(row) != 1 + len(TIMES) and row.get(CHECK) != checksum(id_, ms, seconds):
                wrong(file, number, CHECK, row.get(CHECK), f"{checksum(id_, ms, seconds)}, that of the line")
            rows[id_] = float(ms), float(seconds)
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(TIMES), dtype=float).rename_axis("id")


def checksum(*values: str) -> str:
    """CRC-32 of the values of a line, in hexadecimal: it notices any flipped bit."""
    return f"{crc32(','.join(values).encode()):08x}"


def checked(table: pa.Table, file: Path) -> pa.Table:
    """The rows of finished configurations; DataError for other columns, or blanks where there are never any."""
    if table.schema.names[: len(COLUMNS)] != [name for name, _ in COLUMNS] or not len(table):
        raise DataError(f"{file}: its columns are not those of a sweep's results, or it has no row. {AGAIN}")
    for name, kind in zip(
        table.schema.names, [kind for _, kind in COLUMNS] + [pa.float64()] * len(table), strict=False
    ):
        if table[name].type != kind:
            raise DataError(f"{file}: column {name!r} is of type {table[name].type}, not {kind}. {AGAIN}")
    for name in ("number", "id", "system", "setting", "graph", "encoder", "parameters"):
        if table[name].null_count:
            raise DataError(f"{file}: column {name!r} has a blank. {AGAIN}")
    for text in pc.unique(table["parameters"]).to_pylist():
        if not isinstance(parse_json(text, f"{file}, parameters"), dict):
            raise DataError(f"{file}: parameters {quote(text)} are no object. {AGAIN}")
    return table


def _parquet(tables: Sequence[pa.Table], schema: pa.Schema) -> bytes:
    """One row group a table; the same tables give the same bytes."""
    sink = BytesIO()
    write_parquet(sink, tables, schema, compression="zstd")
    return sink.getvalue()
