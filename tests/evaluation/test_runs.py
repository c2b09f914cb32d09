"""The run cache: what is there is read, what is not is run, and what a system depends on makes another run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from kg2rag import BM25, Dense, KnowledgeBase, SentenceEncoder
from kg2rag.evaluation import provenance
from kg2rag.evaluation.provenance import NoKeyError, identity
from kg2rag.evaluation.runs import run
from kg2rag.extraction import Extraction
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.retrievers.contract import Retriever
from kg2rag.types import Notes, QADataset, Query, Question, Ranking, Triple

CALLS: list[str] = []


@dataclass(frozen=True)
class Counted(Retriever):
    """Scores by a number and the row; every query that it is asked is noted in `CALLS`."""

    kb: KnowledgeBase
    factor: float = 1.0

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        CALLS.extend(query.id for query in queries)
        rows = np.arange(len(self.kb.corpus))
        path = {3: (Triple("a", "knows", "b", "p3", strength=2.0, description="of old"),)}
        notes = Notes("cosine", "x", other={"weights": {"graph": 0.25}, "linked": ("a", "b")})
        told = {"stages": ("x", "y"), "stage_codes": rows % 2, "paths": path, "notes": notes}
        told["score_parts"] = {"cosine": np.where(rows % 3, rows, np.nan)}
        scores, ids = self.factor * rows[::-1] / 7, self.kb.corpus.ids
        return [Ranking.from_scores(query.id, rows, scores, ids, **told).top(k) for query in queries]


@pytest.fixture(autouse=True)
def _no_calls():
    CALLS.clear()


@pytest.fixture
def little(kb_of) -> KnowledgeBase:
    return kb_of(*((f"Title {i}", f"Text {i}.") for i in range(9)), facts=(Triple("Title 1", "is", "Title 2", "p1"),))


def questions(kb: KnowledgeBase, n: int = 250) -> QADataset:
    return QADataset("little", kb.corpus, tuple(Question(f"q{i}", f"Text {i}?", {"p1": 1}) for i in range(n)))


def asked(system: Counted, data: QADataset, k: int = 5, **options) -> set[str]:
    """The questions that the system is asked where its run is asked for."""
    CALLS.clear()
    run(system, data, k, **options)
    return set(CALLS)


def test_a_run_is_made_once_and_read_afterwards_as_it_was_made(little):
    data, system = questions(little, 3), Counted(little)
    first, made = run(system, data, 5), len(CALLS)
    again = run(system, data, 5)
    assert len(CALLS) == made > 0
    direct = system.retrieve_batch(data.queries, 5)
    for found, own in zip([*first.rankings, *again.rankings], [*direct, *direct], strict=True):
        assert (found.query_id, found.passage_ids, found.notes) == (own.query_id, own.passage_ids, own.notes)
        assert found.scores.tobytes() == own.scores.tobytes()
        assert [replace(hit, corpus=None) for hit in found] == [replace(hit, corpus=None) for hit in own]
    for name in ("ms_per_query", "build_seconds", "about"):
        assert getattr(first, name) == getattr(again, name)


def test_a_run_that_was_killed_and_one_with_more_questions_run_what_is_missing(little, monkeypatch):
    data, original, missing = questions(little), Counted.retrieve_batch, {f"q{i}" for i in range(200, 250)}

    def killed(self, queries, k):
        if any(query.id == "q210" for query in queries):
            raise KeyboardInterrupt
        return original(self, queries, k)

    with monkeypatch.context() as patched:
        patched.setattr(Counted, "retrieve_batch", killed)
        with pytest.raises(KeyboardInterrupt):
            run(Counted(little), data, 5)
    assert asked(Counted(little), data) == missing
    assert len(run(Counted(little), data, 5).rankings) == 250
    run(Counted(little, 2.0), questions(little, 200), 5)
    assert asked(Counted(little, 2.0), data) == missing


def test_gold_and_batches_make_no_other_run_and_all_else_does(little, monkeypatch):
    data, every = questions(little, 3), {"q0", "q1", "q2"}
    run(Counted(little), data, 5)
    regraded = tuple(replace(question, gold={"p2": 1}) for question in data.questions)
    assert asked(Counted(little), replace(data, questions=regraded), batch_size=1) == set()
    other = tuple(replace(question, text="Another?") for question in data.questions)
    source = KnowledgeGraph.build(Extraction(), little.corpus)
    graph = KnowledgeBase.build(little.corpus, source, embedder=little.embedder, store=little.store)
    changed = ((Counted(little, 2.0), data, 5), (Counted(little), data, 6), (Counted(graph), data, 5))
    for system, on, k in (*changed, (Counted(little), replace(data, questions=other), 5)):
        assert asked(system, on, k) == every
    assert asked(Counted(little), data, fresh=True) == every
    monkeypatch.setattr(provenance, "code_version", lambda: "another")
    assert asked(Counted(little), data) == every


def test_what_does_not_say_what_it_computes_is_run_each_time_and_says_why(little, fixed):
    @dataclass(frozen=True)
    class Closed(Counted):
        by: object = None

    data = questions(little, 3)
    for _ in range(2):
        CALLS.clear()
        assert "does not say what it computes" in run(Closed(little, by=lambda row: row), data, 5).not_cached
        assert CALLS
    assert "no knowledge base" in run(fixed(q0="p0"), data, 5).not_cached
    with pytest.raises(NoKeyError):
        identity(object())


def test_encoders_that_differ_in_their_prompts_alone_have_runs_of_their_own(little):
    def over(prompt: str) -> KnowledgeBase:
        return replace(little, embedder=SentenceEncoder(query_prompt=prompt), _memory={})

    assert repr(over("query: ").embedder) == repr(over("find: ").embedder)
    assert identity(Dense(over("query: "))) != identity(Dense(over("find: ")))


def test_every_system_of_the_catalogue_has_an_identity(kb):
    from kg2rag.retrievers import systems

    for name in systems.names():
        if name not in ("dynamic_hybrid_llm",):
            identity(systems.build(name, kb))


def test_nothing_but_questions_is_encoded_while_the_clock_runs(kb_of):
    # Names of entities are encoded where a question first needs them: here the second of two batches.
    pages = [(f"Title {i}", f"Title {i} and Title {i + 1} are here.") for i in range(9)]
    kb = kb_of(*pages, facts=tuple(Triple(f"Title {i}", "is", f"Title {i + 1}", f"p{i}") for i in range(8)))

    @dataclass(frozen=True)
    class Late(Retriever):
        kb: KnowledgeBase
        always: bool = False

        def retrieve_batch(self, queries, k):
            for query in queries:
                if query.id == "q150":
                    _ = self.kb.entities.vectors if not self.always else self.kb.encode(["a passage"])
            return Dense(self.kb).retrieve_batch(queries, k)

    data = questions(kb, 200)
    once = run(Late(kb), data, 5)
    assert once.ms_per_query >= 0
    assert once.build_seconds > 0
    assert math.isnan(run(Late(kb, always=True), data, 5).ms_per_query)


def test_an_encoder_with_other_vectors_makes_another_run(little, monkeypatch):
    data = questions(little, 3)
    run(Dense(little), data, 5)
    before = run(BM25(little), data, 5)
    monkeypatch.setattr(type(little.embedder), "fingerprint", lambda *_: "other words")
    again = run(Dense(little), data, 5)
    assert again.about["knowledge"][0]["encoder"]["fingerprint"] == "other words"
    assert run(BM25(little), data, 5).about == before.about  # it asked for no vectors


@pytest.mark.parametrize("name", ["dense.py", "prompt.txt", "coefficients.toml"])
def test_a_run_depends_on_code_and_on_the_data_that_lie_with_it(name, tmp_path, monkeypatch):
    monkeypatch.setattr(provenance.kg2rag, "__file__", str(tmp_path / "__init__.py"))
    file = tmp_path / "retrievers" / name
    file.parent.mkdir()
    file.write_text("before")
    before = provenance.code_version.__wrapped__()
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / name).write_text("shown alone")
    assert provenance.code_version.__wrapped__() == before
    file.write_text("after")
    assert provenance.code_version.__wrapped__() != before
