"""Graphs in the store: arrays mapped from the disk, equal to those that were built."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from word_embedder import WordEmbedder

from kg2rag.compute import Store
from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.extraction.combined import GivenExtraction
from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.knowledge.graph import mapped
from kg2rag.types import Corpus, Passage, Triple

CORPUS = Corpus.from_passages([Passage(id_, "", "Text.", id_, 0) for id_ in ("p0", "p1", "p2")])
names = st.text(min_size=1, max_size=3).filter(str.strip)
passages = st.sampled_from(["p0", "p1"])
extractions = st.builds(
    Extraction,
    triples=st.lists(
        st.builds(
            Triple,
            names,
            names,
            names,
            passages | st.just(""),
            st.sampled_from([0.1, 5.0]),
            description=st.sampled_from(["", "Said so.", "And so."]),
        )
    ),
    mentions=st.lists(st.builds(Mention, names, passages)).map(tuple),
    entities=st.lists(st.builds(Entity, names, st.sampled_from(["", "town"]), st.just(""), st.tuples(names))).map(
        tuple
    ),
    notes=st.dictionaries(names, st.integers(1, 9), max_size=2),
)


def columns(graph: KnowledgeGraph) -> dict[str, np.ndarray]:
    """Every array of a graph, by table and column."""
    tables = {name: vars(getattr(graph, name)) for name in mapped.TABLES}
    found = {f"{table}.{name}": array for table, arrays in tables.items() for name, array in arrays.items()}
    return {**found, "stated.indptr": graph.stated[0], "stated.triples": graph.stated[1]}


@settings(deadline=None, max_examples=40)
@given(extractions)
def test_a_graph_comes_back_equal_with_all_that_follows_from_it(
    tmp_path_factory: pytest.TempPathFactory, extraction: Extraction
) -> None:
    graph, folder = KnowledgeGraph.build(extraction, CORPUS), tmp_path_factory.mktemp("graph")
    mapped.write(graph, folder)
    found = mapped.read(KnowledgeGraph, folder, CORPUS)
    for name in (
        "names",
        "types",
        "descriptions",
        "aliases",
        "relations",
        "triple_descriptions",
        "keys",
        "notes",
        "fingerprint",
    ):
        assert getattr(found, name) == getattr(graph, name)
    # The fingerprint was read, not worked out: that of the parts says whether these are the same.
    assert KnowledgeGraph(**{name: getattr(found, name) for name in graph.__dataclass_fields__}) == graph
    for name, array in columns(graph).items():
        other = columns(found)[name]
        assert (other.dtype, other.tolist()) == (array.dtype, array.tolist()), name


def test_the_store_s_arrays_are_mapped_and_cannot_be_changed(tmp_path: Path) -> None:
    source = GivenExtraction(Extraction((Triple("a", "r", "b", "p0"), Triple("b", "r", "c", "p2"))))
    kb = KnowledgeBase.build(CORPUS, source, embedder=WordEmbedder(), store=Store(tmp_path))
    for name, array in columns(kb.graph).items():
        base = array
        while isinstance(base, np.ndarray):
            base = base.base
        assert isinstance(base, mmap.mmap), name
        assert not array.flags.writeable, name
    assert kb.graph.passages_of(kb.graph.entity("B"))[0].tolist() == [0, 2]
    assert kb.graph == KnowledgeGraph.build(source.extract(CORPUS), CORPUS)
