"""Query text -> the entities of a graph that it names, each with the span, the linker and a confidence.

The linkers are those of the graph-augmented and confidence-gated designs; longest match first, and
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

from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph, LexicalSettings, TrigramIndex, Workload
from kg2rag.text.code_names import LONGEST, key, surfaces
from kg2rag.text.normalisation import FUNCTION_WORDS, normalise, unstroked
from kg2rag.types import Cosine, Count, LinkedEntity, Query, Threshold, component, top_with_ties

_WORDS = re.compile(r"\w+")
_NAME_WORD = re.compile(r"\w[\w'’\-]*[+#]*")  # C++ and C# are no C
_QUOTED = re.compile(r"[\"“”«]([^\"“”«»]+)[\"“”»]")
_POSSESSIVE = re.compile(r"['’]s\b")
_MARKS = re.compile(r"[+#]")  # no word has them, and names differ by them: C, C++ and C#
_NAME_WORDS = LexicalSettings(stop_words=False)

MAX_PHRASES = 20  # of a query that are looked up
MAX_NEAREST_NAMES = 20  # names that are compared with a stretch
# by so much less alike may these be to the index, where a swap of letters is two edits
SLACK = 0.15
MAX_WORDS = 200  # of a query that are read
MAX_NAME_WORDS = 6  # words of a stretch
PLAIN_WORDS = FUNCTION_WORDS.union("get i make me now off out see us use used uses using".split())
Span = tuple[int, int]  # start and end in the query's text


@dataclass(frozen=True, slots=True)
class Link:
    """An entity's code; the `span`, (start, end), that named it (all for a vector); the `confidence`, in (0, 1]."""

    entity: int
    span: Span
    linker: str
    confidence: float


class Linker(Protocol):
    """Anything that links a batch of queries."""

    def link_batch(self, queries: Sequence[Query]) -> list[list[Link]]:
        """The links of each query, surest first, each entity once; an empty list if it names none."""
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

    At each place the longest. One of the `PLAIN_WORDS` is a name only in the name's capitals, after the first word.
    `limit` : at most so many entities a query: the longest names, then the first in it.
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
        longest = sorted(spans.items(), key=lambda item: (item[1][0] - item[1][1], item[1][0]))
        return [Link(entity, span, "n-gram", 1.0) for entity, span in longest[: self.limit]]


@component
class PhraseLinker(TextLinker):
    """Capitalised and quoted phrases of the query, looked up in a full-text index of the entities' names.

    A name must hold all words of a phrase but a possessive 's; confidence: their Jaccard. If no name does, the names
    and aliases within the phrase are linked. `limit` : entities a phrase.
    """

    kb: KnowledgeBase = field(repr=False)
    limit: Count = 5

    def _link(self, text: str) -> list[Link]:
        links: dict[int, Link] = {}
        for span in _distinct_phrases(text)[:MAX_PHRASES]:
            # "Please Explain Auth Service" is no name, and holds one.
            for link in self._entities(text, span) or self._names_within(text, span):
                if link.entity not in links or link.confidence > links[link.entity].confidence:
                    links[link.entity] = link
        return sorted(links.values(), key=lambda link: (-link.confidence, link.span, link.entity))

    def _names_within(self, text: str, span: Span) -> list[Link]:
        """The names and aliases that a phrase holds, the longest at each place."""
        lexicon, entity_of = self.kb.entity_lexicon
        start, end = span
        names = lexicon.find(text[start:end], capitals=False)
        return [
            Link(entity_of[name], (start + first, start + last), "phrase", 1.0)
            for name, (first, last) in names
        ]

    def _entities(self, text: str, span: Span) -> list[Link]:
        """The entities whose names hold all words of a phrase; else the one that it is a name or alias of."""
        phrase = text[slice(*span)]
        graph = self.kb.graph
        links = []
        for entity in self._with_all_words(phrase):
            confidence = max(
                _jaccard(reading, graph.names[entity])
                for reading in (phrase, _unpossessive(phrase))
            )
            if confidence > 0 and _marks(phrase) == _marks(graph.names[entity]):
                links.append(Link(entity, span, "phrase", confidence))
        exact = graph.find(phrase)  # the full-text index knows accents, and no aliases
        if not links and exact is not None:
            links.append(Link(exact, span, "phrase", 1.0))
        return links

    def _with_all_words(self, phrase: str) -> list[int]:
        """The `limit` entities with the highest BM25 score, of those whose names hold all words of a phrase."""
        index = self.kb.entity_names(_NAME_WORDS)
        scores = index.scores(phrase)
        for word in dict.fromkeys(_WORDS.findall(_unpossessive(phrase).lower())):
            scores[index.scores(word) <= 0] = 0
        rows = top_with_ties(scores, self.limit)
        rows = rows[scores[rows] > 0]
        best_first = rows[np.lexsort((rows, -scores[rows]))]
        return list(best_first[: self.limit].tolist())


