"""A page of docs -> the code of its sections, as the tests of its examples run it."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def section(title: str, page: str = "extending.md") -> str:
    """The text of a section, without its heading."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.split(r"^## .*\n", text.split(f"\n## {title}\n")[1], flags=re.MULTILINE)[
        0
    ]


def blocks(
    title: str, language: str = "python", page: str = "extending.md"
) -> list[str]:
    """The code blocks of a section in one language."""
    return re.findall(rf"```{language}\n(.*?)```", section(title, page), re.DOTALL)
