"""A comparison <-> a folder of plain files: tables as csv, scores as Parquet, runs as compressed TREC, page, JSON.

Each file is replaced atomically, config.json last: where config.json exists, everything is there. It has the checksums
of the files and its own, so that what was damaged, or is of another comparison, is never read.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Collection, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

from kg2rag.compute import remove_leftovers, write
from kg2rag.evaluation.significance import COUNTS, TESTS
from kg2rag.retrievers.adapters import trec
from kg2rag.text.cells import csv_of, frame_of_csv
from kg2rag.text.records import DataError, read_json, sha256
from kg2rag.types import QADataset

_TABLES = {"curve": "k", "token_curve": "tokens", "sizes": None, "per_seed": None}
"""Attributes of `Comparison` that are a csv each, and the name of their index; `per_seed` may be None."""
COMPARED_SETS = "sets.json"
"""Names the folders of the comparisons on several sets, in the folder that holds them and their summary."""
FILES, CHECKSUM = "files", "sha256"
"""Keys of config.json that are no part of the configuration: the checksums of the other files, and its own."""
AGAIN = "Run the comparison again."


def require_place(directory: Path, *, several: bool = False) -> None:
    """Make the folder of a comparison, or of those on `several` sets; DataError where it holds something else."""
    path = directory / "config.json"
    other = path if several else directory / COMPARED_SETS
    if other.exists():
        held = "one comparison" if several else "comparisons on several sets"
        raise DataError(f"{directory} holds {held}: {other.name} is in the way of the results. Name another folder.")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        former = read_json(path) if path.is_file() else {"systems": {}}
    except FileExistsError:
        raise DataError(f"{directory} is a file. Name a folder for the results.") from None
    except DataError as error:
        raise DataError(f"{error} It is in the way of the results: name another folder, or delete it.") from None
    if not (isinstance(former, dict) and isinstance(former.get("systems"), dict)):
        raise DataError(f"{path} is not a comparison's, and would be overwritten. Name another folder for the results.")


def other_comparison(directory: Path, data: str, systems: Collection[str] | None = None) -> str:
    """In words, the comparison on other data, or of systems beyond these, that lies there; "" where none does."""
    path = directory / "config.json"
    former = read_json(path) if path.is_file() else {}
    then, name = former.get("systems", {}), former.get("data", {}).get("name", data)
    if not then or (name == data and (systems is None or set(then) <= set(systems))):
        return ""
    return f"the comparison of {', '.join(then)} on {name} from {former.get('started', 'an unknown time')}"


def save(values: Mapping[str, Any], directory: Path, *, page: str | None, data: QADataset | None) -> None:
    """Write the attributes of a comparison, its page and what `data` adds; the same bytes for the same values."""
    require_place(directory)
    (directory / "runs").mkdir(exist_ok=True)
    _remove_former(directory, values["rankings"])
    parquet, files = BytesIO(), dict[str, bytes]()
    for name, index in {"scores": None, **_TABLES}.items():
        if values[name] is not None:
            files[f"{name}.csv"] = csv_of(values[name], index=bool(index), float_format="%.6f").encode()
    values["per_query"].to_parquet(parquet, index=False)
    files["per_query.parquet"] = parquet.getvalue()
    for name, rankings in values["rankings"].items():
        files[f"runs/{name}.trec.gz"] = gzip.compress(trec.dump(rankings, name).encode(), mtime=0)
    if data is not None:
        files["qrels.trec"] = trec.dump_qrels(data.qrels).encode()
    if page is not None:
        files["report.html"] = page.encode()
    for name, content in files.items():
        write(directory / name, content)
    about = json.loads(json.dumps(dict(values["config"]), default=str))
    about[FILES] = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    config = json.dumps({**about, CHECKSUM: checksum_of(about)}, indent=1, ensure_ascii=False)
    write(directory / "config.json", (config + "\n").encode())


def without_texts(values: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a comparison as they are kept beside the code: no texts, and hits as far as metrics read."""
    depth = int(values["sizes"]["k"].max()) if len(values["sizes"]) else 1
    per_query = values["per_query"].assign(question="").drop(columns="notes", errors="ignore")
    rankings = {name: [ranking.top(depth) for ranking in run] for name, run in values["rankings"].items()}
    return {**values, "per_query": per_query, "rankings": rankings}


def load(directory: Path) -> dict[str, Any]:
    """The attributes of the comparison that `save` wrote; DataError names a file that is not as it was saved."""
    if not (directory / "config.json").is_file():
        raise FileNotFoundError(f"{directory} has no finished comparison: config.json is missing.")
    config, per_query = configuration(directory), pd.read_parquet(directory / "per_query.parquet")
    per_query = per_query.rename(columns={"said": "notes"}).drop(columns="cluster", errors="ignore")  # as once kept
    queries, runs = list(dict.fromkeys(per_query["query_id"])), directory / "runs"
    found = {name: trec.load(runs / f"{name}.trec.gz") for name in config["systems"]}
    tables = [one for one in _TABLES.items() if one[0] != "per_seed" or (directory / "per_seed.csv").is_file()]
    # Blank is the one missing value: a system may be called "NA" or "nan".
    blank = {name: [""] for name in ("p_holm", *COUNTS, *TESTS)}
    how: dict[str, Any] = {"dtype": dict.fromkeys(COUNTS, "Int64"), "keep_default_na": False, "na_values": blank}
    read = {"scores": pd.read_csv(directory / "scores.csv", **how)}
    for name, index in tables:  # a curve is blank where a run ends
        how = {"index_col": index, "keep_default_na": False, "na_values": index and [""]}
        read[name] = pd.read_csv(directory / f"{name}.csv", **how)
    return {
        "rankings": {name: trec.as_rankings(run, queries) for name, run in found.items()},
        "per_query": per_query,
        "config": config,
        **{name: frame_of_csv(table) for name, table in read.items()},
    }


def configuration(directory: Path) -> Mapping[str, Any]:
    """What the numbers of a saved comparison depend on, once all its files were found to be as they were saved."""
    path = directory / "config.json"
    config = read_json(path)
    if not (isinstance(config, dict) and isinstance(config.get("systems"), dict) and "baseline" in config):
        raise DataError(f"{path}: no configuration of a comparison. Was another file put there?")
    checksum = config.pop(CHECKSUM, None)
    if checksum is None:
        raise DataError(f"{path} has no checksum: an older version wrote it, or another program. {AGAIN}")
    if checksum != checksum_of(config):
        raise DataError(f"{path} is not as it was saved: its checksum is another. {AGAIN}")
    for name, saved in config.pop(FILES).items():
        file = directory / name
        if not file.is_file():
            raise DataError(f"{file} is missing. {AGAIN}")
        if sha256(file) != saved:
            raise DataError(f"{file} is not as it was saved: it is damaged, or of another comparison. {AGAIN}")
    return config


def checksum_of(about: Mapping[str, Any]) -> str:
    """Of what config.json holds without its own checksum."""
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _remove_former(directory: Path, systems: Collection[str]) -> None:
    """Remove what an earlier comparison in this directory wrote, finished or not, and this one will not overwrite."""
    remove_leftovers(directory)
    remove_leftovers(directory / "runs")
    if not (directory / "scores.csv").is_file():  # the first file that is written
        return
    of_data = ("config.json", "qrels.trec", "report.html", *(f"{table}.csv" for table in _TABLES))
    runs = (f for f in (directory / "runs").glob("*.trec.gz") if f.name.removesuffix(".trec.gz") not in systems)
    for file in (*(directory / name for name in of_data), *runs):
        file.unlink(missing_ok=True)
