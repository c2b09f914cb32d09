"""Results -> files in a user's folder; files that kg2rag did not write are never overwritten.

Beside its outputs kg2rag keeps a record, `.kg2rag.json`: the path of each output in the folder, its
kind ("comparison", "questions", ...) and the checksum of its content. A file is an output of kg2rag
if the record lists it with the checksum that it has. Any other file, an output that was edited
included, is never replaced: the new results are refused before the first of them is written. All
new files are complete on the disk before the first old one is replaced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from kg2rag.compute.atomic_write import (
    disk_error_naming,
    flush,
    remove_leftovers,
    temporary_path,
    write,
)
from kg2rag.text.records import DataError, sha256

RECORD = ".kg2rag.json"
_PAGE_MARK = b'<body class="kg2rag">'
_PAGE_MARK_BYTES = 64 << 10  # the mark follows the style sheets
_SAVED_JUDGEMENTS = re.compile(r"questions-[0-9a-f]{8}( ?\(\d+\))?\.jsonl")


class Output(BaseModel):
    """A file that kg2rag wrote.

    `sha256` has its checksum; while the file is being replaced, the former and the new one.
    """

    model_config = ConfigDict(extra="forbid")
    kind: str
    sha256: list[str]


class Record(BaseModel):
    """The outputs of a folder by their relative path, parts separated by "/"."""

    model_config = ConfigDict(extra="forbid")
    program: Literal["kg2rag"] = "kg2rag"
    outputs: dict[str, Output] = {}

    def checksums(self, name: str) -> list[str]:
        """The checksums of an output; none for a file that the record does not list."""
        return self.outputs[name].sha256 if name in self.outputs else []


def read_record(folder: Path) -> Record:
    """The record of a folder, empty if there is none; DataError if it cannot be used."""
    path = folder / RECORD
    try:
        record = Record.model_validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return Record()
    except ValidationError as error:
        problem = error.errors()[0]
        field = ".".join(map(str, problem["loc"]))
        raise DataError(
            f"{path} is not a record of kg2rag's outputs ({field}: {problem['msg']}). Delete it, and move the outputs "
            "beside it, or name another folder."
        ) from None
    for name in record.outputs:
        path_in_folder = PurePosixPath(name)
        if (
            path_in_folder.is_absolute()
            or ".." in path_in_folder.parts
            or not path_in_folder.parts
        ):
            raise DataError(
                f"{path} lists {name!r}, which is outside its folder. Delete {RECORD}."
            )
    return record


def is_output(path: Path) -> bool:
    """Whether kg2rag wrote a file, even if it was edited since.

    A file counts as an output if a record in its folder or in a folder above lists it, if it is a
    page of kg2rag, or if it has the name under which a browser saves the judgements of such a page.
    A record or a page that cannot be read is ignored.
    """
    if path.name == RECORD or _SAVED_JUDGEMENTS.fullmatch(path.name):
        return True
    if path.suffix == ".html":
        with suppress(OSError), path.open("rb") as stream:
            if _PAGE_MARK in stream.read(_PAGE_MARK_BYTES):
                return True
    for folder in path.absolute().parents:
        if (folder / RECORD).is_file():
            with suppress(DataError, OSError):
                if (
                    path.absolute().relative_to(folder).as_posix()
                    in read_record(folder).outputs
                ):
                    return True
    return False


def check_outputs(folder: Path, names: Collection[str] = ()) -> None:
    """Check that outputs with these names can be written into a folder, which need not exist.

    Call it before long work.

    Raises
    ------
    FileExistsError : a file of one of the names was not written by kg2rag, or was edited since; or `folder` is a file.
    DataError : the record of the folder cannot be used.
    """
    for parent in (folder, *folder.parents):
        if parent.exists() and not parent.is_dir():
            raise FileExistsError(
                f"{parent} is a file. Name a folder for the results (--out), not {folder}."
            )
    record = read_record(folder)
    for name in names:
        _require_replaceable(folder, name, record.checksums(name))


@contextmanager
def new_outputs(
    folder: Path, kind: str, *, last: str = "", keep_former: bool = False
) -> Iterator[Path]:
    """An empty folder to fill; at the end of the block its files replace the former outputs.

    Former outputs are those of the same kind. A block that raises changes nothing.

    Parameters
    ----------
    folder : the user's folder, made if it is missing; other files in it stay as they are.
    kind : noun that names the results, such as "comparison".
    last : name of the file that is put in place after all others.
    keep_former : keep former outputs of the kind that are not rewritten; by default they are deleted.

    Raises
    ------
    FileExistsError, DataError : see `check_outputs`; nothing was changed.
    """
    check_outputs(folder)
    is_new = not folder.exists()
    _make_folder(folder)
    remove_leftovers(folder)
    try:
        with temporary_path(folder / kind) as partial, disk_error_naming(folder):
            partial.mkdir()
            yield partial
            _replace(folder, kind, partial, last, keep_former)
    except BaseException:
        if is_new:
            with suppress(OSError):  # the folder is no longer empty
                folder.rmdir()
        raise


def _make_folder(folder: Path) -> None:
    """Make a folder for results; the OSError if that fails says what to do."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            error.errno,
            f"The folder for the results cannot be made ({error.strerror}). Name another folder (--out)",
            str(folder),
        ) from error


