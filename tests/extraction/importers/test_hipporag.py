"""HippoRAG's OpenIE files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kg2rag.extraction import Extractor, Mention
from kg2rag.extraction.importers.hipporag import HippoRAGOpenIE
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.types import Corpus, Passage, Triple

CORPUS = Corpus.from_passages(
    [
        Passage("p0", "Ed Wood", "A film by Tim Burton.", "d", 0),
        Passage("p1", "Burbank", "A city.", "d", 1),
    ]
)
DOCUMENT = {
    "title": "Ed Wood",
    "text": "A film by Tim Burton.",
    "passage": "Ed Wood\nA film by Tim Burton.",
    "extracted_entities": ["Ed Wood", "Tim Burton", " ", "Ed Wood", 7],
    "extracted_triples": [
        ["Ed Wood ", "directed by", "Tim Burton"],
        ["Ed Wood", "directed by", "Tim Burton"],
        ["Ed Wood", "is a film"],
        ["Ed Wood", "", "film"],
        ["Ed Wood", "year", 1994],
        "Ed Wood",
    ],
}


def written(tmp_path: Path, *documents: object) -> Path:
    file = tmp_path / "openie.json"
    file.write_text(json.dumps({"docs": list(documents)}))
    return file


def test_a_passage_gets_what_its_document_has_and_everything_dropped_is_counted_by_cause(
    tmp_path: Path,
) -> None:
    found = HippoRAGOpenIE(written(tmp_path, DOCUMENT)).extract(CORPUS)
    assert found.triples == (Triple("Ed Wood", "directed by", "Tim Burton", "p0"),)
    assert found.mentions == (Mention("Ed Wood", "p0"), Mention("Tim Burton", "p0"))
    assert found.notes == {
        "exact duplicates within a document": 1,
        "triples without exactly three parts": 2,
        "triples with a part that is blank or no string": 2,
        "entities that are blank or no string": 2,
        "chunks that are passages": 1,
        "passages in no chunk": 1,
    }


def test_a_document_without_title_and_text_is_matched_by_its_passage(
    tmp_path: Path,
) -> None:
    document = {
        key: value for key, value in DOCUMENT.items() if key not in ("title", "text")
    }
    assert len(HippoRAGOpenIE(written(tmp_path, document)).extract(CORPUS).triples) == 1


def test_passages_of_equal_contents_all_get_the_triples(tmp_path: Path) -> None:
    twice = Corpus.from_passages(
        [Passage(id_, "Ed Wood", "A film by Tim Burton.", "d", 0) for id_ in "ab"]
    )
    found = HippoRAGOpenIE(written(tmp_path, DOCUMENT)).extract(twice)
    assert [triple.passage_id for triple in found.triples] == ["a", "b"]


OTHER = {
    "title": "Big Fish",
    "text": "Another.",
    "passage": "x",
    "extracted_entities": [],
    "extracted_triples": [],
}


def test_a_document_that_the_corpus_lacks_is_counted_and_a_file_of_no_other_refused(
    tmp_path: Path,
) -> None:
    found = HippoRAGOpenIE(written(tmp_path, DOCUMENT, OTHER)).extract(CORPUS)
    assert (found.notes["chunks outside the corpus"], len(found.triples)) == (1, 1)
    with pytest.raises(ValueError, match=r"openie\.json"):
        HippoRAGOpenIE(written(tmp_path, OTHER)).extract(CORPUS)


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ("[]", "no list 'docs' at the top"),
        ('{"docs": [', "not valid JSON at column 11"),
        ('{"docs": [3]}', "record 1: document is 3; needed: an object"),
        ('{"docs": [{}]}', "record 1: field 'passage' is missing"),
        ('{"docs": [{"passage": 3}]}', "record 1: passage is 3; needed: a string"),
        (
            '{"docs": [{"passage": "Burbank\\nA city."}]}',
            "record 1: extracted_triples is None; needed: a list",
        ),
    ],
)
def test_a_malformed_file_is_an_error_that_says_where(
    tmp_path: Path, contents: str, message: str
) -> None:
    file = tmp_path / "openie.json"
    file.write_text(contents)
    with pytest.raises(ValueError, match=message):
        HippoRAGOpenIE(file).extract(CORPUS)


def test_the_fingerprint_follows_contents_and_not_the_place(tmp_path: Path) -> None:
    one = HippoRAGOpenIE(written(tmp_path, DOCUMENT))
    assert isinstance(one, Extractor)
    (tmp_path / "moved").mkdir()
    assert (
        HippoRAGOpenIE(written(tmp_path / "moved", DOCUMENT)).fingerprint
        == one.fingerprint
    )
    assert (
        HippoRAGOpenIE(written(tmp_path / "moved", OTHER)).fingerprint
        != one.fingerprint
    )


@pytest.mark.realdata
def test_musique_100_keeps_the_published_17204_triples(shared_data: Path) -> None:
    folder = shared_data / "musique-100"
    documents = json.loads((folder / "musique_corpus.json").read_text())
    corpus = Corpus.from_passages(
        [
            Passage(str(i), one["title"], one["text"], one["title"], 0)
            for i, one in enumerate(documents)
        ]
    )
    found = HippoRAGOpenIE(
        folder / "openie_results_ner_gpt-3.5-turbo-1106.json"
    ).extract(corpus)
    assert len(found.triples) == 17_204
    assert found.notes == {
        "chunks that are passages": 1_890,
        "triples without exactly three parts": 185,
        "exact duplicates within a document": 30,
    }
    graph = KnowledgeGraph.build(found, corpus)
    assert (graph.n_entities, graph.n_triples, graph.n_passages) == (
        19_101,
        17_204,
        1_890,
    )
