"""Fixtures that every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("KG2RAG_SHARED", ROOT.parent / "shared"))


def _shared(part: str) -> Path:
    folder = SHARED / part
    if not folder.is_dir():
        reason = f"{folder} is missing: real data are tested only where they lie beside the checkout (KG2RAG_SHARED)."
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return folder


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets; missing, it fails in CI and skips elsewhere."""
    return _shared("data")


@pytest.fixture(scope="session")
def shared_golden() -> Path:
    """The folder of published systems' outputs; missing, it fails in CI and skips elsewhere."""
    return _shared("golden")
