"""MuSiQue's questions and the single hops they are made of -> recall@5 by number of sub-phrases, alone and by chains.

    python eval/kinds.py DATA/musique-100/musique.json --out eval/results/kinds.csv

The evidence for `MentionChains.chain_phrases`, the sub-phrases from which on a question is ordered by chains. A single
hop is a sub-question of the official decomposition, the answers of those before it filled in, its gold the paragraph
that supports it; equal ones count once. `alone` is the order by the start model, `chains` that of one chain or two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from public_sets import ENCODER

import kg2rag
from kg2rag.datasets.musique import MusiqueRecord
from kg2rag.datasets.reading import Files
from kg2rag.retrievers.mention_chains.ranker import read_coefficients
from kg2rag.retrievers.mention_chains.retriever import MentionChains
from kg2rag.retrievers.mention_chains.searched import Searched
from kg2rag.types import FloatArray

BANDS = ((0, 1), (2, 3), (4, 6), (7, 12), (13, 40))
K = 5
ORDERS = ("dense", "alone", "chains")


def single_hops(records: Sequence[MusiqueRecord], corpus: kg2rag.Corpus) -> Iterator[tuple[kg2rag.Query, set[int]]]:
    """Each sub-question that names its paragraph, with the row of that paragraph."""
    rows = {(passage.title, passage.text.strip()): row for row, passage in enumerate(corpus)}
    seen = set()
    for record in records:
        answers: list[str] = []
        for hop in record.question_decomposition:
            text = hop.question
            for number, answer in enumerate(answers, start=1):
                text = text.replace(f"#{number}", answer)
            answers.append(hop.answer)
            if hop.paragraph_support_idx is not None and text not in seen:
                seen.add(text)
                gold = record.paragraphs[hop.paragraph_support_idx]
                query = kg2rag.Query(f"{record.id}/{len(answers)}", text)
                yield query, {rows[gold.title, gold.paragraph_text.strip()]}


def recalls(searched: Searched, gold: set[int]) -> list[float]:
    """Recall@5 by cosine, by the start model and by chains."""
    known = searched.evidence
    scores = (searched.found.cosine[known.rows], searched.start, searched.scores)
    return [len(gold & set(_first(known.rows, each))) / len(gold) for each in scores]


def _first(rows: np.ndarray, scores: FloatArray) -> list[int]:
    found: list[int] = rows[np.lexsort((rows, -scores))[:K]].tolist()
    return found


def main(
    file: Annotated[Path, typer.Argument(help="Official MuSiQue records.")],
    coefficients: Annotated[str, typer.Option()] = "default",
    out: Annotated[Path | None, typer.Option(help="Where the table goes as CSV.")] = None,
) -> None:
    """Show one table, and write it."""
    read_coefficients(coefficients)
    data = kg2rag.load("musique", path=file, setting="pooled")
    gold = [{row for rows in data.gold_rows(one).values() for row in rows} for one in data.questions]
    asked = {
        "several": list(zip(data.queries, gold, strict=True)),
        "single": list(single_hops(Files().records(file, MusiqueRecord), data.corpus)),
    }
    system = MentionChains(
        kg2rag.KnowledgeBase.build(data.corpus, embedder=ENCODER), chain_phrases=0, coefficients=coefficients
    )
    rows = []
    for kind, pairs in asked.items():
        found = [
            (searched.evidence.n_phrases, recalls(searched, wanted))
            for searched, (_, wanted) in zip(system.searched([query for query, _ in pairs]), pairs, strict=True)
            if searched is not None
        ]
        for low, high in BANDS:
            some = [values for phrases, values in found if low <= phrases <= high]
            means = dict(zip(ORDERS, np.mean(some, axis=0) if some else np.full(len(ORDERS), np.nan), strict=True))
            rows.append({"hops": kind, "low": low, "high": high, "number": len(some)} | means)
    table = pd.DataFrame(rows)
    if out is not None:
        table.to_csv(out, index=False, float_format="%.6f")
    typer.echo(table.round(3).to_string(index=False))


if __name__ == "__main__":
    typer.run(main)
