"""Parquet files: read whole or refused by name; ours carry a checksum of all their bytes.

Pages of Parquet have checksums of their own, the footer has none: a bit flipped in it may point to another sound page.
So the footer of what we write has an entry for a SHA-256, that of the file with zeros in its place. Any reader takes
such a file; one without the entry, of an earlier version or another program, is read by its pages' checksums alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING

from kg2rag.text.records import DataError

if TYPE_CHECKING:
    import pyarrow as pa

_KEY = b"kg2rag.sha256"
_BLANK = b"0" * 64
_MARK = _KEY + b"\x18\x40"
"""The key as Thrift writes it in a footer, and what comes before its value, a string of 64 bytes."""
_TAIL = 16 << 20
"""Bytes at the end of a file in which the entry is looked for."""


def read_parquet(file: Path) -> pa.Table:
    """The table of a Parquet file, whose bytes are as they were written where it has their checksum."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with file.open("rb") as stream:
        if not _intact(stream):
            raise DataError(f"{file} is not as it was written: its checksum is another. Was it damaged, or edited?")
    try:
        table = pq.ParquetFile(file, page_checksum_verification=True).read()
        table.validate(full=True)  # a damaged page may hold lengths that lie outside of it, or bytes that are no UTF-8
        names = table.column_names
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise DataError(f"{file}: no Parquet file ({str(error).splitlines()[0]}).") from None
    if twice := [name for name in names if names.count(name) > 1]:
        raise DataError(f"{file}: column {twice[0]!r} is there twice. Each needs a name of its own.")
    return table


def write_parquet(to: Path | BytesIO, tables: Iterable[pa.Table], schema: pa.Schema, *, compression: str) -> None:
    """Write tables, a row group each, with the checksum of the file; the same tables give the same bytes."""
    import pyarrow.parquet as pq

    with pq.ParquetWriter(to, schema, compression=compression, write_page_checksum=True) as writer:
        writer.add_key_value_metadata({_KEY: _BLANK})
        for table in tables:
            writer.write_table(table)
    if isinstance(to, BytesIO):
        _seal(to)
        return
    with to.open("r+b") as stream:
        _seal(stream)


def _seal(stream: IO[bytes]) -> None:
    at = _place(stream)
    if at is None:
        raise AssertionError("pyarrow writes the entries of a footer in another way than it did")
    digest = _digest(stream, at)
    stream.seek(at)
    stream.write(digest)


def _intact(stream: IO[bytes]) -> bool:
    at = _place(stream)
    if at is None:
        return True
    stream.seek(at)
    return stream.read(len(_BLANK)) == _digest(stream, at)


def _place(stream: IO[bytes]) -> int | None:
    """Where in a file its checksum is; None where it has none."""
    size = stream.seek(0, 2)
    start = stream.seek(max(0, size - _TAIL))
    at = stream.read().rfind(_MARK)
    return None if at < 0 else start + at + len(_MARK)


def _digest(stream: IO[bytes], at: int) -> bytes:
    """The checksum of a file with zeros in place of it."""
    total, left = hashlib.sha256(), at
    stream.seek(0)
    while left and (piece := stream.read(min(left, 1 << 20))):
        total.update(piece)
        left -= len(piece)
    total.update(_BLANK)
    stream.seek(at + len(_BLANK))
    while piece := stream.read(1 << 20):
        total.update(piece)
    return total.hexdigest().encode()
