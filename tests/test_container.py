"""The container file copies what there is, installs extras that exist, and is short; nothing here builds it."""

from __future__ import annotations

import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LINES = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
STEPS = [tuple(line.split(maxsplit=1)) for line in LINES]
COPIES = [rest.split() for step, rest in STEPS if step == "COPY"]
SOURCES = [source for *sources, _ in COPIES for source in sources]


def test_it_is_at_most_ten_instructions_each_on_its_line() -> None:
    assert len(STEPS) <= 10
    assert [
        step
        for step, _ in STEPS
        if step not in "FROM ARG COPY RUN ENV WORKDIR ENTRYPOINT CMD".split()
    ] == []
    assert not any(line.endswith("\\") for line in LINES)


def test_it_names_no_address() -> None:
    text = "\n".join(LINES)
    assert "://" not in text
    assert re.findall(r"\b[\w-]+\.(?:com|org|io|net|co|ai)\b", text) == []


def test_its_python_is_one_that_the_package_takes() -> None:
    (image,) = (rest for step, rest in STEPS if step == "FROM")
    version = re.fullmatch(r"python:3\.(\d+)-slim", image)
    assert version is not None
    assert PROJECT["project"]["requires-python"] == ">=3.11"
    assert int(version[1]) >= 11


@pytest.mark.parametrize("source", SOURCES)
def test_what_it_copies_is_there_and_is_not_ignored(source: str) -> None:
    assert (ROOT / source).exists()
    ignored = False
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        pattern = line.removeprefix("!")
        if fnmatch(source, pattern) or source.startswith(f"{pattern}/"):
            ignored = not line.startswith("!")
    assert not ignored


def test_it_copies_all_that_the_wheel_is_made_of() -> None:
    project, wheel = (
        PROJECT["project"],
        PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"],
    )
    needed = [
        *wheel["packages"],
        *wheel["force-include"],
        project["readme"],
        *project["license-files"],
    ]
    assert {*needed, "pyproject.toml", "constraints.txt"} == set(SOURCES)
    # A file keeps its name in a folder, a folder is named in full.
    for (
        *sources,
        target,
    ) in COPIES:
        for source in sources:
            place = target + source if target.endswith("/") else target
            assert place == f"/opt/kg2rag/{source}"


def test_everything_else_is_ignored() -> None:
    first, *others = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert first == "*"
    assert {line[1:] for line in others if line.startswith("!")} == set(SOURCES)


def test_the_extras_exist_and_versions_are_those_tested_together() -> None:
    (install,) = (rest for step, rest in STEPS if step == "RUN")
    (extras,) = re.findall(r"/opt/kg2rag\[([\w,]+)\]", install)
    assert set(extras.split(",")) <= set(PROJECT["project"]["optional-dependencies"])
    assert "--constraint /opt/kg2rag/constraints.txt" in install
    assert any(
        line.startswith("torch==")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
    )


def test_it_starts_the_command_of_the_package() -> None:
    assert ("ENTRYPOINT", '["kg2rag"]') in STEPS
    assert "kg2rag" in PROJECT["project"]["scripts"]
