"""Mail, mailboxes and web archives (MHTML) -> their blocks.

Words that a message quotes from an earlier one of its mailbox or folder are left out, see
`quotations`.
"""

from __future__ import annotations

import mailbox
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.utils import parsedate_to_datetime
from itertools import chain
from pathlib import Path
from typing import Any

from kg2rag.datasets.documents.blocks import (
    Block,
    FileDocument,
    joined_documents,
    named_remark,
    one_line,
    plain_document,
)
from kg2rag.datasets.documents.messages.armour import without_armour
from kg2rag.datasets.documents.messages.calendars import calendar_documents, invitation
from kg2rag.datasets.documents.messages.quotations import (
    Letter,
    earlier_letters,
    without_quotations,
    without_signature,
)
from kg2rag.datasets.documents.web.html import page_document
from kg2rag.datasets.documents.web.page_tree import empty, parse_tree, separated_text
from kg2rag.text.decoding import decode_text
from kg2rag.text.records import DataError
from kg2rag.text.scripts import words

_HEADERS = ("From", "To", "Cc", "Date")
# A line of a text that would begin a message is quoted by ">".
_QUOTED_FROM = re.compile(rb"(?m)^>(>*From )")
_BEGINS_LIKE_MESSAGE = re.compile(rb"(?m)^(>*From )")
_HIDDEN = re.compile(r"(?i)(?:display|mso-hide)\s*:\s*(?:none|all)")
"""The style of an element that no mail program shows, such as the text for the list of messages."""
_MESSAGE_ID = re.compile(r"<[^<>\s]+>")
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_NAME_IN_BRACKETS = re.compile(
    rb"(?mi)^(From:)[ \t]*([^\s()<>\"]+)[ \t]+\(([^()\"\\\r\n]+)\)(?=[ \t]*\r?$)"
)
_CHARSET = re.compile(rb"(?i)charset\s*=\s*[\"']?([\w.:-]+)", re.ASCII)
_NAME_OF_MESSAGE = re.compile(r"(?is)(?:.*/)?(?:[^/]*\.eml|\d+\.?)")


class MailThreads:
    """The messages of a folder or archive, each in a file, and those that they may quote.

    A message is in a file `.eml`, or in one with a number for a name, as news servers write.

    Parameters
    ----------
    names : the names of the files, of any kind.
    read : returns the bytes of a file.
    """

    def __init__(self, names: Sequence[str], read: Callable[[str], bytes]) -> None:
        self._read = read
        files = list(filter(_NAME_OF_MESSAGE.fullmatch, names))
        letters = dict[str, Letter]()
        for file in files:
            with suppress(OSError, DataError):  # which the reader of the file reports
                letters[file] = _letter(_parse(read(file)), FileDocument([]))
        self._ids = {file: letter.id for file, letter in letters.items()}
        files = list(letters)
        self._earlier = {
            file: [files[position] for position in earlier]
            for file, earlier in zip(
                files, earlier_letters(list(letters.values())), strict=True
            )
        }

    def whole(self, name: str, data: bytes) -> bytes:
        """The bytes of a message; if it may quote others, a mailbox of it and of these."""
        id_ = self._ids.get(name)
        earlier = [
            file
            for file in self._earlier.get(name, ())
            if not id_ or self._ids[file] != id_
        ]
        if not earlier:
            return data
        messages = [data, *map(self._read, earlier)]
        return b"\n".join(
            b"From -\n" + _BEGINS_LIKE_MESSAGE.sub(rb">\1", message) + b"\n"
            for message in messages
        )


def read_mail(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of a message: subject, sender, receivers and date, and its text; attachments are named.

    Messages behind it, as `MailThreads` adds them, are those that it may quote.
    """
    is_mailbox = data.startswith(b"From ")
    messages = _mailbox_messages(data) if is_mailbox else [_parse(data)]
    bodies = without_quotations([_letter(part, _body(part)) for part in messages])
    return [_with_header(messages[0], bodies[0])]


def read_mailbox(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """A document for each message of a mailbox."""
    messages = _mailbox_messages(data)
    if not messages:
        raise DataError("it is no mailbox: no line begins with 'From '.")
    bodies = without_quotations([_letter(part, _body(part)) for part in messages])
    return [
        replace(_with_header(message, body), key=str(number))
        for number, (message, body) in enumerate(zip(messages, bodies, strict=True))
    ]


def _mailbox_messages(data: bytes) -> list[EmailMessage]:
    """The messages of a mailbox; [] for other bytes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "mailbox")
        file.write_bytes(data)
        with closing(mailbox.mbox(file, create=False)) as box:
            return [
                _parse(_QUOTED_FROM.sub(rb"\1", box.get_bytes(key)))
                for key in box.keys()  # noqa: SIM118
            ]


def _parse(data: bytes) -> EmailMessage:
    """The message of some bytes; a sender's name in brackets, of old programs, is kept.

    Letters of the header that no encoding is declared for are in that of the body.
    """
    end_of_header = _BLANK_LINE.search(data)
    stop = end_of_header.start() if end_of_header else len(data)
    header = _NAME_IN_BRACKETS.sub(rb'\1 "\3" <\2>', data[:stop])
    if not header.isascii():
        charset = _CHARSET.search(data)
        declared = charset[1].decode("ascii") if charset else ""
        header = decode_text(header, declared).text.encode()
    message = message_from_bytes(header + data[stop:], policy=policy.default)
    assert isinstance(message, EmailMessage)
    return message


