"""Answers of several systems side by side; the model is a server on loopback that reads its context."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from llm_server import ChatServer, never, serving

from kg2rag import BM25, ChatModel, KnowledgeBase, Reader, Recorded, from_frames
from kg2rag.compute import Store
from kg2rag.llm.compare_answers import compare_answers
from kg2rag.types import QADataset

from word_embedder import WordEmbedder  # isort: skip

PASSAGES = pd.DataFrame(
    [("kiln", "The kiln", "The kiln was built by Ida."), ("ida", "Ida", "Ida learned from Tam."), ("t", "Tam", "Tam.")],
    columns=["id", "title", "text"],
)
QUESTIONS = pd.DataFrame(
    {
        "id": ["q1", "q2"],
        "text": ["Who built the kiln?", "Who taught Ida?"],
        "gold": [["kiln"], ["ida"]],
        "answers": [["Ida"], ["Tam"]],
    }
)


def reply(prompt: str) -> str:
    """The last word of the text of the first passage, or that it knows nothing."""
    found = re.search(r"^\[1\] [^\n]*\n[^\n]*\n([^\n]*)", prompt, re.MULTILINE)
    return found.group(1).rstrip(".").split()[-1] if found else "nothing"


@pytest.fixture
def data() -> QADataset:
    return from_frames(PASSAGES, QUESTIONS, name="pottery")


@pytest.fixture
def kb(data: QADataset, tmp_path: Path) -> KnowledgeBase:
    return KnowledgeBase.build(data.corpus, embedder=WordEmbedder(), store=Store(tmp_path / "store"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving(reply, never) as running:
        yield running


def model(server: ChatServer, kb: KnowledgeBase) -> ChatModel:
    return ChatModel(server.url, "tiny", api_key_env=None, store=kb.store)


def test_each_system_s_contexts_are_answered_and_scored(data, kb, server, tmp_path: Path) -> None:
    worse = Recorded(data.corpus, {"q1": [("t", 1.0)], "q2": [("ida", 1.0)]})
    systems = {"bm25": BM25(kb), "worse": worse}
    found = compare_answers(systems, data, kb, Reader(model(server, kb)), k=1, tokens=100, graph_tokens=0)
    assert found.table["em"].to_dict() == {"bm25": 1.0, "worse": 0.5}
    assert found.table["questions"].tolist() == [2, 2]
    assert found.answers["worse"].texts == {"q1": "Tam", "q2": "Tam"}
    found.save(tmp_path / "out")
    kept = pd.read_parquet(tmp_path / "out" / "answers.parquet")
    assert kept[["system", "query_id", "em"]].to_numpy().tolist() == [
        ["bm25", "q1", 1.0],
        ["bm25", "q2", 1.0],
        ["worse", "q1", 0.0],
        ["worse", "q2", 1.0],
    ]
    contexts = pd.read_parquet(tmp_path / "out" / "contexts.parquet")
    assert contexts["context"].tolist() == [c.text for name in systems for c in found.contexts[name]]
    assert [json.loads(one)["citations"][0]["passage_id"] for one in contexts["json"]] == ["kiln", "ida", "t", "ida"]
    assert json.loads(contexts["json"][0])["graph_context"] == {"entities": [], "relationships": [], "chains": []}
    assert pd.read_csv(tmp_path / "out" / "answers.csv", index_col="system")["em"].tolist() == [1.0, 0.5]


def test_a_failed_answer_is_counted_and_the_table_is_over_what_all_answered(data, kb, monkeypatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def fault(prompt: str, before: int) -> str | None:
        return "empty" if "Who built" in prompt and "Tam." in prompt else None

    with serving(reply, fault) as server:
        worse = Recorded(data.corpus, {"q1": [("t", 1.0)], "q2": [("ida", 1.0)]})
        reader = Reader(model(server, kb))
        found = compare_answers({"bm25": BM25(kb), "worse": worse}, data, kb, reader, k=1, tokens=100, graph_tokens=0)
    assert found.common == ["q2"]
    assert found.table["failed"].to_dict() == {"bm25": 0, "worse": 1}
    assert found.table["questions"].tolist() == [1, 1]
    assert "failed" in repr(found)
    assert "<table" in found._repr_html_()


def test_a_set_without_answers_and_no_system_are_refused_before_any_work(data, kb, server) -> None:
    blank = from_frames(PASSAGES, QUESTIONS.drop(columns="answers"), name="pottery")
    with pytest.raises(ValueError, match=r"pottery: 2 of 2 .*'q1'"):
        compare_answers({"bm25": BM25(kb)}, blank, kb, Reader(model(server, kb)))
    with pytest.raises(ValueError, match="cannot name a file"):
        compare_answers({"../../x": BM25(kb)}, data, kb, Reader(model(server, kb)))
    with pytest.raises(ValueError, match="No system to compare"):
        compare_answers({}, data, kb, Reader(model(server, kb)))
    assert not server.requests
