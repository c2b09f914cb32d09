"""The tables of `eval/remake.py` and `kg2rag verify --across` -> tables of Markdown, and numbers for sentences."""

from __future__ import annotations

import pandas as pd
from page_data import Results
from page_tables import markdown
from page_values import Number, counted, query

MOVED = ("largest", "questions", "rankings", "stars")
HEAD = ("largest change, points", "questions, %", "first tens, %", "stars")


@query
def remade(results: Results, what: str) -> Number:
    """Of all comparisons made again: their rows, the comparisons that moved, or the largest change in points."""
    frame = results.table("remade")
    if what == "largest":
        return Number(float(frame["largest"].max()), f"{frame['largest'].max():.1f}")
    values = {
        "rows": frame["rows"].sum(),
        "comparisons": len(frame),
        "moved": (frame[list(MOVED)] != 0).any(axis=1).sum(),
    }
    return counted(values[what])


@query
def across(results: Results, what: str) -> Number:
    """Of a comparison under other instructions: the settings, those that moved it, or the largest change in points."""
    frame = results.table("across")
    if what == "largest":
        return Number(float(frame["largest"].max()), f"{frame['largest'].max():.1f}")
    return counted({"settings": len(frame), "moved": (frame[list(MOVED)] != 0).any(axis=1).sum()}[what])


def remade_table(results: Results) -> str:
    """One row a comparison and processor."""
    frame = results.table("remade")
    rows = [
        [f"`{row['comparison']}`", row["processor"], row["kept_on"], str(row["rows"]), *_moved(row)]
        for _, row in frame.iterrows()
    ]
    return markdown(["comparison", "made again on", "kept from", "rows", *HEAD], rows, words=3)


def across_table(results: Results) -> str:
    """One row a setting that holds instructions back."""
    rows = [[row["setting"], *_moved(row)] for _, row in results.table("across").iterrows()]
    return markdown(["instructions", *HEAD], rows, words=1)


def _moved(row: pd.Series) -> list[str]:
    return [f"{row['largest']:.1f}", f"{row['questions']:.1f}", f"{row['rankings']:.1f}", str(row["stars"])]
