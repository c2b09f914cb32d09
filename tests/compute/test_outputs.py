"""Outputs in a user's folder: only files that kg2rag wrote, and that are as it wrote them, are replaced or deleted."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

from kg2rag.compute import (
    RECORD,
    check_outputs,
    is_output,
    new_outputs,
    write_output,
    write_outputs,
)
from kg2rag.text.records import DataError

OLD = {"scores.csv": b"old scores", "runs/bm25.gz": b"old run", "config.json": b"{}"}
NEW = {"scores.csv": b"new scores", "runs/dense.gz": b"new run", "config.json": b"{ }"}


def contents(folder: Path) -> dict[str, bytes]:
    files = (
        path for path in folder.rglob("*") if path.is_file() and path.name != RECORD
    )
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_new_results_take_the_place_of_old_ones_and_strangers_files_stay(
    tmp_path: Path,
) -> None:
    strangers = {"runs/anserini.trec.gz": b"theirs", "notes.txt": b"mine"}
    (tmp_path / "runs").mkdir()
    for name, content in strangers.items():
        (tmp_path / name).write_bytes(content)
    write_outputs(tmp_path, "comparison", OLD)
    assert contents(tmp_path) == {**strangers, **OLD}
    write_outputs(tmp_path, "comparison", NEW, last="config.json")
    assert contents(tmp_path) == {**strangers, **NEW}


def test_results_of_several_kinds_lie_in_one_folder(tmp_path: Path) -> None:
    write_outputs(tmp_path, "comparison", OLD)
    write_output(tmp_path / "questions.jsonl", "questions", b"1")
    write_output(tmp_path / "questions.jsonl", "questions", b"2")
    write_output(tmp_path / "others.jsonl", "questions", b"3")
    write_outputs(tmp_path, "comparison", NEW)
    assert contents(tmp_path) == {**NEW, "questions.jsonl": b"2", "others.jsonl": b"3"}


@pytest.mark.parametrize("name", ["scores.csv", "runs/dense.gz", "config.json"])
def test_a_file_of_somebody_else_is_never_overwritten_and_nothing_is_changed(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"theirs")
    with pytest.raises(FileExistsError, match=path.name):
        write_outputs(tmp_path, "comparison", NEW)
    with pytest.raises(FileExistsError, match=path.name):
        check_outputs(tmp_path, list(NEW))
    assert contents(tmp_path) == {name: b"theirs"}


def test_an_output_that_was_edited_is_never_overwritten_nor_deleted(
    tmp_path: Path,
) -> None:
    write_outputs(tmp_path, "comparison", OLD)
    (tmp_path / "scores.csv").write_bytes(b"edited")
    with pytest.raises(FileExistsError, match=r"scores\.csv"):
        write_outputs(tmp_path, "comparison", NEW)
    assert contents(tmp_path) == {**OLD, "scores.csv": b"edited"}
    (tmp_path / "scores.csv").unlink()
    (tmp_path / "runs" / "bm25.gz").write_bytes(b"edited")
    write_outputs(tmp_path, "comparison", NEW)
    assert contents(tmp_path) == {**NEW, "runs/bm25.gz": b"edited"}


def test_a_file_that_has_the_new_content_already_is_taken_as_an_output(
    tmp_path: Path,
) -> None:
    (tmp_path / "scores.csv").write_bytes(NEW["scores.csv"])
    write_outputs(tmp_path, "comparison", NEW)
    write_outputs(tmp_path, "comparison", OLD)
    assert contents(tmp_path) == OLD


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "dense.gz").write_bytes(b"theirs")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "runs").symlink_to(tmp_path / "theirs")
    with pytest.raises(FileExistsError, match="theirs"):
        write_outputs(tmp_path / "out", "comparison", NEW)
    (tmp_path / "out" / "runs").unlink()
    (tmp_path / "out" / "scores.csv").symlink_to(tmp_path / "theirs" / "dense.gz")
    with pytest.raises(FileExistsError, match=r"scores\.csv"):
        write_outputs(tmp_path / "out", "comparison", NEW)
    assert contents(tmp_path / "theirs") == {"dense.gz": b"theirs"}


def test_a_former_output_behind_a_link_out_of_the_folder_is_not_deleted(
    tmp_path: Path,
) -> None:
    write_outputs(tmp_path / "out", "comparison", OLD)
    (tmp_path / "out" / "runs").rename(tmp_path / "elsewhere")
    (tmp_path / "out" / "runs").symlink_to(tmp_path / "elsewhere")
    write_outputs(tmp_path / "out", "comparison", {"scores.csv": b"newer"})
    assert contents(tmp_path / "elsewhere") == {"bm25.gz": OLD["runs/bm25.gz"]}


@pytest.mark.parametrize(
    "name", ["../theirs.csv", "/etc/passwd", "runs/../../theirs.csv"]
)
def test_a_record_that_leads_out_of_its_folder_is_refused(
    tmp_path: Path, name: str
) -> None:
    write_outputs(tmp_path / "out", "comparison", OLD)
    record = json.loads((tmp_path / "out" / RECORD).read_text())
    record["outputs"][name] = {"kind": "comparison", "sha256": ["0" * 64]}
    (tmp_path / "out" / RECORD).write_text(json.dumps(record))
    with pytest.raises(DataError, match=RECORD):
        write_outputs(tmp_path / "out", "comparison", NEW)
    assert contents(tmp_path / "out") == OLD


@pytest.mark.parametrize(
    "content", ["", "[]", '{"program": "another"}', '{"outputs": {"a": 1}}', "\xff"]
)
def test_a_file_with_the_name_of_the_record_that_is_none_stays(
    tmp_path: Path, content: str
) -> None:
    (tmp_path / RECORD).write_bytes(content.encode("latin-1"))
    with pytest.raises(DataError, match=RECORD):
        write_outputs(tmp_path, "comparison", NEW)
    assert (tmp_path / RECORD).read_bytes() == content.encode("latin-1")
    assert contents(tmp_path) == {}


def test_a_file_where_the_folder_or_a_folder_of_it_should_be_is_refused(
    tmp_path: Path,
) -> None:
    (tmp_path / "runs").write_bytes(b"theirs")
    for folder in (tmp_path, tmp_path / "runs"):
        with pytest.raises(FileExistsError, match="runs"):
            write_outputs(folder, "comparison", NEW)
    assert contents(tmp_path) == {"runs": b"theirs"}


def fill_the_disk(partial: Path) -> None:
    (partial / "scores.csv").write_bytes(b"half")
    raise OSError(errno.ENOSPC, "No space left on device")


def test_an_error_while_results_are_written_leaves_the_old_ones_and_names_a_file(
    tmp_path: Path,
) -> None:
    write_outputs(tmp_path / "out", "comparison", OLD)
    with (
        pytest.raises(OSError, match="out"),
        new_outputs(tmp_path / "out", "comparison") as partial,
    ):
        fill_the_disk(partial)
    assert contents(tmp_path / "out") == OLD
    with (
        pytest.raises(OSError, match="fresh"),
        new_outputs(tmp_path / "fresh", "comparison") as partial,
    ):
        fill_the_disk(partial)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_results_of_a_process_killed_between_two_files_are_replaced_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_outputs(tmp_path, "comparison", OLD)
    renamed, replace = list[str](), Path.replace

    def stop_after_one(self: Path, target: Path) -> Path:
        if target.name != RECORD:
            renamed.append(target.name)
            if len(renamed) == 2:
                raise KeyboardInterrupt
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", stop_after_one)
    with pytest.raises(KeyboardInterrupt):
        write_outputs(tmp_path, "comparison", NEW)
    monkeypatch.setattr(Path, "replace", replace)
    write_outputs(tmp_path, "comparison", {"scores.csv": b"newest"})
    assert contents(tmp_path) == {"scores.csv": b"newest"}


def test_outputs_are_known_by_the_record_the_page_and_the_name_of_saved_judgements(
    tmp_path: Path,
) -> None:
    write_outputs(tmp_path / "reports", "comparison", OLD)
    write_output(tmp_path / "questions.jsonl", "questions", b"{}")
    (tmp_path / "questions.jsonl").write_bytes(b"judged")
    (tmp_path / "moved.html").write_bytes(b'<html><head></head><body class="kg2rag">')
    (tmp_path / "questions-0123abcd (1).jsonl").write_bytes(b"{}")
    (tmp_path / "questions-mine.jsonl").write_bytes(b"{}")
    (tmp_path / "page.html").write_bytes(b"<p>kg2rag")
    (tmp_path / "reports" / "notes.md").write_bytes(b"mine")
    found = {
        path.relative_to(tmp_path).as_posix()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    ours = {name for name in found if is_output(tmp_path / name)}
    assert found - ours == {"questions-mine.jsonl", "page.html", "reports/notes.md"}


@pytest.mark.skipif(
    not Path("/proc").is_dir(), reason="needs a place without new folders"
)
def test_a_folder_that_cannot_be_made_is_named_with_a_remedy() -> None:
    with pytest.raises(OSError, match="Name another folder") as caught:
        write_outputs(Path("/proc/kg2rag/results"), "comparison", {"a.txt": b"a"})
    assert caught.value.filename == "/proc/kg2rag/results"
