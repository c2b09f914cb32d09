"""A sweep file and its split: what they become, and what a mistake is answered with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kg2rag.experiments.sweep import Sweep, read_sweep
from kg2rag.experiments.sweep.inputs import Split
from kg2rag.text.records import DataError
from kg2rag.types import QADataset

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


def test_tables_of_one_system_run_one_after_the_other_each_configuration_once(
    write: Callable[[str], Path],
) -> None:
    found = [
        (one.system, dict(one.parameters))
        for one in read_sweep(write(GOOD)).configurations
    ]
    hybrid = [
        ("hybrid", {"constant": 10.0}),
        ("hybrid", {"depth": 50}),
        ("hybrid", {"depth": 100}),
    ]
    assert found == [("bm25", {"k1": 0.9}), ("bm25", {"k1": 1.2}), *hybrid]
    assert (
        len(
            read_sweep(
                write(GOOD.replace("constant = 10.0", "depth = 50"))
            ).configurations
        )
        == 4
    )


MISTAKES = [
    ("data =", "date =", "needs systems, and data"),
    ("k = 10", "kk = 10", "kk.*data, encoder"),
    ('data = "bundled"', 'data = {name = "bundled", path = "x"}', "data.path"),
    ("systems.bm25]", "systems.bm26]", "'bm26'.*bm25"),
    ("k1 =", "k2 =", "systems.bm25, .*k2.*b, k1"),
    ("[0.9, 1.2]", '[0.9, "high"]', "k1.*'high'"),
    ("[0.9, 1.2]", "[-1.0]", "k1.*-1.0"),
    ("[0.9, 1.2]", "[]", "systems.bm25.*k1"),
    ("[0.9, 1.2]", "{low = 0.1, high = 2.0}", "k1.*low"),
    ("recall@5", "recal@5", "'recal@5'"),
    ("mrr@10", "mrr@20", "20 hits, but k is 10"),
    ("dev = 0.4", "dev = 40", "dev.*40"),
    ("dev = 0.4", 'dev = "train"', "'train'.*share"),
    ("dev = 0.4", "dve = 0.4", "split.*dve.*dev"),
    ("dev = 0.4", "seed = -1", "split.*seed.*-1|split.*seed"),
    ("k = 10", "k = 0", "k must be .*0"),
    ("k = 10", 'k = 10\nobjective = "ndcg@5"', "'ndcg@5'.*recall@5, mrr@10"),
    ("k = 10", 'k = 10\nmetrics = "recall@5"', "TOML"),
    ("k = 10", "k = 10\ngraphs = [1]", "graphs = .1."),
]


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES)
def test_a_mistake_names_the_file_the_key_and_what_is_allowed(
    write: Callable[[str], Path], old: str, new: str, message: str
) -> None:
    file = write(GOOD.replace(old, new))
    with pytest.raises(ValueError, match=message) as raised:
        read_sweep(file)
    assert str(raised.value).startswith(f"{file}: ")


def test_an_impossible_combination_is_told_before_any_work(
    sweep: Callable[..., Sweep],
) -> None:
    with pytest.raises(ValueError, match=r"systems\.hybrid, .*'bm25_weight': 0\.0"):
        sweep(
            systems={"hybrid": {"dense_weight": [1.0, 0.0], "bm25_weight": [1.0, 0.0]}}
        )


def test_what_is_not_there_is_told(
    write: Callable[[str], Path], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="subkgs"):
        _ = read_sweep(
            write(GOOD.replace("k = 10", 'k = 10\ngraphs = ["subkgs"]'))
        ).configurations
    with pytest.raises(FileNotFoundError, match=r"none\.toml"):
        read_sweep(tmp_path / "none.toml")


@pytest.mark.parametrize(
    "file", sorted(SWEEPS.glob("*.toml")), ids=lambda file: file.stem
)
def test_the_sweeps_of_the_repository_can_be_read(file: Path) -> None:
    assert read_sweep(file).name == file.stem


def test_each_type_gives_its_share_to_dev_as_the_seed_draws_it(data: QADataset) -> None:
    labels = Split(dev=0.25).labels(data)
    counts = Counter(
        (question.type, label)
        for question, label in zip(data.questions, labels, strict=True)
    )
    assert counts == {
        ("even", "dev"): 5,
        ("even", "test"): 15,
        ("odd", "dev"): 5,
        ("odd", "test"): 15,
    }
    first, second = Split(seed=0).labels(data), Split(seed=1).labels(data)
    assert first != second
    assert first.count("dev") == second.count("dev") == 20
    assert Split().labels(replace(data, name="other")) == first
    with pytest.raises(ValueError, match=r"0\.01 of 40"):
        Split(dev=0.01).labels(data)


@pytest.mark.parametrize(
    "named",
    [
        'encoder = "endpoint:m@http://other.example/v1"\n[systems.bm25]',
        '[systems.graph_augmented]\nlinker = ["ngram", "llm(m@http://other.example/v1)"]',
        '[systems.dynamic_hybrid]\nanalyser = "llm(m@http://other.example/v1)+rules"',
        '[systems.rerank]\nreranker = "llm(m@http://other.example/v1)"',
        "[systems.graph_augmented]\nlinker = \"llm('m@http:' '//other.example/v1')\"",
    ],
)
def test_a_host_that_a_file_names_is_refused_until_it_is_allowed(
    tmp_path: Path, named: str
) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(f'data = "bundled"\n{named}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"other\.example"):
        read_sweep(file)
    assert read_sweep(file, hosts=["other.example"]).points
