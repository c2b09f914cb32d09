"""Query text -> the entities of a graph that it names, each with the span, the linker and a confidence.

The linkers are those of the graph-augmented and confidence-gated designs; longest match first, and names of any length,
are our reading; misspelt names are ours. `kg2rag.llm.linker` asks a language model.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from kg2rag.knowledge import KnowledgeBase, LexicalSettings, TrigramIndex
from kg2rag.text.code_names import LONGEST, key, surfaces
from kg2rag.text.normalisation import FUNCTION_WORDS, normalise, unstroked
from kg2rag.types import Cosine, Count, LinkedEntity, Query, Threshold, component, top_with_ties

_WORDS = re.compile(r"\w+")
_NAME_WORD = re.compile(r"\w[\w'’\-]*[+#]*")  # C++ and C# are no C
_QUOTED = re.compile(r"[\"“”«]([^\"“”«»]+)[\"“”»]")
_POSSESSIVE = re.compile(r"['’]s\b")
_MARKS = re.compile(r"[+#]")  # no word has them, and names differ by them: C, C++ and C#
_NAME_WORDS = LexicalSettings(stop_words=False)

PHRASES = 20  # of a query that are looked up
NEAREST, SLACK = 20, 0.15  # names looked at for a stretch, and how much less like: a swap is two edits there
WORDS, LONGEST_NAME = 200, 6  # words of a query that are read, and of a stretch of it


@dataclass(frozen=True, slots=True)
class Link:
    """An entity's code; the `span`, (start, end), that named it (all for a vector); the `confidence`, in (0, 1]."""

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
        for name, span in lexicon.find(text, capitals=False):
            spans.setdefault(codes[name], span)
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
        links, different = dict[int, Link](), dict[str, tuple[int, int]]()
        for start, end in phrases(text):
            different.setdefault(normalise(text[start:end]), (start, end))
        for start, end in list(different.values())[:PHRASES]:
            # "Please Explain Auth Service" is no name, and holds one.
            for link in self._entities(text, start, end) or self._names_within(text, start, end):
                if link.entity not in links or link.confidence > links[link.entity].confidence:
                    links[link.entity] = link
        return sorted(links.values(), key=lambda link: (-link.confidence, link.span, link.entity))

    def _names_within(self, text: str, start: int, end: int) -> list[Link]:
        """The names and aliases that a phrase holds, the longest at each place."""
        lexicon, entity_of = self.kb.entity_lexicon
        found = lexicon.find(text[start:end], capitals=False)
        return [Link(entity_of[name], (start + first, start + last), "phrase", 1.0) for name, (first, last) in found]

    def _entities(self, text: str, start: int, end: int) -> list[Link]:
        phrase = text[start:end]
        index, readings = self.kb.entity_names(_NAME_WORDS), (phrase, _POSSESSIVE.sub("", phrase))
        scores = index.scores(phrase)
        for term in dict.fromkeys(_WORDS.findall(readings[1].lower())):
            scores[index.scores(term) <= 0] = 0
        rows = top_with_ties(scores, self.limit)
        rows, found = rows[scores[rows] > 0], list[Link]()
        for row in rows[np.lexsort((rows, -scores[rows]))][: self.limit].tolist():
            name = self.kb.graph.names[row]
            words, own = set(normalise(name).split()), [set(normalise(reading).split()) for reading in readings]
            share = max(len(one & words) / max(len(one | words), 1) for one in own)
            if share > 0 and sorted(_MARKS.findall(phrase)) == sorted(_MARKS.findall(name)):
                found.append(Link(row, (start, end), "phrase", share))
        if not found and (known := self.kb.graph.find(phrase)) is not None:  # the index knows accents, and no aliases
            found.append(Link(known, (start, end), "phrase", 1.0))
        return found


