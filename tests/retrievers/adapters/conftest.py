"""What the adapters' tests share."""

from __future__ import annotations

import pytest

import kg2rag


@pytest.fixture(scope="session")
def bundled() -> kg2rag.QADataset:
    """The set that comes with the package."""
    return kg2rag.load("bundled")
