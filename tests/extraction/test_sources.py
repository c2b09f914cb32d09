"""Graph sources by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from kg2rag.extraction import Extractor
from kg2rag.extraction.hipporag import HippoRAGOpenIE
from kg2rag.extraction.mentions import Mentions
from kg2rag.extraction.sources import parse
from kg2rag.extraction.subkgs import KG2RAGSubgraphs
from kg2rag.extraction.triples import TriplesFile


def test_mentions_need_no_file() -> None:
    assert parse("mentions") == Mentions()


@pytest.mark.parametrize(
    ("kind", "extractor"), [("openie", HippoRAGOpenIE), ("subkgs", KG2RAGSubgraphs), ("triples", TriplesFile)]
)
def test_a_kind_and_a_file_make_its_importer(tmp_path: Path, kind: str, extractor: type[Extractor]) -> None:
    file = tmp_path / "a:b.jsonl"
    file.touch()
    assert parse(f"{kind}:{file}") == extractor(file)  # type: ignore[call-arg]


@pytest.mark.parametrize("spec", ["", "wikidata", "wikidata:x.tsv"])
def test_an_unknown_kind_lists_the_known_ones(spec: str) -> None:
    with pytest.raises(ValueError, match="Known: mentions, openie:FILE, subkgs:FILE, triples:FILE"):
        parse(spec)


@pytest.mark.parametrize("spec", ["triples", "triples:"])
def test_a_kind_without_its_file_says_how_to_write_it(spec: str) -> None:
    with pytest.raises(ValueError, match="names no file: write triples:FILE"):
        parse(spec)


def test_mentions_with_a_file_are_an_error() -> None:
    with pytest.raises(ValueError, match="'mentions' takes no file"):
        parse("mentions:x.json")


def test_a_missing_file_says_so() -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere.tsv does not exist. Give triples as .tsv"):
        parse("triples:nowhere.tsv")