class Stretch(NamedTuple):
    """Adjacent words of a query: the `key` that they make together, and whether the corpus has each of them."""

    key: str
    span: Span
    is_known: bool


@component
class FuzzyLinker(TextLinker):
    """Stretches of adjacent words that are spelt like a name or an alias; the most similar first, and no two overlap.

    A stretch neither begins nor ends with a function word. Swapped neighbours are one edit. A
    stretch whose words the corpus all has is spelt as somebody meant it: it links to its very name,
    up to separators. One of the `PLAIN_WORDS` is a name as in `NGramLinker`.

    Parameters
    ----------
    min_similarity : 1 - edits / longer length that a link needs, in (0, 1]; it is the confidence. One edit in six
        letters is 0.833; a name of fewer letters with an edit is no link at the default.
    limit : at most so many entities a query.
    """

    kb: KnowledgeBase = field(repr=False)
    min_similarity: Threshold = 0.83
    limit: Count = 5

    def _link(self, text: str) -> list[Link]:
        links = []
        for stretch in self._stretches(text):
            for entity, similarity in self._alike(stretch):
                if not _is_plain_word(text, stretch.span, self.kb.graph, entity):
                    links.append(Link(entity, stretch.span, "fuzzy", similarity))
        links.sort(
            key=lambda link: (
                -link.confidence,
                link.span[0] - link.span[1],
                link.span[0],
                link.entity,
            )
        )
        return _without_overlap(links)[: self.limit]

    def _stretches(self, text: str) -> Iterator[Stretch]:
        """Every stretch of up to `MAX_NAME_WORDS` words that may be a name."""
        frequency = self.kb.trigram.document_frequency
        keys = [(key(surface), span) for surface, span in surfaces(text) if key(surface)]
        words = [Stretch(word, span, frequency(word) > 0) for word, span in keys[:MAX_WORDS]]
        for first in range(len(words)):
            for last in range(first, min(first + MAX_NAME_WORDS, len(words))):
                stretch = _joined(words[first : last + 1])
                if (
                    FUNCTION_WORDS.isdisjoint((words[first].key, words[last].key))
                    and len(stretch.key) <= LONGEST
                ):
                    yield stretch

    def _alike(self, stretch: Stretch) -> Iterator[tuple[int, float]]:
        """The entities with a name like a stretch, and how like; of a known stretch, those with its very key."""
        from rapidfuzz.distance import OSA

        trigrams, entities = self.kb.cached("fuzzy names", lambda: _name_keys(self.kb))
        names = [stretch.key]
        if not stretch.is_known:
            similar = trigrams.similar(
                stretch.key, max(self.min_similarity - SLACK, 0.01), MAX_NEAREST_NAMES
            )
            names = [str(trigrams.keys[code]) for code in similar.keys.tolist()]
        for name in names:
            similarity = OSA.normalized_similarity(stretch.key, name)
            if similarity >= self.min_similarity:
                yield from ((entity, similarity) for entity in entities.get(name, ()))


def _joined(words: Sequence[Stretch]) -> Stretch:
    """Adjacent words as one stretch."""
    span = (words[0].span[0], words[-1].span[1])
    return Stretch("".join(word.key for word in words), span, all(word.is_known for word in words))


@component
class EmbeddingLinker:
    """The query's vector against the vectors of the entities' names.

    Parameters
    ----------
    min_cosine : less similar names are no link; the cosine is the confidence. The designs' 0.75 is of other encoders;
        0.55 is the step of 0.05 with the highest F1 for MiniLM over 1,010 training questions: 70 % of its links lead to
        an entity that a gold passage names, and it keeps 76 % of those that do; 0.75 keeps 16 %.
    limit : at most so many entities.
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
            pairs = zip(entities.tolist(), np.minimum(cosines, 1.0).tolist(), strict=True)
            links.append(
                [
                    Link(entity, span, "embedding", cosine)
                    for entity, cosine in pairs
                    if cosine >= self.min_cosine
                ]
            )
        return links


@component
class ChainLinker:
    """Linkers tried in order; the first that links anything decides, query by query."""

    linkers: tuple[Linker, ...]

    def link_batch(self, queries: Sequence[Query]) -> list[list[Link]]:
        """The links of the first linker that has any."""
        links: list[list[Link]] = [[] for _ in queries]
        for linker in self.linkers:
            unlinked = [i for i, query_links in enumerate(links) if not query_links]
            if unlinked:
                for i, query_links in zip(
                    unlinked, linker.link_batch([queries[i] for i in unlinked]), strict=True
                ):
                    links[i] = query_links
        return links


def linked_entities(kb: KnowledgeBase, links: Sequence[Link]) -> tuple[LinkedEntity, ...]:
    """The links of a query as a ranking's notes name them."""
    return tuple(
        LinkedEntity(kb.graph.names[link.entity], link.linker, link.confidence) for link in links
    )


