"""Chosen questions of a comparison -> a table in CSV, or one system's run of them in TREC's format."""

from __future__ import annotations

import csv
import re
from io import StringIO
from typing import Any

from kg2rag.report.listing import Choice
from kg2rag.retrievers.adapters import trec
from kg2rag.serving.library import OpenComparison
from kg2rag.text.cells import guarded


def as_csv(opened: OpenComparison, choice: Choice) -> str:
    """One row a chosen question and system, the left one first: what it is, then every metric as it was computed.

    A text that a spreadsheet would take for a formula is `guarded`.
    """
    ids = list(opened.listing.questions(choice).index)
    frame = opened.result.per_query.set_index(["query_id", "system"])
    metrics, about = opened.result.metrics, opened.listing.about
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["query_id", "type", "hops", "question", "system", *map(guarded, metrics)])
    for id_ in ids:
        told = [guarded(str(text)) for text in (id_, *about.loc[id_, ["type", "hops", "question"]])]
        for name in dict.fromkeys((choice.left, choice.right)):
            scores: Any = frame.loc[(id_, name), metrics]
            writer.writerow([*told, name, *(float(scores[metric]) for metric in metrics)])
    return out.getvalue()


def as_trec(opened: OpenComparison, choice: Choice, system: str) -> str:
    """A system's run of the chosen questions, as deep as it was saved."""
    run = opened.result.rankings[system]
    return trec.dump([run[opened.places[id_]] for id_ in opened.listing.questions(choice).index], system)


def file_name(*parts: str) -> str:
    """A name for a download, of letters that no header or disk minds."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", "-".join(parts)).strip("._") or "selection"
