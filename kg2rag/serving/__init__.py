"""A folder of saved comparisons and sweeps -> pages to look into them, on this machine alone, read-only.

Nothing is computed that the folder does not hold, and nothing is written. Needs `pip install 'kg2rag[serve]'`.
"""

from kg2rag.serving.folders import Saved, find

__all__ = ["Saved", "find"]
