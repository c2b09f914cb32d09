"""MuSiQue's questions by their number of hops -> what chains add: recall@5, and all of the gold among the first five.

    python eval/hops.py DATA/musique-100          writes eval/results/hops.csv

`mention_chains` beside its own order without chains, the walk and `dense`; coefficients fitted without these questions.
Run it from the root of the repository.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from public_sets import ENCODER

import kg2rag
from kg2rag import Dense, KnowledgeBase, MentionPPR
from kg2rag.retrievers.mention_chains.retriever import MentionChains

ROOT = Path(__file__).resolve().parent.parent
COEFFICIENTS = ROOT / "eval" / "coefficients" / "mention_chains_without_musique100.toml"
RESULTS = ROOT / "eval" / "results" / "hops.csv"
METRICS = ("recall@5", "all_recall@5")
NO_CHAINS = 1_000_000  # sub-phrases from which on a question is ordered by chains: none has as many


def main(folder: Annotated[Path, typer.Argument(help="The folder of musique-100.")]) -> None:
    """Compare and write one row a number of hops and system."""
    data = kg2rag.load("musique", path=folder)
    kb = KnowledgeBase.build(data.corpus, embedder=ENCODER)
    chains = MentionChains(kb, coefficients=str(COEFFICIENTS))
    systems = {
        "dense": Dense(kb),
        "mention_ppr": MentionPPR(kb),
        "no_chains": MentionChains(kb, coefficients=str(COEFFICIENTS), chain_phrases=NO_CHAINS),
        "mention_chains": chains,
    }
    table = kg2rag.compare(systems, data, metrics=list(METRICS), progress=False).compare_by("hops").reset_index()
    table.to_csv(RESULTS, index=False)
    typer.echo(table.round(3).to_string(index=False))


if __name__ == "__main__":
    typer.run(main)
