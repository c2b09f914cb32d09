from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from kg2rag.text import plugins

GROUP = "kg2rag.tests"
OWN = {"dense": "ours"}


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    """Entry points as if packages had registered them; a test appends its own."""
    points: list[EntryPoint] = []

    def entry_points(group: str, name: str | None = None) -> list[EntryPoint]:
        return [point for point in points if point.group == group and name in (None, point.name)]

    monkeypatch.setattr(plugins, "entry_points", entry_points)
    return points


def test_an_installed_package_adds_a_name(installed: list[EntryPoint]) -> None:
    installed.append(EntryPoint("roots", "math:sqrt", GROUP))
    assert plugins.names(GROUP, OWN) == ("dense", "roots")
    assert plugins.look_up("system", "roots", {}, GROUP)(9) == 3


def test_our_own_name_comes_first(installed: list[EntryPoint]) -> None:
    installed.append(EntryPoint("dense", "math:sqrt", GROUP))
    assert plugins.look_up("system", "dense", OWN, GROUP) == "ours"
    assert plugins.names(GROUP, OWN) == ("dense",)


def test_an_unknown_name_lists_those_of_packages_too(installed: list[EntryPoint]) -> None:
    installed.append(EntryPoint("roots", "math:sqrt", GROUP))
    with pytest.raises(ValueError, match=r"Unknown system 'root'\. Known: dense, roots\. Did you mean 'roots'\?"):
        plugins.look_up("system", "root", OWN, GROUP)


def test_a_name_of_two_packages_is_refused(installed: list[EntryPoint]) -> None:
    installed.extend([EntryPoint("roots", "math:sqrt", GROUP), EntryPoint("roots", "math:cbrt", GROUP)])
    with pytest.raises(ValueError, match="system 'roots' is registered by an unnamed package and by"):
        plugins.look_up("system", "roots", OWN, GROUP)


def test_a_package_that_cannot_be_imported_is_named(installed: list[EntryPoint]) -> None:
    installed.append(EntryPoint("roots", "no_such_module:sqrt", GROUP))
    with pytest.raises(RuntimeError, match=r"system 'roots' of .* cannot be imported from no_such_module:sqrt"):
        plugins.look_up("system", "roots", OWN, GROUP)


def test_a_place_in_a_module_is_imported_from_here_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_systems_here.py").write_text("class Mine: ...\nimport sys\npath = list(sys.path)")
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    found = plugins.imported("system", "own_systems_here:Mine")
    assert (found.__module__, found.__name__) == ("own_systems_here", "Mine")  # type: ignore[attr-defined]
    assert sys.path == before


@pytest.mark.parametrize("place", ["nowhere.at_all:Mine", "math:nothing", "math.nothing:sqrt"])
def test_a_place_that_is_none_is_named(place: str) -> None:
    with pytest.raises(ValueError, match=rf"system '{place}' cannot be found: .*Write package\.module:Name"):
        plugins.imported("system", place)


def test_what_a_module_lacks_is_said_as_it_says_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "needs_another.py").write_text("import not_installed_anywhere")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="not_installed_anywhere"):
        plugins.imported("system", "needs_another:Mine")
