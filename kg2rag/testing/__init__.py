"""`check_retriever`: the contract of every strategy, for our own, for plugins and for yours."""

from kg2rag.testing.contract import ContractError, check_retriever

__all__ = ["ContractError", "check_retriever"]
