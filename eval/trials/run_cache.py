"""Trials of the run cache: when the hits of a strategy change, for any reason, its score must change."""

from __future__ import annotations

import csv
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

from harness import expect, step, trial, write

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
    "an imported helper": (
        {
            **mine("right()", head="from scoring import right"),
            "scoring.py": "def right(): return True",
        },
        {"scoring.py": "def right(): return False"},
    ),
    "a data file": (
        {**mine('open("right.txt").read() == "yes"'), "right.txt": "yes"},
        {"right.txt": "no"},
    ),
    "whether a file exists": (
        {**mine('os.path.exists("right.txt")', head="import os"), "right.txt": "yes"},
        {
            "make.py": "import os\nos.path.exists('right.txt') and os.remove('right.txt')"
        },
    ),
    "a monkeypatched method": (
        {**mine("self.right()", field="def right(self): return True\n"), "make.py": ""},
        {"make.py": "from mine import Mine\nMine.right = lambda self: False"},
    ),
    "a method of ours that is monkeypatched": (
        {"mine.py": "from kg2rag import BM25 as Mine", "make.py": ""},
        {
            "make.py": "import kg2rag\nbefore = kg2rag.BM25.retrieve_batch\nkg2rag.BM25.retrieve_batch = lambda self, "
            "queries, k: before(self, [kg2rag.Query(query.id, 'xyzzy', query.candidates) for query in queries], k)"
        },
    ),
    "the version of its class": (
        mine("True", field="run_version = '1'"),
        mine("False", field="run_version = '2'"),
    ),
    "a parameter beside its version": (
        mine("self.right", field="run_version = '1'; right: bool = True"),
        {"make.py": "from mine import Mine\nMine.__init__.__defaults__ = (False,)"},
    ),
    "a file that is a parameter": (
        {
            **mine(
                'open(self.path).read() == "yes"',
                field="run_version = '1'; path: str = 'right.txt'",
            ),
            "right.txt": "yes",
        },
        {"right.txt": "no"},
    ),
}
MAKES: dict[str, tuple[str, str]] = {
    "an instance attribute": ("put(Mine(kb), True)", "put(Mine(kb), False)"),
    "a lambda": ("Mine(kb, lambda: True)", "Mine(kb, lambda: False)"),
    "a functools.partial": ("Mine(kb, partial(bool, 1))", "Mine(kb, partial(bool, 0))"),
    "a bound method": ("Mine(kb, Holder(True).right)", "Mine(kb, Holder(False).right)"),
    "a callable object": ("Mine(kb, (Called(True),))", "Mine(kb, (Called(False),))"),
}
OBJECTS = (
    HEAD
    + """
from functools import partial
class Holder:
    run_version = "1"
    def __init__(self, value): self.value = value
    def right(self): return self.value
class Called(Holder):
    def __call__(self): return self.value
    def __repr__(self): return "Called()"
def put(system, value):
    object.__setattr__(system, "hidden", value)
    return system
@dataclass(frozen=True)
class Mine(Retriever):
    kb: KnowledgeBase = field(repr=False)
    _call: object = field(default=True, repr=False)
    run_version = "1"
    def right(self):
        call = getattr(self, "hidden", self._call)
        call = call[0] if isinstance(call, tuple) else call
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
def a_class_with_a_version_is_read_from_the_store() -> None:
    """The cache must still be one: as long as the version is the same, the class is not run."""
    write(mine("True", field="run_version = '1'"))
    expect(step(module_score), 1.0)
    write(mine("False", field="run_version = '1'"))
    expect(step(module_score), 1.0)
