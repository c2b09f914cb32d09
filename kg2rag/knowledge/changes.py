"""Passages added, removed or replaced -> the corpus that results and where the graph over it comes from.

The knowledge base over it builds its indexes on first use, with the code that builds them from scratch, so they equal a
build from scratch to the last bit. What takes hours is not repeated, because the store keys it by what it depends on:
vectors by text, a language model's answers by prompt. A given graph is edited (`kg2rag.knowledge.graph.editing`).

The rest is rebuilt, because a change of one passage can affect all of it: a new title counts in every passage and
displaces shorter names in their texts; idf and the mean length enter every weight that bm25s keeps; keys of trigrams
and phrases are numbered in sorted order; synonyms are about every pair of phrases. It needs no network and, except for
synonyms (100,000 phrases take a minute of one processor), time linear in the corpus; see `eval/bench/incremental.py`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from kg2rag.extraction import Extraction, Extractor
from kg2rag.extraction.combined import CombinedExtractor, GivenExtraction, joined, without
from kg2rag.knowledge.graph import KnowledgeGraph
from kg2rag.knowledge.graph.editing import edited
from kg2rag.types import Corpus, Passage


@dataclass(frozen=True)
class Change:
    """A corpus before and after a change.

    Attributes
    ----------
    gone : the passages whose old texts no longer exist: removed, or replaced.
    extraction : what the passages added or replaced state, and only they; None where none was given.
    """

    before: Corpus
    after: Corpus
    gone: Collection[str] = ()
    extraction: Extraction | None = None


def added(corpus: Corpus, passages: Iterable[Passage], extraction: Extraction | None = None) -> Change:
    """The change that appends passages, see `KnowledgeBase.add`."""
    new = passages if isinstance(passages, Corpus) else list(passages)
    change = Change(corpus, corpus.with_passages(new), extraction=extraction)
    _check_names(extraction, [passage.id for passage in new], "added")
    return change


def removed(corpus: Corpus, ids: Iterable[str]) -> Change:
    """The change that removes passages, see `KnowledgeBase.remove`."""
    gone = ids if isinstance(ids, str) else list(ids)
    return Change(corpus, corpus.without(gone), frozenset(gone))


def replaced(corpus: Corpus, passages: Iterable[Passage], extraction: Extraction | None = None) -> Change:
    """The change that puts passages in the place of those with their ids, see `KnowledgeBase.replace`."""
    new = passages if isinstance(passages, Corpus) else list(passages)
    change = Change(corpus, corpus.replacing(new), frozenset(passage.id for passage in new), extraction)
    _check_names(extraction, change.gone, "replaced")
    return change


def _check_names(extraction: Extraction | None, ids: Collection[str], what: str) -> None:
    if extraction is None:
        return
    stated = [(triple.passage_id, f"Triple {str(triple)!r}") for triple in extraction.triples]
    named = [(mention.passage_id, f"The mention of {mention.entity!r}") for mention in extraction.mentions]
    known = frozenset(ids)
    for id_, statement in (*stated, *named):
        if id_ and id_ not in known:
            raise ValueError(
                f"{statement} names passage {id_!r}, which is none of the {len(known)} {what}. "
                "An extraction that comes with passages may name only these."
            )


def source_after(source: Extractor | KnowledgeGraph, change: Change) -> Extractor | KnowledgeGraph:
    """The graph source over the new corpus.

    A graph is edited. An extractor stays as it is, combined with the extraction of the change. A file may name passages
    that are gone: it is allowed to (`partial`); or, where the file has no such option or knows a replaced passage by
    its id alone, it is read now and continues without the statements of those passages.
    """
    if isinstance(source, KnowledgeGraph):
        return edited(source, change.after, gone=change.gone, added=change.extraction)
    left = _left(source, change)
    if change.extraction is None:
        return left
    *others, last = left.sources if isinstance(left, CombinedExtractor) else (left,)
    if isinstance(last, GivenExtraction):
        given = GivenExtraction(joined(last.extraction, change.extraction))
        return CombinedExtractor((*others, given)) if others else given
    return CombinedExtractor((*others, last, GivenExtraction(change.extraction)))


def _left(source: Extractor, change: Change) -> Extractor:
    if isinstance(source, CombinedExtractor):
        return CombinedExtractor(tuple(_left(one, change) for one in source.sources))
    if isinstance(source, GivenExtraction):
        return GivenExtraction(without(source.extraction, change.gone))
    replaces = not frozenset(change.gone).isdisjoint(change.after.ids)  # an id gets another text
    if getattr(source, "strict", False) or (replaces and getattr(source, "by_id", False)):
        return GivenExtraction(without(source.extract(change.before), change.gone))
    if change.gone and "partial" in getattr(source, "__dataclass_fields__", ()):
        changed: Any = source
        return dataclasses.replace(changed, partial=True)  # type: ignore[no-any-return]
    return source
