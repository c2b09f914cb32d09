"""Notebooks are thin and committed with their outputs."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted(
    (Path(__file__).resolve().parent.parent / "notebooks").glob("*.ipynb")
)
LONGEST = 15


def code_cells(notebook: Path) -> list[dict[str, Any]]:
    return [
        cell
        for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "code"
    ]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_its_cells_are_short_and_hold_no_logic(notebook: Path) -> None:
    logic = (ast.FunctionDef, ast.ClassDef, ast.For, ast.While, ast.Try)
    for cell in code_cells(notebook):
        lines = [
            line.rstrip("\n") for line in cell["source"] if not line.startswith("%")
        ]
        assert len(lines) <= LONGEST
        assert not any(
            isinstance(node, logic) for node in ast.walk(ast.parse("\n".join(lines)))
        )


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_committed_with_its_outputs(notebook: Path) -> None:
    cells = code_cells(notebook)
    assert all(cell["execution_count"] for cell in cells)
    assert not any(
        output["output_type"] == "error" for cell in cells for output in cell["outputs"]
    )


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_path_of_a_machine_stands_in_it(notebook: Path) -> None:
    text = notebook.read_text(encoding="utf-8")
    assert not any(
        folder in text for folder in ("/work/", "/tmp/", "/home/", "/Users/", "/root/")
    )
