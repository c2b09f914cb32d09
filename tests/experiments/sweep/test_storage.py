"""Finished configurations on disk: what is written comes back, and what was changed is noticed."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from fuzz import seeds

from kg2rag.experiments.sweep.storage import ResultsFolder, checksum, read_timings, schema
from kg2rag.text.records import DataError

LINES = "id,ms_per_query,seconds,crc32\naa,1.5000,2.5000,{}\nbb,nan,0.1000,{}\n"
CHECKED = LINES.format(checksum("aa", "1.5000", "2.5000"), checksum("bb", "nan", "0.1000"))


@pytest.fixture
def timings(tmp_path: Path) -> Path:
    file = tmp_path / "timings.csv"
    file.write_text(CHECKED)
    return file


def test_timings_come_back(timings: Path) -> None:
    found = read_timings(timings)
    assert found.loc["aa"].tolist() == [1.5, 2.5]
    assert math.isnan(found.loc["bb", "ms_per_query"])


def test_timings_without_checksums_are_read(timings: Path) -> None:
    before = read_timings(timings)
    timings.write_text("id,ms_per_query,seconds\naa,1.5000,2.5000\nbb,nan,0.1000\n")
    pd.testing.assert_frame_equal(read_timings(timings), before)


def test_any_flipped_bit_of_the_timings_is_noticed_or_changes_nothing(timings: Path) -> None:
    before = read_timings(timings)
    for at, bit in ((at, bit) for at in range(len(CHECKED)) for bit in range(8)):
        data = bytearray(CHECKED.encode())
        data[at] ^= 1 << bit
        timings.write_bytes(bytes(data))
        try:
            found = read_timings(timings)
        except DataError as error:
            assert "timings.csv" in str(error)  # noqa: PT017
        else:
            pd.testing.assert_frame_equal(found, before)


def stopped(folder: Path) -> ResultsFolder:
    """A sweep that was stopped, with one configuration in `parts`."""
    for name, data in seeds.sweep_parts().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return ResultsFolder(folder, schema(["recall@5"]), {"k": 20})


def test_what_a_stopped_sweep_has_finished_comes_back_with_its_timings(tmp_path: Path) -> None:
    results = stopped(tmp_path)
    results.open()
    assert results.timings == dict.fromkeys(("aa", "bb", "cc"), (1.5, 2.5))


def test_a_part_with_other_timings_than_its_checksum_says_is_refused(tmp_path: Path) -> None:
    results = stopped(tmp_path)
    part = tmp_path / "parts" / "cc.parquet"
    about = pq.read_schema(part).metadata[b"kg2rag"].replace(b'"seconds": 2.5', b'"seconds": 3.5')
    pq.write_table(pq.read_table(part).replace_schema_metadata({b"kg2rag": about}), part)
    with pytest.raises(DataError, match=r"cc\.parquet.*timings of cc, 1.5 and 3.5, do not match their checksum"):
        results.open()


def test_a_part_of_other_metrics_is_refused(tmp_path: Path) -> None:
    results = stopped(tmp_path)
    part = tmp_path / "parts" / "cc.parquet"
    table = pq.read_table(part)
    pq.write_table(table.rename_columns([*table.column_names[:-1], "recallb5"]), part)
    with pytest.raises(DataError, match=r"cc\.parquet: its metrics are \['recallb5'\], not those of the sweep"):
        results.open()
