"""The key of a run: what a ranking depends on makes another run, and code outside of kg2rag is run each time."""

from __future__ import annotations

import functools
import importlib
import json
import math
import pkgutil
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import kg2rag
from kg2rag import BM25, Dense, KnowledgeBase, ScoreFunction
from kg2rag.evaluation.run_key import (
    NoKeyError,
    identity,
    replaced_members,
    run_key,
)
from kg2rag.evaluation.runs import Run, run
from kg2rag.extraction import Extraction
from kg2rag.extraction.sources import CombinedExtractor, GivenExtraction
from kg2rag.retrievers import bm25
from kg2rag.retrievers.contract import Retriever
from kg2rag.retrievers.linking import LINKERS
from kg2rag.retrievers.mention_chains.retriever import MentionChains
from kg2rag.retrievers.rerankers import Rerank
from kg2rag.types import Corpus, Matrix, QADataset, Question, Ranking, Triple

PACKAGE = Path(kg2rag.__file__).parent


@dataclass(frozen=True)
class Mine(Retriever):
    """Ranks by a factor times the row."""

    kb: KnowledgeBase = field(repr=False)
    factor: Any = 1

    def retrieve_batch(self, queries: Any, k: int) -> list[Ranking]:
        rows = np.arange(len(self.kb.corpus))
        factor = self.factor() if callable(self.factor) else self.factor
        return [
            Ranking.from_scores(query.id, rows, factor * rows, self.kb.corpus.ids).top(
                k
            )
            for query in queries
        ]


@dataclass(frozen=True)
class Versioned(Mine):
    """The same with a version."""

    run_version: ClassVar[str] = "1"


@dataclass(frozen=True)
class Factor:
    """A callable object with a version and a memory that does not count."""

    value: int
    memory: dict[str, int] = field(default_factory=dict, compare=False)
    run_version: ClassVar[str] = "1"

    def __call__(self) -> int:
        return self.value

    @functools.cached_property
    def square(self) -> int:
        return self.value**2

    def half(self) -> float:
        return self.value / 2


@pytest.fixture
def little(kb_of: Callable[..., KnowledgeBase]) -> KnowledgeBase:
    return kb_of(
        *((f"Title {i}", f"Text {i}.") for i in range(9)),
        facts=(Triple("Title 1", "is", "Title 2", "p1"),),
    )


@pytest.fixture
def data(little: KnowledgeBase) -> QADataset:
    return QADataset(
        "little",
        little.corpus,
        tuple(Question(f"q{i}", f"Text {i}?", {"p1": 1}) for i in range(3)),
    )


def checked(system: Any, data: QADataset) -> Run:
    """The run of a system, whose rankings are those that the system gives now."""
    found = run(system, data, 5, progress=False)
    direct = system.retrieve_batch(data.queries, 5)
    assert [ranking.passage_ids for ranking in found.rankings] == [
        ranking.passage_ids for ranking in direct
    ]
    return found


def stored(system: Any, data: QADataset) -> int:
    """The number of rankings read from the store, of a system whose run is stored."""
    found = checked(system, data)
    assert found.not_cached == ""
    return found.n_stored


def reason(system: Any, data: QADataset) -> str:
    """Why a system is run each time, after two runs."""
    runs = [checked(system, data) for _ in range(2)]
    assert [found.n_stored for found in runs] == [0, 0]
    return runs[1].not_cached


def test_a_system_of_the_package_is_read_until_a_parameter_changes(
    little: KnowledgeBase, data: QADataset
) -> None:
    systems = [BM25(little), BM25(little), BM25(little, k1=2.0), Dense(little)]
    assert [stored(system, data) for system in systems] == [0, 3, 0, 0]
    assert stored(BM25(little), data) == 3


def test_a_file_that_a_parameter_names_counts_by_its_content(
    little: KnowledgeBase, data: QADataset, tmp_path: Path
) -> None:
    file = tmp_path / "coefficients.toml"
    shutil.copy(PACKAGE / "retrievers" / "mention_chains" / file.name, file)
    system = MentionChains(little, coefficients=str(file))
    assert [stored(system, data) for _ in range(2)] == [0, 3]
    with file.open("a") as stream:
        stream.write("# edited")
    assert stored(system, data) == 0
    copy = tmp_path / "copy.toml"
    shutil.copy(file, copy)
    assert identity(file) == identity(str(copy)) != identity(str(tmp_path / "none"))
    specification = f"first+second(path={file}, n=2)"
    before = identity(specification), identity(tmp_path)
    file.write_text("other")
    assert identity(specification) != before[0]
    assert identity(tmp_path) != before[1]


