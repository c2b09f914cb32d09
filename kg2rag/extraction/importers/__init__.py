"""Graphs that other tools wrote -> extractions: one file a format."""