def _letter(message: EmailMessage, body: FileDocument) -> Letter:
    """The body of a message, with its id, the ids of those that it answers, and its date, 0 for none."""
    references = f"{message.get('References', '')} {message.get('In-Reply-To', '')}"
    try:
        seconds = parsedate_to_datetime(str(message["Date"])).timestamp()
    except (TypeError, ValueError, OverflowError):
        seconds = 0.0
    return Letter(
        body,
        one_line(str(message.get("Message-ID", ""))),
        tuple(_MESSAGE_ID.findall(references)),
        one_line(str(message.get("Subject", ""))),
        seconds,
    )


def read_web_archive(data: bytes, name: str = "") -> list[FileDocument]:  # noqa: ARG001
    """The document of a page that a browser saved as one file (MHTML); DataError: it has no page."""
    message = message_from_bytes(data, policy=policy.default)
    pages = [
        page_document(_content(part))
        for part in message.walk()
        if part.get_content_type() in ("text/html", "application/xhtml+xml")
    ]
    if not pages:
        raise DataError("it has no page of HTML. Is it a web archive, saved whole?")
    return [replace(joined_documents(pages), title=pages[0].title)]


def _with_header(message: EmailMessage, body: FileDocument) -> FileDocument:
    """The document of a message: its header and its texts."""
    return joined_documents([_header_document(message, level=1), body])


def _body(message: EmailMessage) -> FileDocument:
    """The document of the texts in a message; the remark names its attachments."""
    attached = [
        part.get_filename() or part.get_content_type()
        for part in message.walk()
        if _is_attached(part)
    ]
    remark = named_remark("attachments are not read", attached[:5])
    return joined_documents(list(_message_documents(message)), remark)


def _is_attached(part: Any) -> bool:
    """Whether a part of a message is an attachment: neither text nor a container of texts."""
    return part.get_content_maintype() not in ("text", "multipart", "message")


def _header_document(message: Any, level: int) -> FileDocument:
    """The document of a message's subject, a heading of this level, and of its other headers."""
    subject = one_line(str(message.get("Subject", "")))
    headers = [
        f"{header}: {one_line(str(message[header]))}"
        for header in _HEADERS
        if message[header]
    ]
    blocks = [Block(subject, level), Block("\n".join(headers))]
    return FileDocument(blocks, source="\n".join([subject, *headers]))


def _message_documents(part: Any) -> Iterator[FileDocument]:
    """The documents of the texts in a message or a part of it, in their order.

    Forwarded messages have their headers.
    """
    kind = part.get_content_type()
    if kind == "message/rfc822" and part.is_multipart():
        [message] = part.get_payload()
        yield _header_document(message, level=2)
        yield from _message_documents(message)
    elif kind == "multipart/alternative" and part.is_multipart():
        yield from _alternative_documents(list(part.iter_parts()))
    elif part.is_multipart():
        for subpart in part.iter_parts():
            yield joined_documents(list(_message_documents(subpart)))
    elif kind == "text/calendar":
        yield joined_documents(calendar_documents(_content(part)))
    elif not _is_attached(part):
        read = _page if kind == "text/html" else plain_document
        yield without_signature(without_armour(read(_content(part))))


def _alternative_documents(parts: list[Any]) -> Iterator[FileDocument]:
    """Of alternative texts the one with the most words, and the times of an invitation.

    A calendar without a text beside it is read whole.
    """
    calendars = list[Any]()
    pages = list[FileDocument]()
    for part in parts:
        if part.get_content_type() == "text/calendar":
            calendars.append(part)
        else:
            pages.append(joined_documents(list(_message_documents(part))))
    if not any(page.blocks for page in pages):
        pages += chain.from_iterable(map(_message_documents, calendars))
        calendars = []
    if pages:
        yield _longest(pages)
    yield from (invitation(_content(part)) for part in calendars)


def _page(page: str) -> FileDocument:
    """The document of a text in HTML without what a mail program hides, which has no scripts to show it."""
    hidden = list[str]()
    if _HIDDEN.search(page):
        from lxml import etree

        root = parse_tree(page)
        elements = [
            element
            for element in root.xpath("body//*[@style]")
            if _HIDDEN.search(element.get("style"))
        ]
        hidden += map(separated_text, elements)
        empty(elements)
        page = etree.tostring(root, encoding="unicode", method="html")
    document = page_document(page)
    return replace(
        document,
        source="\n".join([document.source, *hidden]),
        left_out="\n".join([document.left_out, *hidden]),
    )


def _longest(pages: list[FileDocument]) -> FileDocument:
    """The page with the most words; the others, which say the same, are left out."""
    longest = max(pages, key=lambda page: len(words(page.source)))
    sources = [page.source for page in pages if page is not longest]
    return replace(longest, left_out="\n".join([longest.left_out, *sources]))


def _content(part: Any) -> str:
    """The text of a part, in its declared encoding or, if that is wrong or unknown, in a guessed one."""
    return decode_text(
        part.get_payload(decode=True) or b"", part.get_content_charset("")
    ).text
