"""Query -> Ranking: one file or folder a strategy, all behind the contract in `contract.py`, named in `systems.py`."""

from lazy_loader import attach

__getattr__, __dir__, __all__ = attach(__name__, submodules=["systems"])
