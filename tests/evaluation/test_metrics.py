from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kg2rag.evaluation.metrics import Metric, evaluate, parse_metrics
from kg2rag.evaluation.ranx_scores import score
from kg2rag.types import Corpus, Passage, QADataset, Question, Ranking


@pytest.fixture
def rankings(data, fixed):
    system = fixed(q1="p9 p0 p7 p1", q2="p5 p3", q3="p4 p6 p8")
    return system.retrieve_batch(data.queries, 100)


def test_scores_by_hand(rankings, data):
    by_hand = {
        "recall@2": [1 / 2, 0, 2 / 3],
        "precision@2": [1 / 2, 0, 1],
        "mrr@10": [1 / 2, 0, 1],
        "hits@4": [2, 0, 3],
        "all_recall@2": [0, 0, 0],  # one only where every gold passage is in the top
        "all_recall@4": [1, 0, 1],
        "all_recall": [1, 0, 1],
    }
    frame = evaluate(rankings, data, list(by_hand))
    for metric, expected in by_hand.items():
        assert frame[metric].tolist() == pytest.approx(expected)
    gain = 1 / math.log2(3) + 1 / math.log2(5)  # hits at ranks 2 and 4
    ideal = 1 + 1 / math.log2(3)
    assert evaluate(rankings, data, ["ndcg@10"])["ndcg@10"]["q1"] == pytest.approx(
        gain / ideal
    )


def test_the_last_hop_is_the_passage_that_ends_a_chain(rankings, data):
    # q1 finds p9 p0 p7 p1, q2 p5 p3, q3 p4 p6 p8
    chains = [("p1", "p0"), ("p2",), ("p4", "p5", "p6")]
    questions = tuple(
        replace(q, gold=dict.fromkeys(chain, 1), chain=chain)
        for q, chain in zip(data.questions, chains, strict=True)
    )
    frame = evaluate(
        rankings, replace(data, questions=questions), ["last_hop@1", "last_hop@2"]
    )
    assert frame.to_numpy().T.tolist() == [[0, 0, 0], [1, 0, 1]]
    with pytest.raises(ValueError, match="'q1'"):
        evaluate(rankings, data, ["last_hop@2"])
    with pytest.raises(ValueError, match="documents"):
        evaluate(
            rankings,
            replace(data, questions=questions),
            ["last_hop@2"],
            unit="document",
        )


def test_thirty_equal_scores_keep_their_order(data, fixed):
    answers = " ".join(f"p{i}" for i in range(39, 9, -1))
    questions = tuple(replace(q, gold={"p20": 1}) for q in data.questions)
    tied = fixed(equal=True, q1=answers, q2=answers, q3=answers).retrieve_batch(
        data.queries, 100
    )
    frame = evaluate(tied, replace(data, questions=questions), ["mrr"])
    # P39 is first, so p20 is twentieth.
    assert frame["mrr"].tolist() == pytest.approx([1 / 20] * 3)


def test_rankings_without_any_hit_score_zero_everywhere(data, fixed):
    nothing = fixed().retrieve_batch(data.queries, 10)
    names = [
        "recall@5",
        "precision",
        "ndcg@10",
        "map",
        "rbp.95",
        "r-precision",
        "f1@3",
        "all_recall@5",
        "dcg",
    ]
    assert (evaluate(nothing, data, names) == 0).all(axis=None)


def test_a_document_stands_at_the_rank_of_its_best_passage(data, fixed):
    system = fixed(q1="p9 p8 p1", q2="p3", q3="p5 p4 p7 p9")
    frame = evaluate(
        system.retrieve_batch(data.queries, 10),
        data,
        ["recall@2", "mrr"],
        unit="document",
    )
    # documents d4 d0 | d1 | d2 d3 d4
    assert frame["recall@2"].tolist() == pytest.approx([1, 1, 2 / 3])
    assert frame["mrr"].tolist() == pytest.approx([1 / 2, 1, 1])


def test_a_document_has_the_greatest_grade_of_its_passages(data, fixed):
    # d0 holds p0 of grade 1 and p1 of grade 3, d1 p2 of grade 1; d1 is ranked first.
    questions = (replace(data.questions[0], gold={"p0": 1, "p1": 3, "p2": 1}),)
    found = fixed(q1="p2 p0").retrieve_batch(data.queries[:1], 10)
    frame = evaluate(
        found, replace(data, questions=questions), ["ndcg@5"], unit="document"
    )
    assert frame["ndcg@5"].tolist() == pytest.approx(
        [(1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))]
    )


