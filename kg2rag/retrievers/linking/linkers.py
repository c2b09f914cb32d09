"""Query text -> the entities of a graph that it names, each with the span, the linker and a confidence.

Three linkers and a chain that tries them in order: word n-grams against entity names; capitalised and quoted phrases
against a full-text index of the names; the query's vector against the names' vectors. They are those of the
graph-augmented and confidence-gated designs; longest match first, and names of any length, are our reading. Beside
them: misspelt names (`linking.fuzzy`), a language model (`linking.llm`), entities that are given (`GoldLinker`).
"""

from __future__ import annotations

import re
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from kg2rag.knowledge import KnowledgeBase, LexicalSettings
from kg2rag.text.normalisation import FUNCTION_WORDS, normalise
from kg2rag.text.records import DataError, quote, read_json
from kg2rag.types import Cosine, Count, LinkedEntity, Query, component, top_with_ties

_WORDS = re.compile(r"\w+")
_NAME_WORD = re.compile(r"\w[\w'’\-]*[+#]*")  # C++ and C# are no C
_QUOTED = re.compile(r"[\"“”«]([^\"“”«»]+)[\"“”»]")
_POSSESSIVE = re.compile(r"['’]s\b")
_MARKS = re.compile(r"[+#]")  # no word has them, and names differ by them: C, C++ and C#
_NAME_WORDS = LexicalSettings(stop_words=False)

PHRASES = 20  # of a query that are looked up


@dataclass(frozen=True, slots=True)
class Link:
    """An entity that a query names.

    `entity` is its code in the graph, `span` the stretch of the query's text, (start, end), that named it (all of it
    where a vector did), `confidence` in (0, 1].
    """

    entity: int
    span: tuple[int, int]
    linker: str
    confidence: float


class Linker(Protocol):
    """Anything that links a batch of queries."""

    def link_batch(self, queries: Sequence[Query]) -> list[list[Link]]:
        """The links of each query, surest first, each entity once; an empty list where it names none."""
        ...


class TextLinker:
    """A linker that reads each query by itself."""

    kb: KnowledgeBase

    def link_batch(self, queries: Sequence[Query]) -> list[list[Link]]:
        """The links of each query."""
        return [self._link(query.text) if self.kb.graph.n_entities else [] for query in queries]

    @abstractmethod
    def _link(self, text: str) -> list[Link]: ...


@component
class NGramLinker(TextLinker):
    """Word sequences of the query that are an entity's name or alias, up to case, accents and punctuation.

    At each place the longest. `limit` : at most so many entities a query: the longest names, then the first in it.
    """

    kb: KnowledgeBase = field(repr=False)
    limit: Count = 5

    def _link(self, text: str) -> list[Link]:
        lexicon, codes = self.kb.entity_lexicon
        spans: dict[int, tuple[int, int]] = {}
        for key, span in lexicon.find(text, capitals=False):
            spans.setdefault(codes[key], span)
        longest = sorted(spans.items(), key=lambda item: (item[1][0] - item[1][1], item[1][0]))
        return [Link(entity, span, "n-gram", 1.0) for entity, span in longest[: self.limit]]


@component
class PhraseLinker(TextLinker):
    """Capitalised and quoted phrases of the query, looked up in a full-text index of the entities' names.

    A name must hold all words of a phrase (but for a possessive 's), as the design's full-text match demands. The
    confidence is the share of words that phrase and name have in common (Jaccard). `limit` : entities a phrase.
    """

    kb: KnowledgeBase = field(repr=False)
    limit: Count = 5

    def _link(self, text: str) -> list[Link]:
        links: dict[int, Link] = {}
        different: dict[str, tuple[int, int]] = {}
        for span in phrases(text):
            different.setdefault(normalise(text[slice(*span)]), span)
        for span in list(different.values())[:PHRASES]:
            found = self._entities(text[slice(*span)], span)
            rest = text[slice(*span)].partition(" ")[2]
            if rest and not found and not text[: span[0]].strip():  # "Explain Auth Service": a verb begins the query
                found = self._entities(rest, (span[1] - len(rest), span[1]))
            for link in found:
                if link.entity not in links or link.confidence > links[link.entity].confidence:
                    links[link.entity] = link
        return sorted(links.values(), key=lambda link: (-link.confidence, link.span, link.entity))

    def _entities(self, phrase: str, span: tuple[int, int]) -> list[Link]:
        index, readings = self.kb.entity_names(_NAME_WORDS), (phrase, _POSSESSIVE.sub("", phrase))
        scores = index.scores(phrase)
        for term in dict.fromkeys(_WORDS.findall(readings[1].lower())):
            scores[index.scores(term) <= 0] = 0
        rows = top_with_ties(scores, self.limit)
        rows = rows[scores[rows] > 0]
        found = []
        for row in rows[np.lexsort((rows, -scores[rows]))][: self.limit].tolist():
            name = self.kb.graph.names[row]
            share = max(_jaccard(reading, name) for reading in readings)
            if share > 0 and sorted(_MARKS.findall(phrase)) == sorted(_MARKS.findall(name)):
                found.append(Link(row, span, "phrase", share))
        return found


