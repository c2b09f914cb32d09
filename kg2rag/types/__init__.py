"""Data that flow between the rooms: passages, rankings, formulas, traces, corpora and questions. Holds no algorithm."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