def test_gold_documents_are_judged_as_documents_without_being_asked(data, fixed):
    questions = (
        Question("q1", "First?", {"d0": 1}),
        *(replace(q, gold={"d1": 2}) for q in data.questions[1:]),
    )
    documents = replace(data, unit="document", questions=questions)
    found = fixed(q1="p1", q2="p9 p3", q3="p2").retrieve_batch(data.queries, 10)
    assert evaluate(found, documents, ["mrr"])["mrr"].tolist() == pytest.approx(
        [1, 1 / 2, 1]
    )
    with pytest.raises(ValueError, match="Use unit='document'"):
        evaluate(found, documents, ["mrr"], unit="passage")


HITS = st.lists(st.integers(0, 30), unique=True, max_size=25)
GOLD = st.dictionaries(st.integers(0, 30), st.integers(1, 3), min_size=1, max_size=5)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(HITS, GOLD), min_size=1, max_size=15))
def test_the_door_changes_nothing_of_what_the_formulas_say(cases):
    ranked, gold = [case[0] for case in cases], [case[1] for case in cases]
    found = score(gold, ranked, ["recall@5", "precision@5", "mrr", "map", "ndcg@10"])
    for i, (hits, grades) in enumerate(cases):
        relevant = [int(hit in grades) for hit in hits]
        total = len(grades)
        assert found["recall@5"][i] == pytest.approx(sum(relevant[:5]) / total)
        assert found["precision@5"][i] == pytest.approx(sum(relevant[:5]) / 5)
        assert found["mrr"][i] == pytest.approx(
            1 / (relevant.index(1) + 1) if any(relevant) else 0
        )
        averages = [
            sum(relevant[: at + 1]) / (at + 1) for at, hit in enumerate(relevant) if hit
        ]
        assert found["map"][i] == pytest.approx(sum(averages) / total)
        gain = sum(
            grades.get(hit, 0) / math.log2(at + 2) for at, hit in enumerate(hits[:10])
        )
        ideal = sum(
            grade / math.log2(at + 2)
            for at, grade in enumerate(sorted(grades.values(), reverse=True))
        )
        assert found["ndcg@10"][i] == pytest.approx(gain / ideal)


def test_malformed_metrics_are_refused():
    for name in (
        "recall@0",
        "recall@-1",
        "Recall@5",
        "recall@5 ",
        "rbp",
        "rbp.0",
        "",
        "recall@tokens",
        "recall@0tokens",
    ):
        with pytest.raises(ValueError, match="Unknown metric"):
            Metric.parse(name)


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        (["recal@5"], r"'recal@5'.*all_recall\[@k\], .*support_f1\[@k\].*'recall@5'"),
        (["r-precision@5"], "Write 'r-precision'"),
        (["mrr", "mrr"], "given twice"),
        (["recall@50"], "k=50 or more"),
    ],
)
def test_metrics_that_cannot_be_asked_for_are_refused(metrics, message):
    with pytest.raises(ValueError, match=message):
        parse_metrics(metrics, k=10)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            lambda one, _, three: [one, three],
            ValueError,
            r"'mine' lacks 1 of 3 queries \(first: 'q2'\)",
        ),
        (lambda one, two, three: [three, two, one], ValueError, "not in their order"),
        (lambda *_: [["p1"], ["p2"], ["p3"]], TypeError, "'mine' contains list"),
        (
            lambda one, *rest: [replace(one, ids=[f"x{i}" for i in range(40)]), *rest],
            ValueError,
            "little's corpus",
        ),
        (lambda one, *rest: [of(one, [40], [1.0]), *rest], ValueError, "row 40"),
        (
            lambda one, *rest: [of(one, [1, 1], [2.0, 1.0]), *rest],
            ValueError,
            "ranked twice",
        ),
        (
            lambda one, *rest: [of(one, [1, 2], [1.0, 2.0]), *rest],
            ValueError,
            "must not rise",
        ),
    ],
)
def test_rankings_that_break_the_contract_are_refused(
    rankings, data, change, error, message
):
    with pytest.raises(error, match=message):
        evaluate(change(*rankings), data, ["mrr"], name="mine")


