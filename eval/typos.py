"""CoSQA's functions -> how often each system finds a function by a misspelt, partial or re-cased name.

    python eval/typos.py DATA/cosqa-500          writes eval/results/typos.csv

Hit@10 and MRR@10 (hit@10 by kind of edit, too), and both on the web queries of the half of CoSQA that no rule was tuned
on.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from public_sets import ENCODER
from typo_queries import typo_queries

import kg2rag
from kg2rag import BM25, Dense, DynamicHybrid, MentionPPR, Pattern, QADataset, Retriever

RESULTS = Path(__file__).resolve().parent / "results" / "typos.csv"
METRICS = ["hit_rate@10", "mrr@10"]


def held_out(data: QADataset, seed: int = 0) -> QADataset:
    """The half of the questions that is reported; the other half may be tuned on."""
    kept = np.sort(np.random.default_rng(seed).permutation(len(data))[len(data) // 2 :])
    return replace(data, questions=tuple(data.questions[i] for i in kept.tolist()))


def report(title: str, systems: Mapping[str, Retriever], data: QADataset) -> pd.DataFrame:
    """Print means, by type where there is more than one; the means over all."""
    result = kg2rag.compare(systems, data, metrics=METRICS, progress=False)
    print(
        f"\n{title}: {len(data)} queries, ms per query { ({n: round(ms, 1) for n, ms in result.ms_per_query.items()}) }"
    )
    means = result.per_query.groupby("system", sort=False)[METRICS].mean().reset_index()
    print(means.round(4))
    by_type = result.per_query.pivot_table(index="type", columns="system", values=METRICS[0], sort=False)
    if len(by_type) > 1:
        print(by_type.round(3))
    means.insert(0, "queries", title)
    means.insert(2, "n", len(data))
    return means


def main() -> None:
    """Measure."""
    data = kg2rag.load("cosqa", path=sys.argv[1])
    kb = kg2rag.KnowledgeBase.build(data.corpus, embedder=ENCODER)
    systems = {
        "bm25": BM25(kb),
        "dense": Dense(kb),
        "pattern": Pattern(kb),
        "mention_ppr": MentionPPR(kb),
        "dynamic_hybrid": DynamicHybrid(kb),
    }
    web = report("web", systems, held_out(data))
    # Seed 0 was looked at while the rules were written.
    edited = report("edited", systems, typo_queries(data.corpus, per_kind=60, seed=1))
    pd.concat([web, edited]).to_csv(RESULTS, index=False, float_format="%.6f")


if __name__ == "__main__":
    main()
