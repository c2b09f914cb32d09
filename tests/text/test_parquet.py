"""Parquet files with the checksum of all their bytes."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kg2rag.text.parquet import read_parquet, write_parquet
from kg2rag.text.records import DataError

TABLE = pa.table({"name": ["a", "b"], "rank": [1, 2]}, metadata={"kept": "yes"})


def written(file: Path) -> bytes:
    write_parquet(file, [TABLE, TABLE], TABLE.schema, compression="zstd")
    return file.read_bytes()


def test_a_table_comes_back_with_its_notes_and_a_row_group_a_table(tmp_path: Path) -> None:
    written(tmp_path / "a.parquet")
    found = read_parquet(tmp_path / "a.parquet")
    assert found.to_pylist() == TABLE.to_pylist() * 2
    assert found.schema.metadata[b"kept"] == b"yes"
    assert pq.ParquetFile(tmp_path / "a.parquet").num_row_groups == 2


def test_a_file_and_bytes_are_the_same(tmp_path: Path) -> None:
    sink = BytesIO()
    write_parquet(sink, [TABLE, TABLE], TABLE.schema, compression="zstd")
    assert sink.getvalue() == written(tmp_path / "a.parquet") == written(tmp_path / "b.parquet")


def test_no_flipped_bit_passes_as_another_table(tmp_path: Path) -> None:
    file, whole = tmp_path / "a.parquet", written(tmp_path / "a.parquet")
    want = read_parquet(file).to_pylist()
    refused = 0
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        file.write_bytes(bytes(damaged))
        try:
            assert read_parquet(file).to_pylist() == want
        except DataError as error:
            assert str(file) in str(error)  # noqa: PT017 (either is right)
            refused += 1
    assert refused > len(whole) - 32  # but for those in the name of the checksum's entry


def test_a_file_of_another_program_has_no_such_checksum_and_is_read(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "a.parquet")
    assert read_parquet(tmp_path / "a.parquet").to_pylist() == TABLE.to_pylist()


def test_an_edit_that_keeps_the_pages_sound_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    file.write_bytes(written(file).replace(b"name", b"eman"))
    with pytest.raises(DataError, match=r"a\.parquet is not as it was written: its checksum is another"):
        read_parquet(file)
