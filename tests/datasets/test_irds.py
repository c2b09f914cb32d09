"""Sets by the names of ir_datasets, read by the real package from collections of our own that lie in files here."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import ir_datasets
import pytest
from ir_datasets.datasets.base import Dataset
from ir_datasets.formats import BaseDocs, BaseQueries, TrecQrels
from ir_datasets.util import LocalDownload
from typer.testing import CliRunner

from kg2rag import DataError
from kg2rag.cli import app
from kg2rag.datasets import describe, load

DOCS = "d1\tThe bridge crosses the river.\nd2\tThe abbey stands on a hill.\nd3\tThe canal joins the river.\n"
QUERIES = "q1\twhat crosses the river?\nq2\twhere is the abbey?\nq3\twho built it?\n"
QRELS = "q1 0 d1 2\nq1 0 d3 1\nq1 0 d2 0\nq2 0 d2 1\nq3 0 d1 -1\n"
Register = Callable[..., str]


@pytest.fixture
def register(tmp_path: Path) -> Iterator[Register]:
    """Register a collection of ir_datasets made of files, or of the objects given; the name under which it is."""
    made: list[str] = []

    def add(
        docs: Any = DOCS,
        queries: Any = QUERIES,
        qrels: str | None = QRELS,
        name: str = "kg2rag-test",
    ) -> str:
        parts: list[Any] = []
        files = {"docs": docs, "queries": queries, "qrels": qrels}
        given = {what: one for what, one in files.items() if isinstance(one, str)}
        for what, text in given.items():
            (tmp_path / f"{what}.tsv").write_text(text, encoding="utf-8")
        paths = {what: str(tmp_path / f"{what}.tsv") for what in given}
        parts += [
            one
            for one in (docs, queries)
            if one is not None and not isinstance(one, str)
        ]
        tables = {
            f"{what}_tsv": paths[what] for what in ("docs", "queries") if what in paths
        }
        if "qrels" in paths:
            parts.append(TrecQrels(LocalDownload(paths["qrels"]), {}))
        ir_datasets.registry.register(
            name, Dataset(ir_datasets.create_dataset(**tables), *parts)
        )
        made.append(name)
        return f"irds:{name}"

    yield add
    for name in made:
        del ir_datasets.registry._registered[name]


class Article(NamedTuple):
    """A document with a title, as BEIR's in ir_datasets."""

    doc_id: str
    text: str
    title: str | None

    def default_text(self) -> str:
        return f"{self.title} {self.text}"


class Picture(NamedTuple):
    """A document without any text."""

    doc_id: str
    pixels: bytes


class Topic(NamedTuple):
    """A query whose text is not called so."""

    query_id: str
    narrative: str

    def default_text(self) -> str:
        return self.narrative


class Docs(BaseDocs):  # type: ignore[misc]
    def __init__(self, rows: list[Any]) -> None:
        self.docs_iter = lambda: iter(rows)


class Queries(BaseQueries):  # type: ignore[misc]
    def __init__(self, rows: list[Any]) -> None:
        self.queries_iter = lambda: iter(rows)


def test_grades_texts_and_order_are_those_of_the_collection(register: Register) -> None:
    data = load(register(name="kg2rag-test/one"))
    assert data.name == "irds-kg2rag-test-one"
    assert (data.source["irds"], data.source["ir_datasets"]) == (
        "kg2rag-test/one",
        ir_datasets.__version__,
    )
    left_out = [
        "judgements below 1 left out",
        "queries without a relevant document in this split left out",
    ]
    assert data.source["notes"] == dict(zip(left_out, (2, 1), strict=True))
    assert data.qrels == {"q1": {"d1": 2, "d3": 1}, "q2": {"d2": 1}}
    assert [question.text for question in data.questions] == [
        "what crosses the river?",
        "where is the abbey?",
    ]
    first = data.corpus[0]
    assert (first.id, first.title, first.text) == (
        "d1",
        "",
        "The bridge crosses the river.",
    )


