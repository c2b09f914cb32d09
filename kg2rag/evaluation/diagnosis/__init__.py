"""A system and gold -> what became of the gold, how much each stage could gain, and where two systems differ.

`waterfall` names the step that lost each gold passage; `oracle_ladder` measures what a perfect stage would be worth;
`compare_queries` shows the explanations of two systems side by side where they differ most.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
