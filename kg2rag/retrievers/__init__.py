"""Query -> Ranking: all strategies, under the contract of `contract.py`, named in `systems.py`.

This folder has the plain strategies (`bm25`, `dense`, `fusion`), the recommended ones (`mention_ppr`,
`mention_chains`), `expansion_queries` and `pattern`; `designs/` and `published/` have the others.
`adapters/` connects other packages. Strategies share `neighbour_passages`, `linking/` and
`rerankers/`.
"""

from lazy_loader import attach

__getattr__, __dir__, __all__ = attach(__name__, submodules=["systems"])
