"""A number in the text of a notebook is one that an output or the code above shows, as it is rounded there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))
# Code, addresses, years.
NO_PROSE = re.compile(r"`[^`]*`|\]\([^)]*\)|\b(?:19|20)\d\d\b", re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])(?:\d{1,3}(?:,\d{3})+|\d*\.\d+|\d+)(?![\w]|\.\d)")
SHOWN = ("text/plain", "text/html", "text/markdown")
SMALL = 20
"""Whole numbers up to here are words of the language: three sets, ten hits."""


def unseen(cells: list[dict[str, Any]]) -> list[str]:
    """The numbers of the text that no code or output holds, in fractions or per cent."""
    seen = {value(found) for cell in cells for found in NUMBER.findall(shown(cell))}
    prose = "\n".join(
        "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"
    )
    wanted = NUMBER.findall(NO_PROSE.sub(" ", prose))
    return [
        number
        for number in wanted
        if not small(number) and not any(equal(number, one) for one in seen)
    ]


def shown(cell: dict[str, Any]) -> str:
    if cell["cell_type"] == "markdown":
        return ""
    texts = ["".join(cell["source"])]
    for output in cell["outputs"]:
        texts += ["".join(output.get("text", ""))]
        texts += [
            re.sub("<[^>]+>", " ", "".join(output.get("data", {}).get(kind, "")))
            for kind in SHOWN
        ]
    return "\n".join(texts)


def value(number: str) -> float:
    return float(number.replace(",", ""))


def small(number: str) -> bool:
    return "." not in number and value(number) <= SMALL


def equal(number: str, other: float) -> bool:
    decimals = len(number.partition(".")[2])
    return any(
        abs(round(one, decimals) - value(number)) < 1e-9 for one in (other, 100 * other)
    )


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_text_says_no_number_that_is_not_shown(notebook: Path) -> None:
    assert unseen(json.loads(notebook.read_text(encoding="utf-8"))["cells"]) == []


def test_a_number_that_is_not_shown_is_found_out() -> None:
    code = {
        "cell_type": "code",
        "source": ["k = 60"],
        "outputs": [{"text": ["dense 0.8234\n", "1,890 passages"]}],
    }
    text = "Of 1,890 passages, k = 60: 82.3 %, .82 and 82 %; `0.99`, 2024, ten and 3."
    assert unseen([code, {"cell_type": "markdown", "source": [text]}]) == []
    wrong = {"cell_type": "markdown", "source": ["Here .83 of 1,891, not 61 nor 82.4."]}
    assert unseen([code, wrong]) == [".83", "1,891", "61", "82.4"]
