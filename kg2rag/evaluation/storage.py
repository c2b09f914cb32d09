"""A comparison <-> a folder of plain files: tables as csv, scores as Parquet, runs as compressed TREC, page, JSON.

Each file is replaced atomically, config.json last: where config.json exists, everything is there. It has the checksums
of the files and its own, so that what was damaged, or is of another comparison, is never read.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

from kg2rag.compute import remove_leftovers, write
from kg2rag.evaluation import kept
from kg2rag.evaluation.score_table import COUNTS, TESTS
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


def require_place(directory: Path, *, several: bool = False) -> None:
    """Make the folder of a comparison, or refuse one that holds something else: DataError, before any work is done.

    `several` : of comparisons on several sets, which do not go where one comparison lies, nor the other way round.
    """
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
    """Write the attributes of a comparison, its page and what `data` adds."""
    require_place(directory)
    (directory / "runs").mkdir(exist_ok=True)
    _remove_former(directory, values["rankings"])
    files = dict(_files(values, page, data))
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


def _files(values: Mapping[str, Any], page: str | None, data: QADataset | None) -> Iterator[tuple[str, bytes]]:
    """The names of the files and what is in them; the same bytes for the same values."""
    yield "scores.csv", _csv(values["scores"], index=False)
    for name, index in _TABLES.items():
        if values[name] is not None:
            yield f"{name}.csv", _csv(values[name], index=index is not None)
    parquet = BytesIO()
    values["per_query"].to_parquet(parquet, index=False)
    yield "per_query.parquet", parquet.getvalue()
    for name, rankings in values["rankings"].items():
        yield f"runs/{name}.trec.gz", gzip.compress(trec.dump(rankings, name).encode(), mtime=0)
    if data is not None:
        yield "qrels.trec", trec.dump_qrels(data.qrels).encode()
    if page is not None:
        yield "report.html", page.encode()


def load(directory: Path) -> dict[str, Any]:
    """The attributes of the comparison that `save`, or from it eval/keep.py, wrote."""
    if not (directory / "config.json").is_file():
        raise FileNotFoundError(f"{directory} has no finished comparison: config.json is missing.")
    config = configuration(directory)
    if kept.is_kept(directory):
        per_query = kept.per_query(directory)
    else:
        per_query = pd.read_parquet(directory / "per_query.parquet").rename(columns={"said": "notes"})  # as once named
    queries, suffix = list(dict.fromkeys(per_query["query_id"])), "xz" if kept.is_kept(directory) else "gz"
    runs = {name: trec.load(directory / "runs" / f"{name}.trec.{suffix}") for name in config["systems"]}
    tables = dict(_TABLES)
    if not (directory / "per_seed.csv").is_file():
        del tables["per_seed"]
    return {
        "rankings": {name: trec.as_rankings(run, queries) for name, run in runs.items()},
        "per_query": per_query,
        # Blank is the one missing value: a system may be called "NA" or "nan".
        "scores": frame_of_csv(
            pd.read_csv(
                directory / "scores.csv",
                dtype=dict.fromkeys(COUNTS, "Int64"),
                keep_default_na=False,
                na_values={name: [""] for name in ("p_holm", *COUNTS, *TESTS)},
            )
        ),
        "config": config,
        **{name: _table(directory / f"{name}.csv", index) for name, index in tables.items()},
    }


def configuration(directory: Path) -> Mapping[str, Any]:
    """What the numbers of a saved comparison depend on, once all its files were found to be as they were saved.

    DataError names a file that is not; a kept comparison has no checksums, and only its configuration is looked at.
    """
    if kept.is_kept(directory):
        return kept.configuration(directory)
    path = directory / "config.json"
    config, again = read_json(path), "Run the comparison again."
    if not isinstance(config, dict):
        raise DataError(f"{path}: no configuration of a comparison. Was another file put there?")
    checksum = config.pop(CHECKSUM, None)
    if checksum is None:
        raise DataError(f"{path} has no checksum: an older version wrote it, or another program. {again}")
    if checksum != checksum_of(config):
        raise DataError(f"{path} is not as it was saved: its checksum is another. {again}")
    for name, saved in config.pop(FILES).items():
        file = directory / name
        if not file.is_file():
            raise DataError(f"{file} is missing. {again}")
        if sha256(file) != saved:
            raise DataError(f"{file} is not as it was saved: it is damaged, or of another comparison. {again}")
    return config


def checksum_of(about: Mapping[str, Any]) -> str:
    """Of what config.json holds without its own checksum."""
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _table(path: Path, index: str | None) -> pd.DataFrame:
    # As above, and a curve is blank where a run ends.
    blank = None if index is None else [""]
    return frame_of_csv(pd.read_csv(path, index_col=index, keep_default_na=False, na_values=blank))


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


def _csv(frame: pd.DataFrame, *, index: bool) -> bytes:
    return csv_of(frame, index=index, float_format="%.6f").encode()
