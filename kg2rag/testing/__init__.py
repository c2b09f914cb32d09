"""`check_retriever`: the contract of every strategy, ours, plugins' and yours. `ChatEndpoint`: a model that is none."""

from kg2rag.testing.contract import ContractError, check_retriever
from kg2rag.testing.endpoint import ChatEndpoint, first_title

__all__ = ["ChatEndpoint", "ContractError", "check_retriever", "first_title"]
