"""Prompts -> completions by any OpenAI-compatible endpoint, each paid for once.

`ChatModel` asks; `Completion` and `Failure` are what comes back. `Usage` counts tokens and cost, `Spending`
limits them.
"""

from kg2rag.compute.llm.answers import Completion, CompletionError, Failure, Outcome, Usage, quoted
from kg2rag.compute.llm.model import ChatModel, ask_each, chat_model, name_of, unusable
from kg2rag.compute.llm.spending import Spending

__all__ = [
    "ChatModel",
    "Completion",
    "CompletionError",
    "Failure",
    "Outcome",
    "Spending",
    "Usage",
    "ask_each",
    "chat_model",
    "name_of",
    "quoted",
    "unusable",
]
