"""MDX (Docusaurus, Mintlify, Nextra) -> Markdown: imports, exports and components are taken out, their titles stay."""

from __future__ import annotations

import re
from typing import NamedTuple

_CODE = (
    r"^[ \t]*(?P<mark>`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*(?P=mark)[`~]*[ \t]*$|\Z)|(?<!`)`[^`\n]+`"
)
_IMPORT = r"""^import\b[^;'"`]{0,1000}?['"][^'"\n]+['"];?[ \t]*$"""
_EXPORT = r"^export[ \t]+(?:const|default|function|async|let|var)\b.*?(?=^[ \t]*$|\Z)"
_COMMENT = r"\{/\*.*?\*/\}"
_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
_ATTRIBUTES = rf"""(?:[^<>{{}}"']|"[^"]*"|'[^']*'|{_BRACES})*"""
_COMPONENT = rf"(?P<line>^[ \t]*)?</?[A-Z][\w.]*(?P<attributes>\s{_ATTRIBUTES})?/?>"
_PARTS = re.compile(
    f"(?P<code>{_CODE})|{_IMPORT}|{_EXPORT}|{_COMMENT}|{_COMPONENT}", re.DOTALL | re.MULTILINE
)
_FENCE = re.compile(_CODE, re.DOTALL | re.MULTILINE)
_IMPORT_LINE = re.compile(r"""(?m)^import\s+[\w{*][^\n]*\sfrom\s+['"][^'"\n]+['"];?[ \t]*$""")
_TITLE = re.compile(
    r"""\b(?:title|label|header|heading|caption|summary|description)=\{?["']([^"']+)["']"""
)


class PlainPage(NamedTuple):
    """The Markdown of a page of MDX, and what was taken out of it."""

    text: str
    left_out: str = ""


def is_mdx(text: str, name: str) -> bool:
    """Whether a page is MDX: by its ending, or by an import outside its listings."""
    if name.lower().endswith(".mdx"):
        return True
    return "import" in text and bool(_IMPORT_LINE.search(_FENCE.sub("", text)))


def without_components(text: str) -> PlainPage:
    """The page without imports, exports, comments and the tags of components; titles in tags are paragraphs."""
    left_out = list[str]()

    def shown(match: re.Match[str]) -> str:
        if match["code"]:
            return match[0]
        left_out.append(match[0])
        titles = _TITLE.findall(match["attributes"] or "")
        if match["line"] is None:
            return " ".join(titles)
        return "".join(f"\n\n{title}\n\n" for title in titles)

    return PlainPage(_PARTS.sub(shown, text), "\n".join(left_out))
