"""A ranking and the graph around it -> text for a language model, within a budget of tokens.

Two formats of the designs: the structured graph block of graph-augmented search, and passages with their sources of
confidence-gated retrieval. The reader asks a model.
"""

from __future__ import annotations

from kg2rag.answers.context.budget import Dropped
from kg2rag.answers.context.formatter import Citation, ContextFormatter, FormattedContext

__all__ = ["Citation", "ContextFormatter", "Dropped", "FormattedContext"]
