"""A research toolkit for graph-guided retrieval: interchangeable strategies, fair comparisons, no LLM key.

Load a question set, build a knowledge base over its corpus, and compare strategies. `__init__.pyi`
lists the public names. Each is imported on first use, which keeps `import kg2rag` fast.
"""

from lazy_loader import attach_stub

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
