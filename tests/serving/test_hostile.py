"""Text that attacks, in every field of what is saved: served, opened in a real Chromium, nothing runs or leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from attacks import Visited, browser, dom, running, visited
from starlette.testclient import TestClient

import kg2rag
from kg2rag.evaluation.comparison import Comparison
from kg2rag.retrievers.contract import Retriever
from kg2rag.serving.app import application
from kg2rag.types import Corpus, Passage, QADataset, Query, Question, Ranking, Triple, rank

FOLDER = "a&b'c\"<b>"


@dataclass(frozen=True)
class Hostile(Retriever):
    """Returns every passage, over a path, with a note and a stage, all of them attacks."""

    texts: tuple[str, ...]
    ids: tuple[str, ...]
    turn: int = 0

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        rows = np.roll(np.arange(len(self.texts)), self.turn)
        scores = -np.arange(len(rows), dtype=float)
        paths = {i: (Triple(text, f"{text} of", f"{text} too", self.ids[i]),) for i, text in enumerate(self.texts)}
        parts = {self.texts[0]: scores}
        notes = {text: text for text in self.texts}
        return [
            rank(
                query.id,
                rows,
                scores,
                list(self.ids),
                k,
                stages=(self.texts[0],),
                score_parts=parts,
                paths=paths,
                metadata=notes,
            )
            for query in queries
        ]


@pytest.fixture(scope="module")
def noting() -> Iterator[Visited]:
    with visited() as running:
        yield running


@pytest.fixture(scope="module")
def hostile(noting: Visited, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison whose ids, titles, texts, questions, types, answers, entities, stages, notes and config attack."""
    attacks, root = noting.attacks(), tmp_path_factory.mktemp("hostile")
    passages = [Passage(f"p{i} {text}", text, f"{text} text", f"d{i}", 0) for i, text in enumerate(attacks)]
    questions = tuple(
        Question(f"q{i} {text}", f"{text}?", {passages[i].id: 1}, answers=(text,), type=text[:24], hops=i)
        for i, text in enumerate(attacks)
    )
    data = QADataset(attacks[0], Corpus.from_passages(passages), questions)
    systems = {name: Hostile(tuple(attacks), tuple(data.corpus.ids), turn) for name, turn in (("a", 0), ("b", 3))}
    result = kg2rag.compare(systems, data, metrics=["recall@2"], baseline="a", command=attacks[2], progress=False)
    result.save(root / FOLDER)
    result.save(root / f"{FOLDER} again")
    damaged = root / f"{FOLDER} damaged"
    damaged.mkdir()
    (damaged / "unfinished.json").write_text("[]")
    (root / "sweep").mkdir()
    (root / "sweep" / "sweep.json").write_text(f'{{"identity": {{}}, "{attacks[2][:3]}": 1}}')
    return root


@pytest.fixture(scope="module")
def served(hostile: Path) -> Iterator[str]:
    """The address of a real server of it."""
    with running(application(hostile)) as address:
        yield address


def addresses(hostile: Path) -> dict[str, str]:
    first = Comparison.load(hostile / FOLDER).rankings["a"][0].query_id
    asked = {
        "list": ("", {}),
        "comparison": ("comparison", {}),
        "questions": ("questions", {"words": "<script>"}),
        "question": ("question", {"id": first, "hits": 10}),
        "changes": ("changes", {"a": FOLDER, "left": "a", "right": "b", "id": first}),
        "beside": ("beside", {"at": [FOLDER, f"{FOLDER} again"]}),
        "problem": ("questions", {"metric": "<script>alert(1)</script>"}),
        "report": ("report", {}),
    }
    return {name: f"/{path}?{urlencode({'at': FOLDER, **more}, doseq=True)}" for name, (path, more) in asked.items()}


PAGES = ("list", "comparison", "questions", "question", "changes", "beside", "problem", "report")


@browser
@pytest.mark.parametrize("name", PAGES)
def test_no_script_runs_and_no_request_leaves(
    name: str, hostile: Path, served: str, noting: Visited, tmp_path: Path
) -> None:
    noting.paths.clear()
    document = dom(f"{served}{addresses(hostile)[name]}", tmp_path)
    assert 'data-attacked="yes"' not in document.split(">", 2)[1]
    assert "</main>" in document or len(document) > 10_000
    assert noting.paths == []


@browser
def test_a_question_is_open_in_chromium_with_hits_gold_and_a_drawing(
    hostile: Path, served: str, tmp_path: Path
) -> None:
    document = dom(f"{served}{addresses(hostile)['question']}", tmp_path)
    assert document.count('<tr class="is-gold">') == 2
    assert document.count('<figure class="kg2rag-paths">') == 2
    assert document.count('class="rank"') == 20


@pytest.mark.parametrize("name", PAGES[:-1])
def test_every_text_is_escaped(name: str, hostile: Path) -> None:
    page = TestClient(application(hostile), base_url="http://localhost").get(addresses(hostile)[name]).text
    for tag in ("<script", "<img", "<iframe", "<b>damaged", "<meta http-equiv=refresh", 'onload="'):
        assert tag not in page


def test_a_table_for_a_spreadsheet_holds_no_formula(tmp_path: Path) -> None:
    corpus = Corpus.from_passages([Passage("p", "", "text", "d", 0)])
    data = QADataset("sums", corpus, (Question("=1+1", "@SUM(A1)", {"p": 1}, type="+2"),))
    system = kg2rag.Recorded(corpus, {"=1+1": [("p", 1.0)]})
    kg2rag.compare({"a": system}, data, metrics=["recall@1"], progress=False).save(tmp_path / "sums")
    table = TestClient(application(tmp_path), base_url="http://localhost").get("/export?at=sums").text
    assert table.splitlines()[1] == "'=1+1,'+2,unknown,'@SUM(A1),a,1.0"