@component
class EmbeddingLinker:
    """The query's vector against the vectors of the entities' names.

    Parameters
    ----------
    min_cosine : less similar names are no link; the cosine is the confidence.
    limit : at most so many entities.
    """

    kb: KnowledgeBase = field(repr=False)
    min_cosine: Cosine = 0.75
    limit: Count = 3

    def link_batch(self, queries: Sequence[Query]) -> list[list[Link]]:
        """One search for the batch."""
        if not queries or not self.kb.graph.n_entities:
            return [[] for _ in queries]
        found = self.kb.entities.search(self.kb.encode_queries(queries), self.limit)
        return [
            [
                Link(entity, (0, len(query.text)), "embedding", min(cosine, 1.0))
                for entity, cosine in zip(rows.tolist(), cosines.tolist(), strict=True)
                if cosine >= self.min_cosine
            ]
            for query, (rows, cosines) in zip(queries, found, strict=True)
        ]


@component
class ChainLinker:
    """Linkers tried in order; the first that links anything decides, query by query."""

    linkers: tuple[Linker, ...]

    def link_batch(self, queries: Sequence[Query]) -> list[list[Link]]:
        """The links of the first linker that has any."""
        links: list[list[Link]] = [[] for _ in queries]
        for linker in self.linkers:
            open_ = [i for i, found in enumerate(links) if not found]
            found = linker.link_batch([queries[i] for i in open_]) if open_ else []
            for i, own in zip(open_, found, strict=True):
                links[i] = own
        return links


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


def linked_entities(kb: KnowledgeBase, links: Sequence[Link]) -> tuple[LinkedEntity, ...]:
    """The links of a query as a ranking's notes name them."""
    return tuple(LinkedEntity(kb.graph.names[link.entity], link.linker, link.confidence) for link in links)


def _jaccard(phrase: str, name: str) -> float:
    one, other = set(normalise(phrase).split()), set(normalise(name).split())
    return len(one & other) / len(one | other) if one else 0.0


def phrases(text: str) -> list[tuple[int, int]]:
    """Spans of the quoted phrases of a text, then of the capitalised ones; leading function words are cut off."""
    spans = dict.fromkeys(match.span(1) for match in _QUOTED.finditer(text))
    start, end = -1, -1  # of the capitalised phrase that the words before have begun; start is -1 where there is none
    for word in _NAME_WORD.finditer(text):
        joined = start >= 0 and text[end : word.start()].isspace()
        if start >= 0 and not (joined and _capitalised(word.group())):
            spans[start, end] = None
            start = -1
        if _capitalised(word.group()) and (start >= 0 or normalise(word.group()) not in FUNCTION_WORDS):
            start, end = word.start() if start < 0 else start, word.end()
    if start >= 0:
        spans[start, end] = None
    return list(spans)


def phrases_beside(text: str, known: Sequence[tuple[int, int]]) -> list[str]:
    """The `phrases` of a text that overlap none of the known spans, as written; one that repeats is repeated."""
    return [
        text[start:end]
        for start, end in phrases(text)
        if not any(start < known_end and known_start < end for known_start, known_end in known)
    ]


def _capitalised(word: str) -> bool:
    """Whether a word begins as a name does; scripts without case (Chinese, Arabic) make no difference there."""
    return word[0].isalpha() and not word[0].islower()
