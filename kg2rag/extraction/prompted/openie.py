"""Passage -> its named entities -> triples about them: two calls a passage, as HippoRAG [1] does it.

Theirs: the two steps, one worked example, the second step given the entities of the first. The texts and the example
are ours.

[1] Gutiérrez et al., "HippoRAG", NeurIPS 2024, arXiv 2405.14831.
"""

from __future__ import annotations

from kg2rag.extraction.prompted.answers import Entities, Facts
from kg2rag.extraction.prompted.style import PromptStep, PromptStyle

_PASSAGE = """Marsden Light
The Marsden Light is a lighthouse on the isle of Orrin, built by the engineer Ada Holt. It was first lit on 3 May 1871 \
and has belonged to the Northern Harbour Trust since 1920. Holt, who was born in Kelby, died there a year later."""

_ENTITIES = (
    '{"entities": ["Marsden Light", "Orrin", "Ada Holt", "3 May 1871", "Northern Harbour Trust", "1920", "Kelby"]}'
)

_TRIPLES = (
    '{"triples": [["Marsden Light", "is a", "lighthouse"], ["Marsden Light", "located on", "Orrin"], '
    '["Marsden Light", "built by", "Ada Holt"], ["Ada Holt", "profession", "engineer"], '
    '["Marsden Light", "first lit on", "3 May 1871"], ["Marsden Light", "owned by", "Northern Harbour Trust"], '
    '["Northern Harbour Trust", "owner of Marsden Light since", "1920"], ["Ada Holt", "born in", "Kelby"], '
    '["Ada Holt", "died in", "Kelby"]]}'
)

_NAMED = """{passage}

Entities: {entities}"""

NAMES = PromptStep(
    name="entities",
    instruction=(
        "List the named entities of the passage: people, places, organisations, works, events, products, and dates. "
        "Write each as the passage writes it in full, once. List nothing that the passage does not name. "
        'Answer with a JSON object: {"entities": ["…", …]}.'
    ),
    question="{title}\n{text}",
    examples=((_PASSAGE, _ENTITIES),),
    schema=Entities,
    growth=0.58,
)
TRIPLES = PromptStep(
    name="triples",
    instruction=(
        "Write down what the passage states as triples [head, relation, tail]. The first line of the passage is its "
        "title. Each triple has at least one, better two, of the listed entities as its ends, spelled as listed. Put "
        "the name in the place of a pronoun. A relation is a few words, as the passage puts it. State every fact once, "
        'and nothing that the passage does not say. Answer with a JSON object: {"triples": [["…", "…", "…"], …]}.'
    ),
    question=_NAMED.format(passage="{title}\n{text}", entities="{entities}"),
    examples=((_NAMED.format(passage=_PASSAGE, entities=_ENTITIES[len('{"entities": ') : -1]), _TRIPLES),),
    schema=Facts,
    growth=1.87,
)
OPENIE = PromptStyle("openie", "passage", (NAMES, TRIPLES))
"""Growths are those of GPT-3.5's answers for MuSiQue's 1,890 passages, in WordPiece tokens."""
