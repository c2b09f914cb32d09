"""Query text -> entities of a graph, by asking a language model: the last of a chain, for names spelt in no known way.

The prompt lists the graph's entity types, and the schema of the answer limits the model to them. What it names is
looked up in the graph; a name that the graph lacks is reported and not used. The prompt and the confidence are ours.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, create_model

from kg2rag.compute import ChatModel
from kg2rag.compute.llm import ask_each, chat_model, name_of, quoted
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.linking.linkers import Link
from kg2rag.text.lexicon import Lexicon
from kg2rag.text.normalisation import entity_key, normalise
from kg2rag.types import Count, Query, Threshold, check

_PROMPT = (files(__package__) / "prompt.txt").read_text(encoding="utf-8").rstrip("\n")
_NAME = '"name", its usual full name'
_TYPE = '"type", one of the types above'


class UnknownNameWarning(UserWarning):
    """A language model named entities that the graph lacks; they were not used."""


@dataclass(frozen=True)
class LLMLinker:
    """Asks a language model which entities a query names, a batch at once; use it as the last of a `ChainLinker`.

    Parameters
    ----------
    model : the model; answers it has given before come from its store.
    types : entities of these types alone; case and punctuation do not matter. None takes all of the graph's, and where
        the graph has no types, entities of any kind.
    limit : at most so many entities a query.
    confidence : of every link, in (0, 1]; not requested of the model, since small models estimate it badly.
    prompt : its places are `{query}` (goes in as a JSON string), `{types}`, `{fields}` and `{limit}`.
    """

    kb: KnowledgeBase = field(repr=False)
    model: ChatModel
    types: tuple[str, ...] | None = None
    limit: Count = 5
    confidence: Threshold = 0.8
    prompt: str = field(default=_PROMPT, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.types, str):
            raise ValueError(f"types = {self.types!r}: give a tuple of types, such as ({self.types!r},).")
        check(self)
        if "{query}" not in self.prompt:
            raise ValueError("The prompt has no place for the query: write {query} where it belongs.")

    def link_batch(self, queries: Sequence[Query]) -> list[list[Link]]:
        """The links of each query; one `UnknownNameWarning` reports the names that the graph lacks.

        Queries without a word are not sent. A name that the graph has with a type not asked for counts as lacking.

        Raises
        ------
        CompletionError : an answer is missing, or not of the requested form; the query is named.
        ValueError : `types` names a type that the graph lacks.
        """
        sent = [query for query in queries if normalise(query.text)] if self.kb.graph.n_entities else []
        known = self._types()
        prompts = [self._prompt(query, known) for query in sent]
        answers = ask_each(self.model, [name_of(query) for query in sent], prompts, _schema(known), "linking")
        found: dict[str, list[Link]] = {}
        unknown: list[tuple[Query, str]] = []
        for query, answer in zip(sent, answers, strict=True):
            found[query.text], lacking = self._looked_up(query, answer.parsed)
            unknown += [(query, name) for name in lacking]
        if unknown:
            query, name = unknown[0]
            warnings.warn(
                f"The model named {len(unknown)} entities that the graph lacks, which are not used "
                f"(first: {name!r}, of {name_of(query)}).",
                UnknownNameWarning,
                stacklevel=2,
            )
        return [found.get(query.text, []) for query in queries]

    def _types(self) -> tuple[str, ...]:
        """The types to choose from, as the graph writes them; none where it has none."""
        every = {entity_key(kind): kind for kind in self.kb.graph.entity_types}
        if self.types is None:
            return tuple(every.values())
        for kind in self.types:
            if entity_key(kind) not in every:
                raise ValueError(
                    f"The graph lacks the entity type {kind!r}. It has: {', '.join(every.values()) or 'none'}."
                )
        return tuple(every[entity_key(kind)] for kind in self.types)

    def _prompt(self, query: Query, types: tuple[str, ...]) -> str:
        known = f"The graph knows entities of these types and no others: {', '.join(types)}." if types else ""
        fields = f"{_NAME}, and {_TYPE}" if types else _NAME
        places = {"{types}": known, "{fields}": fields, "{limit}": str(self.limit)}
        text = self.prompt
        for place, value in places.items():
            text = text.replace(place, value)
        return text.replace("{query}", quoted(query.text))

    def _looked_up(self, query: Query, answer: Any) -> tuple[list[Link], list[str]]:
        """The entities found, in the model's order, and the names that the graph lacks."""
        graph, links, unknown = self.kb.graph, dict[int, Link](), dict[str, None]()
        allowed = None if self.types is None else {entity_key(kind) for kind in self.types}
        for name in (each.name for each in answer.entities):
            entity = graph.find(name)
            if entity is None or (allowed is not None and entity_key(graph.types[entity]) not in allowed):
                unknown[name] = None
            elif entity not in links and len(links) < self.limit:
                span = _span(query.text, (name, graph.names[entity], *graph.aliases[entity]))
                links[entity] = Link(entity, span, "llm", self.confidence)
        return list(links.values()), list(unknown)


def _schema(types: tuple[str, ...]) -> type[BaseModel]:
    """The form of the answer: entities, each with its name and, where there are types, one of those."""
    if not types:
        entity = create_model("Entity", name=(str, ...))
    else:
        by_key: Mapping[str, str] = {entity_key(kind): kind for kind in types}

        def known(given: Any) -> Any:
            return by_key.get(entity_key(given), given) if isinstance(given, str) else given

        kind: Any = Annotated[Literal.__getitem__(types), BeforeValidator(known)]
        entity = create_model("Entity", name=(str, ...), type=(kind, ...))
    return create_model("NamedEntities", entities=(list[entity], ...))  # type: ignore[valid-type]


def _span(text: str, surfaces: Sequence[str]) -> tuple[int, int]:
    """Where the text has one of some names; all of it where it has none."""
    keys = [key for key in dict.fromkeys(map(normalise, surfaces)) if key]
    spans = (span for _, span in Lexicon(keys).find(text, capitals=False))
    return next(spans, (0, len(text)))


def named(kb: KnowledgeBase, model: str, *, limit: int = 5, confidence: float = 0.8) -> LLMLinker:
    """The linker of a model by name, "MODEL@BASE_URL", whose answers the knowledge base's store keeps."""
    return LLMLinker(kb, chat_model(model, kb.store, "llm"), limit=limit, confidence=confidence)
