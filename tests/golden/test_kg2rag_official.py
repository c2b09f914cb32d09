"""`KG2RAGOfficial` against the released code's own outputs on 100 MuSiQue questions, twenty paragraphs each.

Where the two may differ, and why: the released code walks a component that holds less than half of
the vertices in the order of a Python set, so the order of its tree's edges, and with it the string
that the reranker reads, hangs on the hash seed of that run. Ours is the order of insertion. A
string that differs gets our score for it (float32 MiniLM, as in the recording); everything else is
scored as recorded.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from kg2rag.datasets import load
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.published.kg2rag.official import KG2RAGOfficial, QueryPlan
from kg2rag.retrievers.published.kg2rag.released import (
    joined_texts,
    stated_triples,
    tree_text,
)
from kg2rag.retrievers.rerankers import BiEncoder
from kg2rag.types import FloatArray, QADataset, Query, Ranking

pytestmark = [pytest.mark.realdata, pytest.mark.full]

OPENIE = "openie_results_ner_gpt-3.5-turbo-1106.json"
MANY = 20_000  # orders of the passages of one tree that are tried
# its largest tree, 43 of 161 vertices, has another string: 0.53, recorded 0.29
OTHER_SET = {"2hop__161500_15014"}
# two appended paragraphs of equal score, in the order of a set
OTHER_ORDER = {"2hop__689512_55369", *OTHER_SET}


class Recorded:
    """The recorded score where the string was recorded for that question, else our own."""

    def __init__(self, golden: Mapping[str, Any], own: BiEncoder) -> None:
        calls = [
            (query["question"], call)
            for query in golden.values()
            for call in query["reranker_calls"]
        ]
        self.known = {
            (question, text): score for question, call in calls for text, score in call
        }
        self.own = own
        self.asked = self.matched = 0

    def scores(self, pairs: Sequence[tuple[str, str]]) -> FloatArray:
        found = [self.known.get((question, sha1(text))) for question, text in pairs]
        strangers = [
            pair for pair, score in zip(pairs, found, strict=True) if score is None
        ]
        own = iter(self.own.scores(strangers).tolist())
        self.asked += len(pairs)
        self.matched += len(pairs) - len(strangers)
        return np.array([next(own) if score is None else score for score in found])


class Run(NamedTuple):
    golden: dict[str, Any]
    system: KG2RAGOfficial
    reranker: Recorded
    queries: list[Query]
    plans: list[QueryPlan]
    rankings: list[Ranking]
    # of each query: corpus row -> number of the paragraph in the question
    places: list[dict[int, int]]


def sha1(text: str) -> str:
    return hashlib.sha1(text.encode()).hexdigest()


def numbers(record: Mapping[str, Any], field: str) -> list[int]:
    return [int(name.partition("##")[0]) for name, _ in record[field]]


@pytest.fixture(scope="module")
def run(shared_data: Path, shared_golden: Path) -> Run:
    folder = shared_data / "musique-100"
    data = load("musique", path=folder, setting="distractor")
    queries = json.loads(
        (shared_golden / "kg2rag_official_musique100.json").read_text()
    )["queries"]
    golden = {query["id"]: query for query in queries}
    kb = KnowledgeBase.build(data.corpus, f"openie({folder / OPENIE})")
    reranker = Recorded(golden, BiEncoder(kb))
    system = KG2RAGOfficial(kb, mode="musique", reranker=reranker, max_characters=None)
    rankings = system.retrieve_batch(data.queries, 10)
    return Run(
        golden,
        system,
        reranker,
        data.queries,
        system.plan(data.queries),
        rankings,
        places(data, folder),
    )


def places(data: QADataset, folder: Path) -> list[dict[int, int]]:
    passages = {
        (passage.title, passage.text): row for row, passage in enumerate(data.corpus)
    }
    records = {
        record["id"]: record
        for record in json.loads((folder / "musique.json").read_text())
    }
    return [
        {
            passages[page["title"], page["paragraph_text"]]: page["idx"]
            for page in records[query.id]["paragraphs"]
        }
        for query in data.queries
    ]


def differing(run: Run, ours: Sequence[object], theirs: Sequence[object]) -> set[str]:
    return {
        query.id
        for query, one, other in zip(run.queries, ours, theirs, strict=True)
        if one != other
    }


def nodes(run: Run, *, seeds: bool) -> list[dict[int, float]]:
    """Paragraph number -> score, of the seeds or of what was appended."""
    found = []
    for plan, place in zip(run.plans, run.places, strict=True):
        rows = (
            list(plan.nodes)[: plan.n_seeds]
            if seeds
            else list(plan.nodes)[plan.n_seeds :]
        )
        found.append({place[row]: plan.nodes[row] for row in rows})
    return found


def recorded(run: Run, field: str) -> list[list[int]]:
    return [numbers(run.golden[query.id], field) for query in run.queries]


def returned(run: Run) -> list[list[int]]:
    return [
        [place[row] for row in ranking.rows.tolist()]
        for ranking, place in zip(run.rankings, run.places, strict=True)
    ]


def test_the_seeds_are_the_same_in_the_same_order_and_so_are_the_paragraphs_appended(
    run: Run,
) -> None:
    assert (
        differing(run, list(map(list, nodes(run, seeds=True))), recorded(run, "seeds"))
        == set()
    )
    ours = [sorted(found) for found in nodes(run, seeds=False)]
    assert (
        differing(run, ours, [sorted(found) for found in recorded(run, "expanded")])
        == set()
    )


def test_all_scores_are_the_same_within_a_millionth(run: Run) -> None:
    for query, seeds, appended in zip(
        run.queries, nodes(run, seeds=True), nodes(run, seeds=False), strict=True
    ):
        record = run.golden[query.id]
        theirs = {
            int(name.partition("##")[0]): score
            for name, score in record["seeds"] + record["expanded"]
        }
        assert {**seeds, **appended} == pytest.approx(theirs, abs=1e-6)


def test_there_are_as_many_trees_and_nine_tenths_of_their_strings_are_the_same(
    run: Run,
) -> None:
    trees = [len(plan.trees) for plan in run.plans]
    assert trees == [
        len(run.golden[query.id]["reranker_calls"][0]) for query in run.queries
    ]
    assert sum(trees) == 1312
    # 1228 of 1339, the strings of the second call included
    assert run.reranker.matched / run.reranker.asked > 0.9


def test_a_string_that_differs_has_the_same_paragraphs_in_another_order(
    run: Run,
) -> None:
    """Paragraphs weigh differently, so that all maximum spanning trees take as many facts of each: their order is left.

    Every order is tried where there are few enough, which finds the recorded string each time.
    """
    stated, texts = stated_triples(run.system.kb), joined_texts(run.system.kb)
    found = 0
    for query, plan in zip(run.queries, run.plans, strict=True):
        for tree, text, (recording, _) in zip(
            plan.trees,
            plan.texts,
            run.golden[query.id]["reranker_calls"][0],
            strict=True,
        ):
            counts = Counter(plan.rows[fact] for fact in tree)
            number = math.factorial(len(tree)) // math.prod(
                map(math.factorial, counts.values())
            )
            if sha1(text) != recording and number <= MANY:
                strings = (
                    tree_text(rows, texts, stated, None)
                    for rows in arrangements(counts)
                )
                assert recording in map(sha1, strings)
                found += 1
    # 48 of the 111 that differ; of the others, too long to try, the longest has 10^50 orders
    assert found


def arrangements(counts: Counter[int]) -> Iterator[list[int]]:
    """Every order of some rows, each as often as it is counted."""
    if not counts.total():
        yield []
    for row in [row for row, left in counts.items() if left]:
        for rest in arrangements(counts - Counter([row])):
            yield [row, *rest]


def test_the_same_paragraphs_are_selected_where_their_order_is_defined(
    run: Run,
) -> None:
    ours = [sorted(found) for found in returned(run)]
    assert (
        differing(
            run, ours, [sorted(found) for found in recorded(run, "selected_in_order")]
        )
        == OTHER_SET
    )
    assert (
        differing(run, ours, [sorted(found) for found in recorded(run, "after_filter")])
        == OTHER_SET
    )
    # They are returned in the same order.
    assert (
        differing(run, returned(run), recorded(run, "selected_in_order")) == OTHER_ORDER
    )
    assert (
        differing(
            run,
            returned(run),
            [run.golden[query.id]["predicted"] for query in run.queries],
        )
        == OTHER_ORDER
    )


def test_with_the_recorded_score_of_each_tree_every_selection_is_the_same(
    run: Run,
) -> None:
    """Trees come in the same order, so a string that differs can borrow the score of the one in its place."""
    system = run.system
    scores = [
        np.array([score for _, score in run.golden[query.id]["reranker_calls"][0]])
        for query in run.queries
    ]
    found = list(map(system.select, run.queries, run.plans, scores))
    ours = [
        sorted(place[row] for row in selected)
        for (selected, _), place in zip(found, run.places, strict=True)
    ]
    assert (
        differing(run, ours, [sorted(rows) for rows in recorded(run, "after_filter")])
        == set()
    )
