"""What is made of a language model's reply: read, repaired, or refused by name; over real sockets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from llm_server import ChatServer, at_random, first, serving
from word_embedder import WordEmbedder

from kg2rag.compute import Store
from kg2rag.evaluation.runs import run
from kg2rag.knowledge import KnowledgeBase
from kg2rag.llm import ChatModel, CompletionError, LLMAnalyser
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.designs.dynamic_hybrid.analysers import (
    SIDES,
    ChainAnalyser,
    RuleAnalyser,
)
from kg2rag.retrievers.designs.dynamic_hybrid.retriever import DynamicHybrid
from kg2rag.types import Corpus, Passage, QADataset, Query, Question, UnansweredError

SHARES = '{"dense": 0.1, "sparse": 0.2, "pattern": 0.6, "graph": 0.1}'
GOOD = f'{{"query_type": "fuzzy", "weights": {SHARES}, "reasoning": "typo"}}'
LEXICAL = '{"query_type": "identifier", "weights": {"dense": 0, "sparse": 1, "pattern": 0, "graph": 0}}'
QUERY = Query("q7", "streamingTextRespons")
Maker = Callable[..., ChatModel]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.02)


@pytest.fixture
def model_of(tmp_path: Path) -> Iterator[Maker]:
    def make(server: ChatServer, **given: Any) -> ChatModel:
        given.setdefault("timeout", 600.0)
        return ChatModel(
            server.url,
            "tiny",
            api_key_env=None,
            store=Store(tmp_path / "store"),
            **given,
        )

    return make


@pytest.fixture
def weights_of(model_of: Maker) -> Callable[[str], list[float]]:
    """The weights in a reply, in the order of `SIDES`."""

    def read(reply: str) -> list[float]:
        with serving(lambda _: reply) as server:
            (analysis,) = LLMAnalyser(model_of(server)).analyse([QUERY])
        return [analysis.weights[side] for side in SIDES]

    return read


def test_every_query_gets_the_analysis_of_its_own_reply(model_of: Maker) -> None:
    def reply(prompt: str) -> str:
        return GOOD.replace(
            "typo", prompt.split("Query: ")[1].split("\n")[0].strip('"')
        )

    with serving(
        reply, at_random(0.4, seed=3, faults=("429", "500", "reset", "cut"))
    ) as server:
        queries = [Query(str(i), f"query {i}") for i in range(12)]
        analyses = LLMAnalyser(model_of(server, retries=8)).analyse(queries)
    assert [analysis.reasoning for analysis in analyses] == [
        query.text for query in queries
    ]
    assert {
        (one.query_type, *map(round, one.weights.values(), [2] * 4)) for one in analyses
    } == {("fuzzy", 0.1, 0.2, 0.6, 0.1)}
    assert sum(server.requests.values()) > len(queries)


@pytest.mark.parametrize(
    "reply",
    [
        f"Sure, here it is:\n```json\n{GOOD[:-1]}",
        GOOD.replace("0.1", "10").replace("0.2", "20").replace("0.6", "60"),
        GOOD.replace("0.6", "0.62"),
        GOOD.replace("0.1", "0.2")
        .replace('0.2, "pattern"', '0.4, "pattern"')
        .replace("0.6", "1.2"),
        GOOD.replace("0.6", '"0.6"'),
    ],
)
def test_unambiguous_damage_is_repaired(
    weights_of: Callable[[str], list[float]], reply: str
) -> None:
    assert weights_of(reply) == pytest.approx([0.1, 0.2, 0.6, 0.1], abs=0.02)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("I cannot do that.", "holds no JSON object"),
        (GOOD[:-4], "cut off"),
        (GOOD.replace("fuzzy", "vague"), "query_type"),
        (GOOD.replace("0.6", "-0.6"), "weights.pattern"),
        (GOOD.replace("0.6", "0").replace("0.1", "0").replace("0.2", "0"), "all 0"),
        (GOOD.replace("0.6", "NaN"), "weights.pattern"),
        (GOOD.replace('"graph": 0.1', '"web": 0.1'), "weights.graph"),
    ],
)
def test_any_other_reply_is_an_error_that_names_the_query(
    weights_of: Callable[[str], list[float]], reply: str, reason: str
) -> None:
    with pytest.raises(
        CompletionError, match=r"'q7' \('streamingTextRespons'\)"
    ) as error:
        weights_of(reply)
    assert reason in str(error.value)


def test_one_bad_reply_leaves_its_query_alone_to_the_next_analyser(
    model_of: Maker,
) -> None:
    with serving(lambda prompt: "no idea" if "useChat" in prompt else GOOD) as server:
        queries = [Query("a", "query"), Query("b", "Find the useChat hook")]
        found = ChainAnalyser((LLMAnalyser(model_of(server)), RuleAnalyser())).analyse(
            queries
        )
    assert [analysis.query_type for analysis in found] == ["fuzzy", "identifier"]
    assert [bool(analysis.warning) for analysis in found] == [False, True]


def test_dynamic_hybrid_takes_its_weights_from_the_model(
    model_of: Maker, tmp_path: Path
) -> None:
    texts = ("the bridge of sighs", "a bridge", "a tower")
    corpus = Corpus.from_passages(
        [Passage(f"p{i}", "", text, f"d{i}", 0) for i, text in enumerate(texts)]
    )
    kb = KnowledgeBase.build(
        corpus, embedder=WordEmbedder(), store=Store(tmp_path / "kb")
    )
    queries = [Query("1", "bridge sighs"), Query("2", "tower"), Query("3", "")]
    with serving(lambda _: LEXICAL, first("500")) as server:
        system = DynamicHybrid(kb, analyser=LLMAnalyser(model_of(server)))
        found = system.retrieve_batch(queries, 3)
    lexical = BM25(kb).retrieve_batch(queries, 3)
    assert [ranking.passage_ids for ranking in found] == [
        ranking.passage_ids for ranking in lexical
    ]
    assert found[0].notes.query_type == "identifier"
    assert found[0].notes.weights == {"dense": 0, "sparse": 1, "pattern": 0, "graph": 0}
    # The server is gone: what it said is in the store.
    assert system.retrieve("bridge sighs", 3).passage_ids == found[0].passage_ids


def test_a_bad_reply_fails_its_query_and_no_other_is_asked_anew_and_does_not_end_the_run(
    model_of: Maker, tmp_path: Path
) -> None:
    texts = ("the bridge of sighs", "a bridge", "a tower")
    passages = [Passage(f"p{i}", "", text, f"d{i}", 0) for i, text in enumerate(texts)]
    kb = KnowledgeBase.build(
        Corpus.from_passages(passages),
        embedder=WordEmbedder(),
        store=Store(tmp_path / "kb"),
    )
    questions = [
        Question(f"q{i}", text, gold={"p0": 1})
        for i, text in enumerate(("bridge sighs", "bad tower", "a bridge"))
    ]
    data = QADataset("bridges", kb.corpus, tuple(questions))
    with serving(lambda prompt: "no idea" if "bad" in prompt else LEXICAL) as server:
        system = DynamicHybrid(kb, analyser=LLMAnalyser(model_of(server)))
        done = run(system, data, 3, progress=False)
        assert [len(ranking) > 0 for ranking in done.rankings] == [True, False, True]
        assert [bool(ranking.notes.warning) for ranking in done.rankings] == [
            False,
            True,
            False,
        ]
        assert set(server.requests.values()) == {1}
        again = run(system, data, 3, progress=False)
        assert (again.n_stored, set(server.requests.values())) == (0, {1})
    with (
        serving(lambda _: "no idea") as server,
        pytest.raises(UnansweredError, match="q0"),
    ):
        run(
            DynamicHybrid(kb, analyser=LLMAnalyser(model_of(server, seed=5))),
            data,
            3,
            progress=False,
        )


@pytest.mark.parametrize(
    "bad", [0, 100], ids=["the first", "the only one of its block"]
)
def test_one_bad_reply_ends_no_run_whatever_its_place(
    model_of: Maker, tmp_path: Path, bad: int
) -> None:
    corpus = Corpus.from_passages([Passage("p0", "", "a bridge", "p0", 0)])
    kb = KnowledgeBase.build(
        corpus, embedder=WordEmbedder(), store=Store(tmp_path / "kb")
    )
    # A block has a hundred.
    texts = [f"bridge {'bad' if i == bad else i}" for i in range(101)]
    data = QADataset(
        "bridges",
        corpus,
        tuple(Question(f"q{i}", text, gold={"p0": 1}) for i, text in enumerate(texts)),
    )
    with serving(lambda prompt: "no idea" if "bad" in prompt else LEXICAL) as server:
        system = DynamicHybrid(kb, analyser=LLMAnalyser(model_of(server)))
        done = run(system, data, 3, batch_size=1, progress=False)
    assert [i for i, ranking in enumerate(done.rankings) if ranking.notes.warning] == [
        bad
    ]


def test_the_warning_of_a_fallback_names_the_cause_only(model_of: Maker) -> None:
    with serving(lambda _: "no idea") as server:
        queries = [Query("a", "query"), Query("b", "Find the useChat hook")]
        found = ChainAnalyser((LLMAnalyser(model_of(server)), RuleAnalyser())).analyse(
            queries
        )
    assert len({analysis.warning for analysis in found}) == 1
