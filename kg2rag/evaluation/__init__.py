"""Rankings and gold -> scores, significance, and a table one can publish.

`compare` runs systems side by side; `evaluate` scores rankings that exist; `Comparison` is the result, `Comparisons`
that on several sets.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