@component
class FuzzyLinker(TextLinker):
    """Stretches of adjacent words that are spelt like a name or an alias; the most similar first, and no two overlap.

    A stretch neither begins nor ends with a function word. Swapped neighbours are one edit. A stretch whose words the
    corpus all has is spelt as somebody meant it: it links to its very name, up to separators.

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
        written = [(key(word), span) for word, span in surfaces(text) if key(word)][:WORDS]
        known, found = [bool(self.kb.trigram.document_frequency(word)) for word, _ in written], []
        for first in range(len(written)):
            for after in range(first + 1, min(first + LONGEST_NAME, len(written)) + 1):
                words, spans = zip(*written[first:after], strict=True)
                joined, start, end = "".join(words), spans[0][0], spans[-1][1]
                if FUNCTION_WORDS.isdisjoint((words[0], words[-1])) and len(joined) <= LONGEST:
                    alike = self._alike(joined, all(known[first:after]))
                    found += [(-similarity, start - end, start, entity) for entity, similarity in alike]
        links: dict[int, Link] = {}
        for dissimilarity, shortness, start, entity in sorted(found):
            span = (start, start - shortness)
            free = all(span[1] <= link.span[0] or link.span[1] <= start for link in links.values())
            if free and entity not in links and len(links) < self.limit:
                links[entity] = Link(entity, span, "fuzzy", -dissimilarity)
        return list(links.values())

    def _alike(self, sought: str, known: bool) -> Iterator[tuple[int, float]]:
        """The entities with a name like a stretch, and how like; of a known stretch, those with its very key."""
        from rapidfuzz.distance import OSA

        trigrams, entities = self.kb.cached("fuzzy names", lambda: _names(self.kb))
        names = [sought]
        if not known:
            near = trigrams.similar(sought, max(self.min_similarity - SLACK, 0.01), NEAREST)
            names = [str(trigrams.keys[at]) for at in near.keys.tolist()]
        for name in names:
            similarity = OSA.normalized_similarity(sought, name)
            if similarity >= self.min_similarity:
                yield from ((entity, similarity) for entity in entities.get(name, ()))


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

    def link_batch(self, queries: Sequence[Query]) -> list[list[Link]]:
        """One search for the batch."""
        if not queries or not self.kb.graph.n_entities:
            return [[] for _ in queries]
        links, found = [], self.kb.entities.search(self.kb.encode_queries(queries), self.limit)
        for query, hits in zip(queries, found, strict=True):
            near = [pair for pair in zip(*(each.tolist() for each in hits), strict=True) if pair[1] >= self.min_cosine]
            links.append([Link(one, (0, len(query.text)), "embedding", min(cosine, 1.0)) for one, cosine in near])
        return links


@component
class ChainLinker:
    """Linkers tried in order; the first that links anything decides, query by query."""

    linkers: tuple[Linker, ...]

    def link_batch(self, queries: Sequence[Query]) -> list[list[Link]]:
        """The links of the first linker that has any."""
        links: list[list[Link]] = [[] for _ in queries]
        for linker in self.linkers:
            if open_ := [i for i, found in enumerate(links) if not found]:
                for i, own in zip(open_, linker.link_batch([queries[i] for i in open_]), strict=True):
                    links[i] = own
        return links


def linked_entities(kb: KnowledgeBase, links: Sequence[Link]) -> tuple[LinkedEntity, ...]:
    """The links of a query as a ranking's notes name them."""
    return tuple(LinkedEntity(kb.graph.names[link.entity], link.linker, link.confidence) for link in links)


def _names(kb: KnowledgeBase) -> tuple[TrigramIndex, dict[str, list[int]]]:
    graph, entities = kb.graph, dict[str, list[int]]()
    for entity, (name, aliases) in enumerate(zip(graph.names, graph.aliases, strict=True)):
        for written in dict.fromkeys(spelt for one in map(key, (name, *aliases)) for spelt in (one, unstroked(one))):
            if 1 < len(written) <= LONGEST:
                entities.setdefault(written, []).append(entity)
    rules = {"graph": graph.fingerprint, "names": 2}
    path = kb.store.entry("trigram-names", rules, lambda folder: TrigramIndex.write(folder, list(entities)))
    return TrigramIndex(path), entities


def phrases(text: str) -> list[tuple[int, int]]:
    """Spans of the quoted phrases of a text, then of the capitalised ones; leading function words are cut off."""
    spans = dict.fromkeys(match.span(1) for match in _QUOTED.finditer(text))
    start, end = -1, -1  # of the capitalised phrase that the words before have begun; start is -1 where there is none
    for word in _NAME_WORD.finditer(text):
        # Scripts without case (Chinese, Arabic) make no difference here.
        capitalised = word[0][0].isalpha() and not word[0][0].islower()
        if start >= 0 and not (capitalised and text[end : word.start()].isspace()):
            spans[start, end] = None
            start = -1
        if capitalised and (start >= 0 or normalise(word[0]) not in FUNCTION_WORDS):
            start, end = word.start() if start < 0 else start, word.end()
    if start >= 0:
        spans[start, end] = None
    return list(spans)


def phrases_beside(text: str, known: Sequence[tuple[int, int]]) -> list[str]:
    """The `phrases` of a text that overlap none of the known spans, as written; one that repeats is repeated."""
    free = ((a, b) for a, b in phrases(text) if not any(a < end and start < b for start, end in known))
    return [text[start:end] for start, end in free]
