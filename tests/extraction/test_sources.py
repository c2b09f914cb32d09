"""Graph sources by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from kg2rag.extraction import Extractor
from kg2rag.extraction.combined import CombinedExtractor
from kg2rag.extraction.cooccurrence import Cooccurrence
from kg2rag.extraction.importers.hipporag import HippoRAGOpenIE
from kg2rag.extraction.importers.lightrag import CHUNKS, GRAPH, LightRAG
from kg2rag.extraction.importers.msgraphrag import TABLES, MicrosoftGraphRAG
from kg2rag.extraction.importers.networkx_graph import GraphMLFile
from kg2rag.extraction.importers.subkgs import KG2RAGSubgraphs
from kg2rag.extraction.importers.triples import TriplesFile
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.extraction.sources import known, parse


@pytest.mark.parametrize(("name", "extractor"), [("mentions", Mentions()), ("cooccurrence", Cooccurrence())])
def test_rules_need_no_file(name: str, extractor: Extractor) -> None:
    assert parse(name) == extractor


@pytest.mark.parametrize(
    ("kind", "extractor"),
    [("openie", HippoRAGOpenIE), ("subkgs", KG2RAGSubgraphs), ("triples", TriplesFile), ("graphml", GraphMLFile)],
)
def test_a_kind_and_a_file_make_its_importer(tmp_path: Path, kind: str, extractor: type[Extractor]) -> None:
    file = tmp_path / "a:b.jsonl"
    file.touch()
    assert parse(f"{kind}:{file}") == extractor(file)  # type: ignore[call-arg]


def test_the_raw_sub_graphs_are_a_source_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "subkgs.jsonl"
    file.touch()
    assert parse(f"subkgs-raw:{file}") == KG2RAGSubgraphs(file, raw=True)
    assert parse(f"mentions+subkgs-raw:{file}") == CombinedExtractor((Mentions(), KG2RAGSubgraphs(file, raw=True)))


@pytest.mark.parametrize(
    ("kind", "extractor", "files"),
    [
        ("lightrag", LightRAG, (GRAPH, CHUNKS)),
        ("msgraphrag", MicrosoftGraphRAG, tuple(f"{table}.parquet" for table in TABLES)),
    ],
)
def test_a_kind_and_a_folder_make_its_importer(
    tmp_path: Path, kind: str, extractor: type[Extractor], files: tuple[str, ...]
) -> None:
    for name in files:
        (tmp_path / name).touch()
    assert parse(f"{kind}:{tmp_path}") == extractor(tmp_path)  # type: ignore[call-arg]


def test_a_kind_without_its_folder_says_how_to_write_it() -> None:
    with pytest.raises(ValueError, match="names no folder: write lightrag:FOLDER"):
        parse("lightrag")


def test_the_known_sources_include_every_kind() -> None:
    for kind in ("mentions", "cooccurrence", "graphml:FILE", "lightrag:FOLDER", "msgraphrag:FOLDER"):
        assert kind in known().split(", ")


@pytest.mark.parametrize("spec", ["", "wikidata", "wikidata:x.tsv"])
def test_an_unknown_kind_lists_the_known_ones(spec: str) -> None:
    with pytest.raises(ValueError, match="Known: mentions, cooccurrence, code, openie:FILE, subkgs:FILE, triples:FILE"):
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
