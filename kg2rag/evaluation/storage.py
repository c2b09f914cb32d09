"""A comparison <-> a folder of csv tables, Parquet scores, compressed TREC runs, page and JSON.

All files are complete on the disk before the first of an earlier comparison is replaced,
config.json last; files that kg2rag did not write stay as they are (see `compute.outputs`).
config.json has the checksums of all files and of itself, so that a damaged file, or a file of
another comparison, is never read.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from kg2rag.compute.outputs import check_outputs, write_outputs
from kg2rag.evaluation.significance import COUNTS, TESTS
from kg2rag.retrievers.adapters import trec
from kg2rag.text.cells import csv_of, frame_of_csv
from kg2rag.text.records import DataError, read_json, sha256
from kg2rag.types import QADataset

_TABLES = {"curve": "k", "token_curve": "tokens", "sizes": None, "per_seed": None}
"""Attribute of `Comparison` that is saved as csv -> the name of its index; `per_seed` may be None."""
CONFIG = "config.json"
COMPARED_SETS = "sets.json"
"""The file that names the sets of a summary, in the folder of their comparisons."""
ANSWERS = "answers.parquet"
_TABLE_NAMES = tuple(f"{name}.csv" for name in _TABLES)
_NAMES = (
    CONFIG,
    ANSWERS,
    "scores.csv",
    "per_query.parquet",
    "qrels.trec",
    "report.html",
)
_SUMMARY_NAMES = (COMPARED_SETS, "macro.csv", "report.html")
FILES, CHECKSUM = "files", "sha256"
"""Keys of config.json for the checksums of the other files, and for its own checksum."""
AGAIN = "Run the comparison again."


def require_free_folder(
    directory: Path, *, several: bool = False, systems: Iterable[str] = ()
) -> None:
    """Check that results can be saved in a folder, where earlier ones of kg2rag may be.

    several : whether the results are a summary of several data sets, or a comparison of `systems`.

    Raises
    ------
    DataError : the folder has results of the other kind, or a config.json that cannot be used.
    FileExistsError : a file is in the way that kg2rag did not write, or that was edited since.
    """
    config = directory / CONFIG
    obstacle = config if several else directory / COMPARED_SETS
    if obstacle.exists():
        contents = "one comparison" if several else "comparisons on several sets"
        raise DataError(
            f"{directory} holds {contents}: {obstacle.name} is in the way of the results. Name another folder."
        )
    names = (*_NAMES, *_TABLE_NAMES, *map(_run_name, systems))
    check_outputs(directory, _SUMMARY_NAMES if several else names)
    if config.is_file():
        try:
            _read_configuration(config)
        except DataError as error:
            raise DataError(
                f"{error} It is in the way of the results: name another folder, or delete it."
            ) from None


def _read_configuration(path: Path) -> dict[str, Any]:
    """The contents of config.json; DataError: it is unreadable, or no configuration."""
    config = read_json(path)
    if not isinstance(config, dict) or not isinstance(config.get("systems"), dict):
        raise DataError(
            f"{path} is not the configuration of a comparison. Was another file put there?"
        )
    return config


def _run_name(system: str) -> str:
    """The name of the file with the run of a system."""
    return f"runs/{system}.trec.gz"


def other_comparison(
    directory: Path, data: str, systems: Collection[str] | None = None
) -> str:
    """A description of a different comparison in a folder; "" if there is none.

    It differs if it is on other data, or has systems that are not among `systems`; None allows any.
    """
    path = directory / CONFIG
    if not path.is_file():
        return ""
    config = read_json(path)
    former_systems = config.get("systems", {})
    former_data = config.get("data", {}).get("name", data)
    is_same = former_data == data and (
        systems is None or set(former_systems) <= set(systems)
    )
    if is_same or not former_systems:
        return ""
    started = config.get("started", "an unknown time")
    return (
        f"the comparison of {', '.join(former_systems)} on {former_data} from {started}"
    )


def save(
    values: Mapping[str, Any],
    directory: Path,
    *,
    page: str | None,
    data: QADataset | None,
) -> None:
    """Write a comparison, its page and the qrels of `data`; equal values give equal bytes.

    The files of an earlier comparison in the folder are replaced.

    values : the attributes of `Comparison`.
    page, data : None to leave out the page, or the qrels.
    """
    require_free_folder(directory, systems=values["rankings"])
    files = {}
    for name, index in {"scores": None, **_TABLES}.items():
        if values[name] is not None:
            text = csv_of(values[name], index=index is not None, float_format="%.6f")
            files[f"{name}.csv"] = text.encode()
    files["per_query.parquet"] = values["per_query"].to_parquet(index=False)
    if values["answers"] is not None:
        files[ANSWERS] = values["answers"].to_parquet(index=False)
    for name, rankings in values["rankings"].items():
        files[_run_name(name)] = gzip.compress(
            trec.dump(rankings, name).encode(), mtime=0
        )
    if data is not None:
        files["qrels.trec"] = trec.dump_qrels(data.qrels).encode()
    if page is not None:
        files["report.html"] = page.encode()
    files[CONFIG] = _config_bytes(values["config"], files)
    write_outputs(directory, "comparison", files, last=CONFIG)


def _config_bytes(config: Mapping[str, Any], contents: Mapping[str, bytes]) -> bytes:
    """The contents of config.json: configuration, checksums of all files, and its own checksum."""
    about = json.loads(json.dumps(dict(config), default=str))
    about[FILES] = {
        name: hashlib.sha256(content).hexdigest() for name, content in contents.items()
    }
    text = json.dumps(
        {**about, CHECKSUM: checksum_of(about)}, indent=1, ensure_ascii=False
    )
    return f"{text}\n".encode()


def save_summary(
    directory: Path, sets: Collection[str], table: pd.DataFrame, page: str
) -> None:
    """Write the summary of comparisons that are in subfolders named as their data sets."""
    require_free_folder(directory, several=True)
    names = json.dumps({"sets": list(sets)}, ensure_ascii=False)
    files = {
        "macro.csv": csv_of(table, float_format="%.6f").encode(),
        "report.html": page.encode(),
        COMPARED_SETS: f"{names}\n".encode(),
    }
    write_outputs(directory, "summary of comparisons", files, last=COMPARED_SETS)


def without_texts(values: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a comparison without texts, and with only the hits that metrics read.

    Results that are published with the code have this form.
    """
    depth = int(values["sizes"]["k"].max()) if len(values["sizes"]) else 1
    per_query = (
        values["per_query"].assign(question="").drop(columns="notes", errors="ignore")
    )
    rankings = {}
    for name, run in values["rankings"].items():
        rankings[name] = [ranking.top(depth) for ranking in run]
    answers = values["answers"]
    if answers is not None:
        answers = answers.assign(answer=None)
    return {**values, "per_query": per_query, "rankings": rankings, "answers": answers}


