"""Fit a strategy's coefficients on questions whose gold is known. Strategies read the result and never import this."""

from kg2rag.experiments.fitting.mention_chains import fit_mention_chains

__all__ = ["fit_mention_chains"]
