"""Runs, functions and retrievers of other libraries as systems, and ours in other libraries (`libraries`)."""

from kg2rag.retrievers.adapters.recorded import Answering, Recorded, as_system

__all__ = ["Answering", "Recorded", "as_system"]
