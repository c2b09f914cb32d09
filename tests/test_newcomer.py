"""What the newcomer's walk makes of the pages is a package with both of their entry points."""

from __future__ import annotations

import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(ROOT / "eval"))
    import_module("newcomer").write_package(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "my_package"))
    return tmp_path


def test_the_code_of_the_pages_is_a_package_with_their_entry_points(package: Path) -> None:
    project = tomllib.loads((package / "my_package" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {name: dict(points) for name, points in project["entry-points"].items()}
    assert set(named) == {"kg2rag.datasets", "kg2rag.systems"}
    for points in named.values():
        for where in points.values():
            module, _, thing = where.partition(":")
            assert hasattr(import_module(module), thing)
    for name in [one for one in sys.modules if one.split(".")[0] == "my_package"]:
        del sys.modules[name]


def test_the_walk_takes_its_steps_in_order_and_ends_where_a_command_fails(package: Path) -> None:
    newcomer = import_module("newcomer")
    with pytest.raises(SystemExit, match=r"ended with 3:\nno such thing"):
        newcomer.run("echo no such thing; exit 3", package)
