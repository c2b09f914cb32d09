"""Passages -> triples, by the dependency parse of any spaCy model."""
