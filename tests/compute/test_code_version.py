"""A part in the store is built anew when the code that makes it changes."""

from __future__ import annotations

from pathlib import Path

from kg2rag.compute.code_version import files_checksum


def test_a_version_changes_with_the_files_of_its_places_and_with_no_others(
    tmp_path: Path,
) -> None:
    rules, data, other = (
        tmp_path / place
        for place in ("text/rules.py", "text/deeper/words.txt", "report/page.py")
    )
    for file in (rules, data, other):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("before")
    before = files_checksum(tmp_path, ["text"])
    other.write_text("after")
    assert files_checksum(tmp_path, ["text"]) == before
    data.write_text("after")
    of_data = files_checksum(tmp_path, ["text"])
    assert of_data != before
    rules.write_text("after")
    assert files_checksum(tmp_path, ["text"]) != of_data


def test_a_place_may_be_a_single_file(tmp_path: Path) -> None:
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text("before")
    before = files_checksum(tmp_path, ["one.py"])
    (tmp_path / "two.py").write_text("after")
    assert files_checksum(tmp_path, ["one.py"]) == before
    (tmp_path / "one.py").write_text("after")
    assert files_checksum(tmp_path, ["one.py"]) != before
