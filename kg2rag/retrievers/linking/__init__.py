"""Queries -> the entities of the graph that they name; one file a family of linkers."""
