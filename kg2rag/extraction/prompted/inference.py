"""A language model and some passages of a corpus -> the schema of a typed graph."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from pydantic import BaseModel, ConfigDict

from kg2rag.compute import ChatModel, CompletionError, Failure
from kg2rag.extraction.prompted.outcome import settle
from kg2rag.extraction.prompted.schema import FIELDS, GraphSchema
from kg2rag.text.normalisation import entity_key
from kg2rag.types import Corpus, at_least, require


class TypesSeen(BaseModel):
    """The types of entities and relations that a text is about."""

    model_config = ConfigDict(extra="ignore", json_schema_extra={"additionalProperties": False})

    entity_types: list[str]
    relation_types: list[str]


INSTRUCTION = """\
Design the schema of a knowledge graph for a collection of texts of which you see one. List the types of the entities \
that it names (singular common nouns, such as person, organisation, place) and the types of the relations between them \
(short verb phrases in the third person, such as works for, located in). Prefer general types that other texts of the \
collection will share; list none twice. Answer with a JSON object: \
{"entity_types": ["…", …], "relation_types": ["…", …]}."""


def infer_schema(
    model: ChatModel, corpus: Corpus, *, passages: int = 20, most: int = 20, retry_failed: bool = False
) -> GraphSchema:
    """Types that a model names for some passages, the most frequent first, ties in the order of the passages.

    Parameters
    ----------
    passages : how many are read, evenly spaced over the corpus; a call each.
    most : types kept of each kind.

    Raises
    ------
    CompletionError : a call failed; it names the passage. ValueError : no passage brought a type.
    """
    require("passages", passages, int, at_least(1))
    require("most", most, int, at_least(1))
    count = min(passages, len(corpus))
    rows = [at * len(corpus) // count for at in range(count)]
    prompts = [
        [{"role": "system", "content": INSTRUCTION}, {"role": "user", "content": corpus[row].contents}] for row in rows
    ]
    settled = settle(model, prompts, TypesSeen, retry_failed=retry_failed, progress="types")
    seen: dict[str, Counter[str]] = {name: Counter() for name in FIELDS}
    spelled: dict[str, str] = {}
    for row, one in zip(rows, settled, strict=True):
        if isinstance(one.outcome, Failure):
            reason = f"the types of passage {corpus.ids[row]!r}: {one.outcome.reason}"
            raise CompletionError(replace(one.outcome, reason=reason))
        assert isinstance(one.outcome.parsed, TypesSeen)
        for name in FIELDS:
            found = dict.fromkeys(" ".join(each.split()) for each in getattr(one.outcome.parsed, name) if each.strip())
            keys = {entity_key(each): each for each in reversed(found)}
            for key, each in reversed(keys.items()):
                spelled.setdefault(f"{name} {key}", each)
                seen[name][key] += 1
    if not any(seen.values()):
        raise ValueError(f"The model named no type for any of {count} passages. Give a schema, or build without one.")
    kept = {name: {spelled[f"{name} {key}"]: "" for key, _ in seen[name].most_common(most)} for name in FIELDS}
    return GraphSchema(**kept)
