"""Retrieval of other programs compared with ours, and ours used in other programs.

`recorded` makes systems of stored rankings (TREC run files, ranx runs, DataFrames) and of plain functions, as `compare`
takes them; `langchain` and `llamaindex` adapt retrievers both ways, and need the package of that name.
"""

from kg2rag.retrievers.adapters.recorded import Answering, Recorded, as_system

__all__ = ["Answering", "Recorded", "as_system"]
