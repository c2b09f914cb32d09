"""The rules of `dynamic_hybrid` on labelled queries, half of them held out while the rules were made."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import kg2rag
from kg2rag.knowledge import TrigramIndex
from kg2rag.retrievers.designs.dynamic_hybrid.analysers import RuleAnalyser

LABELLED = Path(__file__).with_name("query_kinds.tsv")


def test_the_rules_recognise_nine_of_ten_queries_of_each_kind_also_of_those_held_out(
    tmp_path: Path,
) -> None:
    labelled = pd.read_csv(LABELLED, sep="\t", quoting=3, keep_default_na=False)
    spelt_well = labelled["query"][
        labelled["kind"].isin(["conceptual", "identifier", "relationship"])
    ]
    meant = labelled["means"][labelled["means"] != ""]  # of those that are misspelt
    TrigramIndex.write(
        tmp_path, [*kg2rag.load("bundled").corpus.contents, *spelt_well, *meant]
    )
    queries = [kg2rag.Query(str(at), text) for at, text in enumerate(labelled["query"])]
    found = [
        analysis.query_type
        for analysis in RuleAnalyser(TrigramIndex(tmp_path)).analyse(queries)
    ]
    right = (
        (labelled["kind"] == found)
        .groupby([labelled["split"], labelled["kind"]])
        .mean()
    )
    assert len(right) == 10
    assert right.min() > 0.9
