"""Many configurations of systems on a data set -> one table, what is best on dev, and how it does on test.

`Sweep` says what is run, `read_sweep` reads one from a file, `SweepResult` is what came of it.
"""

from kg2rag.experiments.sweep.definition import Sweep
from kg2rag.experiments.sweep.file import read_sweep
from kg2rag.experiments.sweep.results import SweepResult

__all__ = ["Sweep", "SweepResult", "read_sweep"]
