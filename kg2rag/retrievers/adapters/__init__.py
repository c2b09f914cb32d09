"""Runs, functions and other libraries' retrievers as systems, and ours in other libraries."""

from kg2rag.retrievers.adapters.recorded import Answering, Recorded, as_system

__all__ = ["Answering", "Recorded", "as_system"]
