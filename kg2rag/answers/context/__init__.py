"""A ranking and the graph around it -> text for a language model, within a budget of tokens that holds exactly.

Two formats of the designs: the structured graph block of graph-augmented search, and passages with their sources of
confidence-gated retrieval. Names of inverse relations stand in `inverses`; asking a model is left to the reader.
"""

from __future__ import annotations

from kg2rag.answers.context.budget import Dropped
from kg2rag.answers.context.formatter import Citation, ContextFormatter, FormattedContext

__all__ = ["Citation", "ContextFormatter", "Dropped", "FormattedContext"]
