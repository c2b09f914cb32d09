"""kg2rag: a laboratory for graph-guided retrieval.

Load a question set, build a knowledge base over its corpus, put strategies side by side, compare them.
The public names stand in `__init__.pyi`; each is imported when first used, so that `import kg2rag` costs nothing.
"""

from lazy_loader import attach_stub

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
