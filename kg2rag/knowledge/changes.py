"""A graph source as it is given, or after passages were added, removed or replaced -> where the graph comes from.

The knowledge base over a changed corpus builds its indexes with the code that builds them from scratch, so they equal
such a build to the last bit. What takes hours is not repeated, because the store keys it by what it depends on: vectors
by text, a language model's answers by prompt. A given graph is edited (`kg2rag.knowledge.graph.editing`). The rest is
rebuilt, because one passage can affect all of it: a title counts in every passage, idf in every weight of bm25s.
That takes time linear in the corpus, except for synonyms (a minute for 100,000 phrases): `eval/bench/incremental.py`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import Any

from kg2rag.extraction import Extraction, Extractor
from kg2rag.extraction.combined import CombinedExtractor, GivenExtraction, joined, without
from kg2rag.extraction.linked import graph_of
from kg2rag.extraction.sources import SOURCES
from kg2rag.knowledge.graph import KnowledgeGraph
from kg2rag.knowledge.graph.editing import edited
from kg2rag.types import Corpus, refused

Source = Extractor | KnowledgeGraph


def source_of(graph: object, corpus: Corpus) -> Source:
    """A graph over the corpus, or an extractor, given itself or by name; any other shape of a graph as `graph_of`."""
    if (linked := graph_of(graph)) is not None:
        return linked
    if isinstance(graph, str):
        return SOURCES.build(graph)
    if isinstance(graph, KnowledgeGraph):
        if list(graph.passage_ids) == corpus.ids:
            return graph
        raise ValueError(
            f"The graph was built over {graph.n_passages} passages that are not the corpus's {len(corpus)}. Build "
            "it over this corpus, or give the knowledge base the corpus that it was built on."
        )
    # Not isinstance(graph, Extractor): that may compute the fingerprint, which reads whole files.
    if not isinstance(graph, type) and hasattr(type(graph), "extract"):
        source: Extractor = graph  # type: ignore[assignment]
        return source
    known = (
        "the name of a graph source such as 'mentions' or 'triples(FILE)', a KnowledgeGraph, a networkx graph, a file"
    )
    raise refused(
        "graph", graph, f"{known}, a list of Triple or (head, relation, tail), a DataFrame of them, an extractor"
    )


def check_names(extraction: Extraction, ids: Collection[str]) -> None:
    """ValueError where an extraction that comes with passages names another passage."""
    stated = [(triple.passage_id, f"Triple {str(triple)!r}") for triple in extraction.triples]
    named = [(mention.passage_id, f"The mention of {mention.entity!r}") for mention in extraction.mentions]
    for id_, statement in (*stated, *named):
        if id_ and id_ not in ids:
            raise ValueError(
                f"{statement} names passage {id_!r}, which is none of the {len(ids)} given. "
                "An extraction that comes with passages may name only these."
            )


def source_after(source: Source, before: Corpus, after: Corpus, gone: Collection[str], told: Extraction) -> Source:
    """The graph source over the new corpus.

    A graph is edited. An extractor stays as it is, combined with what is told of the new passages. A file may name
    passages that are gone: it is allowed to (`partial`); or, where the file has no such option or knows a replaced
    passage by its id alone, it is read now and continues without the statements of those passages.

    Parameters
    ----------
    gone : the passages whose old texts no longer exist: removed, or replaced.
    """
    if isinstance(source, KnowledgeGraph):
        return edited(source, after, gone=gone, added=told)
    left = _left(source, before, gone, replaces=not frozenset(gone).isdisjoint(after.ids))
    if told == Extraction():
        return left
    *others, last = left.sources if isinstance(left, CombinedExtractor) else (left,)
    if isinstance(last, GivenExtraction):
        given = GivenExtraction(joined(last.extraction, told))
        return CombinedExtractor((*others, given)) if others else given
    return CombinedExtractor((*others, last, GivenExtraction(told)))


def _left(source: Extractor, before: Corpus, gone: Collection[str], *, replaces: bool) -> Extractor:
    if isinstance(source, CombinedExtractor):
        return CombinedExtractor(tuple(_left(one, before, gone, replaces=replaces) for one in source.sources))
    if isinstance(source, GivenExtraction):
        return GivenExtraction(without(source.extraction, gone))
    if getattr(source, "strict", False) or (replaces and getattr(source, "by_id", False)):
        return GivenExtraction(without(source.extract(before), gone))
    if gone and "partial" in getattr(source, "__dataclass_fields__", ()):
        changed: Any = source
        return dataclasses.replace(changed, partial=True)  # type: ignore[no-any-return]
    return source