def load(directory: Path) -> dict[str, Any]:
    """The attributes of a saved comparison.

    FileNotFoundError: the folder has none. DataError: a file was changed since.
    """
    if not (directory / CONFIG).is_file():
        raise FileNotFoundError(
            f"{directory} has no finished comparison: {CONFIG} is missing."
        )
    config = configuration(directory)
    per_query = pd.read_parquet(directory / "per_query.parquet")
    queries = list(dict.fromkeys(per_query["query_id"]))
    rankings = {}
    for name in config["systems"]:
        rankings[name] = trec.as_rankings(
            trec.load(directory / _run_name(name)), queries
        )
    answers = None
    if (directory / ANSWERS).is_file():
        answers = pd.read_parquet(directory / ANSWERS)
    return {
        "rankings": rankings,
        "per_query": per_query,
        "config": config,
        "scores": _read_scores(directory / "scores.csv"),
        "answers": answers,
        **{
            name: _read_table(directory / f"{name}.csv", index)
            for name, index in _TABLES.items()
        },
    }


def _read_scores(path: Path) -> pd.DataFrame:
    """The table `scores` of a saved comparison."""
    # Blank is the only missing value: a system may be called "NA" or "nan".
    blank = {name: [""] for name in ("p_holm", *COUNTS, *TESTS)}
    table = pd.read_csv(
        path,
        dtype=dict.fromkeys(COUNTS, "Int64"),
        keep_default_na=False,
        na_values=blank,
    )
    return frame_of_csv(table)


def _read_table(path: Path, index: str | None) -> pd.DataFrame | None:
    """A table of a saved comparison; None if it was not saved."""
    if not path.is_file():
        return None
    blank = None if index is None else [""]  # a curve is blank beyond the end of a run
    return frame_of_csv(
        pd.read_csv(path, index_col=index, keep_default_na=False, na_values=blank)
    )


def configuration(directory: Path) -> Mapping[str, Any]:
    """The configuration of a saved comparison; DataError: a file differs from its checksum."""
    path = directory / CONFIG
    config = _read_configuration(path)
    checksum = config.pop(CHECKSUM, "missing")
    if checksum != checksum_of(config):
        raise DataError(
            f"{path} is not as it was saved: its checksum is {checksum}. {AGAIN}"
        )
    for name, saved in config.pop(FILES).items():
        file = directory / name
        if not file.is_file():
            raise DataError(f"{file} is missing. {AGAIN}")
        if sha256(file) != saved:
            raise DataError(
                f"{file} is not as it was saved: it is damaged, or of another comparison. {AGAIN}"
            )
    return config


def checksum_of(about: Mapping[str, Any]) -> str:
    """A checksum of the content of config.json, its own checksum apart."""
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
