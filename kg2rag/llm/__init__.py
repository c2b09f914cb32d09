"""Everything that asks a language model: the client, and what is made of its answers.

No other room imports this one: linkers, rerankers and analysers of a model are named in the tables
of their kinds, and imported when they are first used.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