def write_outputs(
    folder: Path, kind: str, contents: Mapping[str, bytes], *, last: str = ""
) -> None:
    """Write files in place of all former outputs of a kind; see `new_outputs`.

    `contents` : relative path -> content.
    """
    with new_outputs(folder, kind, last=last) as partial:
        for name, content in contents.items():
            path = partial / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with disk_error_naming(folder / name):
                path.write_bytes(content)


def write_output(path: Path, kind: str, content: bytes) -> None:
    """Write one file.

    FileExistsError: kg2rag did not write the existing file, or it was edited since.
    """
    with new_outputs(path.parent, kind, keep_former=True) as partial:
        (partial / path.name).write_bytes(content)


def _replace(
    folder: Path, kind: str, partial: Path, last: str, keep_former: bool
) -> None:
    """Move the files of a complete folder into place, and delete the former outputs of the kind."""
    names = [
        path.relative_to(partial).as_posix()
        for path in partial.rglob("*")
        if path.is_file()
    ]
    names.sort(key=lambda name: (name == last, name))
    checksums = {name: sha256(partial / name) for name in names}
    record = read_record(folder)
    for name, checksum in checksums.items():
        _require_replaceable(folder, name, [*record.checksums(name), checksum])
        flush(partial / name)
    replaced = {
        name: Output(kind=kind, sha256=[*record.checksums(name), checksums[name]])
        for name in names
    }
    # A process that is killed from here on leaves files that the record lists.
    _write_record(folder, Record(outputs=record.outputs | replaced))
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (partial / name).replace(folder / name)
    if not keep_former:
        _delete_former(folder, kind, record, names)
    final_outputs = {
        name: Output(kind=kind, sha256=[checksum])
        for name, checksum in checksums.items()
    }
    _write_record(folder, Record(outputs=record.outputs | final_outputs))


def _require_replaceable(folder: Path, name: str, checksums: Collection[str]) -> None:
    """Raise FileExistsError if a file exists that has none of the checksums.

    It is also raised for a path outside the folder, and for one through a file.
    """
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise FileExistsError(
            f"{path} leads out of its folder to {path.resolve()}. Name another folder (--out)."
        )
    for parent in path.parents:
        if parent.is_relative_to(folder) and parent.exists() and not parent.is_dir():
            raise FileExistsError(
                f"{parent} is a file where the results need a folder. Name another folder (--out)."
            )
    if (path.exists() or path.is_symlink()) and not _has_checksum(path, checksums):
        raise FileExistsError(
            f"{path} was not written by kg2rag, or was edited since, and would be overwritten. Move it away, or name "
            "another place for the results (--out)."
        )


def _has_checksum(path: Path, checksums: Collection[str]) -> bool:
    """Whether a path is a regular file, not a link, with one of these checksums."""
    return path.is_file() and not path.is_symlink() and sha256(path) in checksums


def _delete_former(
    folder: Path, kind: str, record: Record, names: Collection[str]
) -> None:
    """Remove the outputs of a kind other than `names` from the record.

    Their files are deleted unless they were edited, and then empty subfolders.
    """
    for name in sorted(record.outputs.keys() - names):
        if record.outputs[name].kind == kind:
            path = folder / name
            is_inside = path.resolve().is_relative_to(folder.resolve())
            if is_inside and _has_checksum(path, record.checksums(name)):
                path.unlink()
                if path.parent != folder:
                    with suppress(OSError):  # the subfolder has other files
                        path.parent.rmdir()
            del record.outputs[name]


def _write_record(folder: Path, record: Record) -> None:
    """Write the record of a folder."""
    text = json.dumps(record.model_dump(), indent=1, ensure_ascii=False)
    write(folder / RECORD, f"{text}\n".encode())
