"""Whatever a ranking depends on makes another run or forbids to keep it: after every change the numbers are today's."""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kg2rag import BM25, KnowledgeBase
from kg2rag.evaluation.runs import Run, run
from kg2rag.retrievers import bm25
from kg2rag.retrievers.adapters.recorded import ScoreFunction
from kg2rag.retrievers.contract import Retriever
from kg2rag.types import QADataset, Question, Ranking

STRATEGY = """
from dataclasses import dataclass, field
from functools import cache
import os, random
from pathlib import Path
import numpy as np
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.contract import Retriever
from kg2rag.types import Ranking
{top}

{decorator}
@dataclass(frozen=True)
class Mine(Retriever):
    kb: KnowledgeBase
    {field}

    def retrieve_batch(self, queries, k):
        {body}
        rows = np.arange(len(self.kb.corpus))
        return [Ranking.from_scores(query.id, rows, factor * rows, self.kb.corpus.ids).top(k) for query in queries]
"""


def strategy(body: str, top: str = "", field: str = "", decorator: str = "") -> str:
    """The source of a strategy that ranks by `factor`, which the body sets: 1 and -1 give opposite orders."""
    return STRATEGY.format(body=body, top=top, field=field, decorator=decorator)


@pytest.fixture
def little(kb_of: Callable[..., KnowledgeBase]) -> KnowledgeBase:
    return kb_of(*((f"Title {i}", f"Text {i}.") for i in range(9)))


@pytest.fixture
def data(little: KnowledgeBase) -> QADataset:
    return QADataset(
        "little",
        little.corpus,
        tuple(Question(f"q{i}", f"Text {i}?", {"p1": 1}) for i in range(3)),
    )


@pytest.fixture
def project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Mapping[str, str]], Any]]:
    """Writes a project's files and imports its module `mine` as a new process would."""
    folder = tmp_path / "project"
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.chdir(tmp_path)

    def forget() -> None:
        for name, module in list(sys.modules.items()):
            spec = getattr(module, "__spec__", None)
            places = [
                str(getattr(spec, "origin", "")),
                *(getattr(spec, "submodule_search_locations", None) or ()),
            ]
            if any(str(place).startswith(str(folder)) for place in places):
                del sys.modules[name]
        importlib.invalidate_caches()

    def write(files: Mapping[str, str]) -> Any:
        forget()
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        return importlib.import_module("mine")

    yield write
    forget()


def ids(rankings: Any) -> list[list[str]]:
    return [ranking.passage_ids for ranking in rankings]


def checked(system: Any, data: QADataset) -> Run:
    """The run of a system, once its rankings were found to be those that the system gives now."""
    found = run(system, data, 5)
    assert ids(found.rankings) == ids(system.retrieve_batch(data.queries, 5))
    return found


