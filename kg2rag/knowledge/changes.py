"""A knowledge base and a change of its passages -> the knowledge base over the corpus that results.

Its parts are built when they are asked for, by the code that builds them from scratch: they equal a build from scratch
to the last bit because they are one. What takes hours is not done again, since it is kept by what it depends on:

- vectors, by text: only texts that no run has encoded go through the network; encoded questions stay in memory;
- a language model's answers, by prompt: only about new passages is a question paid for;
- a graph that was given: its arrays are edited (`kg2rag.knowledge.graph.editing`), nothing is extracted.

The rest is made anew, because a change of one passage can reach all of it. It takes no network and, but for synonyms,
time in proportion to the corpus; `eval/bench/incremental.py` measures each:

- mentions, and all that is made of them (mention graph, tri-graph): a new title is one for every passage, takes the
  place of shorter titles and of names in their texts, and a name counts from its second passage on;
- BM25: idf and the mean length enter every weight that bm25s keeps;
- trigrams, phrases: keys are numbered in sorted order, so that one new key moves the postings of all behind it;
- synonyms: every pair of phrases, which a phrase table of 100,000 makes a minute of one processor.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kg2rag.extraction import Extraction, Extractor
from kg2rag.extraction.importers.graphml import GraphMLFile
from kg2rag.extraction.importers.lightrag import LightRAG
from kg2rag.extraction.importers.msgraphrag import MicrosoftGraphRAG
from kg2rag.extraction.importers.saved import SavedGraph
from kg2rag.extraction.importers.subkgs import KG2RAGSubgraphs
from kg2rag.extraction.importers.triples import TriplesFile
from kg2rag.extraction.union import Union
from kg2rag.knowledge.graph import KnowledgeGraph
from kg2rag.knowledge.graph.build import key_of
from kg2rag.knowledge.graph.editing import edited
from kg2rag.types.corpus import Corpus
from kg2rag.types.passages import Passage

if TYPE_CHECKING:
    from kg2rag.knowledge.base import KnowledgeBase

WHOLE = (GraphMLFile, SavedGraph)
"""Files that want every passage that they name to be in the corpus."""
BY_PLACE = (*WHOLE, KG2RAGSubgraphs, LightRAG, MicrosoftGraphRAG, TriplesFile)
"""Files that know a passage by its id or title, and so would go on speaking of a text that was replaced."""


@dataclass(frozen=True)
class GivenExtraction:
    """An extraction that is at hand, as an extractor."""

    extraction: Extraction

    def __repr__(self) -> str:
        return f"GivenExtraction({len(self.extraction.triples):,} triples, {self.fingerprint[:8]})"

    @cached_property
    def fingerprint(self) -> str:
        """sha256 over the extraction."""
        return "given-" + hashlib.sha256(repr(self.extraction).encode("utf-8", "surrogatepass")).hexdigest()

    def extract(self, corpus: Corpus) -> Extraction:  # noqa: ARG002
        """The extraction as it is; building the graph refuses passages that the corpus lacks."""
        return self.extraction


@dataclass(frozen=True)
class Change:
    """What becomes of a corpus.

    Attributes
    ----------
    before, after : the corpora.
    gone : the passages whose old texts are no more: removed, or replaced.
    told : what is known of the passages added or replaced, and of them alone; None where nothing was given.
    """

    before: Corpus
    after: Corpus
    gone: Collection[str] = ()
    told: Extraction | None = None

    @property
    def replaces(self) -> bool:
        """Whether a passage keeps its id and gets another text."""
        return not frozenset(self.gone).isdisjoint(self.after.ids)


def add(kb: KnowledgeBase, passages: Iterable[Passage], *, extraction: Extraction | None = None) -> KnowledgeBase:
    """A knowledge base over these passages after the old ones; the one given stays as it is.

    Nothing is computed yet, and every part will equal that of a build from scratch; see the module for what is
    not done again.

    Parameters
    ----------
    passages : with ids that the corpus lacks. Those of a `Corpus` keep its sentence splits.
    extraction : what is known of them, beside what the graph's source finds. A graph that was given, or a file that
        does not speak of them, says nothing of them without it.

    Raises
    ------
    ValueError : an id that the corpus has, or an extraction that speaks of another passage.
    """
    new = _corpus_or_list(passages)
    change = Change(kb.corpus, kb.corpus.with_passages(new), told=extraction)
    _check_spoken_of(extraction, new, "added")
    return _after(kb, change)


def remove(kb: KnowledgeBase, ids: Iterable[str]) -> KnowledgeBase:
    """A knowledge base without some passages and what they alone state; entities that only they named are gone.

    Raises
    ------
    KeyError : an id that the corpus lacks. ValueError : no passage would be left.
    """
    gone = ids if isinstance(ids, str) else list(ids)
    return _after(kb, Change(kb.corpus, kb.corpus.without(gone), frozenset(gone)))


def replace(kb: KnowledgeBase, passages: Iterable[Passage], *, extraction: Extraction | None = None) -> KnowledgeBase:
    """A knowledge base with these passages where those of their ids stood, of which nothing is kept; else as `add`.

    Raises
    ------
    KeyError : an id that the corpus lacks. ValueError : an extraction that speaks of another passage.
    """
    new = _corpus_or_list(passages)
    after = kb.corpus.replacing(new)
    _check_spoken_of(extraction, new, "replaced")
    return _after(kb, Change(kb.corpus, after, frozenset(passage.id for passage in new), extraction))


def _corpus_or_list(passages: Iterable[Passage]) -> Corpus | list[Passage]:
    return passages if isinstance(passages, Corpus) else list(passages)


def _check_spoken_of(extraction: Extraction | None, passages: Sequence[Passage], what: str) -> None:
    if extraction is None:
        return
    ids = frozenset(passage.id for passage in passages)
    stated = [(triple.passage_id, f"Triple {str(triple)!r}") for triple in extraction.triples]
    named = [(mention.passage_id, f"The mention of {mention.entity!r}") for mention in extraction.mentions]
    for id_, statement in (*stated, *named):
        if id_ and id_ not in ids:
            raise ValueError(
                f"{statement} names passage {id_!r}, which is none of the {len(ids)} {what}. "
                "An extraction that comes with passages may speak of these alone."
            )


def _after(kb: KnowledgeBase, change: Change) -> KnowledgeBase:
    if kb.mention_table is not None:
        raise ValueError("A placebo's mentions belong to its corpus. Change the original, then make its placebo.")
    encoded = {key: dict(texts) for key, texts in kb._memory.items() if key[0] == "encoded"}
    source = source_after(kb.source, change)
    return dataclasses.replace(kb, corpus=change.after, source=source, _memory=encoded)


def source_after(source: Extractor | KnowledgeGraph, change: Change) -> Extractor | KnowledgeGraph:
    """Where the graph over the new corpus comes from.

    A graph is edited. An extractor stays what it is, with what was told beside it; but what is read from a file may
    name passages that are there no more: it is allowed to (`partial`), or, where the file knows no such switch or knows
    a replaced passage by its place alone, it is read now and goes on without what those passages state.
    """
    if isinstance(source, KnowledgeGraph):
        return edited(source, change.after, gone=change.gone, added=change.told)
    left = _left(source, change)
    if change.told is None:
        return left
    *others, last = left.sources if isinstance(left, Union) else (left,)
    if isinstance(last, GivenExtraction):
        told = GivenExtraction(joined(last.extraction, change.told))
        return Union((*others, told)) if others else told
    return Union((*others, last, GivenExtraction(change.told)))


def _left(source: Extractor, change: Change) -> Extractor:
    if isinstance(source, Union):
        return Union(tuple(_left(one, change) for one in source.sources))
    if isinstance(source, GivenExtraction):
        return GivenExtraction(without(source.extraction, change.gone))
    if isinstance(source, WHOLE) or (change.replaces and isinstance(source, BY_PLACE)):
        return GivenExtraction(without(source.extract(change.before), change.gone))
    if change.gone and _has_switch(source):
        changed: Any = source
        return dataclasses.replace(changed, partial=True)  # type: ignore[no-any-return]
    return source


def _has_switch(source: Extractor) -> bool:
    return dataclasses.is_dataclass(source) and any(one.name == "partial" for one in dataclasses.fields(source))


def without(extraction: Extraction, gone: Container[str]) -> Extraction:
    """An extraction without what some passages say.

    What is told of an entity that only they named goes too; what was told of one that no passage ever named stays, as
    do triples without a passage.
    """
    kept: set[str] = set()
    lost: set[str] = set()
    for triple in extraction.triples:
        (lost if triple.passage_id in gone else kept).update((key_of(triple.head), key_of(triple.tail)))
    for mention in extraction.mentions:
        (lost if mention.passage_id in gone else kept).add(key_of(mention.entity))
    return Extraction(
        tuple(triple for triple in extraction.triples if triple.passage_id not in gone),
        tuple(mention for mention in extraction.mentions if mention.passage_id not in gone),
        tuple(entity for entity in extraction.entities if key_of(entity.name) not in lost - kept),
        extraction.notes,
    )


def joined(first: Extraction, second: Extraction) -> Extraction:
    """What both say, one after the other; notes are added up."""
    causes = dict.fromkeys((*first.notes, *second.notes))
    return Extraction(
        first.triples + second.triples,
        first.mentions + second.mentions,
        first.entities + second.entities,
        {cause: first.notes.get(cause, 0) + second.notes.get(cause, 0) for cause in causes},
    )
