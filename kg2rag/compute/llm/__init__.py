"""Prompts -> completions by any OpenAI-compatible endpoint, each paid for once.

`ChatModel` asks; `Completion` and `Failure` are what comes back; `Usage` counts tokens and cost.
"""

from kg2rag.compute.llm.model import ChatModel
from kg2rag.compute.llm.outcomes import Completion, CompletionError, Failure, Usage

__all__ = ["ChatModel", "Completion", "CompletionError", "Failure", "Usage"]
