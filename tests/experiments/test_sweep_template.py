"""The sweep file that `kg2rag sweep --init` writes: it runs as it is, and what stands in its comments can be run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kg2rag.experiments.sweep import read_sweep
from kg2rag.experiments.sweep.template import template
from kg2rag.retrievers.systems import SYSTEMS


def rows_of(table: str) -> str:
    return f"\n{table}".partition("\n\n")[0]


def test_it_is_a_sweep_and_names_every_system_and_parameter(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(template("bundled"))
    sweep = read_sweep(tmp_path / "sweep.toml")
    assert [name for name, _ in sweep.points.values()] == ["bm25"] * 4
    for name in SYSTEMS.names():
        _, table = template("bundled").split(f"[systems.{name}]\n")
        named = re.findall(r"^(?:# )?(\w+) = ", rows_of(table), flags=re.MULTILINE)
        assert set(named) <= set(SYSTEMS.parameters(name))
        assert name == "bm25" or named == list(SYSTEMS.parameters(name))


@pytest.mark.parametrize(
    "name", ["dense", "hybrid", "graph_augmented", "mention_ppr", "expansion_queries"]
)
def test_a_table_without_its_comment_signs_is_the_system_with_its_defaults(
    tmp_path: Path, name: str
) -> None:
    head, table = template("bundled").split(f"# [systems.{name}]\n")
    own = [
        line.removeprefix("# ")
        for line in rows_of(table).splitlines()
        if " = [] " not in line
    ]
    (tmp_path / "sweep.toml").write_text("\n".join([head, f"[systems.{name}]", *own]))
    (given,) = [
        given
        for system, given in read_sweep(tmp_path / "sweep.toml").points.values()
        if system == name
    ]
    defaults = SYSTEMS.parameters(name)
    assert given == {
        key: list(value) if isinstance(value := defaults[key], tuple) else value
        for key in given
    }
