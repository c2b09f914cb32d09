"""Documents without armour: signatures, keys and encrypted texts in letters, as OpenPGP and PEM write them.

RFC 4880, sections 6 and 7: lines of base64 stand between "-----BEGIN …-----" and "-----END …-----". A
signed text stands before its signature; "- " is put before its lines that begin with a hyphen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from kg2rag.datasets.documents.blocks import (
    FileDocument,
    counted_remark,
    join_remarks,
)
from kg2rag.datasets.documents.messages.quotations import (
    Line,
    lines_of,
    without_lines,
)

_BEGIN = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----")
_SIGNED = "-----BEGIN PGP SIGNED MESSAGE-----"
_SIGNATURE = "-----BEGIN PGP SIGNATURE-----"
_ENCRYPTED = re.compile(r"PGP MESSAGE.*|PKCS7|CMS|SMIME.*")
_HEADER = re.compile(r"(?:Hash|Version|Comment|Charset|MessageID|NotDashEscaped):.*")
_BASE64 = re.compile(r"[A-Za-z0-9+/=]*")
_ESCAPE = re.compile(r"^((?:[ \t]*>)*[ \t]?)- ")


def without_armour(document: FileDocument) -> FileDocument:
    """The document of a text without armour, and its signed lines as they were written.

    A block without its last line, or with other lines than base64, is text. The remark counts the
    encrypted texts.
    """
    if "-----BEGIN " not in document.source:
        return document
    lines = lines_of(document)
    removed = set[int]()
    n_encrypted = 0
    for position, line in enumerate(lines):
        match = _BEGIN.fullmatch(line.text)
        if not match or position in removed:
            continue
        if line.text == _SIGNED:
            removed.update(_unwrap(lines, position))
            continue
        armour = _armour(lines, position, match[1])
        removed.update(armour)
        n_encrypted += bool(armour and _ENCRYPTED.fullmatch(match[1]))
    remark = counted_remark("encrypted texts are not read", n_encrypted)
    return replace(
        without_lines(document, lines, removed),
        remark=join_remarks(document.remark, remark),
    )


def _unwrap(lines: list[Line], start: int) -> range:
    """The positions of the first line of a signed text and of its header; no position without a signature.

    "- " is taken from the lines of the text.
    """
    texts = [line.text for line in lines[start:]]
    if _SIGNATURE not in texts:
        return range(0)
    header = takewhile(_HEADER.fullmatch, texts[1:])
    first = start + 1 + len(list(header))
    for position in range(first, start + texts.index(_SIGNATURE)):
        raw = _ESCAPE.sub(r"\1", lines[position].raw)
        lines[position] = lines[position]._replace(raw=raw)
    return range(start, first)


def _armour(lines: Sequence[Line], start: int, kind: str) -> range:
    """The positions of the lines of an armour of this kind from its first line on; none if it is text."""
    for position in range(start + 1, len(lines)):
        text = lines[position].text
        if text == f"-----END {kind}-----":
            return range(start, position + 1)
        if not _BASE64.fullmatch(text) and not _HEADER.fullmatch(text):
            break
    return range(0)
