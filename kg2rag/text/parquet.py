"""Parquet files: read whole or refused by name; ours carry a checksum of all their bytes.

Pages of Parquet have checksums of their own, the footer has none: a bit flipped in it may point to another sound page.
So the footer of what we write has an entry for a SHA-256, that of the file with zeros in its place. Any reader takes
such a file; one without the entry, of an earlier version or another program, is read by its pages' checksums alone.
"""

from __future__ import annotations

import hashlib
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from kg2rag.text.records import DataError

if TYPE_CHECKING:
    import pyarrow as pa

_KEY, _BLANK = b"kg2rag.sha256", b"0" * 64
_MARK = _KEY + b"\x18\x40"
"""The key as Thrift writes it in a footer, and what comes before its value, a string of 64 bytes."""


def read_parquet(file: Path) -> pa.Table:
    """The table of a Parquet file, whose bytes are as they were written where it has their checksum."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = file.read_bytes()
    if _MARK in content and _sealed(content) != content:
        raise DataError(f"{file} is not as it was written: its checksum is another. Was it damaged, or edited?")
    try:
        table = pq.ParquetFile(BytesIO(content), page_checksum_verification=True).read()
        table.validate(full=True)  # a damaged page may hold lengths that lie outside of it, or bytes that are no UTF-8
        names = table.column_names
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file}: no Parquet file ({str(error).splitlines()[0]}).") from None
    if twice := [name for name in names if names.count(name) > 1]:
        raise DataError(f"{file}: column {twice[0]!r} is there twice. Each needs a name of its own.")
    return table


def as_parquet(table: pa.Table, *, compression: str = "zstd") -> bytes:
    """A table as the bytes of a file, with their checksum; the same table gives the same bytes."""
    import pyarrow.parquet as pq

    sink = BytesIO()
    with pq.ParquetWriter(sink, table.schema, compression=compression, write_page_checksum=True) as writer:
        writer.add_key_value_metadata({_KEY: _BLANK})
        writer.write_table(table)
    return _sealed(sink.getvalue())


def _sealed(content: bytes) -> bytes:
    """The bytes of a file with the checksum that they have with zeros in place of it."""
    before, mark, after = content.rpartition(_MARK)
    blank = before + mark + _BLANK + after[len(_BLANK) :]
    return before + mark + hashlib.sha256(blank).hexdigest().encode() + after[len(_BLANK) :]
