"""Graph sources by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from kg2rag.extraction import Extractor
from kg2rag.extraction.cooccurrence import Cooccurrence
from kg2rag.extraction.importers.graphrag import CHUNKS, GRAPH, TABLES, LightRAG, MicrosoftGraphRAG
from kg2rag.extraction.importers.hipporag import HippoRAGOpenIE
from kg2rag.extraction.importers.networkx_graph import GraphMLFile
from kg2rag.extraction.importers.subkgs import KG2RAGSubgraphs
from kg2rag.extraction.importers.triples import TriplesFile
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.extraction.sources import SOURCES, CombinedExtractor, takes_file


@pytest.mark.parametrize(("name", "extractor"), [("mentions", Mentions()), ("cooccurrence", Cooccurrence())])
def test_rules_need_no_file(name: str, extractor: Extractor) -> None:
    assert SOURCES.build(name) == extractor


@pytest.mark.parametrize(
    ("kind", "extractor"),
    [("openie", HippoRAGOpenIE), ("subkgs", KG2RAGSubgraphs), ("triples", TriplesFile), ("graphml", GraphMLFile)],
)
def test_a_kind_and_a_file_make_its_importer(tmp_path: Path, kind: str, extractor: type[Extractor]) -> None:
    file = tmp_path / "a:b+c d.jsonl"
    file.touch()
    assert takes_file(kind)
    assert SOURCES.build(f"{kind}({file})") == extractor(file)  # type: ignore[call-arg]


def test_sub_graphs_are_read_raw_where_that_is_said(tmp_path: Path) -> None:
    file = tmp_path / "subkgs.jsonl"
    file.touch()
    assert SOURCES.build(f"subkgs({file}, raw=true)") == KG2RAGSubgraphs(file, raw=True)
    assert SOURCES.build(f"mentions+subkgs({file}, raw=true)") == CombinedExtractor(
        (Mentions(), KG2RAGSubgraphs(file, raw=True))
    )


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
    assert SOURCES.build(f"{kind}({tmp_path})") == extractor(tmp_path)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ("", "names nothing"),
        ("wikidata", r"Known: .*openie\(FILE\)"),
        ("openei(x.json)", "Did you mean 'openie'"),
        ("triples", "TriplesFile needs a path"),
        ("openie", r"openie\(FILE\)"),
        ("lightrag", r"lightrag\(FOLDER\)"),
        ("code(x.py)", "no parameter"),
    ],
)
def test_what_is_no_source_is_answered_with_what_to_write(spec: str, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        SOURCES.build(spec)


def test_a_missing_file_says_so() -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.tsv"):
        SOURCES.build("triples(nowhere.tsv)")
