"""Parquet files with the checksum of all their bytes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kg2rag.text.parquet import as_parquet, read_parquet
from kg2rag.text.records import DataError

TABLE = pa.table({"name": ["a", "b"], "rank": [1, 2]}, metadata={"kept": "yes"})


def written(file: Path) -> bytes:
    file.write_bytes(as_parquet(TABLE))
    return file.read_bytes()


def test_a_table_comes_back_with_its_notes_and_its_bytes_are_always_the_same(tmp_path: Path) -> None:
    assert written(tmp_path / "a.parquet") == written(tmp_path / "b.parquet")
    found = read_parquet(tmp_path / "a.parquet")
    assert found.to_pylist() == TABLE.to_pylist()
    assert found.schema.metadata[b"kept"] == b"yes"


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
    with pytest.raises(DataError, match=r"a\.parquet.* checksum"):
        read_parquet(file)


def test_what_is_no_parquet_file_is_named(tmp_path: Path) -> None:
    file, sound = tmp_path / "a.parquet", pa.table({"name": ["one", "two"]})
    pq.write_table(sound, file, use_dictionary=False, compression=None, write_page_checksum=True, store_schema=False)
    written, misnamed = file.read_bytes(), file.read_bytes().replace(b"name", b"n\xe1me")
    for content in (b"PAR1 not", misnamed, written.replace(b"two", b"twi")):  # the last in a page
        file.write_bytes(content)
        with pytest.raises(DataError, match=r"a\.parquet: no Parquet file"):
            read_parquet(file)
