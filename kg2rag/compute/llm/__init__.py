"""Prompts -> completions by any OpenAI-compatible endpoint, each paid for once.

`ChatModel` asks; `Completion` and `Failure` are what comes back. `Usage` counts tokens and cost, `Spending`
limits them.
"""

from kg2rag.compute.llm.model import ChatModel
from kg2rag.compute.llm.outcomes import Completion, CompletionError, Failure, Usage
from kg2rag.compute.llm.spending import Spending

__all__ = ["ChatModel", "Completion", "CompletionError", "Failure", "Spending", "Usage"]
