"""The catalogue: systems by name, their parameters, and what it says to a wrong one."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint
from inspect import Parameter

import pytest

from kg2rag import plots, systems
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers import expansion_queries
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.contract import DesignAliases
from kg2rag.retrievers.designs import confidence_gated, graph_augmented, vector_first
from kg2rag.retrievers.designs.dynamic_hybrid import retriever as dynamic_hybrid
from kg2rag.types import ParameterError


def test_a_colour_is_that_of_the_file_and_optional(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert systems.colour("dense").startswith("#")
    monkeypatch.setitem(
        systems.SYSTEMS.entries, "uncoloured", "kg2rag.retrievers.contract:Retriever"
    )
    assert systems.colour("uncoloured") is None
    assert systems.colour("mine") is None
    drawn = plots.marks(["dense", "uncoloured"], "bm25")
    assert drawn["uncoloured"].colour in plots.PALETTE


def test_every_parameter_has_a_default_and_the_knowledge_base_is_none() -> None:
    for name in systems.names():
        defaults = systems.parameters(name)
        assert "kb" not in defaults
        assert all(default is not Parameter.empty for default in defaults.values()), (
            name
        )


def test_a_system_is_built_with_the_parameters_given(kb: KnowledgeBase) -> None:
    assert systems.build("bm25", kb, k1=1.2, stop_words=False) == BM25(
        kb, k1=1.2, stop_words=False
    )
    assert systems.build("bm25(k1=1.2)", kb, stop_words=False) == BM25(
        kb, k1=1.2, stop_words=False
    )


def test_a_system_may_stand_beside_itself_under_other_parameters(
    kb: KnowledgeBase,
) -> None:
    built = systems.build_all(kb, ["bm25", "a=bm25", "b = bm25"], {"b": {"b": 0.7}})
    assert built == {"bm25": BM25(kb), "a": BM25(kb), "b": BM25(kb, b=0.7)}
    assert systems.build_all(kb, ["bm25(b=0.7)", "c=bm25(b=0.7)"]) == dict.fromkeys(
        ("bm25-b-0.7", "c"), BM25(kb, b=0.7)
    )
    assert systems.build_all(kb, {"b": "bm25"}, {"b": {"b": 0.7}}) == {
        "b": BM25(kb, b=0.7)
    }


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (["bm25", "bm25"], r"'bm25' is named twice\. .* a=bm25,b=bm25"),
        (["a=bm25", "a=dense"], "'a' is named twice"),
        (["dense=bm25"], "'dense' is a system itself"),
        (["=bm25"], "write name=system"),
        (["a="], "write name=system"),
        (["a.b=bm25"], r"a name has no '\.'"),
        (["a=bm26"], r"Unknown system 'bm26'"),
    ],
)
def test_names_that_say_nothing_clear_are_refused(
    kb: KnowledgeBase, wanted: list[str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        systems.build_all(kb, wanted)


def test_parameters_of_a_system_that_is_not_compared_are_refused(
    kb: KnowledgeBase,
) -> None:
    with pytest.raises(ValueError, match=r"'bm25'.*dense"):
        systems.build_all(kb, ["dense"], {"bm25": {"b": 0.7}})


@pytest.mark.parametrize(
    ("system", "parameter", "value", "message"),
    [
        ("bm25", "stop_words", 1, "stop_words must be .*1"),
        ("vector_first", "linker", "llm", r"llm\(MODEL@BASE_URL\)"),
        ("vector_first", "linker", 3, "linker must be .*link_batch"),
        ("vector_first", "linker", "ngram+fuzy", "Did you mean 'fuzzy'"),
        ("rerank", "reranker", "llm", r"llm\(MODEL@BASE_URL\)"),
        ("rerank", "reranker", "lm", "Known: bi-encoder"),
        ("rerank", "retriever", "bm52", "Did you mean 'bm25'"),
        ("vector_first", "scoring", "sum", "scoring must be .*sum"),
        ("confidence_gated", "passage_score", "one", "passage_score must be .*one"),
        ("hippo2", "fact_filter", "llm", "fact_filter must be"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_with_what_can(
    kb: KnowledgeBase, system: str, parameter: str, value: object, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        systems.build(system, kb, **{parameter: value})


DESIGNS: dict[str, DesignAliases] = {
    "graph_augmented": graph_augmented.ALIASES,
    "confidence_gated": confidence_gated.ALIASES,
    "vector_first": vector_first.ALIASES,
    "expansion_queries": expansion_queries.ALIASES,
    "dynamic_hybrid": dynamic_hybrid.ALIASES,
}
NAMES = [
    (name, word, ours)
    for name, aliases in DESIGNS.items()
    for words, ours, _ in aliases.rows
    for word in words.split(", ")
    if word != ours
]


@pytest.mark.parametrize(("system", "word", "ours"), NAMES)
def test_a_word_of_a_design_is_refused_and_ours_is_named(
    kb: KnowledgeBase, system: str, word: str, ours: str
) -> None:
    with pytest.raises(
        ParameterError,
        match=f"{re.escape(repr(word))} is a word of the .* design.*{re.escape(ours)}",
    ):
        systems.build(system, kb, **{word: 2})


def test_a_word_of_a_design_is_refused_on_the_command_line_too(
    kb: KnowledgeBase,
) -> None:
    with pytest.raises(
        ParameterError, match=r"'max_hops' is a word of the .* design.*hops"
    ):
        systems.build("expansion_queries(max_hops=2)", kb)


def test_a_parameter_of_a_system_is_none_of_a_call(kb: KnowledgeBase) -> None:
    with pytest.raises(TypeError, match="use_graph"):
        systems.build("graph_augmented", kb).retrieve("Who?", 3, use_graph=False)  # type: ignore[call-arg]


def test_the_defaults_that_depart_from_a_design() -> None:
    augmented, expanded, hybrid = map(
        systems.parameters, ("graph_augmented", "expansion_queries", "dynamic_hybrid")
    )
    assert (augmented["depth"], augmented["hops"]) == (10, 1)
    assert (
        expanded["graph_weight"],
        expanded["dense_depth"],
        expanded["no_seeds"],
    ) == (
        0.99,
        5,
        ("term",),
    )
    assert (hybrid["analyser"], hybrid["graph"], hybrid["sides"]) == (
        "rules",
        "mention_ppr",
        "dense+bm25+pattern",
    )


def test_an_installed_package_adds_a_system(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = EntryPoint("words", "kg2rag.retrievers.bm25:BM25", "kg2rag.systems")
    monkeypatch.setattr(
        "kg2rag.text.registry.entry_points",
        lambda group, name="words": [point][
            name != point.name or group != point.group :
        ],
    )
    assert "words" in systems.names()
    assert systems.parameters("words")["k1"] == 0.9
    assert systems.build("words", kb, k1=1.5) == BM25(kb, k1=1.5)
    assert list(systems.build_all(kb)) == list(systems.names())


def test_a_file_can_name_no_module(kb) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match="'os:system'"):
        systems.build("os:system", kb)
    with pytest.raises(ValueError, match="'os:system'"):
        systems.build_all(kb, ["os:system"])
