"""The system as a whole: candidates, scores, paths, metadata, steps."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.mention_chains.chain_search import WITHOUT_TOKENS
from kg2rag.retrievers.mention_chains.retriever import MentionChains
from kg2rag.testing.promises import scores_by_formula
from kg2rag.testing.trial import difference
from kg2rag.testing.worlds import queries
from kg2rag.types import Query

Build = Callable[..., KnowledgeBase]
FILMS = (
    ("Ed Wood", "The film was directed by Tim Burton."),
    ("Tim Burton", "An artist from Burbank."),
    ("Paris", "The place where the director of the film festival was born."),
    ("Rome", "Where was the city born?"),
    ("Burbank", "A city of California."),
)
QUESTION = "Where was the director of Ed Wood born?"


def test_the_second_passage_is_named_by_the_first_and_the_path_says_so(
    kb_of: Build,
) -> None:
    kb = kb_of(*FILMS)
    ranking = MentionChains(kb).retrieve(QUESTION, k=5)
    assert ranking.passage_ids[0] == "p0"
    assert ["Ed Wood -[mentions]-> Tim Burton"] in [
        [str(triple) for triple in hit.path] for hit in ranking
    ]
    assert any(
        chain.startswith("Ed Wood + Tim Burton") for chain in ranking.notes.chains
    )


def test_without_token_vectors_the_ranking_says_so_and_lacks_their_signals(
    kb_of: Build,
) -> None:
    ranking = MentionChains(kb_of(*FILMS)).retrieve(QUESTION, k=5)
    assert ranking.notes.warning == WITHOUT_TOKENS
    assert not {"tokens", "tokens_joint"} & set(ranking.score_parts)


def test_with_token_vectors_every_score_follows_from_its_parts(
    kb: KnowledgeBase,
) -> None:
    for ranking in MentionChains(kb).retrieve_batch(queries(), 100):
        assert not ranking.notes.warning
        assert scores_by_formula(ranking) == pytest.approx(ranking.scores, rel=1e-6)
        for hit in ranking:
            assert hit.stage == "dense" or {"tokens", "start"} <= set(hit.score_parts)


def test_with_token_vectors_a_batch_equals_its_queries_bit_for_bit(
    kb: KnowledgeBase,
) -> None:
    system = MentionChains(kb)
    together = system.retrieve_batch(queries(), 20)
    single = [system.retrieve_batch([query], 20)[0] for query in queries()]
    assert [difference(*pair) for pair in zip(together, single, strict=True)] == [
        ""
    ] * len(together)


def test_a_query_of_few_candidates_is_judged_among_them(kb_of: Build) -> None:
    query = Query("q", QUESTION, ("p1", "p4"))
    ranking = MentionChains(kb_of(*FILMS)).retrieve(query, k=5)
    assert sorted(ranking.passage_ids) == ["p1", "p4"]
    assert ranking.score_parts["walk_gap"].max() == 0  # relative to the best of the two
    assert (
        len(MentionChains(kb_of(*FILMS)).retrieve(Query("q", QUESTION, ()), k=5)) == 0
    )


def test_below_the_candidates_follow_the_nearest_others(kb_of: Build) -> None:
    kb = kb_of(
        *FILMS, *((f"Page {i}", f"words of no use, number {i}") for i in range(30))
    )
    narrow = MentionChains(kb, walk_depth=2, dense_depth=2, bm25_depth=2, depth=20)
    ranking = narrow.retrieve(QUESTION, k=50)
    assert len(ranking) == 20
    stages = [hit.stage for hit in ranking]
    chained = stages.index("dense")
    assert set(stages[chained:]) == {"dense"}
    near = [
        id_
        for id_ in Dense(kb).retrieve(QUESTION, 35).passage_ids
        if id_ not in ranking.passage_ids[:chained]
    ]
    assert ranking.passage_ids[chained:] == near[: 20 - chained]


def test_a_trace_says_where_a_passage_was_lost(kb_of: Build) -> None:
    kb = kb_of(
        *FILMS, *((f"Page {i}", f"words of no use, number {i}") for i in range(30))
    )
    system = MentionChains(kb, walk_depth=2, dense_depth=4, bm25_depth=2)
    trace = system.trace_batch([Query("q", QUESTION)], 2)[0]
    assert [step.name for step in trace.steps] == [
        "candidate",
        "named",
        "in a chain",
        "ordered",
    ]
    lost = trace.lost_by(20)
    assert lost is not None
    assert (lost.name, lost.lost_at) == ("candidate", "not retrieved")
    assert "the first 2 of the walk, 4 by cosine and 2 by BM25" in lost.why
    assert {trace.lost_by(row) for row in trace.ranking.rows.tolist()} == {None}


def test_chains_are_trusted_where_the_question_names_titles(kb_of: Build) -> None:
    system = MentionChains(kb_of(*FILMS))
    weights = [
        system.retrieve(asked, 5).notes.chain_weight
        for asked in (QUESTION, "Where was the director born?")
    ]
    assert weights[0] > weights[1]


def test_a_question_of_few_candidates_is_ordered_by_its_passages_alone(
    kb_of: Build,
) -> None:
    ranking = MentionChains(kb_of(("", "words of use"), ("", "of no use"))).retrieve(
        "which words are of use", k=5
    )
    assert ranking.notes.chain_weight == 0
    assert "second" not in ranking.score_parts
    assert ranking.passage_ids[0] == "p0"


def test_phrases_lead_the_walk(kb_of: Build) -> None:
    kb = kb_of(*FILMS)
    with_phrases, without = (
        MentionChains(kb, max_phrases=most).retrieve(QUESTION, 5) for most in (40, 0)
    )
    assert (
        with_phrases.score_parts["walk_gap"].tolist()
        != without.score_parts["walk_gap"].tolist()
    )


def test_the_token_vectors_are_opened_from_the_store(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    MentionChains(kb).retrieve("Who built the bridge?", 5)
    again = KnowledgeBase.build(
        kb.corpus, kb.graph, embedder=kb.embedder, store=kb.store
    )
    monkeypatch.setattr(
        "kg2rag.retrievers.mention_chains.token_index.TokenWriter", None
    )
    assert MentionChains(again).retrieve("Who built the bridge?", 5).passage_ids
