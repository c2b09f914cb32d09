"""All use of language models: the client, and the components that read its answers.

No other room imports this one: the registries name its linkers, rerankers and analysers, which are
imported at their first use.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
