"""A notebook's committed outputs and those of a run -> the places where they differ, times, dates and paths apart."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from io import BytesIO
from itertools import zip_longest
from typing import Any

import matplotlib.image as image
import numpy as np
from bs4 import BeautifulSoup, Tag

Cell = Mapping[str, Any]
TIME_COLUMN = re.compile(r"\bms\b|ms_per_query|\bs$|seconds|minutes")
"""Headers of columns that hold times."""
VARIABLE = {
    r"Read from the store: [^\n]*": "",
    r"\d[\d,.]* (?:ms|s|seconds|minutes?)\b": "TIME",
    r"\d{4}-\d\d-\d\d(?:T[\d:+]+)?": "DATE",
    r"\bcommit [0-9a-f]{7,40}": "commit ID",
    r"\b0x[0-9a-f]+": "ADDRESS",
    r"(?:/[\w.~-]+){2,}/": "FOLDER/",
}
"""Pattern -> what stands in its place: what may change from run to run."""
TIMED_PICTURE = re.compile(r"\bms\b|cost|pareto|curve")
"""Words of a cell whose picture shows times."""


def differences(committed: Sequence[Cell], run: Sequence[Cell]) -> list[str]:
    """One text for each cell whose outputs differ: its number and the lines that changed."""
    found = []
    for number, (before, after) in enumerate(zip(committed, run, strict=True)):
        if before["cell_type"] != "code":
            continue
        changes = [*changed_lines(before, after), *changed_pictures(before, after)]
        if changes:
            found.append("\n".join([f"cell {number}:", *changes]))
    return found


def changed_lines(before: Cell, after: Cell) -> Iterator[str]:
    lines = unified_diff(
        shown(before), shown(after), "committed", "run", lineterm="", n=0
    )
    return (line for line in lines if not line.startswith("@@"))


def shown(cell: Cell) -> list[str]:
    """The lines that a reader of the cell sees, what may vary replaced."""
    text = "\n".join(map(output_text, cell["outputs"]))
    for pattern, placeholder in VARIABLE.items():
        text = re.sub(pattern, placeholder, text)
    return [line for line in map(str.strip, text.splitlines()) if line]


def output_text(output: Mapping[str, Any]) -> str:
    if output["output_type"] == "stream":
        return "".join(output["text"]) if output["name"] == "stdout" else ""
    data = output.get("data", {})
    if "text/html" in data:
        return html_text("".join(data["text/html"]))
    if "image/png" in data:
        return ""
    return "".join(data.get("text/plain", ""))


def html_text(html: str) -> str:
    """The text of a page's body, a line for each row of a table, without columns of times."""
    page = BeautifulSoup(html, "html.parser")
    for hidden in page(["style", "script"]):
        hidden.decompose()
    for table in page("table"):
        table.replace_with(page.new_string(table_text(table)))
    return page.get_text("\n")


def table_text(table: Tag) -> str:
    rows = [
        [cell.get_text(" ", strip=True) for cell in row(["th", "td"])]
        for row in table("tr")
    ]
    header = rows[0] if rows else []
    timed = {column for column, name in enumerate(header) if TIME_COLUMN.search(name)}
    kept = (
        [cell for column, cell in enumerate(row) if column not in timed] for row in rows
    )
    return "\n" + "\n".join(map(" | ".join, kept)) + "\n"


def changed_pictures(before: Cell, after: Cell) -> Iterator[str]:
    if TIMED_PICTURE.search("".join(before["source"])):
        return
    pairs = zip_longest(pictures(before), pictures(after))
    for number, (committed, run) in enumerate(pairs):
        if committed is None or run is None or not np.array_equal(committed, run):
            yield f"picture {number} differs"


def pictures(cell: Cell) -> list[Any]:
    encoded = (output.get("data", {}).get("image/png") for output in cell["outputs"])
    return [
        image.imread(BytesIO(base64.b64decode("".join(content))))
        for content in encoded
        if content
    ]
