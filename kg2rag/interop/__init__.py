"""Other people's retrieval beside ours, and ours in other people's programs.

`recorded` makes systems of rankings that exist (TREC run files, ranx runs, DataFrames) and `exports` writes ours as
such; `langchain` and `llamaindex` adapt retrievers both ways, and need the package of that name.
"""

from kg2rag.interop.exports import qrels_frame, to_frame, to_ranx
from kg2rag.interop.recorded import Recorded

__all__ = ["Recorded", "qrels_frame", "to_frame", "to_ranx"]
