"""Many texts -> the words of their normal forms, all at once, as arrays: `lexicon.words_of` for a whole corpus.

The texts are joined by `SEPARATOR`, which belongs to no word and to no name, so that one pass reads all of them. What
Unicode says of a character is looked up once for each distinct one; everything else is numpy and Arrow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kg2rag.text.normalisation import plain

SEPARATOR = "\0"
_SIGNS = "+#"  # that belong to the word they end; see `normalisation.WORD`
Codes = NDArray[np.uint8] | NDArray[np.uint32]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Words:
    """The words of several texts, one text after another.

    Attributes
    ----------
    strings : (n_words,) without case and accents.
    texts : (n_words,) the text of each, ascending.
    starts, ends : (n_words,) where each stands in `JoinedTexts.text`.
    torn : (n_words,) whether a word begins inside the character in which the one before it ended, as in "½" ("1 2").
    """

    strings: pa.StringArray
    texts: Places
    starts: Places
    ends: Places
    torn: NDArray[np.bool_]


class JoinedTexts:
    """Texts as one string, and what is looked up in it.

    Attributes
    ----------
    text : all of them, joined by `SEPARATOR`.
    starts : (n_texts,) where each begins.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.text = SEPARATOR.join(texts)
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        self.starts = np.cumsum(lengths + 1) - (lengths + 1)

    @cached_property
    def codes(self) -> Codes:
        """(n_characters,) code points; a byte each where all are ASCII."""
        if self.text.isascii():
            return np.frombuffer(self.text.encode("ascii"), dtype=np.uint8)
        return np.frombuffer(self.text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)

    def where(self, holds: Callable[[str], bool]) -> NDArray[np.bool_]:
        """(n_characters,) whether each is of some kind."""
        return _where(self.codes, self.characters, holds)

    @cached_property
    def characters(self) -> str:
        """Every character that may occur in `text`, once."""
        if self.codes.dtype == np.uint8:
            return "".join(map(chr, range(128)))
        return "".join(sorted(set(self.text)))

    def text_of(self, places: Places) -> Places:
        """The text that each place in `text` belongs to."""
        return np.searchsorted(self.starts, places, side="right") - 1

    def folded_words(self) -> Words:
        """The words of the normal forms: `normalise` gives them joined by spaces."""
        pieces = {ord(char): plain(char) for char in self.characters}
        folded, origins = _folded(self.codes, pieces)
        parts = "".join(pieces.values())
        inside, signs = (_where(folded, parts, kind) for kind in (str.isalnum, _SIGNS.__contains__))
        starts, ends = _runs(_with_signs(inside, signs))
        strings = _strings(folded, starts, ends)
        left, right = (starts, ends) if origins is None else (origins[starts], origins[ends - 1] + 1)
        torn = np.zeros(len(left), dtype=bool)
        torn[1:] = left[1:] < right[:-1]
        return Words(strings, self.text_of(left), left, right, torn)

    def lower_case_words(self) -> pa.StringArray:
        r"""The matches of ``\w+`` that are in lower case, as they are written."""
        starts, ends = _runs(self.where(lambda char: char.isalnum() or char == "_"))
        lower, upper = (_count_before(self.where(kind)) for kind in (str.islower, _is_upper))
        chosen = (lower[ends] > lower[starts]) & (upper[ends] == upper[starts])
        return _strings(self.codes, starts[chosen], ends[chosen])


def normalise_all(names: Sequence[str]) -> pa.StringArray:
    """`normalise` of every name.

    >>> normalise_all(["  Saint-Étienne (Loire) ", "…"]).to_pylist()
    ['saint etienne loire', '']
    """
    import pyarrow.compute as pc

    words = JoinedTexts(names).folded_words()
    offsets = np.searchsorted(words.texts, np.arange(len(names) + 1))
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), words.strings)
    return pc.binary_join(lists, " ")


def counts_before(joined: JoinedTexts, holds: Callable[[str], bool]) -> NDArray[np.int32]:
    """(n_characters + 1,) how many characters of a kind precede each place of the joined text."""
    return _count_before(joined.where(holds))


def _count_before(marked: NDArray[np.bool_]) -> NDArray[np.int32]:
    counts = np.zeros(len(marked) + 1, dtype=np.int32)
    np.cumsum(marked, out=counts[1:])
    return counts


def _is_upper(char: str) -> bool:
    return char.isupper() or char.istitle()


def _where(codes: Codes, characters: str, holds: Callable[[str], bool]) -> NDArray[np.bool_]:
    """Whether each code point is of some kind; `characters` has all of them, and any number of times."""
    chosen = [ord(char) for char in characters if holds(char)]
    table = np.zeros(max(map(ord, characters), default=0) + 1, dtype=bool)
    table[chosen] = True
    return table[codes]


def _folded(codes: Codes, pieces: Mapping[int, str]) -> tuple[Codes, Places | None]:
    """The code points of the normal form, and the place each comes from; None where each comes from its own.

    `pieces` has what each code point becomes.
    """
    size = max(pieces, default=0) + 1
    if all(len(piece) == 1 for piece in pieces.values()):
        table = np.zeros(size, dtype=codes.dtype)
        table[list(pieces)] = [ord(piece) for piece in pieces.values()]
        return table[codes], None
    pool = np.array([ord(part) for piece in pieces.values() for part in piece], dtype=np.uint32)
    first, lengths = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    lengths[list(pieces)] = [len(piece) for piece in pieces.values()]
    first[list(pieces)] = np.cumsum(lengths[list(pieces)]) - lengths[list(pieces)]
    parts = lengths[codes]
    origins = np.repeat(np.arange(len(codes)), parts)
    within = np.arange(len(origins)) - np.repeat(np.cumsum(parts) - parts, parts)
    return pool[first[codes[origins]] + within], origins


def _runs(marked: NDArray[np.bool_]) -> tuple[Places, Places]:
    """Where each run of marked places begins, and where it ends."""
    edges = np.flatnonzero(np.diff(marked, prepend=False, append=False))
    return edges[::2], edges[1::2]


def _with_signs(inside: NDArray[np.bool_], signs: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Words with the signs that follow them directly, where no other word follows those."""
    starts, ends = _runs(signs)
    edged = np.pad(inside, 1)
    kept = edged[starts] & ~edged[ends + 1]
    steps = np.zeros(len(inside) + 1, dtype=np.int8)
    steps[starts[kept]] += 1
    steps[ends[kept]] -= 1
    found: NDArray[np.bool_] = inside | np.cumsum(steps[:-1], dtype=np.int8).astype(bool)
    return found


def _strings(codes: Codes, starts: Places, ends: Places) -> pa.StringArray:
    """The stretches, which do not overlap, as an Arrow array."""
    steps = np.zeros(len(codes) + 1, dtype=np.int8)
    steps[starts] += 1
    steps[ends] -= 1
    inside = codes[np.cumsum(steps[:-1], dtype=np.int8).astype(bool)]
    offsets = np.zeros(len(starts) + 1, dtype=np.int64)
    np.cumsum(ends - starts, out=offsets[1:])
    if inside.dtype != np.uint8:
        sizes = np.ones(len(inside) + 1, dtype=np.int64)
        sizes[1:] += (inside >= 0x80).astype(np.int64) + (inside >= 0x800) + (inside >= 0x10000)
        sizes[0] = 0
        offsets = np.cumsum(sizes)[offsets]
    data = inside.tobytes() if inside.dtype == np.uint8 else inside.tobytes().decode("utf-32-le").encode()
    return pa.StringArray.from_buffers(len(starts), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data))
