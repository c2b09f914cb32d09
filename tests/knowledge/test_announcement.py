"""What models have to read is announced in one line before any work, without what the store has."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import numpy as np
import pytest

import kg2rag
from kg2rag import BM25, Dense, KnowledgeBase
from kg2rag.answers.context import context
from kg2rag.compute import Store
from kg2rag.evaluation import agreement
from kg2rag.experiments.sweep import Sweep
from kg2rag.knowledge import announcement
from kg2rag.knowledge.announcement import Workload, announce
from kg2rag.report.question_explanation import explain
from kg2rag.retrievers.rerankers import CrossEncoder, Rerank
from kg2rag.types import QADataset, Query, Question, Triple, corpus_of

NAMES = [f"Town{chr(97 + i // 10)}{chr(97 + i % 10)}" for i in range(40)]
CORPUS = corpus_of([f"{name} lies by the sea." for name in NAMES])
TRIPLES = [
    Triple(name, "next to", NAMES[i - 1], str(i)) for i, name in enumerate(NAMES)
]
QUESTIONS = tuple(
    Question(f"q{i}", f"Where does {NAMES[i]} lie?", {str(i): 1}) for i in range(4)
)
DATA = QADataset("towns", CORPUS, QUESTIONS, "pooled", "passage")


def letters(texts: list[str]) -> np.ndarray:
    """How often each letter stands in a text."""
    return np.array(
        [[text.lower().count(chr(97 + i)) + 0.01 for i in range(26)] for text in texts]
    )


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    return KnowledgeBase.build(CORPUS, TRIPLES, embedder=letters, store=Store(tmp_path))


@pytest.fixture(autouse=True)
def slow_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the clock is three seconds after the last one."""
    seconds = count(0, 3)
    monkeypatch.setattr(announcement.time, "perf_counter", lambda: next(seconds))


def announced(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [
        line for line in capsys.readouterr().err.splitlines() if "models need" in line
    ]


def test_all_parts_of_all_systems_are_announced_in_one_line_and_only_once(
    kb: KnowledgeBase, capsys: pytest.CaptureFixture[str]
) -> None:
    systems = {"dense": Dense(kb), "hippo2": kg2rag.systems.build("hippo2", kb)}
    kg2rag.compare(systems, DATA, metrics=["recall@1"], k=5)
    (line,) = announced(capsys)
    # Three seconds for 19 of 40 texts, three times: 3 · 40 / 19 · 3.
    assert all(
        part in line
        for part in ("towns", "40 passages", "40 phrases", "40 facts", "19 seconds")
    )
    kg2rag.compare(systems, DATA, metrics=["recall@1"], k=5, fresh=True)
    assert announced(capsys) == []


def test_for_systems_without_a_model_nothing_is_encoded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    encoded: set[str] = set()

    def recorded(texts: list[str]) -> np.ndarray:
        encoded.update(texts)
        return letters(texts)

    kb = KnowledgeBase.build(CORPUS, embedder=recorded, store=Store(tmp_path))
    kg2rag.compare({"bm25": BM25(kb)}, DATA, metrics=["recall@1"], k=5)
    assert announced(capsys) == []
    assert encoded.isdisjoint(CORPUS.contents)


def test_a_sweep_and_a_first_answer_are_announced(
    kb: KnowledgeBase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = Sweep(
        DATA,
        {"proprag": {"width": [1, 2]}},
        graphs=kb.source,
        encoder=kb.embedder,
        store=kb.store,
    )
    sweep.run(tmp_path / "results", progress=False)
    (line,) = announced(capsys)
    assert "40 triples" in line
    other = KnowledgeBase.build(
        CORPUS, TRIPLES, embedder=letters, store=Store(tmp_path / "other")
    )
    other.retrieve("Where?", system="proprag")
    other.retrieve("And who?", system="proprag")
    assert len(announced(capsys)) == 1


def test_systems_that_are_asked_questions_without_gold_are_announced(
    kb: KnowledgeBase, capsys: pytest.CaptureFixture[str]
) -> None:
    agreement(
        {"hippo2": kg2rag.systems.build("hippo2", kb), "bm25": BM25(kb)},
        ["Where?"],
        k=2,
    )
    assert len(announced(capsys)) == 1


def test_an_explanation_a_context_and_a_report_of_the_graph_are_announced(
    kb: KnowledgeBase,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(announcement, "LINE_SECONDS", 1)
    explain({"dense": Dense(kb), "bm25": BM25(kb)}, DATA, "q0")
    (line,) = announced(capsys)
    assert all(part in line for part in ("towns", "40 passages"))
    context(kg2rag.systems.build("hippo2", kb), "Where?", k=2)
    of_system, of_graph_block = announced(capsys)
    assert "40 facts" in of_system
    assert "40 entity names" in of_graph_block
    other = KnowledgeBase.build(
        CORPUS, TRIPLES, embedder=lambda texts: 2 * letters(texts), store=kb.store
    )
    kg2rag.graph_report(other, DATA)
    (line,) = announced(capsys)
    assert "40 entity names" in line


def test_only_what_the_store_lacks_counts(capsys: pytest.CaptureFixture[str]) -> None:
    texts = [str(i) for i in range(200)]
    announce(
        "set",
        [
            Workload(
                "texts",
                texts,
                list,
                lambda sample: [text for text in sample if int(text) % 4 == 0],
            )
        ],
    )
    assert announced(capsys) == []  # 50 texts: 3 s · 50 / 15
    announce(
        "set",
        [
            Workload(
                "texts",
                texts,
                list,
                lambda sample: [text for text in sample if int(text) % 4 != 0],
            )
        ],
    )
    (line,) = announced(capsys)
    assert "150 texts" in line


def test_texts_that_another_model_reads_anyway_cost_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    texts = ["text"] * 100
    tokens = Workload("passages and their tokens", texts, list, includes="passages")
    announce("set", [Workload("passages", texts, list), tokens, tokens])
    (line,) = announced(capsys)
    assert "100 passages and their tokens" in line
    assert "100 passages;" not in line


def test_texts_for_an_endpoint_are_counted_and_not_sent(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sent: list[str] = []
    announce(
        "set",
        [Workload("passages", ["12345678"] * 50, sent.extend, endpoint="embed-1")],
    )
    line = capsys.readouterr().err
    assert all(part in line for part in ("50 passages", "embed-1", "100 tokens"))
    assert "on this machine" not in line  # nothing is read here
    assert sent == []


def test_a_cross_encoder_reads_every_pair_of_question_and_hit(
    kb: KnowledgeBase,
) -> None:
    (work,) = Rerank(kb, reranker=CrossEncoder("some/model"), depth=10).workloads(
        [Query("a", "A?"), Query("b", "B?")]
    )
    assert len(work.texts) == 20
    assert work.texts[0] == ("A?", CORPUS.contents[0])


def test_the_time_of_other_programs_does_not_count_for_a_model_of_this_process():
    work = Workload("texts", NAMES, list)
    assert work.estimate().seconds == pytest.approx(3 * 40 / 19)
    assert Workload("texts", NAMES, list, on_processor=True).estimate().seconds < 1
