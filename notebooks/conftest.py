"""Every notebook is run from top to bottom, and its outputs compared with the committed ones.

Two notebooks read public sets beside the checkout; without these they are skipped, and in CI fail.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from notebook_outputs import differences

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("KG2RAG_SHARED", ROOT.parent / "shared")) / "data"
PUBLIC = ("11_other_corpora.ipynb", "12_public_sets.ipynb")
TIMEOUT_SECONDS = 3600  # a cell that hangs


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Each notebook is a file with one test."""
    return NotebookFile.from_parent(parent, path=file_path) if file_path.suffix == ".ipynb" else None


class NotebookFile(pytest.File):
    """A notebook."""

    def collect(self) -> Iterator[pytest.Item]:
        """Its one test."""
        item = NotebookRun.from_parent(self, name="outputs")
        if self.path.name in PUBLIC:
            item.add_marker(pytest.mark.realdata)
        yield item


class NotebookRun(pytest.Item):
    """The run of a notebook in a kernel of its own."""

    def runtest(self) -> None:
        """Run it as `make notebooks` does, in float32, and compare."""
        with pytest.MonkeyPatch.context() as patch:
            self.prepare(patch)
            committed = nbformat.read(self.path, as_version=4)
            run = nbformat.read(self.path, as_version=4)
            resources = {"metadata": {"path": str(self.path.parent)}}
            NotebookClient(run, timeout=TIMEOUT_SECONDS, resources=resources).execute()
        changed = differences(committed["cells"], run["cells"])
        if changed:
            told = f"{self.path.name}: today's outputs are others. Run `make notebooks`, and read what its text says."
            pytest.fail("\n\n".join([told, *changed]), pytrace=False)

    def prepare(self, patch: pytest.MonkeyPatch) -> None:
        """Tell notebooks of public sets where these are, and no other: notebook 07 would run the whole ledger."""
        patch.setenv("TQDM_DISABLE", "1")
        patch.delenv("KG2RAG_DATA", raising=False)
        if self.path.name not in PUBLIC:
            return
        if DATA.is_dir():
            patch.setenv("KG2RAG_DATA", str(DATA))
            return
        reason = f"{DATA} is missing: public sets are read only where they lie beside the checkout (KG2RAG_SHARED)."
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where a report says that it is."""
        return self.path, 0, self.path.name
