"""Passages ordered by chains of shared names that cover the question; no language model."""
