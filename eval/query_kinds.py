"""Labelled queries -> how many of each kind the rules of `dynamic_hybrid` recognise, and what they take the others for.

    python eval/query_kinds.py --out eval/results/query_kinds.csv

`query_kinds.tsv` holds 225 queries of the design's five kinds, 45 of each, written and labelled before the rules that
are measured here. Every second one is held out ("test"): no rule was changed with it in view. What the labels mean:

- conceptual: asks for an explanation, an opinion, a way to do something, and names nothing that is spelt exactly.
- identifier: names one thing that is to be found by its exact spelling.
- relationship: asks for what stands in a relation to a thing (uses, callers, subclasses, impact, owners).
- fuzzy: names a thing by a spelling that is not, or may not be, its own; `means` has the right one.
- mixed: a format, wildcard or regular expression; or an explanation that is about one exactly spelt name.

The rules read the corpus's vocabulary. Here it is the bundled corpus and the queries' own words: those of the kinds
"conceptual", "identifier" and "relationship", and the right spellings of "fuzzy".
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import pandas as pd
import typer

import kg2rag
from kg2rag.knowledge import TrigramIndex
from kg2rag.retrievers.dynamic_hybrid.analysis import TYPES, RuleAnalyser

LABELLED = Path(__file__).with_name("query_kinds.tsv")
WELL_SPELT = ("conceptual", "identifier", "relationship")


def read_labelled(path: Path = LABELLED) -> pd.DataFrame:
    """One row a query: split ("dev" or "test"), kind, query, means."""
    return pd.read_csv(path, sep="\t", quoting=3, keep_default_na=False)


def vocabulary(labelled: pd.DataFrame) -> list[str]:
    """The texts whose words the corpus is taken to hold."""
    known = labelled[labelled["kind"].isin(WELL_SPELT)]["query"]
    return [*kg2rag.load("bundled").corpus.contents, *known, *labelled["means"][labelled["means"] != ""]]


def recognised(labelled: pd.DataFrame) -> list[str]:
    """What the rules take each query for."""
    with TemporaryDirectory() as folder:
        TrigramIndex.write(Path(folder), vocabulary(labelled))
        analyser = RuleAnalyser(TrigramIndex(Path(folder)))
        queries = [kg2rag.Query(str(at), text) for at, text in enumerate(labelled["query"])]
        return [analysis.query_type for analysis in analyser.analyse(queries)]


def table(labelled: pd.DataFrame, found: Sequence[str], rules: str) -> pd.DataFrame:
    """One row for each split and kind, and "all" kinds: how many are right, how many were taken for each type."""
    counted = labelled.assign(found=list(found))
    groups = [
        *counted.groupby(["split", "kind"]),
        *(((split, "all"), part) for split, part in counted.groupby("split")),
    ]
    rows = []
    for (split, kind), group in groups:
        about = {"rules": rules, "split": split, "kind": kind, "n": len(group)}
        right = {"right": int((group["found"] == group["kind"]).sum())}
        rows.append(about | right | {f"as_{name}": int((group["found"] == name).sum()) for name in TYPES})
    return pd.DataFrame(rows)


def main(
    rules: Annotated[str, typer.Option(help="What these rules are called in the table.")] = "now",
    out: Annotated[Path | None, typer.Option(help="CSV; its rows of other rules are kept.")] = None,
    wrong: Annotated[bool, typer.Option("--wrong", help="List the queries of the dev half taken for others.")] = False,
) -> None:
    """Measure, show the table and write it."""
    labelled = read_labelled()
    found = recognised(labelled)
    if wrong:
        dev = labelled.assign(found=found).query("split == 'dev' and kind != found")
        typer.echo(dev[["kind", "found", "query"]].to_string(index=False))
    made = table(labelled, found, rules)
    typer.echo(made.to_string(index=False))
    if out is not None:
        before = pd.read_csv(out) if out.exists() else made.iloc[:0]
        pd.concat([before[before["rules"] != rules], made]).to_csv(out, index=False)


if __name__ == "__main__":
    typer.run(main)
