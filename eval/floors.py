"""The public sets -> what a floor under `mention_ppr`'s walk costs: recall@5, rankings that change, share left out.

    python eval/floors.py DATA          writes eval/results/floors.csv

Each floor against the whole walk, paired over questions. Run it from the root of the repository.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from public_sets import ENCODER, reported

import kg2rag
from kg2rag import KnowledgeBase, MentionPPR

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "eval" / "results" / "floors.csv"
SETS = ("musique-100", "hotpotqa-300", "2wiki-1000")
FLOORS = ("1e-07", "1e-06", "1e-05", "0.0001", "0.001")
METRIC = "recall@5"
FIRST = 10  # passages whose order is compared


def main(folder: Annotated[Path, typer.Argument(help="The folder of the public sets.")]) -> None:
    """Compare and write one row a set and floor."""
    table = pd.concat([measured(name, reported(folder, name)) for name in SETS])
    table.to_csv(RESULTS, index=False, float_format="%.6f")
    typer.echo(table.round(4).to_string(index=False))


def measured(name: str, data: kg2rag.QADataset) -> pd.DataFrame:
    """One row a floor, after that of the whole walk."""
    kb = KnowledgeBase.build(data.corpus, embedder=ENCODER)
    systems = {"whole": MentionPPR(kb)} | {floor: MentionPPR(kb, floor=float(floor)) for floor in FLOORS}
    result = kg2rag.compare(systems, data, metrics=[METRIC], k=FIRST, baseline="whole", progress=False)
    table = result.scores.rename(columns={"system": "floor"})[["floor", "mean", "p_holm", "wins", "ties", "losses"]]
    whole = result.rankings["whole"]
    same = {
        floor: sum(one.passage_ids == other.passage_ids for one, other in zip(rankings, whole, strict=True)) / len(data)
        for floor, rankings in result.rankings.items()
    }
    left_out = {
        floor: sum(float(str(one.metadata.get("left out", 0.0))) for one in rankings) / len(data)
        for floor, rankings in result.rankings.items()
    }
    table.insert(0, "set", name)
    return table.assign(same_first=table["floor"].map(same), left_out=table["floor"].map(left_out))


if __name__ == "__main__":
    typer.run(main)
