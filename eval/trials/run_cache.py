"""Trials of the run cache: when the hits of a strategy change, for any reason, its score must change."""

from __future__ import annotations

import csv
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

from harness import SILENT, Finding, expect, step, trial, write

POINT = "1 run cache"
HEAD = """
from collections.abc import Sequence
from dataclasses import dataclass, field
from kg2rag import BM25, KnowledgeBase, Query, Retriever
"""
CLASS = """
@dataclass(frozen=True)
class Mine(Retriever):
    kb: KnowledgeBase = field(repr=False)
    {field}
    def retrieve_batch(self, queries, k):
        asked = [Query(query.id, query.text if {right} else "xyzzy", query.candidates) for query in queries]
        return BM25(self.kb).retrieve_batch(asked, k)
"""


def mine(
    right: str, *, head: str = "", field: str = "", name: str = "mine.py"
) -> dict[str, str]:
    """A module with a strategy that finds the gold if the expression `right` is true, and nothing if not."""
    return {name: HEAD + head + CLASS.format(right=right, field=field)}


WAYS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "its own code": (mine("True"), mine("False")),
    "a constant of its module": (
        mine("RIGHT", head="RIGHT = True"),
        mine("RIGHT", head="RIGHT = False"),
    ),
    "an imported helper": (
        {
            **mine("right()", head="from scoring import right"),
            "scoring.py": "def right(): return True",
        },
        {"scoring.py": "def right(): return False"},
    ),
    "a helper of the helper": (
        {
            **mine("right()", head="from scoring import right"),
            "scoring.py": "from deeper import right",
            "deeper.py": "def right(): return True",
        },
        {"deeper.py": "def right(): return False"},
    ),
    "a module beside it in a package": (
        {
            "own/__init__.py": "from own.strategy import Mine",
            **mine("right()", head="from .order import right", name="own/strategy.py"),
            "own/order.py": "def right(): return True",
            "mine.py": "from own import Mine",
        },
        {"own/order.py": "def right(): return False"},
    ),
    "a namespace package": (
        {
            **mine("right()", head="from spaced.order import right"),
            "spaced/order.py": "def right(): return True",
        },
        {"spaced/order.py": "def right(): return False"},
    ),
    "an import within a function": (
        {**mine('__import__("late").RIGHT'), "late.py": "RIGHT = True"},
        {"late.py": "RIGHT = False"},
    ),
    "a module named by a text": (
        {
            **mine(
                'importlib.import_module("la" + "te").RIGHT', head="import importlib"
            ),
            "late.py": "RIGHT = True",
        },
        {"late.py": "RIGHT = False"},
    ),
    "a base class elsewhere": (
        {
            **mine(
                "self.right()", field="def right(self): return True\n", name="based.py"
            ),
            "mine.py": "from based import Mine as Based\nclass Mine(Based): pass",
        },
        mine("self.right()", field="def right(self): return False\n", name="based.py"),
    ),
    "a decorator of a helper": (
        {
            **mine(
                "right()",
                head="from wrap import wrapped\n@wrapped\ndef right(): return True",
            ),
            "wrap.py": "def wrapped(function): return function",
        },
        {"wrap.py": "def wrapped(function): return lambda: not function()"},
    ),
    "a data file read at import": (
        {
            **mine("RIGHT", head='RIGHT = open("right.txt").read() == "yes"'),
            "right.txt": "yes",
        },
        {"right.txt": "no"},
    ),
    "a data file read for each query": (
        {**mine('open("right.txt").read() == "yes"'), "right.txt": "yes"},
        {"right.txt": "no"},
    ),
    "a data file read by pathlib": (
        {
            **mine(
                'Path("right.txt").read_text() == "yes"',
                head="from pathlib import Path",
            ),
            "right.txt": "yes",
        },
        {"right.txt": "no"},
    ),
    "a data file read by os.open": (
        {
            **mine('os.read(os.open("right.txt", 0), 3) == b"yes"', head="import os"),
            "right.txt": "yes",
        },
        {"right.txt": "no"},
    ),
    "a Parquet file that Arrow opens itself": (
        {
            **mine(
                'pq.read_table("right.parquet")["right"][0].as_py()',
                head="import pyarrow.parquet as pq",
            ),
            "make.py": "import pyarrow as pa, pyarrow.parquet as pq\npq.write_table(pa.table({'right': [True]}), "
            "'right.parquet')",
        },
        {
            "make.py": "import pyarrow as pa, pyarrow.parquet as pq\npq.write_table(pa.table({'right': [False]}), "
            "'right.parquet')"
        },
    ),
    "a table of sqlite": (
        {
            **mine(
                'sqlite3.connect("right.db").execute("SELECT r FROM t").fetchone()[0]',
                head="import sqlite3",
            ),
            "make.py": "import sqlite3\nwith sqlite3.connect('right.db') as db: db.execute('CREATE TABLE t AS SELECT "
            "1 AS r')",
        },
        {
            "make.py": "import sqlite3\nwith sqlite3.connect('right.db') as db: db.execute('UPDATE t SET r = 0')"
        },
    ),
    "whether a file exists": (
        {**mine('os.path.exists("right.txt")', head="import os"), "right.txt": "yes"},
        {
            "make.py": "import os\nos.path.exists('right.txt') and os.remove('right.txt')"
        },
    ),
    "the files of a folder": (
        {
            **mine('"right.txt" in os.listdir(".")', head="import os"),
            "right.txt": "yes",
        },
        {
            "make.py": "import os\nos.path.exists('right.txt') and os.remove('right.txt')"
        },
    ),
    "what a program prints": (
        {
            **mine(
                'subprocess.run(["cat", "right.txt"], capture_output=True).stdout == b"yes"',
                head="import subprocess",
            ),
            "right.txt": "yes",
        },
        {"right.txt": "no"},
    ),
    "a mutable class attribute": (
        {**mine("self.state[0]", field="state = [True]"), "make.py": ""},
        {"make.py": "from mine import Mine\nMine.state[0] = False"},
    ),
    "a monkeypatched method": (
        {**mine("self.right()", field="def right(self): return True\n"), "make.py": ""},
        {"make.py": "from mine import Mine\nMine.right = lambda self: False"},
    ),
    "a monkeypatched helper": (
        {
            **mine("scoring.right()", head="import scoring"),
            "scoring.py": "def right(): return True",
            "make.py": "",
        },
        {"make.py": "import scoring\nscoring.right = lambda: False"},
    ),
    "a global that is set": (
        {**mine("STATE['right']", head="STATE = {'right': True}"), "make.py": ""},
        {"make.py": "import mine\nmine.STATE['right'] = False"},
    ),
    "a method of ours that is monkeypatched": (
        {**mine("True"), "make.py": ""},
        {
            "make.py": "import kg2rag\nbefore = kg2rag.BM25.retrieve_batch\nkg2rag.BM25.retrieve_batch = lambda self, "
            "queries, k: before(self, [kg2rag.Query(query.id, 'xyzzy', query.candidates) for query in queries], k)"
        },
    ),
}
MAKES: dict[str, tuple[str, str]] = {
    "an underscore field": ("Mine(kb, True)", "Mine(kb, False)"),
    "an instance attribute": ("put(Mine(kb), True)", "put(Mine(kb), False)"),
    "a lambda": ("Mine(kb, lambda: True)", "Mine(kb, lambda: False)"),
    "a functools.partial": ("Mine(kb, partial(bool, 1))", "Mine(kb, partial(bool, 0))"),
    "a closure": ("Mine(kb, closed(True))", "Mine(kb, closed(False))"),
    "a bound method": ("Mine(kb, Holder(True).right)", "Mine(kb, Holder(False).right)"),
    "a class that a function made": ("made(True)(kb)", "made(False)(kb)"),
    "a default that is mutable": (
        "Mine(kb, lambda state=[True]: state[0])",
        "Mine(kb, lambda state=[False]: state[0])",
    ),
    "a callable object": ("Mine(kb, Called(True))", "Mine(kb, Called(False))"),
    "a part inside a tuple": (
        "Mine(kb, parts=(Called(True),))",
        "Mine(kb, parts=(Called(False),))",
    ),
}
OBJECTS = (
    HEAD
    + """
from functools import partial
class Holder:
    def __init__(self, value): self.value = value
    def right(self): return self.value
class Called:
    def __init__(self, value): self.value = value
    def __call__(self): return self.value
    def __repr__(self): return "Called()"
def closed(value):
    def right(): return value
    return right
def put(system, value):
    object.__setattr__(system, "hidden", value)
    return system
def made(value):
    class Made(Mine):
        def right(self): return value
    return Made
@dataclass(frozen=True)
class Mine(Retriever):
    kb: KnowledgeBase = field(repr=False)
    _call: object = field(default=True, repr=False)
    parts: tuple = ()
    def right(self):
        call = self.parts[0] if self.parts else getattr(self, "hidden", self._call)
        return call() if callable(call) else call
    def retrieve_batch(self, queries, k):
        asked = [Query(query.id, query.text if self.right() else "xyzzy", query.candidates) for query in queries]
        return BM25(self.kb).retrieve_batch(asked, k)
"""
)