def _is_plain_word(text: str, span: Span, graph: KnowledgeGraph, entity: int) -> bool:
    """Whether a stretch is one of the `PLAIN_WORDS`, and not in the capitals of an entity's name after other words."""
    word = text[slice(*span)]
    if normalise(word) not in PLAIN_WORDS:
        return False
    is_first = not text[: span[0]].strip()
    return is_first or word not in (graph.names[entity], *graph.aliases[entity])


def _without_overlap(links: Iterable[Link]) -> list[Link]:
    """The links, each entity once and each stretch of the text for one of them, the first."""
    chosen: dict[int, Link] = {}
    for link in links:
        start, end = link.span
        is_free = all(end <= other.span[0] or other.span[1] <= start for other in chosen.values())
        if is_free and link.entity not in chosen:
            chosen[link.entity] = link
    return list(chosen.values())


def _jaccard(a: str, b: str) -> float:
    """Shared words of two texts, of all words of both."""
    words_a = set(normalise(a).split())
    words_b = set(normalise(b).split())
    return len(words_a & words_b) / max(len(words_a | words_b), 1)


def _unpossessive(phrase: str) -> str:
    return _POSSESSIVE.sub("", phrase)


def _marks(name: str) -> list[str]:
    """The marks by which names differ: C, C++ and C#."""
    return sorted(_MARKS.findall(name))


def _name_keys(kb: KnowledgeBase) -> tuple[TrigramIndex, dict[str, list[int]]]:
    """The keys of names and aliases, with and without strokes: as an index, and the entities of each."""
    graph = kb.graph
    entities: dict[str, list[int]] = {}
    for entity, (name, aliases) in enumerate(zip(graph.names, graph.aliases, strict=True)):
        keys = [key(spelling) for spelling in (name, *aliases)]
        for spelling in dict.fromkeys(
            variant for name_key in keys for variant in (name_key, unstroked(name_key))
        ):
            if 1 < len(spelling) <= LONGEST:
                entities.setdefault(spelling, []).append(entity)
    rules = {"graph": graph.fingerprint, "names": 2}
    path = kb.store.entry(
        "trigram-names", rules, lambda folder: TrigramIndex.write(folder, list(entities))
    )
    return TrigramIndex(path), entities


def phrases(text: str) -> list[Span]:
    """Spans of the quoted phrases of a text, then of the capitalised ones; leading function words are cut off."""
    quoted = (match.span(1) for match in _QUOTED.finditer(text))
    return list(dict.fromkeys([*quoted, *_capitalised_phrases(text)]))


def _capitalised_phrases(text: str) -> list[Span]:
    """Runs of capitalised words with only blanks between; scripts without case (Chinese, Arabic) count as capitals."""
    spans: list[Span] = []
    for word in _NAME_WORD.finditer(text):
        if not word[0][0].isalpha() or word[0][0].islower():
            continue
        if spans and text[spans[-1][1] : word.start()].isspace():
            spans[-1] = (spans[-1][0], word.end())
        elif normalise(word[0]) not in FUNCTION_WORDS:
            spans.append(word.span())
    return spans


def _distinct_phrases(text: str) -> list[Span]:
    """The first place of each phrase."""
    spans: dict[str, Span] = {}
    for span in phrases(text):
        spans.setdefault(normalise(text[slice(*span)]), span)
    return list(spans.values())


def phrases_beside(text: str, spans: Sequence[Span]) -> list[str]:
    """The `phrases` of a text that overlap none of the spans, as written; one that repeats is repeated."""
    beside = []
    for start, end in phrases(text):
        if not any(start < last and first < end for first, last in spans):
            beside.append(text[start:end])
    return beside
