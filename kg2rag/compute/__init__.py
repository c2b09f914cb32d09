"""Expensive results and their cache: store, encoders and vectors, token counts, endpoints."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
