"""A comparison as `eval/keep.py` commits it -> the values of a `Comparison`, without what only the data set has.

Kept are configuration, scores, the scores of each question and the first hits of each run, compressed; texts and gold
stay with the data set, and checksums are git's. Curves and sizes are there where the comparison was kept with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from lzma import LZMAError
from pathlib import Path
from typing import Any

import pandas as pd

from kg2rag.text.records import DataError, read_json

PER_QUERY = "per_query.csv.xz"
_COLUMNS: Mapping[str, Any] = {"query_id": str, "system": str, "type": str, "hops": "Int64", "gold": "Int64"}


def is_kept(directory: Path) -> bool:
    """Whether a folder holds a comparison as `eval/keep.py` writes it."""
    return (directory / PER_QUERY).is_file()


def configuration(directory: Path) -> Mapping[str, Any]:
    """What the numbers of a kept comparison depend on; DataError where the file is no comparison's."""
    config = read_json(directory / "config.json")
    if not (isinstance(config, dict) and isinstance(config.get("systems"), dict) and "baseline" in config):
        raise DataError(f"{directory / 'config.json'}: no configuration of a comparison. Was another file put there?")
    return config


def per_query(directory: Path) -> pd.DataFrame:
    """One row per system and question; the questions' texts are blank."""
    try:
        frame = pd.read_csv(
            directory / PER_QUERY, dtype=dict(_COLUMNS), keep_default_na=False, na_values={"hops": [""]}
        )
    except (ValueError, EOFError, OSError, LZMAError) as error:  # a missing column, bytes that are no xz
        raise DataError(f"{directory / PER_QUERY} cannot be read: {error}. Keep the comparison again.") from error
    missing = {"query_id", "system"} - set(frame.columns)
    if missing:
        raise DataError(f"{directory / PER_QUERY} has no column {', '.join(sorted(missing))}.")
    place = list(frame.columns).index("cluster") + 1 if "cluster" in frame else len(frame.columns)
    frame.insert(place, "question", "")
    return frame
