"""Many configurations of systems on a data set -> one table, what is best on dev, and how it does on test."""

from kg2rag.experiments.sweep.results import SweepResult
from kg2rag.experiments.sweep.sweep import Sweep, read_sweep

__all__ = ["Sweep", "SweepResult", "read_sweep"]
