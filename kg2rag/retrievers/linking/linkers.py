"""Query text -> the entities that it names, each with span, linker and confidence.

The linkers are those of the graph-augmented and confidence-gated designs. Longest match first, and
names of any length, are our reading; misspelt names are ours. `kg2rag.llm.linker` asks a language
model.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from kg2rag.knowledge import (
    KnowledgeBase,
    KnowledgeGraph,
    LexicalSettings,
    TrigramIndex,
    Workload,
)
from kg2rag.retrievers.linking.phrases import Span, distinct_phrases, names_outside
from kg2rag.text.code_names import MAX_KEY_CHARACTERS, key, surfaces
from kg2rag.text.normalisation import FUNCTION_WORDS, normalise, unstroked
from kg2rag.types import (
    Cosine,
    Count,
    LinkedEntity,
    Query,
    Threshold,
    component,
    top_with_ties,
)

_WORDS = re.compile(r"\w+")
_POSSESSIVE = re.compile(r"['’]s\b")
_MARKS = re.compile(r"[+#]")  # not in words, but in names: C, C++ and C#
_NAME_WORDS = LexicalSettings(stop_words=False)

MAX_PHRASES = 20  # phrases of a query that are looked up
MAX_NEAREST_NAMES = 20  # names that are compared with a word n-gram
# The tolerance of the index, in which a swap of letters is two edits.
SLACK = 0.15
MAX_WORDS = 200  # words of a query that are read
MAX_NAME_WORDS = 6  # words of an n-gram
PLAIN_WORDS = FUNCTION_WORDS.union(
    "get i make me now off out see us use used uses using".split()
)


@dataclass(frozen=True, slots=True)
class Link:
    """A linked entity: its code, the span that named it, the linker, and the confidence.

    `span` : (start, end), the whole text for a vector. `confidence` : in (0, 1].
    """

    entity: int
    span: Span
    linker: str
    confidence: float


class Linker(Protocol):
    """Anything that links a batch of queries."""

    def link_batch(self, queries: Sequence[Query]) -> list[list[Link]]:
        """The links of each query, most confident first, each entity once; may be empty."""
        ...


class TextLinker:
    """A linker that reads each query by itself."""

    kb: KnowledgeBase

    def link_batch(self, queries: Sequence[Query]) -> list[list[Link]]:
        """The links of each query."""
        return [
            self._link(query.text) if self.kb.graph.n_entities else []
            for query in queries
        ]

    @abstractmethod
    def _link(self, text: str) -> list[Link]: ...


@component
class NGramLinker(TextLinker):
    """The longest word sequences of a query that are an entity's name or alias.

    Case, accents and punctuation are ignored. One of the `PLAIN_WORDS` is a name only with the
    name's capitals, after the first word. `limit` : the maximum of entities per query: the longest
    names, then the first ones.
    """

    kb: KnowledgeBase = field(repr=False)
    limit: Count = 5

    def _link(self, text: str) -> list[Link]:
        lexicon, entity_of = self.kb.entity_lexicon
        spans: dict[int, Span] = {}
        for name, span in lexicon.find(text, capitals=False):
            entity = entity_of[name]
            if not _is_plain_word(text, span, self.kb.graph, entity):
                spans.setdefault(entity, span)
        longest = sorted(
            spans.items(), key=lambda item: (item[1][0] - item[1][1], item[1][0])
        )
        return [
            Link(entity, span, "n-gram", 1.0) for entity, span in longest[: self.limit]
        ]


@component
class PhraseLinker(TextLinker):
    """Capitalised and quoted phrases, looked up in a full-text index of the entities' names.

    A name must have all words of a phrase except a possessive 's; the confidence is their Jaccard
    index. If no name does, the names and aliases within the phrase are linked. `limit` : the
    maximum of entities per phrase.
    """

    kb: KnowledgeBase = field(repr=False)
    limit: Count = 5

    def _link(self, text: str) -> list[Link]:
        links: dict[int, Link] = {}
        for span in distinct_phrases(text)[:MAX_PHRASES]:
            # "Please Explain Auth Service" is not a name, but contains one.
            for link in self._entities(text, span) or self._links_within(text, span):
                if (
                    link.entity not in links
                    or link.confidence > links[link.entity].confidence
                ):
                    links[link.entity] = link
        return sorted(
            links.values(), key=lambda link: (-link.confidence, link.span, link.entity)
        )

    def _links_within(self, text: str, span: Span) -> list[Link]:
        """The links of the names and aliases within a phrase, the longest at each position."""
        lexicon, entity_of = self.kb.entity_lexicon
        start, end = span
        links = []
        for name, (first, last) in lexicon.find(text[start:end], capitals=False):
            link = Link(entity_of[name], (start + first, start + last), "phrase", 1.0)
            if not _is_plain_word(text, link.span, self.kb.graph, link.entity):
                links.append(link)
        return links

    def _entities(self, text: str, span: Span) -> list[Link]:
        """The links of the entities whose names have all words of a phrase.

        Without any, the link of the entity with this name or alias.
        """
        phrase = text[slice(*span)]
        graph = self.kb.graph
        links = []
        for entity in self._with_all_words(phrase):
            name = graph.names[entity]
            confidence = max(
                _jaccard(phrase, name), _jaccard(_unpossessive(phrase), name)
            )
            if confidence > 0 and _marks(phrase) == _marks(name):
                links.append(Link(entity, span, "phrase", confidence))
        exact = graph.find(phrase)  # the full-text index has accents, and no aliases
        if not links and exact is not None:
            links.append(Link(exact, span, "phrase", 1.0))
        return links

    def _with_all_words(self, phrase: str) -> list[int]:
        """The `limit` best entities by BM25 whose names have all words of a phrase."""
        index = self.kb.entity_names(_NAME_WORDS)
        scores = index.scores(phrase)
        for word in dict.fromkeys(_WORDS.findall(_unpossessive(phrase).lower())):
            scores[index.scores(word) <= 0] = 0
        rows = top_with_ties(scores, self.limit)
        rows = rows[scores[rows] > 0]
        best_first = rows[np.lexsort((rows, -scores[rows]))]
        return list(best_first[: self.limit].tolist())


class WordNGram(NamedTuple):
    """Adjacent words of a query: their joint key, and whether the corpus has each of them."""

    key: str
    span: Span
    is_known: bool


@component
class FuzzyLinker(TextLinker):
    """Adjacent words that are spelt like a name or alias, without overlap, most similar first.

    A word n-gram neither begins nor ends with a function word. A swap of neighbouring letters is one edit.
    If the corpus has all words of an n-gram, it counts as correctly spelt and links only to its exact
    name, without separators. `PLAIN_WORDS` are names as in `NGramLinker`.

    Parameters
    ----------
    min_similarity : the minimum of 1 - edits / maximum length, in (0, 1], which is the confidence. One edit in six
        letters is 0.833; shorter names with an edit are no links at the default.
    limit : the maximum of entities per query.
    """

    kb: KnowledgeBase = field(repr=False)
    min_similarity: Threshold = 0.83
    limit: Count = 5

    def _link(self, text: str) -> list[Link]:
        links = []
        for ngram in self._word_ngrams(text):
            for entity, similarity in self._similar_entities(ngram):
                if not _is_plain_word(text, ngram.span, self.kb.graph, entity):
                    links.append(Link(entity, ngram.span, "fuzzy", similarity))
        links.sort(key=_priority)
        return _without_overlap(links)[: self.limit]

    def _word_ngrams(self, text: str) -> Iterator[WordNGram]:
        """The word n-grams of up to `MAX_NAME_WORDS` words that may be a name."""
        frequency = self.kb.trigram.document_frequency
        keys = [
            (key(surface), span) for surface, span in surfaces(text) if key(surface)
        ]
        words = [
            WordNGram(word, span, frequency(word) > 0)
            for word, span in keys[:MAX_WORDS]
        ]
        for first in range(len(words)):
            for last in range(first, min(first + MAX_NAME_WORDS, len(words))):
                ngram = _joined(words[first : last + 1])
                has_content = FUNCTION_WORDS.isdisjoint(
                    (words[first].key, words[last].key)
                )
                if has_content and len(ngram.key) <= MAX_KEY_CHARACTERS:
                    yield ngram

    def _similar_entities(self, ngram: WordNGram) -> Iterator[tuple[int, float]]:
        """The entities with a name similar to a word n-gram, with the similarity in (0, 1].

        An n-gram whose words the corpus has matches only a name with the same key.
        """
        from rapidfuzz.distance import OSA

        trigrams, entities = self.kb.cached("fuzzy names", lambda: _name_keys(self.kb))
        names = [ngram.key]
        if not ngram.is_known:
            min_similarity = max(self.min_similarity - SLACK, 0.01)
            similar = trigrams.similar(ngram.key, min_similarity, MAX_NEAREST_NAMES)
            names = [str(trigrams.keys[code]) for code in similar.keys.tolist()]
        for name in names:
            similarity = OSA.normalized_similarity(ngram.key, name)
            if similarity >= self.min_similarity:
                yield from ((entity, similarity) for entity in entities.get(name, ()))


def _joined(words: Sequence[WordNGram]) -> WordNGram:
    """The n-gram of adjacent words."""
    span = (words[0].span[0], words[-1].span[1])
    return WordNGram(
        "".join(word.key for word in words), span, all(word.is_known for word in words)
    )


def _priority(link: Link) -> tuple[float, int, int, int]:
    """The sort key of a link: most confident, longest, then first."""
    start, end = link.span
    return -link.confidence, start - end, start, link.entity


@component
class EmbeddingLinker:
    """The entities whose name vectors are nearest to the query's vector.

    Parameters
    ----------
    min_cosine : less similar names are no links; the cosine is the confidence. The designs' 0.75 is for other encoders;
        0.55 is the step of 0.05 with the highest F1 for MiniLM over 1,010 training questions: 70 % of its links lead to
        an entity that a gold passage names, and it keeps 76 % of those that do; 0.75 keeps 16 %.
    limit : the maximum of entities.
    """

    kb: KnowledgeBase = field(repr=False)
    min_cosine: Cosine = 0.55
    limit: Count = 3

    def workloads(self, queries: Sequence[Query]) -> list[Workload]:
        """The entities' names."""
        return [self.kb.workload("entity names", self.kb.graph.names)]

    def link_batch(self, queries: Sequence[Query]) -> list[list[Link]]:
        """One search for the batch."""
        if not queries or not self.kb.graph.n_entities:
            return [[] for _ in queries]
        links = []
        nearest = self.kb.entities.search(self.kb.encode_queries(queries), self.limit)
        for query, (entities, cosines) in zip(queries, nearest, strict=True):
            span = (0, len(query.text))
            pairs = zip(
                entities.tolist(), np.minimum(cosines, 1.0).tolist(), strict=True
            )
            near = [
                (entity, cosine)
                for entity, cosine in pairs
                if cosine >= self.min_cosine
            ]
            links.append(
                [Link(entity, span, "embedding", cosine) for entity, cosine in near]
            )
        return links


