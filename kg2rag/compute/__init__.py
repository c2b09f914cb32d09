"""What costs hours or money, and where it is kept: the store, the encoder and its vectors, tokens, language models."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
