"""Archives and Office files -> their parts; sizes are checked before unpacking.

The name of a part is in UTF-8 or in the encoding of the system that packed it: macOS and Windows do
not say which, and Python reads it as that of DOS (CP437). So the encoding of names is guessed.
"""

from __future__ import annotations

import posixpath
import re
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any
from urllib.parse import unquote
from zipfile import ZipInfo

from kg2rag.text.records import DataError

TARS = (".tar", ".tgz", ".jex")
"""Endings of tar archives, packed or not; `.jex` is that of Joplin."""
MAX_PART_BYTES = 50_000_000
"""Largest part after unpacking: the text of some twenty books."""
MAX_ARCHIVE_BYTES = 200_000_000
"""Largest sum of the parts that are read from one archive."""

_DOS = "cp437"
_UTF8_FLAG = 0x800
_ENCODINGS = frozenset(
    """big5 cp1250 cp1251 cp1252 cp1253 cp1254 cp737 cp850 cp852 cp857 cp858 cp866 cp932 cp949 gb18030""".split()
)
"""Encodings of names in the editions of Windows."""
_SPELLINGS = {"ibm866": "cp866", "shift_jis": "cp932", "euc-kr": "cp949"}
_NOT_IN_NAMES = frozenset("\\|")
_WORD = re.compile(r"[^\W\d_]+")


class Archive:
    """The parts of a ZIP file; `names` are sorted. DataError: it is no ZIP file."""

    def __init__(self, data: bytes) -> None:
        try:
            self._zip = zipfile.ZipFile(BytesIO(data))
        except (zipfile.BadZipFile, ValueError, OSError) as error:
            raise DataError(
                f"it is no whole ZIP archive ({error}), as files of this kind are."
            ) from None
        self._parts = parts_by_name(self._zip.infolist())
        self.names = sorted(self._parts)
        self._bytes_read = 0

    def read(self, name: str) -> bytes:
        """The bytes of a part; DataError: it is missing, damaged or too large."""
        try:
            size = self._parts[name].file_size
        except KeyError:
            raise DataError(f"it has no part {name!r}. Is the file complete?") from None
        self._bytes_read += size
        if size > MAX_PART_BYTES or self._bytes_read > MAX_ARCHIVE_BYTES:
            raise DataError(
                f"its part {name!r} has {size:,} bytes unpacked; at most {MAX_PART_BYTES:,} are read."
            )
        try:
            with self._zip.open(self._parts[name]) as part:
                data = part.read(size + 1)  # a part may be longer than its entry says
        except (
            zipfile.BadZipFile,
            RuntimeError,
            NotImplementedError,
            OSError,
            EOFError,
        ) as error:
            raise DataError(
                f"its part {name!r} cannot be unpacked ({error})."
            ) from None
        if len(data) > size:
            raise DataError(f"its part {name!r} is longer than the archive says.")
        return data

    def xml(self, name: str) -> Any:
        """The root element of a part in XML."""
        return parse_xml(self.read(name), name)

    def relations(self, name: str) -> dict[str, tuple[str, str]]:
        """The relations of a part of an Office file: id -> (kind, target).

        The kind is the last part of the relation's type, such as "hyperlink"; the target is the
        name of a part, or an address.
        """
        folder, base = posixpath.split(name)
        file = posixpath.join(folder, "_rels", f"{base}.rels")
        if file not in self.names:
            return {}
        targets = {}
        for relation in named(self.xml(file), "Relationship"):
            kind = relation.get("Type", "").rpartition("/")[2]
            target = relation.get("Target", "")
            if relation.get("TargetMode") != "External":
                target = resolve(name, target)
            targets[relation.get("Id", "")] = (kind, target)
        return targets


class TarArchive:
    """The files of a tar archive, with gzip or without; DataError: it is no archive, or too large."""

    def __init__(self, data: bytes) -> None:
        self._files = dict[str, bytes]()
        n_bytes = 0
        try:
            with tarfile.open(fileobj=BytesIO(data)) as tar:
                for member in filter(tarfile.TarInfo.isfile, tar):
                    n_bytes += member.size
                    if n_bytes > MAX_ARCHIVE_BYTES:
                        raise DataError(
                            f"it has more than {MAX_ARCHIVE_BYTES:,} bytes unpacked."
                        )
                    self._files[member.name] = tar.extractfile(member).read()  # type: ignore[union-attr]
        except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
            raise DataError(f"it is no whole tar archive ({error}).") from None
        self.names = sorted(self._files)

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        return self._files[name]


