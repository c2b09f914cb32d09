"""A comparison that stands, and systems run beside it -> rankings, configuration and files of one comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from kg2rag.evaluation import annotated, described, storage
from kg2rag.evaluation.comparison import Comparison
from kg2rag.evaluation.first_hits import FILE, FirstHits
from kg2rag.text.records import reading
from kg2rag.types import QADataset, Ranking

_BY_SYSTEM = ("systems", "parameters", "tuning", "graph_unread", "remarks", "graph_use", "ms_per_query", "seeds")
"""Parts of a configuration that have an entry for each system, or for those of which there is something to say."""
_OF_ADDED = (
    "command started seconds load_average batch_size python platform processor versions threads blas commit".split()
)
"""What the configuration says of how systems were added, besides their names."""


def restored(result: Comparison, folder: Path | None, data: QADataset) -> Comparison:
    """A comparison whose rankings count the rows of the data set's corpus.

    One that was loaded from `folder` gets the stages, parts of scores, paths and notes of its first hits.

    Raises DataError: a run names a passage that the corpus lacks, or the first hits are of other runs.
    """
    rankings: dict[str, Sequence[Ranking]] = {}
    first = None if folder is None else FirstHits.load(folder / FILE)
    with reading(folder or "the comparison", "Compare again."):
        for name, run in result.rankings.items():
            rankings[name] = [_on_corpus(one, data) for one in run]
            if first is not None:
                rankings[name] = first.restored(name, rankings[name])
    return replace(result, rankings=rankings)


def _on_corpus(ranking: Ranking, data: QADataset) -> Ranking:
    ids = data.corpus.ids
    if ranking.ids is ids or (len(ranking.ids) == len(ids) and list(ranking.ids) == list(ids)):
        return replace(ranking, ids=ids)
    # A loaded ranking: its rows count the ids of its own run, and it has no paths.
    return replace(
        ranking, rows=np.array([data.corpus.row(id_) for id_ in ranking.passage_ids], dtype=np.int64), ids=ids
    )


def joined(config: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of all systems: that of the first, which the added ones' parts extend.

    `added` : what `Measured.about` and `Clock.read` say of the added systems, their seeds, batch size and command.
    """
    own = {name: added[name] for name in _OF_ADDED if name in added}
    both = {
        **config,
        **{name: {**config.get(name, {}), **added[name]} for name in _BY_SYSTEM},
        "knowledge": _knowledge(config["knowledge"], added["knowledge"]),
        "graphs": [*config["graphs"], *(one for one in added["graphs"] if one not in config["graphs"])],
        "added": [*config.get("added", []), {"systems": list(added["systems"]), **own}],
    }
    return {**both, "fingerprint": described.fingerprint(both)}


def _knowledge(then: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The knowledge bases of both, each once; an encoder is described where either has opened it."""
    both = [dict(one) for one in then]
    for kb in now:
        same = next((one for one in both if _outline(one) == _outline(kb)), None)
        if same is None:
            both.append(dict(kb))
        else:
            same["systems"] = [*same["systems"], *kb["systems"]]
            same["encoder"] = max(same["encoder"], kb["encoder"], key=len)
    return both


def _outline(kb: Mapping[str, Any]) -> tuple[object, ...]:
    return kb["corpus"], kb["shuffled"], kb["graph"]["fingerprint"], kb["encoder"]["encoder"]


def save(
    result: Comparison, folder: Path, standing: Sequence[str], data: QADataset, *, ir_metadata: bool = False
) -> None:
    """Save it where the systems that stood were saved; their run files stay as they are, to the byte.

    Written as `Comparison.save` does, after everything has been run: interrupted before, the folder is as it was.
    """
    files = {name: folder / "runs" / f"{name}.trec" for name in standing}
    runs = {name: file.read_bytes() for name, file in files.items()}
    new = [name for name in result.systems if name not in runs] if ir_metadata else []
    values = {each.name: getattr(result, each.name) for each in fields(result)}
    headers = {name: annotated.header(result.config, name) for name in new}
    storage.save(values, folder, page=result.to_html(), data=data, headers=headers, runs=runs)
