"""Data types of all rooms: passages, rankings, notes, traces, corpora, questions; no algorithm."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
