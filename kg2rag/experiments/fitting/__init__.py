"""Fit a strategy's coefficients on questions whose gold is known. Strategies read the result and never import this."""

from kg2rag.experiments.fitting.cross import fit_cross
from kg2rag.experiments.fitting.mention_chains import SIGNALS, fit_mention_chains

__all__ = ["SIGNALS", "fit_cross", "fit_mention_chains"]
