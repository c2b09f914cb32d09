"""The storage format of Confluence -> HTML: code, words of links and titles of macros are text.

Parameters of macros and ids of tasks are none.
"""

from __future__ import annotations

import re
from html import escape

_CODE = re.compile(
    r"(?s)<ac:plain-text-body>\s*<!\[CDATA\[(.*?)\]\]>\s*</ac:plain-text-body>"
)
_CHARACTERS = re.compile(r"(?s)<!\[CDATA\[(.*?)\]\]>")
_SHOWN_PARAMETER = re.compile(
    r"""(?s)<ac:parameter\b[^<>]*\bac:name="(?:title|key)"[^<>]*>([^<]*)</ac:parameter>"""
)
_UNSHOWN = re.compile(
    r"(?s)<ac:(parameter|task-id|task-uuid|task-status)\b[^<>]*(?<!/)>.*?</ac:\1>|<ac:placeholder\b.*?</ac:placeholder>"
)
_LINK_TO_PAGE = re.compile(
    r"""<ac:link\b[^<>]*>\s*<ri:page\b[^<>]*\bri:content-title="([^"]*)"[^<>]*>\s*(?:</ri:page>\s*)?</ac:link>"""
)
_EMOTICON = re.compile(r"""<ac:emoticon\b[^<>]*\bac:emoji-fallback="([^"]*)"[^<>]*>""")
_TASK = re.compile(r"<(/?)ac:task>")


def storage_as_html(page: str) -> str:
    """A page in the storage format as HTML; any other page as it is."""
    if "<ac:" not in page:
        return page
    page = _CODE.sub(lambda match: f"<pre>{escape(match[1])}</pre>", page)
    page = _CHARACTERS.sub(lambda match: escape(match[1]), page)
    page = _SHOWN_PARAMETER.sub(r" <b>\1</b> ", page)
    page = _UNSHOWN.sub("", page)
    page = _LINK_TO_PAGE.sub(r"\1", page)
    page = _EMOTICON.sub(r"\1", page)
    return _TASK.sub(r"<\1li>", page)
