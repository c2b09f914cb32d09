"""Query text -> entities whose names are spelt like a stretch of it: "Auth Servce" and "AuthService" for Auth Service.

Trigrams of the names, written together, find candidates, as `knowledge.indexes.trigram` does for the words of passages;
their similarity counts swapped neighbours as one edit. Ours, as is what is not looked up: a stretch whose words the
corpus all has is spelt as somebody meant it, and links to a name that differs in case and separators alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import NamedTuple

from kg2rag.knowledge import KnowledgeBase, TrigramIndex
from kg2rag.retrievers.linking.linkers import Link, TextLinker
from kg2rag.text.code_names import LONGEST, key, surfaces
from kg2rag.text.normalisation import FUNCTION_WORDS
from kg2rag.types import Count, Threshold, component

NEAREST = 20
"""Names like a stretch that are looked at, by edit distance, before swaps count as one edit."""
SLACK = 0.15
"""How much less similar they may be then: one swap counts as two edits there."""
WORDS, LONGEST_NAME = 200, 6  # words of a query that are read, and of a stretch of it


class _Stretch(NamedTuple):
    key: str
    span: tuple[int, int]
    known: bool


@component
class FuzzyLinker(TextLinker):
    """Stretches of adjacent words against names and aliases; the most similar first, and no two links overlap.

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
        found = [
            (similarity, stretch.span, entity)
            for stretch in self._stretches(text)
            for entity, similarity in self._alike(stretch)
        ]
        found.sort(key=lambda one: (-one[0], one[1][0] - one[1][1], one[1][0], one[2]))
        links: dict[int, Link] = {}
        for similarity, span, entity in found:
            free = all(span[1] <= link.span[0] or link.span[1] <= span[0] for link in links.values())
            if free and entity not in links and len(links) < self.limit:
                links[entity] = Link(entity, span, "fuzzy", similarity)
        return list(links.values())

    def _stretches(self, text: str) -> Iterator[_Stretch]:
        """Runs of words that neither begin nor end with a function word."""
        written = [(word, span) for word, span in surfaces(text) if key(word)][:WORDS]
        plain = [key(word) in FUNCTION_WORDS for word, _ in written]
        known = [bool(self.kb.trigram.document_frequency(key(word))) for word, _ in written]
        for start in range(len(written)):
            for end in range(start + 1, min(start + LONGEST_NAME, len(written)) + 1):
                joined = "".join(key(word) for word, _ in written[start:end])
                if not (plain[start] or plain[end - 1]) and len(joined) <= LONGEST:
                    span = written[start][1][0], written[end - 1][1][1]
                    yield _Stretch(joined, span, all(known[start:end]))

    def _alike(self, stretch: _Stretch) -> Iterator[tuple[int, float]]:
        """The entities with a name like a stretch, and how like; of a known stretch, those with its very key."""
        from rapidfuzz.distance import OSA

        names = self.kb.cached("fuzzy names", lambda: _Names.of(self.kb))
        if stretch.known:
            yield from ((entity, 1.0) for entity in names.entities.get(stretch.key, ()))
            return
        floor = max(self.min_similarity - SLACK, 0.01)
        for at in names.trigrams.similar(stretch.key, floor, NEAREST).keys.tolist():
            name = str(names.trigrams.keys[at])
            similarity = OSA.normalized_similarity(stretch.key, name)
            if similarity >= self.min_similarity:
                yield from ((entity, similarity) for entity in names.entities.get(name, ()))


class _Names(NamedTuple):
    """The trigrams of the names' keys, and key -> the entities of that name or alias, in order."""

    trigrams: TrigramIndex
    entities: dict[str, list[int]]

    @classmethod
    def of(cls, kb: KnowledgeBase) -> _Names:
        graph, entities = kb.graph, dict[str, list[int]]()
        for entity, (name, aliases) in enumerate(zip(graph.names, graph.aliases, strict=True)):
            for written in dict.fromkeys(map(key, (name, *aliases))):
                if 1 < len(written) <= LONGEST:
                    entities.setdefault(written, []).append(entity)
        rules = {"graph": graph.fingerprint, "names": 1}
        path = kb.store.entry("trigram-names", rules, lambda folder: TrigramIndex.write(folder, list(entities)))
        return cls(TrigramIndex(path), entities)
