"""Rankings and gold -> scores, significance, and a table one can publish.

`compare` runs systems side by side; `evaluate` scores rankings that exist; `Comparison` is the result.
"""

from kg2rag.evaluation.compare import compare
from kg2rag.evaluation.comparison import Comparison
from kg2rag.evaluation.metrics import evaluate

__all__ = ["Comparison", "compare", "evaluate"]
