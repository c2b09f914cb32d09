"""A sweep's folder -> `SweepResult`: its tables, and the reports made of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from kg2rag.compute.files import write
from kg2rag.experiments.sweep import reporting
from kg2rag.experiments.sweep.storage import ABOUT, RESULTS, TIMINGS
from kg2rag.experiments.sweep.tables import SweepTables


@dataclass(frozen=True, eq=False, repr=False)
class SweepResult(SweepTables):
    """The results of a sweep, as tables and as reports."""

    @classmethod
    def load(cls, out: str | Path) -> SweepResult:
        """Read what a sweep has finished, whether or not it is still running."""
        import pandas as pd

        out = Path(out)
        if not (out / RESULTS).is_file():
            raise FileNotFoundError(f"{out} holds no results: {RESULTS} is missing. Run the sweep first.")
        config = json.loads((out / ABOUT).read_text(encoding="utf-8"))
        timings = pd.read_csv(out / TIMINGS, index_col="id", dtype={"id": str})
        return cls(pd.read_parquet(out / RESULTS), timings, config["objective"], config)

    def to_markdown(self) -> str:
        """The report as Markdown."""
        return reporting.markdown(self)

    def to_html(self) -> str:
        """The report as one self-contained page."""
        return reporting.page(self)

    def save_report(self, out: str | Path) -> Path:
        """Write report.md and report.html; the path of the latter."""
        out = Path(out)
        write(out / "report.md", self.to_markdown().encode())
        write(out / "report.html", self.to_html().encode())
        return out / "report.html"

    def __repr__(self) -> str:
        return f"SweepResult({self.name}: {len(self.numbers)} configurations, {len(self.failed)} failed)"

    def _repr_html_(self) -> str:
        html: str = self.best().round(4).to_html(index=False, na_rep="")
        return f"<p>{self!r}, chosen on dev by {self.objective}</p>{html}"
