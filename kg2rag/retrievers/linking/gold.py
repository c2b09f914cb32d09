"""Query id -> the entities that somebody says it names: the ceiling of linking, and links made elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.linking.linkers import Link
from kg2rag.text.records import DataError, quote, read_json
from kg2rag.types import Query


class LackingNameWarning(UserWarning):
    """Entities were given that the graph lacks; they were not used."""


@dataclass(frozen=True)
class GoldLinker:
    """Links as given, in their order, each of confidence 1; the span is the whole query.

    Parameters
    ----------
    names : query id -> names or aliases of entities; an empty list for a query that names none.
    """

    kb: KnowledgeBase = field(repr=False)
    names: Mapping[str, Sequence[str]] = field(repr=False, hash=False)

    @classmethod
    def read(cls, kb: KnowledgeBase, file: Path | str) -> GoldLinker:
        """From a file with a JSON object, query id -> list of names; DataError where it is none."""
        given = read_json(Path(file))
        if not isinstance(given, dict):
            raise DataError(f"{file} holds no object. Write a JSON object: query id -> list of names.")
        for query, names in given.items():
            if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
                raise DataError(f"{file}, query {query!r}: its value is {quote(names)}, no list of names.")
        return cls(kb, given)

    def link_batch(self, queries: Sequence[Query]) -> list[list[Link]]:
        """The links of each query; one `LackingNameWarning` reports the names that the graph lacks.

        ValueError: a query for which nothing is given.
        """
        links, lacking = [], []
        for query in queries:
            if query.id not in self.names:
                raise ValueError(f"No entities are given for query {query.id!r}. Give a list, if an empty one.")
            found = {name: self.kb.graph.find(name) for name in self.names[query.id]}
            lacking += [(query.id, name) for name, entity in found.items() if entity is None]
            entities = dict.fromkeys(entity for entity in found.values() if entity is not None)
            links.append([Link(entity, (0, len(query.text)), "gold", 1.0) for entity in entities])
        if lacking:
            warnings.warn(
                f"The graph lacks {len(lacking)} of the entities given, which are not used (first: {lacking[0][1]!r}, "
                f"of query {lacking[0][0]!r}).",
                LackingNameWarning,
                stacklevel=2,
            )
        return links
