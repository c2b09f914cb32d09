"""What the diagnosis offers to the rest of the room."""

from .fates import Waterfall as Waterfall
from .fates import waterfall as waterfall
from .ladder import OracleLadder as OracleLadder
from .ladder import knowledge_base_of as knowledge_base_of
from .ladder import oracle_ladder as oracle_ladder
from .queries import QueryComparison as QueryComparison
from .queries import compare_queries as compare_queries