HELPER = "def order(): return {0}"
FILES: dict[str, Callable[[int], dict[str, str]]] = {
    "the class itself": lambda n: {"mine.py": strategy(f"factor = {n}")},
    "an imported function": lambda n: {
        "mine.py": strategy("factor = order()", "from scoring import order"),
        "scoring.py": HELPER.format(n),
    },
    "a module's attribute": lambda n: {
        "mine.py": strategy("factor = scoring.ORDER", "import scoring"),
        "scoring.py": f"ORDER = {n}",
    },
    "what a helper imports": lambda n: {
        "mine.py": strategy("factor = order()", "from scoring import order"),
        "scoring.py": "from deep import order",
        "deep.py": HELPER.format(n),
    },
    "an import within a function": lambda n: {
        "mine.py": strategy("from scoring import order; factor = order()"),
        "scoring.py": HELPER.format(n),
    },
    "a relative import of a package": lambda n: {
        "mine.py": "from package.strategy import Mine",
        "package/__init__.py": "",
        "package/strategy.py": strategy(
            "factor = order()", "from .scoring import order"
        ),
        "package/scoring.py": HELPER.format(n),
    },
    "a package that hands a name on": lambda n: {
        "mine.py": strategy("factor = package.order()", "import package"),
        "package/__init__.py": "from .scoring import *",
        "package/scoring.py": HELPER.format(n),
    },
    "a package without __init__": lambda n: {
        "mine.py": strategy("factor = order()", "from package.scoring import order"),
        "package/scoring.py": HELPER.format(n),
    },
    "a base class": lambda n: {
        "mine.py": "from base import Mine as Base\nclass Mine(Base): pass",
        "base.py": strategy(f"factor = {n}"),
    },
    "a mixin": lambda n: {
        "mine.py": "from base import Mine as Base\nfrom mixin import Mixin\nclass Mine(Mixin, Base): pass",
        "base.py": strategy("factor = self.order()"),
        "mixin.py": f"class Mixin:\n    def order(self): return {n}",
    },
    "a decorator": lambda n: {
        "mine.py": strategy(
            "factor = self.order", "from marks import mark", decorator="@mark"
        ),
        "marks.py": f"def mark(cls):\n    cls.order = {n}\n    return cls",
    },
    "a default value": lambda n: {
        "mine.py": strategy(
            "factor = order()", f"def order(factor={n}): return factor"
        ),
    },
    "a mutable default": lambda n: {
        "mine.py": strategy(
            "factor = order()[0]", f"def order(found=[{n}]): return found"
        ),
    },
    "a class attribute": lambda n: {
        "mine.py": strategy("factor = self.ORDER", field=f"ORDER = {n}")
    },
    "a field with an underscore": lambda n: {
        "mine.py": strategy("factor = self._order", field=f"_order: int = {n}")
    },
    "what __post_init__ sets": lambda n: {
        "mine.py": strategy(
            "factor = self.order",
            "from scoring import start",
            "def __post_init__(self): object.__setattr__(self, 'order', start())",
        ),
        "scoring.py": f"def start(): return {n}",
    },
    "a property": lambda n: {
        "mine.py": strategy(
            "factor = self.order", field=f"order = property(lambda self: {n})"
        ),
    },
    "a module found by its name": lambda n: {
        "mine.py": strategy(
            "factor = getattr(scoring, 'or' + 'der')()", "import scoring"
        ),
        "scoring.py": HELPER.format(n),
    },
    "a table of functions": lambda n: {
        "mine.py": strategy("factor = ORDERS['a']()", "from scoring import ORDERS"),
        "scoring.py": f"ORDERS = {{}}\ndef add(name):\n    return lambda f: ORDERS.setdefault(name, f)\n"
        f"@add('a')\ndef order(): return {n}",
    },
    "an object of another class": lambda n: {
        "mine.py": strategy(
            "factor = ORDER.value()", "from scoring import Order\nORDER = Order(2)"
        ),
        "scoring.py": f"class Order:\n    def __init__(self, n): self.n = n\n    def value(self): return self.n * {n}",
    },
}


@pytest.mark.parametrize("change", FILES)
def test_code_of_ones_own_makes_another_run_wherever_it_lies(
    change: str, project: Any, little: KnowledgeBase, data: QADataset
) -> None:
    made = checked(project(FILES[change](1)).Mine(little), data)
    again = checked(project(FILES[change](1)).Mine(little), data)
    changed = checked(project(FILES[change](-1)).Mine(little), data)
    assert (made.n_stored, again.n_stored, changed.n_stored) == (0, 3, 0)
    assert made.not_cached == changed.not_cached == ""
    assert ids(made.rankings) != ids(changed.rankings)


def test_a_file_that_was_edited_but_not_imported_again_is_not_what_ran(
    project: Any, little: KnowledgeBase, data: QADataset, tmp_path: Path
) -> None:
    loaded = project(FILES["an imported function"](1)).Mine(little)
    (tmp_path / "project" / "scoring.py").write_text(HELPER.format(-1))
    old = checked(loaded, data)
    new = checked(project({}).Mine(little), data)
    assert ids(old.rankings) != ids(new.rankings)


