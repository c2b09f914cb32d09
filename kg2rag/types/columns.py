"""Columns of a corpus -> what is made of them without an object for each value: texts as they are read, a checksum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

INK = r"[^\t-\r\x1c-\x20\x{85}\p{Z}]"
"""A character that `str.strip` leaves."""
AT_ONCE = 10_000
"""Passages of which objects or texts are made together."""


class Digest(Protocol):
    """A hash of `hashlib`."""

    def update(self, data: bytes | memoryview, /) -> None:
        """Add bytes."""


class Contents(Sequence[str]):
    """The contents of a table's passages, by row; each is made when it is read."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __len__(self) -> int:
        return len(self.table)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        rows = range(len(self))[index]
        if isinstance(rows, int):
            return self._made(rows, 1)[0]
        if rows.step != 1:
            return [self[row] for row in rows]
        return self._made(rows.start, len(rows))

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), AT_ONCE):
            yield from self._made(start, AT_ONCE)

    def _made(self, start: int, length: int) -> list[str]:
        rows = self.table.slice(start, length)
        pairs = zip(rows["title"].to_pylist(), rows["text"].to_pylist(), strict=True)
        return [f"{title}\n{text}" if title else text for title, text in pairs]


def add_column(digest: Digest, chunks: Sequence[pa.Array]) -> None:
    """Add a column: what is null, the lengths of its values, then their bytes; in whatever chunks it is."""
    if pa.types.is_list(chunks[0].type):
        for chunk in chunks:
            digest.update(_little(pc.fill_null(pc.list_value_length(chunk), -1)))
        add_column(digest, [pc.list_flatten(chunk) for chunk in chunks])
        return
    if pa.types.is_string(chunks[0].type):
        for chunk in chunks:
            digest.update(_little(pc.fill_null(pc.binary_length(chunk), -1)))
        for chunk in chunks:
            values = pc.fill_null(chunk, "")
            _, offsets, data = values.buffers()
            if len(values) and data is not None:
                ends = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1]
                digest.update(memoryview(data)[ends[0] : ends[-1]])
        return
    for chunk in chunks:
        digest.update(pc.is_null(chunk).to_numpy(zero_copy_only=False).tobytes())
    for chunk in chunks:
        digest.update(_little(pc.fill_null(chunk, 0)))


def _little(numbers: pa.Array) -> bytes:
    found: bytes = numbers.to_numpy(zero_copy_only=False).astype("<i4").tobytes()
    return found
