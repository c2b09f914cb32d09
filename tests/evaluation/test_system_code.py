"""The code that a kept result depends on: comments make nothing older, code and data do."""

from __future__ import annotations

from pathlib import Path

import pytest

from kg2rag.evaluation.system_code import (
    code_checksum,
    outdated_systems,
    system_code,
    system_codes,
)

BM25 = {"class": "kg2rag.retrievers.bm25.BM25", "k1": 0.9}
CHAINS = {"class": "kg2rag.retrievers.mention_chains.retriever.MentionChains"}
BEFORE = 'LIMIT = 5\n"""Hits."""\n\n\ndef first(hits):\n    """The first."""\n    return hits[:LIMIT]  # by score\n'


@pytest.mark.parametrize(
    ("after", "is_other"),
    [
        (
            "LIMIT = 5\ndef first(hits):\n    # another comment\n    return hits[:LIMIT]\n",
            False,
        ),
        (BEFORE.replace("The first", "The best"), False),
        (BEFORE.replace("5", "6"), True),
        (BEFORE.replace("[:LIMIT]", "[LIMIT:]"), True),
    ],
)
def test_words_about_code_make_no_other_code(
    after: str, is_other: bool, tmp_path: Path
) -> None:
    before, other = tmp_path / "before.py", tmp_path / "after.py"
    before.write_text(BEFORE)
    other.write_text(after)
    assert (code_checksum(before) != code_checksum(other)) == is_other


def test_every_byte_of_a_data_file_counts(tmp_path: Path) -> None:
    for name, text in (("a.toml", "# one\nx = 1"), ("b.toml", "# two\nx = 1")):
        (tmp_path / name).write_text(text)
    assert code_checksum(tmp_path / "a.toml") != code_checksum(tmp_path / "b.toml")


def test_systems_whose_code_is_another_than_recorded_are_outdated() -> None:
    now = {"bm25": system_code(BM25), "chains": system_code(CHAINS)}
    # a system of two has the code of both
    assert len({*now.values(), system_code([BM25, CHAINS])}) == 3
    assert system_code({"class": "elsewhere.Mine"}) == ""
    config = {
        "parameters": {"bm25": BM25, "chains": CHAINS},
        "graph_systems": [],
        "knowledge": [],
    }
    assert outdated_systems({**config, "code": now}) == []
    assert outdated_systems({**config, "code": {**now, "chains": "of then"}}) == [
        "chains"
    ]
    assert outdated_systems(config) == ["bm25", "chains"]


def test_the_reader_of_a_graph_file_counts_for_the_systems_that_read_the_graph():
    def codes(source: str) -> dict[str, str]:
        knowledge = {"systems": ["bm25", "chains"], "graph": {"source": source}}
        return system_codes(
            {
                "parameters": {"bm25": BM25, "chains": CHAINS},
                "graph_systems": ["chains"],
                "knowledge": [knowledge],
            }
        )

    mentions, triples = codes("Mentions(terms=True)"), codes("TriplesFile(path='a')")
    assert mentions["bm25"] == triples["bm25"]
    assert mentions["chains"] != triples["chains"]


def test_a_linker_counts_for_the_systems_that_name_it() -> None:
    augment = "kg2rag.retrievers.designs.graph_augmented.GraphAugment"
    codes = {
        system_code({"class": augment, "linker": linker})
        for linker in ("ngram", "ngram+embedding", "llm(m@http://localhost)")
    }
    assert len(codes) == 2  # both linkers without a model lie in one file
