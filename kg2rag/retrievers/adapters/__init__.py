"""Retrieval of other programs compared with ours, and ours used in other programs.

`recorded` makes systems of stored rankings (TREC run files, ranx runs, DataFrames), `given` of these and of plain
functions, as `compare` takes them; `langchain` and `llamaindex`
adapt retrievers both ways, and need the package of that name. `evaluation.exports` writes ours for other programs.
"""

from kg2rag.retrievers.adapters.given import Answering, as_system
from kg2rag.retrievers.adapters.recorded import Recorded

__all__ = ["Answering", "Recorded", "as_system"]
