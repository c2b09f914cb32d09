"""A graph of a user with descriptions of its entities, in several forms."""

from __future__ import annotations

import pandas as pd
import pytest

import kg2rag
from kg2rag import Entity, KnowledgeBase, Store

PASSAGES = [
    "OAuth Provider issues tokens.",
    "Login Flow uses OAuth Provider.",
    "User Model stores names.",
]
TRIPLES = [("Login Flow", "uses", "OAuth Provider")]
RECORD = {
    "name": "OAuth Provider",
    "type": "tool",
    "description": "Issues tokens",
    "aliases": ["OAuth"],
}
FORMS = [
    {"OAuth Provider": "Issues tokens"},
    {"OAuth Provider": {"type": "tool", "description": "Issues tokens"}},
    [RECORD],
    [Entity("OAuth Provider", "tool", "Issues tokens")],
    pd.DataFrame([RECORD | {"type": None}]),
]


@pytest.mark.parametrize("entities", FORMS)
def test_descriptions_are_given_beside_triples(entities, tmp_path) -> None:
    kb = KnowledgeBase.build(
        PASSAGES, TRIPLES, entities=entities, store=Store(tmp_path)
    )
    assert kb.graph.n_triples == 1
    described = dict(zip(kb.graph.names, kb.graph.descriptions, strict=True))
    assert described == {"OAuth Provider": "Issues tokens", "Login Flow": ""}
    assert (
        "Issues tokens"
        in kg2rag.context(
            kg2rag.systems.build("graph_augmented", kb), "OAuth Provider"
        ).text
    )


@pytest.mark.parametrize(
    ("entities", "named"),
    [
        (["OAuth"], "OAuth"),
        ([{"description": "x"}], "record 1"),
        ([RECORD, RECORD | {"colour": "red"}], "colour"),
        (3, "3"),
    ],
)
def test_what_describes_no_entity_is_refused(entities, named, tmp_path) -> None:
    with pytest.raises(ValueError, match=named):
        KnowledgeBase.build(PASSAGES, TRIPLES, entities=entities, store=Store(tmp_path))
