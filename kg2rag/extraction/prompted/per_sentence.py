"""Sentence -> triples: one call per sentence, given with the title of its article, as KG2RAG [1] does it.

Theirs: one sentence a call, the title before it, worked examples of the triples alone. The texts, the examples and the
JSON form (theirs is "<head##relation##tail>$$…") are ours.

[1] Zhu et al., "Knowledge Graph-Guided Retrieval Augmented Generation", NAACL 2025, arXiv 2502.06864.
"""

from __future__ import annotations

from kg2rag.extraction.prompted.answers import Facts
from kg2rag.extraction.prompted.style import PromptStep, PromptStyle

_QUESTION = "Title: {title}\nSentence: {text}"
_EXAMPLES = (
    (
        "Marsden Light",
        "It was built in 1871 by the engineer Ada Holt and stands on the isle of Orrin.",
        '{"triples": [["Marsden Light", "built in", "1871"], ["Marsden Light", "built by", "Ada Holt"], '
        '["Ada Holt", "profession", "engineer"], ["Marsden Light", "stands on", "Orrin"]]}',
    ),
    (
        "Quiet Rivers (novel)",
        "Tom Varga's second novel, it won the Albin Prize and was filmed by Ines Roth.",
        '{"triples": [["Quiet Rivers", "written by", "Tom Varga"], ["Quiet Rivers", "won", "Albin Prize"], '
        '["Quiet Rivers", "filmed by", "Ines Roth"]]}',
    ),
    ("Kelby F.C.", "What followed was worse.", '{"triples": []}'),
)

SENTENCE_TRIPLES = PromptStep(
    name="triples",
    instruction=(
        "Write down what the sentence states as triples [head, relation, tail]. The title says what the article is "
        "about; put it, without brackets, in the place of pronouns that mean it. Ends are names, dates, numbers or "
        "short noun phrases from the sentence; a relation is a few words. Leave out what the sentence does not say; if "
        'it states nothing, give an empty list. Answer with a JSON object: {"triples": [["…", "…", "…"], …]}.'
    ),
    question=_QUESTION,
    examples=tuple((_QUESTION.format(title=title, text=text), answer) for title, text, answer in _EXAMPLES),
    schema=Facts,
    growth=1.87,
)
PER_SENTENCE = PromptStyle("kg2rag", "sentence", (SENTENCE_TRIPLES,))
