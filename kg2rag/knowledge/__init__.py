"""A corpus as strategies see it: graph, indexes, mentions and vectors, each built once and kept."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
