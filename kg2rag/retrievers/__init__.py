"""Query -> Ranking: the strategies, all behind the contract in `contract.py` and named in `systems.py`.

The plain ones (`bm25`, `dense`, `fusion`), the recommended ones (`mention_ppr`, `mention_chains`),
`expansion_queries` and `pattern` lie here; `designs/` and `published/` hold the others, `adapters/`
connects those of other packages, and `neighbour_passages`, `linking/` and `rerankers/` are parts
that strategies share.
"""

from lazy_loader import attach

__getattr__, __dir__, __all__ = attach(__name__, submodules=["systems"])
