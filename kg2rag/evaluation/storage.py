"""The values of a comparison <-> a directory: tables as csv, scores as Parquet, runs as TREC files, a page, and JSON.

Each file is replaced atomically, config.json last: where config.json exists, everything is there. Until then
unfinished.json lists the runs that an interrupted save may have left, so that the next one removes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

from kg2rag.compute import remove_leftovers, write
from kg2rag.evaluation.score_table import COUNTS, TESTS
from kg2rag.retrievers.adapters import trec

_TABLES = {"curve": "k", "token_curve": "tokens", "sizes": None, "per_seed": None}
"""Attributes of `Comparison` that are a csv each, and the name of their index; `per_seed` may be None."""
_UNFINISHED = "unfinished.json"


def save(
    values: Mapping[str, Any],
    directory: Path,
    *,
    page: str,
    qrels: Mapping[str, Mapping[str, int]] | None,
    headers: Mapping[str, str],
) -> Path:
    """Write the attributes of a comparison, its page, its gold and the headers of its runs; return the page's path."""
    (directory / "runs").mkdir(parents=True, exist_ok=True)
    _remove_former(directory, values["rankings"])
    write(directory / "scores.csv", _csv(values["scores"], index=False))
    for name, index in _TABLES.items():
        if values[name] is not None:
            write(directory / f"{name}.csv", _csv(values[name], index=index is not None))
    parquet = BytesIO()
    values["per_query"].to_parquet(parquet, index=False)
    write(directory / "per_query.parquet", parquet.getvalue())
    for name, rankings in values["rankings"].items():
        write(directory / "runs" / f"{name}.trec", trec.dump(rankings, name, headers.get(name, "")).encode())
    if qrels is not None:
        write(directory / "qrels.trec", trec.dump_qrels(qrels).encode())
    write(directory / "report.html", page.encode())
    config = json.dumps(dict(values["config"]), indent=1, ensure_ascii=False, default=str)
    write(directory / "config.json", (config + "\n").encode())
    (directory / _UNFINISHED).unlink()
    return directory / "report.html"


def load(directory: Path) -> dict[str, Any]:
    """The attributes of the comparison that `save` wrote."""
    if not (directory / "config.json").is_file():
        raise FileNotFoundError(f"{directory} has no finished comparison: config.json is missing.")
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    per_query = pd.read_parquet(directory / "per_query.parquet")
    queries = list(dict.fromkeys(per_query["query_id"]))
    present = {name: index for name, index in _TABLES.items() if (directory / f"{name}.csv").is_file()}
    runs = {name: trec.load(directory / "runs" / f"{name}.trec") for name in config["systems"]}
    return {
        "rankings": {name: trec.as_rankings(run, queries) for name, run in runs.items()},
        "per_query": per_query,
        # Blank is the one missing value: a system may be called "NA" or "nan".
        "scores": pd.read_csv(
            directory / "scores.csv",
            dtype=dict.fromkeys(COUNTS, "Int64"),
            keep_default_na=False,
            na_values={name: [""] for name in ("p_holm", *COUNTS, *TESTS)},
        ),
        "ms_per_query": {name: float("nan") if ms is None else ms for name, ms in config["ms_per_query"].items()},
        "baseline": config["baseline"],
        "config": config,
        **{name: _table(directory / f"{name}.csv", index) for name, index in present.items()},
    }


def _table(path: Path, index: str | None) -> pd.DataFrame:
    # As above, and a curve is blank where a run ends.
    return pd.read_csv(path, index_col=index, keep_default_na=False, na_values=None if index is None else [""])


def _remove_former(directory: Path, systems: Iterable[str]) -> None:
    """Remove what an earlier comparison in this directory wrote, finished or not, and this one will not overwrite."""
    remove_leftovers(directory)
    remove_leftovers(directory / "runs")
    config, unfinished = directory / "config.json", directory / _UNFINISHED
    former: set[str] = set()
    if config.is_file():
        former |= set(json.loads(config.read_text(encoding="utf-8")).get("systems", {}))
    if unfinished.is_file():
        former |= set(json.loads(unfinished.read_text(encoding="utf-8")))
    write(unfinished, json.dumps(sorted(former | set(systems))).encode())
    if not former:
        return
    config.unlink(missing_ok=True)
    for name in sorted(former - set(systems)):
        (directory / "runs" / f"{Path(name).name}.trec").unlink(missing_ok=True)
    for name in ("qrels.trec", *(f"{table}.csv" for table in _TABLES)):
        (directory / name).unlink(missing_ok=True)


def _csv(frame: pd.DataFrame, *, index: bool) -> bytes:
    text: str = frame.to_csv(index=index, float_format="%.6f", lineterminator="\n")
    return text.encode()
