"""Every notebook is run from top to bottom, and its outputs compared with the committed ones.

The notebooks of a worker share a kernel, which imports the libraries and loads the encoder once; each begins with empty
variables and default options. `make notebooks` runs each in its own kernel, so the committed outputs depend on no other
notebook. Cells with the tag `full` encode many texts, and only `make test-all` runs them; what they do, cells of other
notebooks do with fewer.

Two notebooks read public sets beside the checkout; without these they are skipped, and in CI fail.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from jupyter_client.manager import AsyncKernelManager

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("KG2RAG_SHARED", ROOT.parent / "shared")) / "data"
PUBLIC = ("11_other_corpora.ipynb", "12_public_sets.ipynb")
TIMEOUT_SECONDS = 3600  # a cell that hangs
FULL = os.environ.get("KG2RAG_FULL") == "1"
KERNEL = pytest.StashKey["AsyncKernelManager"]()
RESET = """
%reset -f
import os
import pandas
pandas.reset_option("^display")
os.environ.pop("KG2RAG_DATA", None)
os.environ.update({variables})
del os, pandas
"""


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
    """The run of a notebook."""

    def runtest(self) -> None:
        """Run it as `make notebooks` does, in float32, and compare."""
        import nbformat  # slow imports, which a process that runs no notebook does without
        from nbclient import NotebookClient
        from notebook_outputs import differences

        committed = nbformat.read(self.path, as_version=4)
        run = nbformat.read(self.path, as_version=4)
        run.cells.insert(0, nbformat.v4.new_code_cell(RESET.format(variables=self.variables())))
        resources = {"metadata": {"path": str(self.path.parent)}}
        settings = {"timeout": TIMEOUT_SECONDS, "skip_cells_with_tag": "" if FULL else "full"}
        client = NotebookClient(run, km=self.kernel(), resources=resources, **settings)
        client.execute()
        client.kc.stop_channels()
        changed = differences(committed["cells"], run["cells"][1:])
        if changed:
            told = f"{self.path.name}: today's outputs are others. Run `make notebooks`, and read what its text says."
            pytest.fail("\n\n".join([told, *changed]), pytrace=False)

    def kernel(self) -> AsyncKernelManager:
        """The kernel of this process; `NotebookClient` starts it for the first notebook."""
        from jupyter_client.manager import AsyncKernelManager
        from nbclient.util import run_sync

        if KERNEL not in self.config.stash:
            kernel = self.config.stash[KERNEL] = AsyncKernelManager()
            self.config.add_cleanup(lambda: run_sync(kernel.shutdown_kernel)(now=True))
        return self.config.stash[KERNEL]

    def variables(self) -> dict[str, str]:
        """Tell notebooks of public sets where these are, and no other: notebook 07 would run the whole ledger."""
        variables = {"TQDM_DISABLE": "1"}
        if self.path.name not in PUBLIC:
            return variables
        if DATA.is_dir():
            return {**variables, "KG2RAG_DATA": str(DATA)}
        reason = f"{DATA} is missing: public sets are read only where they lie beside the checkout (KG2RAG_SHARED)."
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where a report says that it is."""
        return self.path, 0, self.path.name
