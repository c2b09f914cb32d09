"""Configurations of systems on a data set -> a table, the best on dev and its test score."""

from kg2rag.experiments.sweep.results import SweepResult
from kg2rag.experiments.sweep.sweep import Sweep, read_sweep

__all__ = ["Sweep", "SweepResult", "read_sweep"]
