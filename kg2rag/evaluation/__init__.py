"""Rankings and gold -> scores, significance, and a table one can publish.

`compare` runs systems side by side; `evaluate` scores rankings that exist; `Comparison` is the result, `Comparisons`
that on several sets; `add_systems` extends one that was saved; `replicates` is one system under several seeds.
"""

from kg2rag.evaluation.adding import add_systems
from kg2rag.evaluation.compare import compare
from kg2rag.evaluation.comparison import Comparison
from kg2rag.evaluation.comparisons import Comparisons
from kg2rag.evaluation.metrics import evaluate
from kg2rag.evaluation.running import replicates

__all__ = ["Comparison", "Comparisons", "add_systems", "compare", "evaluate", "replicates"]
