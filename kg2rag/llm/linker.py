"""Query text -> entities of a graph by a language model, the last linker of a chain.

The schema of the answer limits the model to the graph's entity types. The prompt and the confidence
are ours.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from importlib.resources import files
from typing import Annotated, Any

from pydantic import BaseModel, Field, WithJsonSchema, create_model

from kg2rag.compute.endpoint import TIMEOUT_SECONDS
from kg2rag.knowledge import KnowledgeBase
from kg2rag.llm import ChatModel
from kg2rag.llm.dialect import Structured
from kg2rag.llm.json_text import quoted
from kg2rag.llm.query_prompts import ask_each, chat_model, name_of
from kg2rag.retrievers.linking.linkers import Link
from kg2rag.text.normalisation import Lexicon, entity_key, normalise
from kg2rag.types import Count, Query, Threshold, component

_PROMPT = (
    (files(__package__) / "linker_prompt.txt").read_text(encoding="utf-8").rstrip("\n")
)
MAX_NAME_CHARACTERS = 100
NAME_FIELD = '"name", its usual full name'


class UnknownNameWarning(UserWarning):
    """A language model named entities that the graph lacks; they were not used."""


@component
class LLMLinker:
    """A language model that names the entities of queries, for the end of a `ChainLinker`.

    Parameters
    ----------
    model : the model; answers it has given before come from its store.
    limit : the maximum of entities per query.
    types : the types in the prompt, in the graph's spelling; None for all of the graph's.
    confidence : the confidence of every link, in (0, 1]; small models estimate it badly.
    """

    kb: KnowledgeBase = field(repr=False)
    model: ChatModel
    limit: Count = 5
    confidence: Threshold = 0.8
    types: tuple[str, ...] | None = None

    def link_batch(self, queries: Sequence[Query]) -> list[list[Link]]:
        """The links of each query; one `UnknownNameWarning` reports the names that the graph lacks.

        Queries without a word are not sent. CompletionError names the query: an answer is missing,
        or of another form.
        """
        graph = self.kb.graph
        sent = [
            query for query in queries if normalise(query.text) and graph.n_entities
        ]
        names_of = dict(zip(sent, self._ask_for_names(sent), strict=True))
        unknown = [
            (name, query)
            for query, names in names_of.items()
            for name in names
            if graph.find(name) is None
        ]
        if unknown:
            name, query = unknown[0]
            message = f"The model named {len(unknown)} entities that the graph lacks, which are not used"
            warnings.warn(
                f"{message} (first: {name!r}, of {name_of(query)}).",
                UnknownNameWarning,
                stacklevel=2,
            )
        links = {
            query.text: self._links(query, names) for query, names in names_of.items()
        }
        return [links.get(query.text, []) for query in queries]

    def _ask_for_names(self, queries: Sequence[Query]) -> list[list[str]]:
        """The names in the model's answer about each query, of the allowed types."""
        types = self.kb.graph.entity_types if self.types is None else self.types
        prompts = [self._prompt(query, types) for query in queries]
        form = _schema(types, self.limit)
        answers = ask_each(
            self.model, [name_of(query) for query in queries], prompts, form, "linking"
        )
        return [_names_of_types(answer.parsed.entities, types) for answer in answers]  # type: ignore[attr-defined]

    def _prompt(self, query: Query, types: Sequence[str]) -> str:
        """The prompt that asks for the entities of a query, of some types; without any, of all types."""
        allowed = ""
        fields = NAME_FIELD
        if types:
            allowed = f"The graph knows entities of these types and no others: {', '.join(types)}."
            fields = f'{NAME_FIELD}, and "type", one of the types above'
        return _PROMPT.format(
            query=quoted(query.text), types=allowed, fields=fields, limit=self.limit
        )

    def _links(self, query: Query, names: Sequence[str]) -> list[Link]:
        """The links of the first `limit` names that are entities of the graph."""
        links: dict[int, Link] = {}
        for name in names:
            entity = self.kb.graph.find(name)
            if entity is not None and entity not in links:
                links[entity] = Link(
                    entity, self._span(query.text, name, entity), "llm", self.confidence
                )
        return list(links.values())[: self.limit]

    def with_types(self, types: tuple[str, ...]) -> LLMLinker:
        """The linker with only these types in the prompt."""
        return replace(self, types=types)

    def _span(self, text: str, name: str, entity: int) -> tuple[int, int]:
        """The span of an entity's name or alias in a text; the whole text if it has none."""
        names = (name, self.kb.graph.names[entity], *self.kb.graph.aliases[entity])
        keys = [key for key in dict.fromkeys(map(normalise, names)) if key]
        spans = [span for _, span in Lexicon(keys).find(text, capitals=False)]
        return spans[0] if spans else (0, len(text))


def _names_of_types(entities: Sequence[Any], types: Sequence[str]) -> list[str]:
    """The distinct names in an answer, of some types; without any, of all types."""
    allowed = set(map(entity_key, types))
    names = [
        entity.name
        for entity in entities
        if not allowed or entity_key(str(entity.type)) in allowed
    ]
    return list(dict.fromkeys(names))


def _schema(types: Sequence[str], limit: int) -> type[BaseModel]:
    """The form of an answer; its schema allows `types` only, but other types are read, too."""
    name = Annotated[
        str,
        WithJsonSchema(
            {"type": "string", "minLength": 1, "maxLength": MAX_NAME_CHARACTERS}
        ),
    ]
    fields: dict[str, Any] = {"name": (name, ...)}
    if types:
        fields["type"] = (
            Annotated[Any, WithJsonSchema({"type": "string", "enum": list(types)})],
            ...,
        )
    entity = create_model("Entity", **fields)
    limits = Field(json_schema_extra={"maxItems": limit})
    return create_model("NamedEntities", entities=(list[entity], limits))  # type: ignore[valid-type]


def named(
    kb: KnowledgeBase,
    model: str,
    *,
    limit: int = 5,
    confidence: float = 0.8,
    max_tokens: int | None = 512,
    concurrency: int | None = None,
    timeout: float = TIMEOUT_SECONDS,
    structured: Structured = "json_schema",
    body: Mapping[str, Any] | None = None,
) -> LLMLinker:
    """The linker of "MODEL@BASE_URL", whose answers the knowledge base's store keeps."""
    options = (max_tokens, concurrency, timeout, structured, body)
    return LLMLinker(
        kb, chat_model(model, kb.store, *options), limit=limit, confidence=confidence
    )