OUTSIDE = {
    "an environment variable": (
        "factor = int(os.environ.get('ORDER', 1))",
        "environment",
    ),
    "an environment variable by getenv": (
        "factor = int(os.getenv('ORDER', 1))",
        "environment",
    ),
    "a file": ("factor = int(Path('order.json').read_text())", "order.json"),
    "a file by numpy": ("factor = int(np.loadtxt('order.json'))", "order.json"),
    "a file that is read once": (
        "factor = self.kb.cached('order', lambda: int(Path('order.json').read_text()))",
        "order.json",
    ),
    "the files of a folder": ("factor = 1 if 'a' in os.listdir('.') else -1", "folder"),
    "whether a file exists": ("factor = 1 if os.path.exists('flag') else -1", "flag"),
    "whether a path is a folder": (
        "factor = 1 if Path('flag').is_dir() else -1",
        "flag",
    ),
    "a Parquet file by Arrow": (
        "import pyarrow.parquet as pq; factor = pq.read_table('order.parquet')['order'][0].as_py()",
        "pyarrow.parquet",
    ),
    "a Parquet file by pandas": (
        "import pandas; factor = pandas.read_parquet('order.parquet')['order'][0]",
        "pandas",
    ),
    "random numbers": ("factor = np.random.choice([1, -1])", "random"),
    "random numbers of Python": ("factor = random.choice([1, -1])", "random"),
    "code in a text": ("factor = eval('1')", "eval"),
    "another program": (
        "import subprocess; factor = int(subprocess.check_output(['echo', '1']))",
        "program",
    ),
}


@pytest.mark.parametrize("source", OUTSIDE)
def test_what_is_read_from_outside_is_not_kept_and_says_why(
    source: str, project: Any, little: KnowledgeBase, data: QADataset, tmp_path: Path
) -> None:
    body, reason = OUTSIDE[source]
    (tmp_path / "order.json").write_text("1")
    pd.DataFrame({"order": [1]}).to_parquet(tmp_path / "order.parquet")
    system = project({"mine.py": strategy(body)}).Mine(little)
    for _ in range(2):
        found = run(system, data, 5)
        assert reason in found.not_cached
        assert found.n_stored == 0


def test_a_memo_of_a_file_is_not_kept_either(
    project: Any, little: KnowledgeBase, data: QADataset, tmp_path: Path
) -> None:
    (tmp_path / "order.json").write_text("1")
    files = {
        "mine.py": strategy(
            "factor = order()",
            "@cache\ndef order(): return int(Path('order.json').read_text())",
        )
    }
    mine = project(files)
    assert mine.order() == 1  # by hand, before anybody watched
    for _ in range(2):
        assert "order.json" in run(mine.Mine(little), data, 5).not_cached
    (tmp_path / "order.json").write_text("-1")
    checked(project(files).Mine(little), data)


def test_a_memo_without_a_file_is_kept(
    project: Any, little: KnowledgeBase, data: QADataset
) -> None:
    files = {
        "mine.py": strategy(
            "factor = order() * self.kb.cached('a', lambda: 1)",
            "@cache\ndef order(): return 1",
        )
    }
    mine = project(files)
    mine.Mine(little).retrieve_batch(data.queries, 5)
    assert [checked(mine.Mine(little), data).n_stored for _ in range(2)] == [0, 3]


def test_a_file_that_is_a_parameter_counts_by_its_content(
    project: Any, little: KnowledgeBase, data: QADataset, tmp_path: Path
) -> None:
    mine = project(
        {
            "mine.py": strategy(
                "factor = int(Path(self.path).read_text())", field="path: str = ''"
            )
        }
    )
    file = tmp_path / "order.json"
    file.write_text("1")
    assert [checked(mine.Mine(little, str(file)), data).n_stored for _ in range(2)] == [
        0,
        3,
    ]
    file.write_text("-1")
    found = checked(mine.Mine(little, str(file)), data)
    assert (found.n_stored, found.not_cached) == (0, "")


def test_a_cell_that_is_run_again_with_another_body_makes_another_run(
    little: KnowledgeBase, data: QADataset
) -> None:
    def cell(source: str) -> Any:
        namespace = {"__name__": "__main__"}
        exec(compile(source, "<ipython-input-1>", "exec"), namespace)
        return namespace["Mine"]

    made, changed = strategy("factor = 1"), strategy("factor = -1")
    assert [
        checked(cell(source)(little), data).n_stored for source in (made, made, changed)
    ] == [
        0,
        3,
        0,
    ]
    helper = strategy("factor = order()", "def order(): return {}")
    assert [
        checked(cell(helper.format(n))(little), data).n_stored for n in (1, 1, -1)
    ] == [0, 3, 0]