def resolve(part: str, target: str) -> str:
    """The name of the part to which `part` refers by `target`, a relative or absolute path."""
    if target.startswith("/"):
        return target[1:]
    return posixpath.normpath(posixpath.join(posixpath.dirname(part), unquote(target)))


def parse_xml(data: bytes, name: str) -> Any:
    """The root element of XML; entities are not expanded, and no other file is read."""
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
    )
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise DataError(f"its part {name!r} is not valid XML ({error}).") from None


def local_name(element: Any) -> str:
    """The name of an element without its namespace; "" for comments and instructions."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Any, name: str) -> str:
    """The attribute of that name in any namespace; "" if there is none."""
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return str(value)
    return ""


def named(element: Any, *names: str) -> Iterator[Any]:
    """An element and those below it that have one of these local names, in document order."""
    yield from element.iter(*(f"{{*}}{name}" for name in names))


def parts_by_name(parts: Sequence[ZipInfo]) -> Mapping[str, ZipInfo]:
    """Name -> part of an archive.

    The encoding of the names without one is the first in which each is a name: UTF-8, that of DOS,
    the Russian one, then those that chardet guesses. If it is none of these, Python's names stay.
    """
    undeclared_parts = [part for part in parts if not _has_encoding(part)]
    names = [part.filename.encode(_DOS) for part in undeclared_parts]
    encodings = _likely_encodings(names)
    texts = next(filter(None, (_decoded_names(names, e) for e in encodings)), [])
    name_of = {
        id(part): text for part, text in zip(undeclared_parts, texts, strict=False)
    }
    return {name_of.get(id(part), part.filename): part for part in parts}


def _has_encoding(part: ZipInfo) -> bool:
    """Whether the encoding of a part's name is declared, or of no importance."""
    if part.filename.isascii() or part.flag_bits & _UTF8_FLAG:
        return True
    return part.filename != part.orig_filename  # a second name in Unicode was read


def _likely_encodings(names: Sequence[bytes]) -> Iterator[str]:
    """The encodings that are tried for names, in order."""
    yield from ("utf-8", _DOS, "cp866")
    from chardet import EncodingEra, detect_all

    for guess in detect_all(b"\n".join(names), encoding_era=EncodingEra.ALL):
        encoding = str(guess["encoding"]).lower().replace("windows-", "cp")
        encoding = _SPELLINGS.get(encoding, encoding)
        if encoding in _ENCODINGS:
            yield encoding


def _decoded_names(names: Sequence[bytes], encoding: str) -> list[str]:
    """The names in an encoding; [] if a name is invalid in it or is no name of words."""
    try:
        texts = [name.decode(encoding) for name in names]
    except UnicodeDecodeError:
        return []
    return texts if encoding == "utf-8" or all(map(_is_name, texts)) else []


def _is_name(text: str) -> bool:
    """Whether a text has only letters beside ASCII, and words of one script and case.

    The signs that no file of Windows has in its name are second bytes of Chinese and Japanese.
    """
    if not _NOT_IN_NAMES.isdisjoint(text):
        return False
    return all(map(_is_of_names, text)) and all(map(_is_word, _WORD.findall(text)))


def _is_of_names(character: str) -> bool:
    """Whether a character stands in names: ASCII, a letter, or a sign of Chinese or Japanese."""
    width = unicodedata.east_asian_width(character)
    is_wide = width in ("W", "F")
    return character.isascii() or is_wide or (character.isalpha() and width != "H")


def _is_word(word: str) -> bool:
    """Whether the letters of a word are of one script, and either its first or all are large, or none.

    Letters of ASCII are of any case.
    """
    scripts = {unicodedata.name(letter, "").split()[0] for letter in word}
    european = scripts & {"LATIN", "CYRILLIC", "GREEK"}
    if word.isascii() or not european:
        return True
    return len(scripts) == 1 and word[1:] in (word[1:].lower(), word[1:].upper())