def score(build: Callable[[object], object]) -> float:
    """The mean recall of a strategy in a comparison, from the table that is saved."""
    import kg2rag

    corpus = [
        {"id": str(i), "text": f"the {word} of the castle"}
        for i, word in enumerate(["river", "bridge", "abbey"])
    ]
    data = kg2rag.from_frames(
        corpus, [{"id": "q", "question": "the bridge", "gold": ["1"]}]
    )
    kb = kg2rag.KnowledgeBase.build(
        data.corpus, embedder=lambda texts: [[float(len(text)), 1.0] for text in texts]
    )
    kg2rag.compare(
        {"mine": build(kb)}, data, metrics=["recall@1"], baseline="mine"
    ).save(Path(f"out-{os.getpid()}"))
    with Path(f"out-{os.getpid()}", "scores.csv").open() as table:
        (row,) = csv.DictReader(table)
    return float(row["mean"])


def module_score() -> float:
    """The score of mine:Mine, after make.py was run."""
    sys.path.insert(0, str(Path.cwd()))
    importlib.invalidate_caches()
    sys.dont_write_bytecode = True
    if Path("make.py").exists():
        importlib.import_module("make")
    return score(importlib.import_module("mine").Mine)


@trial(POINT, *WAYS)
def a_result_depends_on(way: str) -> None:
    """A first run, a change, and a second run in another process."""
    before, after = WAYS[way]
    write(before)
    expect(step(module_score), 1.0, about="first run")
    write(after)
    expect(step(module_score), 0.0)


