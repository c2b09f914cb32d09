"""A corpus with its graph, indexes, mentions and vectors, each built once and cached."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