def test_a_class_of_the_user_is_run_each_time_and_named(
    little: KnowledgeBase, data: QADataset
) -> None:
    class Changed(BM25):
        def retrieve_batch(self, queries: Any, k: int) -> list[Ranking]:
            return [ranking.top(1) for ranking in super().retrieve_batch(queries, k)]

    assert "test_run_key.Mine" in reason(Mine(little), data)
    assert "Changed" in reason(Changed(little), data)
    assert "Mine" in reason(kg2rag.fuse(BM25(little), Mine(little)), data)


def test_a_class_with_a_version_is_read_until_version_or_attribute_changes(
    little: KnowledgeBase, data: QADataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    systems = [Versioned(little), Versioned(little), Versioned(little, -1)]
    assert [stored(system, data) for system in systems] == [0, 3, 0]
    with monkeypatch.context() as patched:
        patched.setattr(Versioned, "run_version", "2")
        assert stored(Versioned(little), data) == 0
    assert stored(Versioned(little), data) == 3

    class Inheriting(Versioned):
        """Code that the version does not cover."""

    assert "Inheriting" in reason(Inheriting(little), data)


def test_a_part_of_a_system_counts_as_a_system_does(
    little: KnowledgeBase, data: QADataset
) -> None:
    factor = Factor(1)
    assert [stored(Versioned(little, factor), data) for _ in range(2)] == [0, 3]
    factor.memory["a"] = factor.square
    assert stored(Versioned(little, factor), data) == 3
    assert stored(Versioned(little, Factor(-1)), data) == 0
    methods = [Factor(2).half, Factor(2).half, Factor(-2).half]
    assert [stored(Versioned(little, half), data) for half in methods] == [0, 3, 0]


def test_functions_of_the_user_are_run_each_time_and_named(
    little: KnowledgeBase, data: QADataset
) -> None:
    def score(_: str, passage: Any) -> float:
        return float(passage.id[1:])

    class Held:
        def one(self) -> int:
            return 1

    replaced = BM25(little)
    object.__setattr__(replaced, "retrieve_batch", Mine(little).retrieve_batch)
    for system, name in (
        (ScoreFunction(little, lambda *_: 1.0), "<lambda>"),
        (ScoreFunction(little, functools.wraps(BM25)(score)), "BM25"),
        (BM25(little) >> Rerank(little, reranker=lambda *_: 1.0), "<lambda>"),
        (Versioned(little, functools.partial(int, 1)), "partial"),
        (Versioned(little, Held().one), "Held"),
        (replaced, "Mine"),
    ):
        assert name in reason(system, data)


def test_registered_components_of_the_user_are_found_in_texts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(LINKERS.entries, "mine", Mine)
    monkeypatch.setitem(LINKERS.entries, "versioned", Versioned)
    for text in ("ngram+mine", "rerank(retriever=mine(2))"):
        with pytest.raises(NoKeyError, match="Mine"):
            identity(text)
    before = identity("ngram+versioned")
    monkeypatch.setattr(Versioned, "run_version", "2")
    assert identity("ngram+versioned") != before


@dataclass(frozen=True)
class Source:
    """A graph source."""

    fingerprint: str = "mine"

    def extract(self, corpus: Corpus) -> Extraction:
        return Extraction()


class Encoder:
    """An encoder of one dimension."""

    def fingerprint(self, _: object) -> str:
        return "mine"

    def encode(self, texts: Any, *_: object) -> Matrix:
        return np.ones((len(texts), 1), dtype=np.float32)


def test_graph_sources_and_encoders_of_the_user_are_code_and_vectors_of_a_function_are_not(
    little: KnowledgeBase, data: QADataset
) -> None:
    def over(**parts: Any) -> BM25:
        return BM25(replace(little, _memory={}, **parts))

    union = CombinedExtractor((GivenExtraction(Extraction()), Source()))
    assert "Source" in reason(over(source=Source()), data)
    assert "Source" in reason(over(source=union), data)
    assert "Encoder" in reason(over(embedder=Encoder()), data)

    def with_function(factor: float) -> Dense:
        def encode(texts: list[str]) -> list[list[float]]:
            return [[1.0, factor * len(text)] for text in texts]

        kb = KnowledgeBase.build(data.corpus, embedder=encode, store=little.store)
        return Dense(kb)

    factors = (1.0, 1.0, -1.0)
    assert [stored(with_function(factor), data) for factor in factors] == [0, 3, 0]


def test_values_are_equal_if_their_contents_are() -> None:
    array = np.arange(6.0)
    equal = [
        ((1, "a"), [1, "a"]),
        ({"b", "a"}, {"a", "b"}),
        (array[::2], np.array([0.0, 2.0, 4.0])),
    ]
    for first, second in equal:
        assert identity(first) == identity(second)
    distinct = [
        *(1, "1", True, 1.5, math.nan, math.inf, None, b"1", np.float64(1), 1j),
        *([1], {1}, {1: 2}, {1: 2, 3: 4}, {3: 4, 1: 2}, {"1": 2}, [[1, 2]], range(2)),
        *(array, array.astype("f4"), array.reshape(2, 3), list(range(200))),
        *(BM25, Dense, kg2rag.fuse),
    ]
    assert len({json.dumps(identity(value)) for value in distinct}) == len(distinct)
    assert identity(math.nan) == identity(-math.nan)


def test_what_cannot_be_compared_has_no_key(little: KnowledgeBase) -> None:
    class Table(dict[str, int]):
        run_version = "1"

    class Slots:
        __slots__ = ("value",)
        run_version = "1"

    nested: list[Any] = []
    nested.append(nested)
    for value in ((n for n in "ab"), threading.Lock(), sys.stdout, Table(), Slots()):
        with pytest.raises(NoKeyError):
            identity(Versioned(little, value))
    with pytest.raises(NoKeyError, match="sqrt"):
        identity(math.sqrt)
    with pytest.raises(NoKeyError, match="deep"):
        run_key(Versioned(little, nested), 5)


def test_a_replaced_member_of_the_package_is_named_and_nothing_is_stored(
    little: KnowledgeBase, data: QADataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = BM25(little)
    assert stored(system, data) == 0
    constant = next(
        name
        for name, value in vars(bm25).items()
        if name.isupper() and isinstance(value, str)
    )
    for owner, name, value in (
        (BM25, "retrieve_batch", Mine.retrieve_batch),
        (BM25, "__call__", lambda _: None),
        (BM25, "steps", property(lambda _: ())),
        (bm25, "LexicalSettings", Mine),
        (bm25, constant, "another"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, value, raising=False)
            (member,) = replaced_members()
            assert member.endswith(f"bm25.{'BM25.' * (owner is BM25)}{name}")
            with pytest.raises(NoKeyError, match=member):
                run_key(system, 5)
    assert stored(system, data) == 3


def test_nothing_is_replaced_in_the_package_as_it_is() -> None:
    for module in pkgutil.walk_packages(kg2rag.__path__, "kg2rag."):
        importlib.import_module(module.name)
    assert list(replaced_members()) == []


EDIT = """
from pathlib import Path
import kg2rag
data = kg2rag.from_frames([{"id": "a", "text": "b"}], [{"id": "q", "question": "b", "gold": ["a"]}])
kb = kg2rag.KnowledgeBase.build(data.corpus, store=kg2rag.Store("store"))
Path("kg2rag/retrievers/bm25.py").open("a").write("# edited")
from kg2rag.evaluation.runs import run
print(run(kg2rag.BM25(kb), data, 1, progress=False).not_cached)
"""


def test_a_file_of_the_package_that_was_edited_after_the_import_is_named(
    tmp_path: Path,
) -> None:
    shutil.copytree(PACKAGE, tmp_path / "kg2rag")
    process = subprocess.run(
        [sys.executable, "-c", EDIT],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "kg2rag/retrievers/bm25.py" in process.stdout, process.stderr
