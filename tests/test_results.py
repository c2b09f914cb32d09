"""The README and docs/results.md say what `eval/results` says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parent.parent


def test_the_pages_show_the_committed_results() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "eval" / "pages.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["README.md", "docs/results.md", "docs/scale.md", "docs/decisions.md"])
def test_a_reader_does_not_see_the_markers(name: str) -> None:
    # A comment at the beginning of a line is a block of HTML, which would cut a paragraph in two.
    comment, page = re.compile(r"<!--.*?-->", re.DOTALL), (ROOT / name).read_text(encoding="utf-8")
    shown = MarkdownIt("commonmark").enable("table")
    fenced = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
    page = fenced.sub("", page)
    assert words(comment.sub("", shown.render(page))) == words(shown.render(comment.sub("", page)))


def words(html: str) -> list[str]:
    return html.replace("<", " <").replace(">", "> ").split()