def test_functions_count_by_what_they_compute(
    little: KnowledgeBase, data: QADataset
) -> None:
    def closed(factor: int) -> Any:
        return lambda _, passage: factor * int(passage.id[1:])

    def given(factor: int, _: str, passage: Any) -> float:
        return float(factor * int(passage.id[1:]))

    class Called:
        def __init__(self, factor: int) -> None:
            self.factor = factor

        def __call__(self, _: str, passage: Any) -> float:
            return float(self.factor * int(passage.id[1:]))

    for make in (closed, lambda factor: functools.partial(given, factor), Called):
        assert [
            checked(ScoreFunction(little, make(n)), data).n_stored for n in (1, 1, -1)
        ] == [
            0,
            3,
            0,
        ]


ORDER = {"factor": 1}


@dataclass(frozen=True)
class Global(Retriever):
    """Ranks by a global of this module."""

    kb: KnowledgeBase = field(repr=False)

    def retrieve_batch(self, queries: Any, k: int) -> list[Ranking]:
        rows = np.arange(len(self.kb.corpus))
        return [
            Ranking.from_scores(
                query.id, rows, ORDER["factor"] * rows, self.kb.corpus.ids
            ).top(k)
            for query in queries
        ]


def test_a_global_that_was_changed_makes_another_run(
    little: KnowledgeBase, data: QADataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = checked(Global(little), data)
    monkeypatch.setitem(ORDER, "factor", -1)
    assert (first.n_stored, checked(Global(little), data).n_stored) == (0, 0)
    monkeypatch.setitem(ORDER, "factor", 1)
    assert checked(Global(little), data).n_stored == 3


def test_what_was_replaced_in_this_package_makes_another_run(
    little: KnowledgeBase, data: QADataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = checked(BM25(little), data)
    original = BM25.retrieve_batch

    def reversed_order(self: BM25, queries: Any, k: int) -> list[Ranking]:
        rows = np.arange(len(self.kb.corpus))
        return [
            Ranking.from_scores(query.id, rows, -1.0 * rows, self.kb.corpus.ids).top(k)
            for query in queries
        ]

    with monkeypatch.context() as patched:
        patched.setattr(BM25, "retrieve_batch", reversed_order)
        assert checked(BM25(little), data).n_stored == 0
        patched.setattr(
            BM25, "retrieve_batch", lambda self, queries, k: original(self, queries, k)
        )
        assert checked(BM25(little), data).n_stored == 0
    constant = next(
        name
        for name, value in vars(bm25).items()
        if name.isupper() and isinstance(value, str)
    )
    with monkeypatch.context() as patched:
        patched.setattr(bm25, constant, "another")
        assert checked(BM25(little), data).n_stored == 0
    assert (first.n_stored, checked(BM25(little), data).n_stored) == (0, 3)


def test_an_attribute_of_one_object_makes_another_run(
    little: KnowledgeBase, data: QADataset
) -> None:
    assert checked(BM25(little), data).n_stored == 0
    system = BM25(little)
    rows = np.arange(9)

    def fixed(queries: Any, k: int) -> list[Ranking]:
        return [
            Ranking.from_scores(query.id, rows, -1.0 * rows, little.corpus.ids).top(k)
            for query in queries
        ]

    object.__setattr__(system, "retrieve_batch", fixed)
    assert checked(system, data).n_stored == 0
    assert checked(BM25(little), data).n_stored == 3


def test_a_subclass_makes_another_run(little: KnowledgeBase, data: QADataset) -> None:
    class Mine(BM25):
        def retrieve_batch(self, queries: Any, k: int) -> list[Ranking]:
            return [ranking.top(1) for ranking in super().retrieve_batch(queries, k)]

    assert [
        checked(system, data).n_stored
        for system in (BM25(little), Mine(little), Mine(little))
    ] == [0, 0, 3]


def test_what_cannot_be_compared_is_run_each_time_and_named(
    little: KnowledgeBase, data: QADataset
) -> None:
    @dataclass(frozen=True)
    class Held(Global):
        held: Any = None

    numbers = (number for number in range(3))
    for held in (numbers, numbers.__next__, sys.stdout, threading.Lock()):
        for _ in range(2):
            found = run(Held(little, held), data, 5)
            assert type(getattr(held, "__self__", held)).__name__ in found.not_cached
            assert found.n_stored == 0
