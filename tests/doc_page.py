"""docs/extending.md -> the code of its sections, as the tests of its examples run it."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "extending.md"


def section(title: str) -> str:
    """The text of a section, without its heading."""
    return re.split(r"^## .*\n", PAGE.read_text(encoding="utf-8").split(f"\n## {title}\n")[1], flags=re.MULTILINE)[0]


def blocks(title: str, language: str = "python") -> list[str]:
    """The code blocks of a section in one language."""
    return re.findall(rf"```{language}\n(.*?)```", section(title), re.DOTALL)
