"""A questions file -> the graph files beside it, by kind: offered, never used unless requested."""

from __future__ import annotations

from pathlib import Path

PATTERNS = {
    "openie": "openie_results*.json",
    "subkgs": "*subkgs.jsonl",
    "triples": "triples*.jsonl",
    "entities": "entities.jsonl",
}


def find_graph_files(path: Path) -> dict[str, Path]:
    """The graph files in the folder of `path`; where one kind has several, the key includes the file's name."""
    folder = path if path.is_dir() else path.parent
    found: dict[str, Path] = {}
    for kind, pattern in PATTERNS.items():
        files = sorted(folder.glob(pattern))
        for file in files:
            found[kind if len(files) == 1 else f"{kind}:{file.name}"] = file
    return found
