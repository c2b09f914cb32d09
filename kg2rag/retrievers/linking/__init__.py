"""Queries -> the entities of the graph that they name. To add a linker: one file here, and one line in `LINKERS`."""

from kg2rag.retrievers.linking.linkers import Link, Linker, served_by
from kg2rag.retrievers.linking.naming import DESIGN, LINKERS, named, of

__all__ = ["DESIGN", "LINKERS", "Link", "Linker", "named", "of", "served_by"]