def of(ranking: Ranking, rows: list[int], scores: list[float]) -> Ranking:
    return replace(ranking, rows=np.array(rows), scores=np.array(scores))


@pytest.fixture
def paragraphs() -> QADataset:
    """Ed (3 sentences) and Wood (2), and a question that needs Ed's first and Wood's last."""
    passages = [
        Passage("a", "Ed", "One. Two. Three.", "Ed", 0),
        Passage("b", "Wood", "Four. Five.", "Wood", 0),
    ]
    corpus = Corpus.from_passages(
        passages, [["One.", "Two.", "Three."], ["Four.", "Five."]]
    )
    question = Question(
        "q", "Who?", {"a": 1, "b": 1}, supporting=(("Ed", 0), ("Wood", 1))
    )
    return QADataset("tiny", corpus, (question,))


def test_supporting_sentences_of_paragraphs_by_hand(paragraphs):
    found = [
        Ranking("q", np.array([0, 1]), np.array([2.0, 1.0]), paragraphs.corpus.ids)
    ]
    names = [
        f"support_{name}{cut}"
        for cut in ("@1", "")
        for name in ("precision", "recall", "f1")
    ]
    scores = evaluate(found, paragraphs, names).iloc[0].tolist()
    # Ed's three sentences; then all five
    assert scores == pytest.approx([1 / 3, 1 / 2, 2 / 5, 2 / 5, 1, 4 / 7])


def test_supporting_sentences_where_passages_are_sentences(paragraphs):
    passages = [
        Passage(f"{d}##{i}", d, f"{d} {i}.", d, i)
        for d, i in [("Ed", 0), ("Ed", 2), ("Wood", 1)]
    ]
    data = QADataset(
        "tiny",
        Corpus.from_passages(passages),
        (replace(paragraphs.questions[0], gold={"Ed##0": 1}),),
    )
    # Ed's third, Wood's second
    found = [Ranking("q", np.array([1, 2]), np.array([2.0, 1.0]), data.corpus.ids)]
    scores = (
        evaluate(
            found, data, ["support_precision", "support_recall@1", "support_recall@2"]
        )
        .iloc[0]
        .tolist()
    )
    assert scores == pytest.approx([1 / 2, 0, 1 / 2])


def test_passages_of_a_document_number_its_sentences_on_and_on(paragraphs):
    passages = [
        Passage("b", "Ed", "Three. Four.", "Ed", 1),
        Passage("a", "Ed", "One. Two.", "Ed", 0),
    ]
    corpus = Corpus.from_passages(passages, [["Three.", "Four."], ["One.", "Two."]])
    data = QADataset(
        "tiny", corpus, (Question("q", "Who?", {"b": 1}, supporting=(("Ed", 3),)),)
    )
    found = [Ranking("q", np.array([0]), np.array([1.0]), corpus.ids)]
    assert evaluate(found, data, ["support_recall", "support_precision"]).iloc[
        0
    ].tolist() == [
        1,
        0.5,
    ]


def test_what_cannot_be_judged_by_sentence_is_refused(rankings, data, paragraphs):
    with pytest.raises(ValueError, match=r"3 of 3 .*'q1'"):
        evaluate(rankings, data, ["support_f1"])
    bare = replace(paragraphs, corpus=Corpus.from_passages(paragraphs.corpus))
    with pytest.raises(ValueError, match=r"no sentences"):
        evaluate(
            [Ranking("q", np.array([0]), np.array([1.0]), bare.corpus.ids)],
            bare,
            ["support_f1"],
        )


@pytest.mark.realdata
@pytest.mark.parametrize("passages", ["paragraph", "sentence"])
def test_gold_rankings_of_hotpotqa_hold_every_supporting_sentence(
    shared_data, passages
):
    from kg2rag.datasets import load

    data = load(
        "hotpotqa",
        path=shared_data / "hotpotqa-300",
        setting="pooled",
        passages=passages,
    )
    found = []
    for question in data.questions:
        rows = data.corpus.rows(question.gold)
        found.append(Ranking(question.id, rows, np.ones(len(rows)), data.corpus.ids))
    frame = evaluate(found, data, ["support_recall", "support_precision"])
    assert frame["support_recall"].mean() == 1
    # Gold sentences are the supporting ones; gold paragraphs hold others too.
    assert (frame["support_precision"].mean() == 1) == (passages == "sentence")
