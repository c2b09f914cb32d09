"""Runs of systems and gold -> scores -> views: tables, tests, a verdict, pages.

`compare` runs systems side by side; `Comparison` is its result on one data set, `Comparisons` that
on several; `evaluate` scores rankings that exist.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