@component
class ChainLinker:
    """Linkers in order: for each query, the first one with links decides."""

    linkers: tuple[Linker, ...]

    def link_batch(self, queries: Sequence[Query]) -> list[list[Link]]:
        """The links of the first linker that has any."""
        links: list[list[Link]] = [[] for _ in queries]
        for linker in self.linkers:
            unlinked = [i for i, query_links in enumerate(links) if not query_links]
            if unlinked:
                new_links = linker.link_batch([queries[i] for i in unlinked])
                for i, query_links in zip(unlinked, new_links, strict=True):
                    links[i] = query_links
        return links


def linked_entities(
    kb: KnowledgeBase, links: Sequence[Link]
) -> tuple[LinkedEntity, ...]:
    """The links of a query for the notes of a ranking."""
    return tuple(
        LinkedEntity(kb.graph.names[link.entity], link.linker, link.confidence)
        for link in links
    )


def unlinked_names(query: Query, links: Sequence[Link]) -> tuple[str, ...]:
    """The capitalised and quoted phrases of a query that no link names, for the notes of a ranking."""
    return names_outside(query.text, [link.span for link in links])


def _is_plain_word(text: str, span: Span, graph: KnowledgeGraph, entity: int) -> bool:
    """Whether a span is one of the `PLAIN_WORDS` and not a name with its capitals.

    The first word of a text does not count as capitalised.
    """
    word = text[slice(*span)]
    if normalise(word) not in PLAIN_WORDS:
        return False
    is_first = not text[: span[0]].strip()
    return is_first or word not in (graph.names[entity], *graph.aliases[entity])


