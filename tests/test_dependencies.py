"""What is installed is pinned, and what everybody must install has a reason."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONSTRAINTS = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]


def name_of(requirement: str) -> str:
    """The normalised name of a requirement (PEP 503)."""
    (name,) = re.findall(r"^[\w.-]+?(?=[=<>~!;\[]|$)", requirement)
    return re.sub(r"[-_.]+", "-", name).lower()


def test_constraints_are_names_and_versions_and_name_no_cuda() -> None:
    assert [line for line in CONSTRAINTS if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []
    assert [line for line in CONSTRAINTS if re.search("nvidia|cuda|triton", line)] == []


@pytest.mark.parametrize("extra", [None, *PROJECT["optional-dependencies"]])
def test_every_dependency_is_pinned(extra: str | None) -> None:
    required = PROJECT["dependencies"] if extra is None else PROJECT["optional-dependencies"][extra]
    assert {name_of(line) for line in required} <= {name_of(line) for line in CONSTRAINTS}


def test_every_core_dependency_has_its_use_and_cost_in_the_decisions() -> None:
    table = (
        (ROOT / "docs" / "decisions" / "22-dependencies.md")
        .read_text(encoding="utf-8")
        .split("| package | used for |")[1]
    )
    listed = {name for row in table.splitlines() if row.startswith("| ") for name in row.split("|")[1].split(",")}
    assert {name_of(line) for line in PROJECT["dependencies"]} <= {name.strip() for name in listed}
