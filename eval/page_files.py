"""A file with markers, Markdown or a notebook -> the same file filled in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from page_data import Results
from page_markers import Exceptions, Page, Table, filled


def render(
    file: Path, name: str, results: Results, tables: Mapping[str, Table], exceptions: Exceptions | None = None
) -> Page:
    """A page as it should be; of a notebook the cells of Markdown, where line numbers are those of the cell."""
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".ipynb":
        return filled(text, name, results, tables, exceptions)
    notebook, problems = json.loads(text), []
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "markdown":
            page = filled("".join(cell["source"]), f"{name}, cell {number}", results, tables)
            cell["source"] = page.text.splitlines(keepends=True)
            problems += page.problems
    return Page(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", problems, set())
