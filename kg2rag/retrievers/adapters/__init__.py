"""Other people's retrieval beside ours, and ours in other people's programs.

`recorded` makes systems of rankings that exist (TREC run files, ranx runs, DataFrames); `langchain` and `llamaindex`
adapt retrievers both ways, and need the package of that name. `evaluation.exports` writes ours for other programs.
"""

from kg2rag.retrievers.adapters.recorded import Recorded

__all__ = ["Recorded"]
