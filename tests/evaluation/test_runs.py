"""The run cache: what is there is read, what is not is run, and what a system depends on makes another run."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
import tiny_model

from kg2rag import BM25, Dense, KnowledgeBase, SentenceEncoder
from kg2rag.compute import sentence_encoder
from kg2rag.compute.code_version import ROOMS, files_checksum
from kg2rag.evaluation import run_key, runs
from kg2rag.evaluation.run_key import identity
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
    run_version: ClassVar[str] = "1"

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        CALLS.extend(query.id for query in queries)
        rows = np.arange(len(self.kb.corpus))
        path = {
            3: (Triple("a", "knows", "b", "p3", strength=2.0, description="of old"),)
        }
        notes = Notes(
            "cosine", "x", other={"weights": {"graph": 0.25}, "linked": ("a", "b")}
        )
        told = {
            "stages": ("x", "y"),
            "stage_codes": rows % 2,
            "paths": path,
            "notes": notes,
        }
        told["score_parts"] = {"cosine": np.where(rows % 3, rows, np.nan)}
        scores, ids = self.factor * rows[::-1] / 7, self.kb.corpus.ids
        return [
            Ranking.from_scores(query.id, rows, scores, ids, **told).top(k)
            for query in queries
        ]


@pytest.fixture(autouse=True)
def _no_calls():
    CALLS.clear()


@pytest.fixture
def little(kb_of) -> KnowledgeBase:
    return kb_of(
        *((f"Title {i}", f"Text {i}.") for i in range(9)),
        facts=(Triple("Title 1", "is", "Title 2", "p1"),),
    )


def questions(kb: KnowledgeBase, n: int = 250) -> QADataset:
    return QADataset(
        "little",
        kb.corpus,
        tuple(Question(f"q{i}", f"Text {i}?", {"p1": 1}) for i in range(n)),
    )


def asked(system: Counted, data: QADataset, k: int = 5, **options) -> set[str]:
    """The questions that the system is asked where its run is asked for."""
    CALLS.clear()
    run(system, data, k, **options)
    return set(CALLS)


def test_a_run_is_made_once_and_read_afterwards_as_it_was_made(little):
    data, system = questions(little, 3), Counted(little)
    first = run(system, data, 5)
    assert asked(system, data) == set()
    again = run(system, data, 5)
    assert (first.n_stored, again.n_stored) == (0, 3)
    direct = system.retrieve_batch(data.queries, 5)
    for found, own in zip(
        [*first.rankings, *again.rankings], [*direct, *direct], strict=True
    ):
        assert (found.query_id, found.passage_ids, found.notes) == (
            own.query_id,
            own.passage_ids,
            own.notes,
        )
        assert found.scores.tobytes() == own.scores.tobytes()
        assert [replace(hit, corpus=None) for hit in found] == [
            replace(hit, corpus=None) for hit in own
        ]
    for name in ("ms_per_query", "build_seconds", "about"):
        assert getattr(first, name) == getattr(again, name)


def test_a_run_that_was_killed_and_one_with_more_questions_run_what_is_missing(
    little, monkeypatch
):
    data, missing = questions(little), {f"q{i}" for i in range(200, 250)}
    check_rankings = runs.check_rankings

    def killed(rankings, *given, **named):
        if any(ranking.query_id == "q210" for ranking in rankings):
            raise KeyboardInterrupt
        check_rankings(rankings, *given, **named)

    with monkeypatch.context() as patched:
        patched.setattr(runs, "check_rankings", killed)
        with pytest.raises(KeyboardInterrupt):
            run(Counted(little), data, 5)
    assert asked(Counted(little), data) == missing
    CALLS.clear()
    assert len(run(Counted(little), data, 5).rankings) == 250
    assert CALLS == []
    run(Counted(little, 2.0), questions(little, 200), 5)
    assert asked(Counted(little, 2.0), data) == missing


def test_gold_and_batches_make_no_other_run_and_all_else_does(little, monkeypatch):
    data, every = questions(little, 3), {"q0", "q1", "q2"}
    assert asked(Counted(little), data) == every
    regraded = tuple(replace(question, gold={"p2": 1}) for question in data.questions)
    assert (
        asked(Counted(little), replace(data, questions=regraded), batch_size=1) == set()
    )
    other = tuple(replace(question, text="Another?") for question in data.questions)
    source = KnowledgeGraph.build(Extraction(), little.corpus)
    graph = KnowledgeBase.build(
        little.corpus, source, embedder=little.embedder, store=little.store
    )
    changed = (
        (Counted(little, 2.0), data, 5),
        (Counted(little), data, 6),
        (Counted(graph), data, 5),
    )
    for system, on, k in (
        *changed,
        (Counted(little), replace(data, questions=other), 5),
    ):
        assert asked(system, on, k) == every
    assert asked(Counted(little), data, fresh=True) == every
    monkeypatch.setattr(run_key, "code_version", lambda *_: "another")
    assert asked(Counted(little), data) == every


def test_a_system_without_a_store_is_run_each_time_and_says_why(little, fixed):
    assert (
        "no knowledge base" in run(fixed(q0="p0"), questions(little, 1), 5).not_cached
    )


def test_candidates_corpus_and_shuffled_mentions_make_runs_of_their_own(little, kb_of):
    data, every = questions(little, 3), {"q0", "q1", "q2"}
    assert asked(Counted(little), data) == every
    some = tuple(
        replace(question, candidates=tuple(little.corpus.ids[:8]))
        for question in data.questions
    )
    assert asked(Counted(little), data, 9) == every
    # Asked anew, and it knows no candidates.
    with pytest.raises(ValueError, match="p8"):
        run(Counted(little), replace(data, questions=some, setting="distractor"), 9)
    shuffled = replace(little, mention_table=little.mentions, _memory={})
    assert asked(Counted(shuffled), data) == every
    other = kb_of(*((f"Title {i}", f"Another text {i}.") for i in range(9)))
    graph = replace(other, source=little.source, _memory={})
    assert asked(Counted(graph), replace(data, corpus=other.corpus)) == every
    assert asked(Counted(little), data) == set()


@pytest.mark.parametrize("library", ["bm25s", "faiss-cpu", "numpy", "scipy"])
def test_another_version_of_a_library_makes_another_run(library, little, monkeypatch):
    data = questions(little, 3)
    distribution = metadata.distribution

    def changed(name):
        return (
            SimpleNamespace(version="another")
            if name == library
            else distribution(name)
        )

    run(BM25(little), data, 5)
    store_version = importlib.import_module("kg2rag.compute.store").version
    monkeypatch.setattr(metadata, "distribution", changed)
    store_version.cache_clear()
    new = run(BM25(little), data, 5)
    store_version.cache_clear()
    monkeypatch.undo()
    assert (new.n_stored, run(BM25(little), data, 5).n_stored) == (0, 3)


def test_encoders_that_differ_in_their_prompts_alone_have_runs_of_their_own(little):
    def over(prompt: str) -> KnowledgeBase:
        return replace(
            little, embedder=SentenceEncoder(query_prompt=prompt), _memory={}
        )

    assert repr(over("query: ").embedder) == repr(over("find: ").embedder)
    assert identity(Dense(over("query: "))) != identity(Dense(over("find: ")))


def test_every_system_of_the_catalogue_has_an_identity_of_its_kind(kb):
    from kg2rag.retrievers import systems

    identities = {
        json.dumps(identity(systems.build(name, kb))) for name in systems.names()
    }
    assert len(identities) == len(systems.names())


def test_nothing_but_questions_is_encoded_while_the_clock_runs(kb_of):
    # Names of entities are encoded where a question first needs them: here the second of two
    # batches.
    pages = [(f"Title {i}", f"Title {i} and Title {i + 1} are here.") for i in range(9)]
    kb = kb_of(
        *pages,
        facts=tuple(
            Triple(f"Title {i}", "is", f"Title {i + 1}", f"p{i}") for i in range(8)
        ),
    )

    @dataclass(frozen=True)
    class Late(Retriever):
        kb: KnowledgeBase
        always: bool = False

        def retrieve_batch(self, queries, k):
            for query in queries:
                if query.id == "q150":
                    _ = (
                        self.kb.entities.vectors
                        if not self.always
                        else self.kb.encode(["a passage"])
                    )
            return Dense(self.kb).retrieve_batch(queries, k)

    data = questions(kb, 200)
    once = run(Late(kb), data, 5)
    assert once.ms_per_query >= 0
    assert once.build_seconds > 0
    assert math.isnan(run(Late(kb, always=True), data, 5).ms_per_query)


def test_an_encoder_with_other_pooling_makes_another_run(little, tmp_path):
    data, model = questions(little, 3), tiny_model.save(tmp_path / "encoder")

    def over() -> KnowledgeBase:
        embedder = SentenceEncoder(str(model), dtype="float32")
        return KnowledgeBase.build(
            little.corpus, little.source, embedder=embedder, store=little.store
        )

    runs = [run(Dense(over()), data, 5) for _ in range(2)]
    assert [(of_system.n_stored, of_system.not_cached) for of_system in runs] == [
        (0, ""),
        (3, ""),
    ]
    assert run(BM25(over()), data, 5).n_stored == 0
    (pooling,) = model.glob("*Pooling/config.json")
    assert '"mean"' in pooling.read_text()
    pooling.write_text(pooling.read_text().replace('"mean"', '"cls"'))
    sentence_encoder._network.cache_clear()  # as in another process
    assert run(Dense(over()), data, 5).n_stored == 0
    assert run(BM25(over()), data, 5).n_stored == 3  # it asked for no vectors


@pytest.mark.parametrize(
    "room", ["types", "text", "compute", "extraction", "knowledge", "retrievers", "llm"]
)
@pytest.mark.parametrize("name", ["dense.py", "deeper/coefficients.toml"])
def test_a_run_depends_on_code_and_on_the_data_that_lie_with_it(room, name, tmp_path):
    def version() -> str:
        return files_checksum(tmp_path, ROOMS)

    file, shown = tmp_path / room / name, tmp_path / "report" / name
    for path in (file, shown):
        path.parent.mkdir(parents=True)
        path.write_text("before")
    before = version()
    shown.write_text("after")
    assert version() == before
    file.write_text("after")
    assert version() != before
