"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kg2rag.compute import files

DEAD = 2**22 + 1  # above Linux's largest process id


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def fail(partial: Path) -> None:
    partial.write_bytes(b"half")
    raise RuntimeError


def test_a_folder_that_is_there_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "graph").mkdir()
    (tmp_path / "graph" / "old").touch()
    with pytest.raises(FileExistsError, match="graph exists"), files.new_folder(tmp_path / "graph") as partial:
        (partial / "new").touch()
    assert names(tmp_path) == ["graph"]
    assert names(tmp_path / "graph") == ["old"]


def test_a_folder_takes_the_place_of_another_where_that_is_wanted_and_a_block_that_raises_changes_nothing(tmp_path):
    for name in ("old", "new"):
        with files.new_folder(tmp_path / "graph", replace=True) as partial:
            (partial / name).touch()
        files.write(tmp_path / "a.csv", name.encode())
    with pytest.raises(RuntimeError), files.new_folder(tmp_path / "graph", replace=True) as partial:
        fail(partial / "newer")
    with pytest.raises(RuntimeError), files.new_file(tmp_path / "a.csv") as partial:
        fail(partial)
    assert names(tmp_path) == ["a.csv", "graph"]
    assert names(tmp_path / "graph") == ["new"]
    assert (tmp_path / "a.csv").read_bytes() == b"new"


def test_what_killed_processes_left_is_removed_and_what_living_ones_write_is_kept(tmp_path: Path) -> None:
    (tmp_path / f".partial-{DEAD}-{files._MACHINE}-0-a.csv").write_bytes(b"12345")
    (tmp_path / f".partial-{DEAD}-{files._MACHINE}-1-graph").mkdir()
    (tmp_path / f".partial-{DEAD}-{files._MACHINE}-1-graph" / "half").write_bytes(b"123")
    kept = [f".partial-{os.getpid()}-{files._MACHINE}-0-a.csv", ".partial-mine-notes", "a.csv"]
    for name in kept:
        (tmp_path / name).touch()
    assert files.remove_leftovers(tmp_path) == 8
    assert names(tmp_path) == sorted(kept)
