"""Passages -> triples by a language model behind any OpenAI-compatible endpoint.

`PromptedTriples` plans and runs; a `PromptStyle` has the prompts.
"""

from kg2rag.extraction.prompted.extractor import PromptedTriples
from kg2rag.extraction.prompted.inference import infer_schema
from kg2rag.extraction.prompted.outcome import ExtractionError, ExtractionRun, FailedCall
from kg2rag.extraction.prompted.plan import ExtractionPlan
from kg2rag.extraction.prompted.schema import GraphSchema
from kg2rag.extraction.prompted.style import STYLES, Excerpt, PromptStep, PromptStyle

__all__ = [
    "STYLES",
    "Excerpt",
    "ExtractionError",
    "ExtractionPlan",
    "ExtractionRun",
    "FailedCall",
    "GraphSchema",
    "PromptStep",
    "PromptStyle",
    "PromptedTriples",
    "infer_schema",
]
