"""The recall of systems on public sets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import kg2rag
from kg2rag.compute import SentenceEncoder
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.adapters import trec
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.mention_chains.retriever import MentionChains
from kg2rag.retrievers.mention_ppr.retriever import MentionPPR
from kg2rag.types import Corpus

pytestmark = [pytest.mark.realdata, pytest.mark.slow]

KEPT = Path(__file__).parents[2] / "eval" / "results"
BETWEEN_PROCESSORS = 0.005
"""How far a mean may move between processors."""


def compared(
    name: str, path: Path, *systems: type[kg2rag.Retriever], **options: str
) -> kg2rag.Comparison:
    data = kg2rag.load(name, path=path, **options)
    kb = KnowledgeBase.build(data.corpus)
    return kg2rag.compare(
        {system.__name__: system(kb) for system in systems}, data, metrics=["recall@5"]
    )


def means(result: kg2rag.Comparison) -> dict[str, float]:
    return dict(zip(result.scores["system"], result.scores["mean"], strict=True))


def test_bm25_and_dense_score_the_first_hits_of_ten_questions_as_in_the_runs_that_are_kept(
    shared_data: Path,
) -> None:
    data = kg2rag.load("musique", path=shared_data / "musique-100")
    queries = data.queries[:10]
    runs = {
        name: trec.load(KEPT / "musique-100" / "runs" / f"{name}.trec.gz")
        for name in ("bm25", "dense")
    }
    hits = {
        name: [run[query.id][:10] for query in queries] for name, run in runs.items()
    }
    ids = {id_ for hits_of_query in hits["dense"] for id_, _ in hits_of_query}
    few = Corpus.from_passages(
        [passage for passage in data.corpus if passage.id in ids]
    )
    among_hits = [
        replace(query, candidates=tuple(id_ for id_, _ in hits_of_query))
        for query, hits_of_query in zip(queries, hits["dense"], strict=True)
    ]
    dense = Dense(KnowledgeBase.build(few, embedder=SentenceEncoder(dtype="float32")))
    found = {
        "bm25": BM25(KnowledgeBase.build(data.corpus)).retrieve_batch(queries, 10),
        "dense": dense.retrieve_batch(among_hits, 10),
    }
    for name, rankings in found.items():
        for ranking, hits_of_query in zip(rankings, hits[name], strict=True):
            assert ranking.passage_ids == [id_ for id_, _ in hits_of_query]
            assert ranking.scores == pytest.approx(
                [score for _, score in hits_of_query], rel=1e-4
            )


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "loader", "folder", "options"),
    [
        ("docs", "beir", "domains/anthropic-docs", {"split": "dev"}),
        ("musique-100", "musique", "musique-100", {}),
    ],
)
def test_a_set_is_found_now_as_in_the_runs_that_are_kept(
    name: str, loader: str, folder: str, options: dict[str, str], shared_data: Path
) -> None:
    data = kg2rag.load(loader, path=shared_data / folder, **options)
    kb = KnowledgeBase.build(data.corpus, embedder=SentenceEncoder(dtype="float32"))
    chains = MentionChains(kb)
    systems = {
        "bm25": BM25(kb),
        "dense": Dense(kb),
        "mention_ppr": MentionPPR(kb),
        "mention_chains": chains,
    }
    result = kg2rag.compare(systems, data, metrics=["recall@5"])
    kept = (
        pd.read_csv(KEPT / name / "scores.csv")
        .query("metric == 'recall@5'")
        .set_index("system")["mean"]
    )
    for system, mean in means(result).items():
        assert mean == pytest.approx(kept[system], abs=BETWEEN_PROCESSORS), system
        run = trec.load(KEPT / name / "runs" / f"{system}.trec.gz")
        pairs = [
            (ranking.passage_ids[:10], run[ranking.query_id][:10])
            for ranking in result.rankings[system]
        ]
        assert (
            np.mean([ids == [id_ for id_, _ in hits] for ids, hits in pairs]) >= 0.95
        ), system


@pytest.mark.full
def test_hotpotqa_pooled_mention_ppr_is_significantly_above_dense(
    shared_data: Path, tmp_path: Path
) -> None:
    records = json.loads(
        (shared_data / "hotpotqa-300" / "hotpot_dev_distractor.json").read_text(
            encoding="utf-8"
        )
    )
    first = tmp_path / "first_100.json"
    first.write_text(json.dumps(records[:100]), encoding="utf-8")
    result = compared("hotpotqa", first, Dense, MentionPPR, setting="pooled")
    row = result.scores.set_index("system").loc["MentionPPR"]
    assert row["mean"] > means(result)["Dense"]
    assert row["p_holm"] < 0.05


def test_2wiki_1000_bm25_is_near_a_published_value(shared_data: Path) -> None:
    found = means(compared("2wikimultihopqa", shared_data / "2wiki-1000", BM25))["BM25"]
    assert min(abs(found - 0.619), abs(found - 0.653)) <= 0.03
