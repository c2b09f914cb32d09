"""A system and gold -> where the gold went, how much each stage could gain, and where two systems part.

`waterfall` names the step that lost each gold passage; `oracle_ladder` measures what a perfect stage would be worth;
`compare_queries` sets the explanations of two systems beside each other where they differ most.
"""

from kg2rag.evaluation.diagnosis.fates import Waterfall, waterfall
from kg2rag.evaluation.diagnosis.held import Held
from kg2rag.evaluation.diagnosis.ladder import OracleLadder, oracle_ladder
from kg2rag.evaluation.diagnosis.queries import QueryComparison, compare_queries

__all__ = ["Held", "OracleLadder", "QueryComparison", "Waterfall", "compare_queries", "oracle_ladder", "waterfall"]
