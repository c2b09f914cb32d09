"""Two notebooks read public sets beside the checkout; without these they are skipped, and in CI fail."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("KG2RAG_SHARED", ROOT.parent / "shared")) / "data"
PUBLIC = ("11_other_corpora.ipynb", "12_public_sets.ipynb")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the notebooks that read public sets."""
    for item in items:
        if item.path.parent == ROOT / "notebooks" and item.path.name in PUBLIC:
            item.add_marker(pytest.mark.realdata)


@pytest.hookimpl(trylast=True)  # after the item has a stack, which takes its finalizer
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tell these notebooks where the sets are, and no other: notebook 07 would run the whole ledger."""
    monkeypatch = pytest.MonkeyPatch()
    item.addfinalizer(monkeypatch.undo)
    monkeypatch.delenv("KG2RAG_DATA", raising=False)
    if item.path.name not in PUBLIC:
        return
    if DATA.is_dir():
        monkeypatch.setenv("KG2RAG_DATA", str(DATA))
        return
    reason = f"{DATA} is missing: public sets are read only where they lie beside the checkout (KG2RAG_SHARED)."
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
