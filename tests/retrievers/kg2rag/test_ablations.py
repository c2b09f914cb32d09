"""The paper's ablations of KG2RAG: what is left without expansion, and without organisation."""

from __future__ import annotations

import pytest

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.kg2rag.official import KG2RAGOfficial
from kg2rag.retrievers.kg2rag.organise import kg2rag
from kg2rag.types import Query

QUERY = Query("q", "Who knows the bridge and the castle?")


def ids(system: object, k: int = 1000) -> list[str]:
    return system.retrieve_batch([QUERY], k)[0].passage_ids  # type: ignore[attr-defined]


def test_without_expansion_every_passage_is_a_seed(kb: KnowledgeBase) -> None:
    seeds = set(ids(Dense(kb), 10))
    assert set(ids(kg2rag(kb, expansion=False))) <= seeds
    assert set(ids(KG2RAGOfficial(kb, expansion="none", separator="\n"))) <= seeds


def test_without_organisation_nothing_that_was_expanded_is_dropped(kb: KnowledgeBase) -> None:
    expanded = set(ids(kg2rag(kb, organisation=False)))
    assert set(ids(Dense(kb), 10)) | set(ids(kg2rag(kb))) <= expanded
    assert len(expanded) > 10


def test_without_organisation_paper_mode_is_ordered_by_similarity(kb: KnowledgeBase) -> None:
    ranking = kg2rag(kb, organisation=False).retrieve_batch([QUERY], 50)[0]
    assert ranking.passage_ids[:10] == ids(Dense(kb), 10)


def test_without_organisation_the_released_code_lists_seeds_and_what_they_brought(kb: KnowledgeBase) -> None:
    ranking = KG2RAGOfficial(kb, organisation=False, group_titles=False).retrieve_batch([QUERY], 1000)[0]
    assert set(ids(KG2RAGOfficial(kb))) <= set(ranking.passage_ids)
    assert ranking.notes.warning == "not organised"


def test_without_either_it_is_dense_retrieval_and_refused(kb: KnowledgeBase) -> None:
    with pytest.raises(ValueError, match="use the system 'dense'"):
        kg2rag(kb, expansion=False, organisation=False)
