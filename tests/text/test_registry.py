"""The grammar of names, and tables of them that other packages extend."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg2rag.text import registry
from kg2rag.text.registry import ParameterError, Registry, parse, split

GROUP = "kg2rag.tests"


@dataclass(frozen=True)
class Reader:
    place: str
    file: Path
    words: int = 3
    kind: str = "plain"
    inner: str | None = None

    def __post_init__(self) -> None:
        if self.words < 1:
            raise ParameterError("words must be")


READERS: Registry[object] = Registry(
    "reader",
    {"read(FILE)": Reader, "root": "math:sqrt", "plain": lambda place: place},
    group=GROUP,
    context=1,
    joined=tuple,
)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    """Entry points as if packages had registered them; a test appends its own."""
    points: list[EntryPoint] = []

    def entry_points(group: str, name: str | None = None) -> list[EntryPoint]:
        return [
            point
            for point in points
            if point.group == group and name in (None, point.name)
        ]

    monkeypatch.setattr(registry, "entry_points", entry_points)
    return points


@pytest.mark.parametrize(
    ("text", "specs"),
    [
        ("bm25", [("bm25", {})]),
        (" bm25 ( ) ", [("bm25", {})]),
        ("bm25(k1=1.2, b=0.7)", [("bm25", {"k1": "1.2", "b": "0.7"})]),
        (
            "openie(a b:c+d=e.json)+mentions",
            [("openie", {"": "a b:c+d=e.json"}), ("mentions", {})],
        ),
        (
            "a(linker=ngram(limit=1)+fuzzy, hops=2)",
            [("a", {"linker": "ngram(limit=1)+fuzzy", "hops": "2"})],
        ),
        (
            "a(weights=[1, 2], by={'x': 1})",
            [("a", {"weights": "[1, 2]", "by": "{'x': 1}"})],
        ),
        ('a("x), y", kind=it\'s)', [("a", {"": '"x), y"', "kind": "it's"})]),
        (
            "llm(qwen3:8b@http://localhost:11434/v1?a=b)",
            [("llm", {"": "qwen3:8b@http://localhost:11434/v1?a=b"})],
        ),
    ],
)
def test_a_name_has_its_parameters_in_brackets(
    text: str, specs: list[tuple[str, dict[str, str]]]
) -> None:
    assert parse(text) == specs


@pytest.mark.parametrize(
    "text",
    ["", "a+", "a(", "a)", "a(1, 2)", "a(b=1, b=2)", "a(b='1)", "a b", "a(1)b", "(1)"],
)
def test_what_is_not_of_the_grammar_is_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        parse(text)


@given(st.text())
def test_any_text_is_parsed_or_refused(text: str) -> None:
    with suppress(ParameterError):
        assert len(parse(text)) == len(split(text, "+"))


def test_parameters_are_read_by_the_types_of_the_builder() -> None:
    assert READERS.build("read(a.txt)", "here") == Reader("here", Path("a.txt"))
    made = READERS.build(
        "read(file='a, b.txt', words=2, kind=2024, inner=None)", "here"
    )
    assert made == Reader("here", Path("a, b.txt"), 2, "2024", None)
    assert READERS.build(
        "read(a.txt, inner=x(y=1))", "here", settings={"words": 1}
    ) == Reader("here", Path("a.txt"), 1, "plain", "x(y=1)")


def test_names_joined_by_a_plus_are_one_component() -> None:
    assert READERS.build("plain + read(a+b)", 4) == (4, Reader(4, Path("a+b")))  # type: ignore[arg-type]
    alone: Registry[object] = Registry(
        "reader", READERS.entries, group=GROUP, context=1
    )
    with pytest.raises(ParameterError, match=r"plain\+root"):
        alone.build("plain+root", 4)


@pytest.mark.parametrize(
    ("text", "settings", "named"),
    [
        ("reed(x)", {}, "Did you mean 'read'"),
        ("read", {}, r"read\(FILE\)"),
        ("read(a, wordz=1)", {}, "Did you mean 'words'"),
        ("read(a, words=0)", {}, r"Reader 'read\(FILE\)': words must be"),
        ("read(a, words=1)", {"words": 2}, "words"),
        ("plain(1)", {}, "takes no parameter"),
        (3, {}, "'plain'"),
    ],
)
def test_a_mistake_is_answered_with_what_to_write(
    text: str, settings: dict[str, object], named: str
) -> None:
    with pytest.raises(ParameterError, match=named):
        READERS.build(text, "here", settings=settings)


def test_an_installed_package_adds_a_name(installed: list[EntryPoint]) -> None:
    installed += [
        EntryPoint("cube", "math:cbrt", GROUP),
        EntryPoint("root", "math:cbrt", GROUP),
    ]
    assert READERS.names() == ("cube", "plain", "read", "root")
    assert READERS.usages() == ("cube", "plain", "read(FILE)", "root")
    assert READERS.build("cube", 27) == pytest.approx(3)
    assert READERS.build("root", 9) == 3  # our own comes first
    installed += [
        EntryPoint("cube", "math:sqrt", GROUP),
        EntryPoint("broken", "no_such_module:sqrt", GROUP),
    ]
    with pytest.raises(ParameterError, match="'cube'"):  # of two packages
        READERS.entry("cube")
    with pytest.raises(RuntimeError, match=r"'broken'.*no_such_module"):
        READERS.entry("broken")


def test_a_registry_is_iterated_over_its_names(installed: list[EntryPoint]) -> None:
    installed.append(EntryPoint("cube", "math:cbrt", GROUP))
    assert list(READERS) == ["cube", "plain", "read", "root"]
    assert len(READERS) == 4
    assert "cube" in READERS
    assert 0 not in READERS


def test_a_place_in_a_module_is_imported_from_here_where_that_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_systems_here.py").write_text(
        "class Mine: ...\nimport sys\npath = list(sys.path)"
    )
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    with pytest.raises(ParameterError, match="own_systems_here"):
        READERS.entry("own_systems_here:Mine")
    found = READERS.entry("own_systems_here:Mine", modules=True)
    assert (found.__module__, found.__name__) == ("own_systems_here", "Mine")
    assert sys.path == before
    (tmp_path / "needs_another.py").write_text("import not_installed_anywhere")
    # as the module says it
    with pytest.raises(ModuleNotFoundError, match="not_installed_anywhere"):
        READERS.entry("needs_another:Mine", modules=True)


@pytest.mark.parametrize(
    "place", ["nowhere.at_all:Mine", "math:nothing", "math.nothing:sqrt"]
)
def test_a_place_that_is_none_is_named(place: str) -> None:
    with pytest.raises(ParameterError, match=place):
        READERS.entry(place, modules=True)


def test_a_parameter_given_by_its_value_and_by_its_name_is_refused():
    with pytest.raises(ParameterError, match="file"):
        READERS.build("read(a.txt, file=b.txt)", "here")
