"""The graph source of docs/extending.md is run as it stands on the page."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import ModuleType

import pytest
from doc_page import blocks
from word_embedder import WordEmbedder

from kg2rag.compute import Store
from kg2rag.extraction import Extractor, sources
from kg2rag.extraction.sources import CombinedExtractor
from kg2rag.knowledge import KnowledgeBase
from kg2rag.types import Corpus, Passage, Triple

MODULE, LINE = blocks("A graph source")
[ENTRY_POINT] = blocks("A graph source", "toml")
CORPUS = Corpus.from_passages(
    [
        Passage("p0", "Ed Wood", "A film.", "d0", 0),
        Passage("p1", "Burbank", "A city.", "d1", 0),
    ]
)
LINKS = "Ed Wood\tTim Burton\nEd Wood\tEd Wood\nRebecca\tAlfred Hitchcock\nEd Wood\tTim Burton\n"
LINK = Triple("Ed Wood", "links to", "Tim Burton", "p0")


@pytest.fixture
def links(tmp_path: Path) -> Path:
    file = tmp_path / "links.tsv"
    file.write_text(LINKS, encoding="utf-8")
    return file


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The page's module, written to a file and imported."""
    (tmp_path / "page_links.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module("page_links")
    sys.modules.pop("page_links", None)


@pytest.fixture
def registered(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> str:
    """The page's line, entered in the table."""
    ((usage, place),) = eval(f"{{{LINE}}}").items()
    monkeypatch.setitem(sys.modules, place.partition(":")[0], module)
    name = usage.partition("(")[0]
    monkeypatch.setitem(sources.SOURCES.entries, name, place)
    return str(name)


def test_the_example_reads_the_links_of_the_corpus(
    module: ModuleType, links: Path
) -> None:
    found = module.PageLinks(links).extract(CORPUS)
    assert found.triples == (LINK,)
    assert found.notes == {
        "links of a page to itself": 1,
        "links of pages outside the corpus": 1,
    }
    with_loops = module.PageLinks(links, loops=True)
    assert len(with_loops.extract(CORPUS).triples) == 2
    assert isinstance(with_loops, Extractor)
    assert module.PageLinks(links).fingerprint != with_loops.fingerprint


def test_the_example_says_what_is_wrong_with_a_line(
    module: ModuleType, links: Path
) -> None:
    links.write_text("Ed Wood\tTim Burton\nEd Wood\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"links\.tsv, record 2: .*'Ed Wood'"):
        module.PageLinks(links).extract(CORPUS)
    with pytest.raises(FileNotFoundError, match=r"nowhere\.tsv"):
        module.PageLinks(links.with_name("nowhere.tsv"))


def test_the_example_is_a_graph_source_after_its_line(
    registered: str, links: Path, tmp_path: Path
) -> None:
    kb = KnowledgeBase.build(
        CORPUS,
        f"{registered}({links})",
        embedder=WordEmbedder(),
        store=Store(tmp_path / "kb"),
    )
    assert [kb.graph.triple(at) for at in range(kb.graph.n_triples)] == [LINK]
    assert isinstance(
        sources.SOURCES.build(f"mentions+{registered}({links})"), CombinedExtractor
    )
    with pytest.raises(ValueError, match="pagelinks"):
        sources.SOURCES.build(registered)


@pytest.fixture
def installed(
    module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The folder of a distribution that registers the example by the page's entry point."""
    # where a reader added the page's line
    monkeypatch.delitem(sources.SOURCES.entries, "pagelinks", raising=False)
    folder = tmp_path / "wiki_graphs-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: wiki-graphs\nVersion: 1.0\n"
    )
    points = ENTRY_POINT.replace(
        '[project.entry-points."kg2rag.graphs"]', "[kg2rag.graphs]"
    ).replace('"', "")
    (folder / "entry_points.txt").write_text(points)
    sys.modules.pop("page_links")
    invalidate_caches()
    return folder


def test_a_package_registers_a_source_by_an_entry_point(
    installed: Path, links: Path
) -> None:
    assert sources.SOURCES.build(f"pagelinks({links})").extract(CORPUS).triples == (
        LINK,
    )
    with pytest.raises(ValueError, match=r"pagelinks.*'pagelinks'"):
        sources.SOURCES.build("page_links(x)")


def test_a_source_that_cannot_be_imported_names_its_package(
    installed: Path, links: Path
) -> None:
    (installed / "entry_points.txt").write_text(
        "[kg2rag.graphs]\npagelinks = page_links:MISSING\n"
    )
    with pytest.raises(RuntimeError, match="'pagelinks' of wiki-graphs"):
        sources.SOURCES.build(f"pagelinks({links})")