def _without_overlap(links: Iterable[Link]) -> list[Link]:
    """The first links of each entity and of each span, without overlap."""
    chosen: dict[int, Link] = {}
    for link in links:
        start, end = link.span
        is_free = all(
            end <= other.span[0] or other.span[1] <= start for other in chosen.values()
        )
        if is_free and link.entity not in chosen:
            chosen[link.entity] = link
    return list(chosen.values())


def _jaccard(a: str, b: str) -> float:
    """The Jaccard index of two texts: the share of common words."""
    words_a = set(normalise(a).split())
    words_b = set(normalise(b).split())
    return len(words_a & words_b) / max(len(words_a | words_b), 1)


def _unpossessive(phrase: str) -> str:
    return _POSSESSIVE.sub("", phrase)


def _marks(name: str) -> list[str]:
    """The marks that distinguish names: C, C++ and C#."""
    return sorted(_MARKS.findall(name))


def _name_keys(kb: KnowledgeBase) -> tuple[TrigramIndex, dict[str, list[int]]]:
    """An index of the keys of names and aliases, with and without strokes; key -> entities."""
    graph = kb.graph
    entities: dict[str, list[int]] = {}
    for entity, (name, aliases) in enumerate(
        zip(graph.names, graph.aliases, strict=True)
    ):
        keys = [key(spelling) for spelling in (name, *aliases)]
        variants = [
            variant for name_key in keys for variant in (name_key, unstroked(name_key))
        ]
        for spelling in dict.fromkeys(variants):
            if 1 < len(spelling) <= MAX_KEY_CHARACTERS:
                entities.setdefault(spelling, []).append(entity)
    rules = {"graph": graph.fingerprint, "names": 2}
    path = kb.store.entry(
        "trigram-names",
        rules,
        lambda folder: TrigramIndex.write(folder, list(entities)),
    )
    return TrigramIndex(path), entities
