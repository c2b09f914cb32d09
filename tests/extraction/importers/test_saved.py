"""Graph folders: `kg2rag build` writes them, and they are read back over the same corpus only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from extraction_world import corpus, triples

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.extraction.importers.saved import SavedGraph, read_about
from kg2rag.extraction.importers.triples import TriplesFile
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.extraction.sources import SOURCES
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.knowledge.graph.graph_io import check_free, write_failures, write_graph
from kg2rag.types import Triple

FOUND = Extraction(
    (
        *triples(3),
        Triple(
            "ann0",
            "Knows\tof",
            "“Zoë”",
            "p2",
            strength=0.1,
            confidence=0.3,
            description="They met.",
        ),
    ),
    (Mention("Ann0", "p0", 1), Mention("Ann0", "p0", 1), Mention("Alone", "p1")),
    (Entity("Cairo1", "city", "a town", ("Kairo",)),),
    {"dropped: triples with a blank part": 2},
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_graph(tmp_path / "graph", FOUND, corpus(3), Mentions(), corpus_name="notes")
    return tmp_path / "graph"


def test_an_extraction_is_read_back_as_it_was(folder: Path) -> None:
    assert SavedGraph(folder).extract(corpus(3)) == FOUND


def test_the_graph_beside_it_is_the_one_made_of_it(folder: Path) -> None:
    saved, made = (
        KnowledgeGraph.load(folder, corpus(3)),
        KnowledgeGraph.build(FOUND, corpus(3)),
    )
    assert saved.fingerprint == made.fingerprint
    assert saved.notes == made.notes


def test_a_folder_is_a_graph_source_by_name_and_its_triples_are_a_triples_file_too(
    folder: Path,
) -> None:
    assert SOURCES.build(f"graph({folder})") == SavedGraph(folder)
    assert (
        TriplesFile(folder / "extraction" / "triples.jsonl").extract(corpus(3)).triples
        == FOUND.triples
    )


def test_another_corpus_is_refused_naming_both(folder: Path) -> None:
    expected = r"built on the corpus notes \(3 passages, fingerprint \w{12}\), but .* the one given \(4 passages, "
    with pytest.raises(ValueError, match=expected):
        SavedGraph(folder).extract(corpus(4))


@pytest.mark.parametrize("file", ["extraction/triples.jsonl", "triples.parquet"])
def test_a_file_changed_since_is_refused_by_name(folder: Path, file: str) -> None:
    with (folder / file).open("ab") as stream:
        stream.write(b"\n")
    with pytest.raises(ValueError, match=rf"{file} was changed or removed"):
        SavedGraph(folder).extract(corpus(3))


def test_a_record_without_a_field_is_named(folder: Path) -> None:
    about = json.loads((folder / "build.json").read_text())
    (folder / "build.json").write_text(json.dumps({**about, "files": {}}))
    (folder / "extraction" / "triples.jsonl").write_text('{"head": "a"}\n')
    with pytest.raises(ValueError, match=r"triples\.jsonl, record 1: relation"):
        SavedGraph(folder).extract(corpus(3))


def test_its_fingerprint_follows_its_contents_not_its_place(
    folder: Path, tmp_path: Path
) -> None:
    for name, extraction in (("same", FOUND), ("other", Extraction(triples(2)))):
        write_graph(
            tmp_path / name, extraction, corpus(3), Mentions(), corpus_name="notes"
        )
    same, other = SavedGraph(tmp_path / "same"), SavedGraph(tmp_path / "other")
    assert SavedGraph(folder).fingerprint == same.fingerprint != other.fingerprint


def test_a_folder_without_a_graph_of_ours_says_what_to_give(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        SavedGraph(folder / "nowhere")
    (folder / "build.json").write_text('{"name": "webpack"}')
    with pytest.raises(ValueError, match=r"build\.json.*kg2rag build"):
        SavedGraph(folder)
    (folder / "build.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"build\.json"):
        SavedGraph(folder)


# What may be overwritten


def test_the_same_build_may_be_written_again_and_replaces_the_folder(
    folder: Path,
) -> None:
    check_free(folder, Mentions(), corpus(3))
    write_graph(
        folder, Extraction(triples(1)), corpus(3), Mentions(), corpus_name="notes"
    )
    assert SavedGraph(folder).extract(corpus(3)).triples == triples(1)
    assert [file.name for file in folder.parent.iterdir()] == ["graph"]


def test_the_graph_of_another_corpus_and_other_files_are_not_overwritten(
    folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=r"Mentions\(.* notes .*--force"):
        check_free(folder, Mentions(), corpus(4))
    (tmp_path / "strangers").mkdir()
    (tmp_path / "strangers" / "entities.parquet").write_bytes(b"theirs")
    for force in (False, True):
        with pytest.raises(FileExistsError, match=r"strangers/entities\.parquet"):
            check_free(tmp_path / "strangers", Mentions(), corpus(3), force=force)
    with pytest.raises(FileExistsError, match=r"strangers/entities\.parquet"):
        write_graph(
            tmp_path / "strangers", FOUND, corpus(3), Mentions(), corpus_name="notes"
        )
    assert [
        (path.name, path.read_bytes()) for path in (tmp_path / "strangers").iterdir()
    ] == [("entities.parquet", b"theirs")]


def test_failures_are_written_over_and_leave_an_older_graph_readable(
    folder: Path, tmp_path: Path
) -> None:
    write_failures(tmp_path / "new", [{"passage_id": "p1"}])
    check_free(tmp_path / "new", Mentions(), corpus(3))
    write_failures(folder, [{"passage_id": "p1"}])
    assert SavedGraph(folder).extract(corpus(3)) == FOUND


def test_a_build_that_breaks_leaves_the_folder_as_it_was(folder: Path) -> None:
    stranger = Extraction((Triple("a", "r", "b", "nowhere"),))
    with pytest.raises(ValueError, match="'nowhere'"):
        write_graph(folder, stranger, corpus(3), Mentions(), corpus_name="notes")
    assert SavedGraph(folder).extract(corpus(3)) == FOUND
    assert read_about(folder).corpus.name == "notes"