@trial(POINT, *MAKES)
def a_result_depends_on_an_object(way: str) -> None:
    """The same with a strategy that is made in another way, in one process as in a notebook."""
    write({"mine.py": OBJECTS})

    def both() -> list[float]:
        names = vars(importlib.import_module("mine"))
        return [
            score(lambda kb, text=text: eval(text, dict(names, kb=kb)))
            for text in MAKES[way]
        ]

    sys.dont_write_bytecode = True
    expect(step(both), [1.0, 0.0])


@trial(POINT)
def a_notebook_cell_is_run_again_with_another_body() -> None:
    """A class of `__main__` without a file, defined twice."""

    def both() -> list[float]:
        scores = []
        for right in ("True", "False"):
            names = {"__name__": "__main__"}
            exec(
                compile(HEAD + CLASS.format(right=right, field=""), "<cell>", "exec"),
                names,
            )
            scores.append(score(names["Mine"]))
        return scores

    expect(step(both), [1.0, 0.0])


@trial(POINT)
def an_environment_variable() -> None:
    """Read when a query is answered."""
    write(mine('os.environ.get("RIGHT") == "yes"', head="import os"))
    expect(step(module_score, RIGHT="yes"), 1.0)
    expect(step(module_score, RIGHT="no"), 0.0)


@trial(POINT)
def an_unchanged_strategy_is_read_from_the_store() -> None:
    """The cache must still be one: a pure strategy that counts its calls in a file it never reads is called once."""
    write(mine("True"))
    expect(step(module_score), 1.0)
    entries = sum(1 for _ in Path(".store").rglob("*.parquet"))
    if not entries:
        raise Finding(SILENT, "a pure strategy of a user's module is not kept")
