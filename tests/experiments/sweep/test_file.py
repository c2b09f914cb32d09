"""A sweep file: what it becomes, and what a mistake in it is answered with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kg2rag.experiments.sweep import Sweep, read_sweep
from kg2rag.experiments.sweep.space import Choice, Range

SWEEPS = Path(__file__).resolve().parents[3] / "eval" / "sweeps"
GOOD = """
name = "small"
data = "bundled"
metrics = ["recall@5", "mrr@10"]
k = 10
[split]
dev = 0.4
[systems.bm25]
k1 = [0.9, 1.2]
[[systems.hybrid]]
constant = 10.0
[[systems.hybrid]]
depth = [50, 100]
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def put(text: str) -> Path:
        file = tmp_path / "small.toml"
        file.write_text(text)
        return file

    return put


def test_tables_of_one_system_run_one_after_the_other(write: Callable[[str], Path]) -> None:
    found = read_sweep(write(GOOD)).configurations
    assert [(one.system, dict(one.parameters)) for one in found] == [
        ("bm25", {"k1": 0.9}),
        ("bm25", {"k1": 1.2}),
        ("hybrid", {"constant": 10.0}),
        ("hybrid", {"depth": 50}),
        ("hybrid", {"depth": 100}),
    ]


def test_a_configuration_that_two_tables_give_is_run_once(write: Callable[[str], Path]) -> None:
    text = GOOD.replace("constant = 10.0", "depth = 50")
    assert len(read_sweep(write(text)).configurations) == 4


MISTAKES = [
    ("data =", "date =", "Unknown key 'date'. Known: data, encoders, graphs, k, metrics, name, objective, "),
    ('data = "bundled"', 'data = {name = "bundled", path = "x"}', "Unknown key data.path. .*--path"),
    ("systems.bm25]", "systems.bm26]", "Unknown system 'bm26'. Known: bm25, "),
    ("k1 =", "k2 =", r"systems.bm25.k2: system 'bm25' has no parameter 'k2'. Known: b, k1"),
    ("[0.9, 1.2]", '[0.9, "high"]', "systems.bm25: .*k1 must be"),
    ("[0.9, 1.2]", "[-1.0]", "k1 must be"),
    ("[0.9, 1.2]", "[]", r"systems.bm25.k1 = \[\]: an empty list leaves nothing to run"),
    ("[0.9, 1.2]", "{low = 0.1, high = 2.0}", "systems.bm25.k1 = .*: a grid needs values"),
    ("recall@5", "recal@5", "Unknown metric 'recal@5'. Known: "),
    ("mrr@10", "mrr@20", "reads 20 hits, but k is 10"),
    ("dev = 0.4", "dev = 40", "split.dev = 40: expected a share between 0 and 1"),
    ("k = 10", "k = 0", "k = 0: expected a whole number, at least 1"),
    ("k = 10", 'k = 10\nsearch = "bayes"', "search = 'bayes'. Known: grid, optuna, random."),
    ("k = 10", 'k = 10\nobjective = "ndcg@5"', "objective = 'ndcg@5' is none of the metrics: recall@5, mrr@10"),
    ("k = 10", 'k = 10\nmetrics = "recall@5"', "not a TOML file"),
    ("k = 10", "k = 10\ngraphs = [1]", "graphs = .1.: expected a name, a list of names, or a table"),
]


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES)
def test_a_mistake_names_the_file_the_key_and_what_is_allowed(
    write: Callable[[str], Path], old: str, new: str, message: str
) -> None:
    file = write(GOOD.replace(old, new))
    with pytest.raises(ValueError, match=message) as raised:
        read_sweep(file)
    assert str(raised.value).startswith(f"{file}: ")


def test_an_impossible_combination_is_told_before_any_work(sweep: Callable[..., Sweep]) -> None:
    wanted = sweep(systems={"hybrid": {"dense_weight": [1.0, 0.0], "bm25_weight": [1.0, 0.0]}})
    with pytest.raises(ValueError, match=r"systems\.hybrid, .*'bm25_weight': 0\.0.*one of them above 0"):
        _ = wanted.configurations


def test_a_graph_that_does_not_lie_beside_the_questions_is_told(write: Callable[[str], Path]) -> None:
    with pytest.raises(ValueError, match="no subkgs file lies beside"):
        _ = read_sweep(write(GOOD.replace("k = 10", 'k = 10\ngraphs = ["subkgs"]'))).configurations


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.toml does not exist"):
        read_sweep(tmp_path / "none.toml")


@pytest.mark.parametrize("file", sorted(SWEEPS.glob("*.toml")), ids=lambda file: file.stem)
def test_the_sweeps_of_the_repository_can_be_read(file: Path) -> None:
    assert read_sweep(file).name == file.stem


def test_the_musique_sweep_has_a_hundred_points() -> None:
    spaces_of = read_sweep(SWEEPS / "musique.toml").spaces
    sizes = [1, 1]
    for i, (_, spaces) in enumerate(spaces_of):
        for space in spaces.values():
            sizes[i] *= len(space.grid())
    assert sizes == [50, 50]


def test_random_draws_are_those_of_the_seed(sweep: Callable[..., Sweep]) -> None:
    options = {"systems": {"bm25": {"k1": {"low": 0.1, "high": 3.0}}}, "search": "random", "samples": 5}
    first, again, other = (sweep(**options, seed=seed).configurations for seed in (1, 1, 2))
    assert [one.id for one in first] == [one.id for one in again]
    assert not {one.id for one in first} & {one.id for one in other}
    assert len(first) == 5


def test_values_and_ranges_are_told_apart(sweep: Callable[..., Sweep]) -> None:
    options = {"systems": {"bm25": {"k1": {"low": 0.1, "high": 3.0}, "b": 0.5}}, "search": "random"}
    ((_, spaces),) = sweep(**options).spaces
    assert spaces == {"k1": Range(0.1, 3.0), "b": Choice((0.5,))}
