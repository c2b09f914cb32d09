"""Public sets, generated sets and documents -> `QADataset`; one file per set, `load` for all."""

from kg2rag.datasets.documents import Documents, from_folder, from_frame, from_texts
from kg2rag.datasets.frames import from_frames
from kg2rag.datasets.getting import get, subsets
from kg2rag.datasets.known_items import known_items
from kg2rag.datasets.lint import info, lint
from kg2rag.datasets.registry import DATASETS, describe, load, names, resolve
from kg2rag.datasets.spec import DatasetSpec, HubCopy, LoadOptions, file_name

__all__ = [
    "DATASETS",
    "DatasetSpec",
    "Documents",
    "HubCopy",
    "LoadOptions",
    "describe",
    "file_name",
    "from_folder",
    "from_frame",
    "from_frames",
    "from_texts",
    "get",
    "info",
    "known_items",
    "lint",
    "load",
    "names",
    "resolve",
    "subsets",
]
