"""What is installed is pinned, and what everybody must install has a reason."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
CONSTRAINTS = [
    line
    for line in (ROOT / "constraints.txt").read_text().splitlines()
    if not line.startswith("#")
]


def name_of(requirement: str) -> str:
    """The normalised name of a requirement (PEP 503)."""
    (name,) = re.findall(r"^[\w.-]+?(?=[=<>~!;\[]|$)", requirement)
    return re.sub(r"[-_.]+", "-", name).lower()


def test_constraints_are_names_and_versions_and_name_no_cuda() -> None:
    assert [
        line for line in CONSTRAINTS if not re.fullmatch(r"[\w.-]+==[\w.]+", line)
    ] == []
    assert [line for line in CONSTRAINTS if re.search("nvidia|cuda|triton", line)] == []


@pytest.mark.parametrize("extra", [None, *PROJECT["optional-dependencies"]])
def test_every_dependency_is_pinned(extra: str | None) -> None:
    required = (
        PROJECT["dependencies"]
        if extra is None
        else PROJECT["optional-dependencies"][extra]
    )
    assert {name_of(line) for line in required} <= {
        name_of(line) for line in CONSTRAINTS
    }


def rows_of_decisions() -> list[tuple[list[str], list[str]]]:
    """The packages of each row, and the modules that import them."""
    text = (ROOT / "docs" / "decisions" / "22-dependencies.md").read_text(
        encoding="utf-8"
    )
    cells = [
        line.split("|")[1:] for line in text.splitlines() if re.match(r"\| [a-z]", line)
    ][1:]
    return [(row[0].split(","), row[2].replace("\\", "").split(",")) for row in cells]


@cache
def distributions_by_name() -> Mapping[str, list[str]]:
    return packages_distributions()


def imported_packages(module: str) -> set[str]:
    """The distributions that a module of kg2rag imports, anywhere in it."""
    source = (
        ROOT.joinpath("kg2rag", *module.split("."))
        .with_suffix(".py")
        .read_text(encoding="utf-8")
    )
    names = set[str]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module.partition(".")[0])
    return {
        name_of(distribution)
        for name in names
        for distribution in distributions_by_name().get(name, [])
    }


def test_every_core_dependency_has_its_use_and_cost_in_the_decisions() -> None:
    listed = [name.strip() for packages, _ in rows_of_decisions() for name in packages]
    assert sorted(listed) == sorted(name_of(line) for line in PROJECT["dependencies"])


@pytest.mark.parametrize(("packages", "modules"), rows_of_decisions())
def test_the_modules_of_a_row_import_its_packages(
    packages: list[str], modules: list[str]
) -> None:
    names = {name.strip() for name in packages}
    imports = [imported_packages(module.strip()) & names for module in modules]
    assert all(imports)
    assert set[str]().union(*imports) == names
