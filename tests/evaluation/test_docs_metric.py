"""The worked example of docs/extending.md's metric runs as it is on the page."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np
import pytest
from doc_page import blocks

import kg2rag
from kg2rag.evaluation.metrics import FUNCTIONS, Metric
from kg2rag.text import registry

[ENTRY_POINT] = blocks("A metric", "toml")


@pytest.fixture(scope="module")
def page() -> Iterator[dict[str, Any]]:
    """The names that the page defines, its code run from top to bottom."""
    names: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        # where a reader added the page's line
        patch.delitem(FUNCTIONS.entries, "last_gold", raising=False)
        for block in blocks("A metric"):
            exec(block, names)
        yield names


def test_the_example_scores_a_chain_by_its_last_passage(page: dict[str, Any]) -> None:
    ids = ["a", "b", "c"]
    ranking = kg2rag.Ranking("q", np.arange(3), np.array([3.0, 2.0, 1.0]), ids)
    assert page["last_gold"](ranking, {"a": 1, "c": 1}) == 1 / 3
    assert page["last_gold"](ranking, {"b": 1}) == 1 / 2
    assert page["last_gold"](ranking, {"a": 1, "elsewhere": 1}) == 0
    assert page["last_gold_within"](2)(ranking, {"a": 1, "c": 1}) == 0
    assert page["result"].metrics == ["recall@5", "last_gold"]


def test_the_example_is_known_by_name_once_a_package_registers_it(
    page: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, value = re.findall(r"^(\w+) = \"(.*)\"$", ENTRY_POINT, re.MULTILINE)[0]
    module = types.ModuleType(value.partition(":")[0])
    vars(module).update(page)
    monkeypatch.setitem(sys.modules, "my_package", types.ModuleType("my_package"))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    point = EntryPoint(
        name, value, re.findall(r'entry-points."(.*)"\]', ENTRY_POINT)[0]
    )

    def entry_points(group: str, name: str | None = None) -> list[EntryPoint]:
        return [point] if group == point.group and name in (None, point.name) else []

    monkeypatch.setattr(registry, "entry_points", entry_points)
    assert Metric.parse("last_gold").function is page["last_gold"]
    with pytest.raises(ValueError, match=r"'last_glod'.*r-precision, last_gold, rbp"):
        Metric.parse("last_glod")
