"""A system and gold -> what became of the gold, how much each stage could gain, and where two systems differ.

`waterfall` names the step that lost each gold passage; `oracle_ladder` measures what a perfect stage would be worth;
`compare_queries` shows the explanations of two systems side by side where they differ most.
"""

from kg2rag.evaluation.diagnosis.fates import waterfall
from kg2rag.evaluation.diagnosis.ladder import OracleLadder, knowledge_base_of, oracle_ladder
from kg2rag.evaluation.diagnosis.queries import QueryComparison, compare_queries
from kg2rag.evaluation.diagnosis.waterfall_view import Waterfall

__all__ = [
    "OracleLadder",
    "QueryComparison",
    "Waterfall",
    "compare_queries",
    "knowledge_base_of",
    "oracle_ladder",
    "waterfall",
]
