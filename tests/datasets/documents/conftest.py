"""A folder of small files, and the passages that it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kg2rag.compute import Store
from kg2rag.datasets import Documents, from_folder

Read = Callable[[Mapping[str, str | bytes]], Documents]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write files into a folder and read it: name -> content, texts in UTF-8."""

    def read_files(files: Mapping[str, str | bytes]) -> Documents:
        for name, content in files.items():
            file = tmp_path / "docs" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(
                content if isinstance(content, bytes) else content.encode()
            )
        return from_folder(tmp_path / "docs", store=Store(tmp_path / "store"))

    return read_files
