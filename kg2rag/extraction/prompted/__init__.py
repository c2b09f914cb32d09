"""Passages -> triples by a language model behind any OpenAI-compatible endpoint.

`PromptedTriples` plans and runs; a `Style` says what is asked.
"""

from kg2rag.extraction.prompted.extractor import STYLES, PromptedTriples
from kg2rag.extraction.prompted.outcome import ExtractionError, ExtractionRun, FailedCall
from kg2rag.extraction.prompted.plan import ExtractionPlan
from kg2rag.extraction.prompted.style import Step, Style, Unit

__all__ = [
    "STYLES",
    "ExtractionError",
    "ExtractionPlan",
    "ExtractionRun",
    "FailedCall",
    "PromptedTriples",
    "Step",
    "Style",
    "Unit",
]
