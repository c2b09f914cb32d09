"""`eval/results/ledger.csv` and the ledgers -> the tables of docs/results.md and the README that speak of them.

`kg2rag reproduce eval/ledger --data DATA --out eval/results/ledger.csv` writes the file; `eval/pages.py` calls `table`.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from kg2rag import Ledger
from kg2rag.experiments.reproduction import Reproduction
from kg2rag.experiments.reproduction.tables import JUDGED, NUMBERS, texts
from kg2rag.report.markup import pipe_table

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "eval" / "results" / "ledger.csv"
LEDGERS = ROOT / "eval" / "ledger"
SET = "2WikiMultihopQA"
PAPERS = {"hipporag1": "HippoRAG", "hipporag2": "HippoRAG 2"}


def table(name: str) -> str:
    """The table of that name."""
    made = {
        "counts": counts,
        "judged": lambda result: pipe(result.of("ok", "close", "off")[list(JUDGED)], 1),
        "released": lambda result: pipe(result.of("same", "differs")[list(JUDGED)], 2),
        "bm25": bm25,
        "effects": lambda result: pipe(result.effects(), 1),
        "needs": lambda result: pipe(result.needs(), 1),
        "missing": missing,
    }
    return made[name](Reproduction.load(RESULT))


def pipe(frame: pd.DataFrame, decimals: int) -> str:
    """A frame as a pipe table."""
    columns = [texts(frame[name], decimals) for name in frame]
    return "\n".join(pipe_table(list(frame), zip(*columns, strict=True), NUMBERS)) + "\n"


def counts(result: Reproduction) -> str:
    """One row a verdict."""
    rows = [(group, name, count) for group, part in result.summary().items() for name, count in part.items()]
    return pipe(pd.DataFrame(rows, columns=["against", "verdict", "numbers"]), 0)


def bm25(result: Reproduction) -> str:
    """BM25 on one set: what two papers print, and every setting of ours."""
    rows = result.frame.query("published == 'BM25' and set == @SET and metric.str.startswith('recall')")
    printed = rows.drop_duplicates(["ledger", "metric"]).pivot_table(index="ledger", columns="metric", values="theirs")
    ours = rows[rows["ledger"] == "hipporag1"].pivot_table(index="system", columns="metric", values="ours")
    first = rows.loc[rows["primary"], "system"].iloc[0]
    names = {first: "ours: titles and texts, k1 = 0.9, b = 0.4 (the default)"}
    ours = ours.loc[[first, *sorted(set(ours.index) - {first}, reverse=True)]]
    both = pd.concat(
        [printed.rename(index=PAPERS), ours.rename(index=lambda name: names.get(name, name.replace("bm25,", "ours:")))]
    )
    return pipe(both.reset_index(names="BM25"), 1).replace("|---|---|---|", "|---|--:|--:|")


def missing(_: Reproduction) -> str:
    """What the papers print and the ledgers do not hold."""
    ledgers = [Ledger.read(file) for file in sorted(LEDGERS.glob("*.toml"))]
    rows = [(ledger.name, each.table, each.rows, each.why) for ledger in ledgers for each in ledger.missing]
    return pipe(pd.DataFrame(rows, columns=["ledger", "where", "rows", "why it is not in"]), 0)