def test_a_title_stays_a_title_and_one_alone_serves_as_text(register: Register) -> None:
    rows = [
        Article("d1", "It crosses the river.", "Bridge"),
        Article("d2", "", "Abbey"),
        Article("d3", "A canal.", None),
    ]
    topics = Queries([Topic("q1", "what crosses?"), Topic("q2", "where?")])
    data = load(
        register(
            docs=Docs(rows), queries=topics, qrels="q1 0 d1 1\nq2 0 d2 1\nq9 0 d1 1\n"
        )
    )
    assert [question.text for question in data.questions] == ["what crosses?", "where?"]
    assert data.source["notes"]["judgements of queries without text left out"] == 1  # type: ignore[index]
    titled = [("Bridge", "It crosses the river."), ("", "Abbey"), ("", "A canal.")]
    assert [(each.title, each.text) for each in data.corpus] == titled
    assert (
        data.source["notes"]["documents without text, their title serves as text"] == 1
    )  # type: ignore[index]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"docs": "d1\ta\nd2\tb\nd1\tc\n"}, r"document 3 \('d1'\)"),
        ({"docs": "\ta\n"}, "document 1"),
        ({"queries": "q1\ta\nq1\tb\n"}, r"query 2 \('q1'\)"),
        ({"queries": "q1\t \n"}, r"query 1 \('q1'\)"),
        ({"qrels": "q1 0 d9 1\n"}, "judgement 1: 'd9'.*'q1'"),
        ({"qrels": "q1 0 d1 0\n"}, "3 queries"),
        (
            {"qrels": "q1 0 d1 1\nq1 1 d1 2\n"},
            "judgement 2: 'q1' and 'd1' are judged twice, 1 and 2",
        ),
        ({"qrels": "q1 d1 1\n"}, "ir_datasets"),
        ({"docs": Docs([Picture("d1", b"")])}, r"document 1 \('d1'\).*pixels"),
        ({"docs": Docs([])}, "no record"),
    ],
)
def test_a_wrong_record_names_the_set_and_itself(
    register: Register, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        load(register(**given))


def test_what_is_unknown_or_the_packages_to_decide_is_refused_and_without_it_the_extra_is_named(
    register: Register, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for asked, message in {
        "irds:vaswanni": "Did you mean 'irds:vaswani'",
        "irds:": "'irds:'",
    }.items():
        with pytest.raises(ValueError, match=message):
            load(asked)
    with pytest.raises(ValueError, match="irds:kg2rag-test/bare"):
        load(register(qrels=None, name="kg2rag-test/bare"))
    name = register()
    for option, value in {
        "path": tmp_path,
        "setting": "distractor",
        "revision": "main",
        "split": "test",
    }.items():
        with pytest.raises(ValueError, match=option):
            load(name, **{option: value})  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(ImportError, match=r"pip install 'kg2rag\[irds\]'"):
        load("irds:vaswani")


def test_what_cannot_be_downloaded_is_a_connection_error_that_says_what_to_do(
    register: Register,
) -> None:
    class Unreachable(BaseDocs):  # type: ignore[misc]
        def docs_iter(self) -> Iterator[Any]:
            raise RuntimeError("All download sources failed")

    with pytest.raises(ConnectionError, match=r"ir-datasets.com.*'bundled'"):
        load(register(docs=Unreachable()))


def test_it_is_described_and_compared(
    register: Register, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name, other = register(name="kg2rag-test/dev"), register(name="kg2rag-test/test")
    assert describe(name)["licence"] == "each set its own"
    arguments = ["compare", name, other, "--systems", "bm25", "--metrics", "recall@5"]
    assert CliRunner().invoke(app, arguments, catch_exceptions=False).exit_code == 0
    folder = tmp_path / "reports" / "irds-kg2rag-test-dev+irds-kg2rag-test-test"
    about = json.loads((folder / "irds-kg2rag-test-dev" / "config.json").read_text())[
        "data"
    ]
    assert (about["source"]["loader"], about["source"]["ir_datasets"]) == (
        name,
        ir_datasets.__version__,
    )
