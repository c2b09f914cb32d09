"""Passages ordered by the chains of shared names that cover most of the question; no language model."""
