"""Notebooks are thin; those of public sets are committed with their outputs, and open what is kept."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "notebooks").glob("*.ipynb"))
PUBLIC = [notebook for notebook in NOTEBOOKS if notebook.name.startswith(("12_", "13_", "14_"))]
LONGEST = 15


def code_cells(notebook: Path) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


def test_there_is_one_for_each_set() -> None:
    assert [notebook.stem for notebook in PUBLIC] == ["12_musique", "13_hotpotqa", "14_2wikimultihopqa"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_its_cells_are_short_and_hold_no_logic(notebook: Path) -> None:
    logic: tuple[type[ast.AST], ...] = (ast.FunctionDef, ast.ClassDef, ast.For, ast.While, ast.Try)
    if notebook in PUBLIC:
        logic += (ast.If, ast.With)
    for cell in code_cells(notebook):
        lines = [line.rstrip("\n") for line in cell["source"] if not line.startswith("%")]
        assert len(lines) <= LONGEST
        assert not any(isinstance(node, logic) for node in ast.walk(ast.parse("\n".join(lines))))


@pytest.mark.parametrize("notebook", PUBLIC, ids=lambda path: path.stem)
def test_it_is_committed_with_its_outputs_and_recomputes_nothing(notebook: Path) -> None:
    cells = code_cells(notebook)
    assert all(cell["execution_count"] for cell in cells)
    assert not any(output["output_type"] == "error" for cell in cells for output in cell["outputs"])
    assert any("RECOMPUTE = False\n" in cell["source"] for cell in cells)
    assert "/work/" not in json.dumps(cells)
    assert "/tmp/" not in json.dumps(cells)
