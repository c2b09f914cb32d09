"""`check_retriever`: the contract of every strategy; `ChatEndpoint`: a stub of a chat model."""

from kg2rag.testing.contract import ContractError, check_retriever
from kg2rag.testing.endpoint import ChatEndpoint, first_title

__all__ = ["ChatEndpoint", "ContractError", "check_retriever", "first_title"]
