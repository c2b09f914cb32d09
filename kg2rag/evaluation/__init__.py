"""Rankings and gold -> scores, significance, and a table one can publish.

`compare` runs systems side by side; `evaluate` scores rankings that exist; `Comparison` is the result, `Comparisons`
that on several sets; `replicates` is one system under several seeds.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
