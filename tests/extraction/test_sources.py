"""Graph sources by name, and several as one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kg2rag.extraction import Entity, Extraction, Extractor, Mention
from kg2rag.extraction.cooccurrence import Cooccurrence
from kg2rag.extraction.importers.graph_files import GraphFile
from kg2rag.extraction.importers.graphrag import (
    CHUNKS,
    GRAPH,
    TABLES,
    LightRAG,
    MicrosoftGraphRAG,
)
from kg2rag.extraction.importers.hipporag import HippoRAGOpenIE
from kg2rag.extraction.importers.subkgs import KG2RAGSubgraphs
from kg2rag.extraction.importers.triples import TriplesFile
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.extraction.sources import (
    SOURCES,
    CombinedExtractor,
    GivenExtraction,
    takes_file,
)
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.types import Corpus, Passage, Triple


@pytest.mark.parametrize(
    ("kind", "extractor"),
    [
        ("openie", HippoRAGOpenIE),
        ("subkgs", KG2RAGSubgraphs),
        ("triples", TriplesFile),
        ("graphml", GraphFile),
    ],
)
def test_a_kind_and_a_file_make_its_importer(
    tmp_path: Path, kind: str, extractor: type[Extractor]
) -> None:
    file = tmp_path / "a:b+c d.jsonl"
    file.touch()
    assert takes_file(kind)
    assert SOURCES.build(f"{kind}({file})") == extractor(file)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("kind", "extractor", "files"),
    [
        ("lightrag", LightRAG, (GRAPH, CHUNKS)),
        ("msgraphrag", MicrosoftGraphRAG, [f"{name}.parquet" for name in TABLES]),
    ],
)
def test_a_kind_and_a_folder_make_its_importer(
    tmp_path: Path, kind: str, extractor: type[Extractor], files: list[str]
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
        ("mention+cooccurrence", "'mention'"),
        ("triples", "TriplesFile needs a path"),
        ("openie", r"openie\(FILE\)"),
        ("lightrag", r"lightrag\(FOLDER\)"),
        ("code(x.py)", "no parameter"),
    ],
)
def test_what_is_no_source_is_answered_with_what_to_write(
    spec: str, named: str
) -> None:
    with pytest.raises(ValueError, match=named):
        SOURCES.build(spec)


def test_a_missing_file_says_so() -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.tsv"):
        SOURCES.build("triples(nowhere.tsv)")


# Several sources as one


CORPUS = Corpus.from_passages(
    [
        Passage("p0", "Ed Wood", "A film.", "d", 0),
        Passage("p1", "Ann", "Ed Wood.", "e", 0),
    ]
)


@dataclass(frozen=True)
class Given:
    """A source that finds given mentions."""

    found: Extraction
    fingerprint: str = "given"

    def extract(self, corpus: Corpus) -> Extraction:
        return self.found


FACT = Triple("Ed Wood", "is", "film", "p0")
ONE = Given(
    Extraction(
        (FACT,),
        (Mention("Ed Wood", "p0"),),
        (Entity("Ed Wood", "title"),),
        {"dropped": 2},
    ),
    "one",
)
SAW, FILM = Triple("Ann", "saw", "Ed Wood", "p1"), Entity("Ed Wood", "film", "Of 1994.")
TWO = Given(Extraction((FACT, SAW), (), (FILM,), {"dropped": 3}), "two")


def test_raw_triples_stand_beside_those_of_sources_that_have_no_others() -> None:
    raw = Triple("<Ann", "saw", "", "p1")
    found = CombinedExtractor(
        (ONE, Given(Extraction(TWO.found.triples, raw=(raw,))))
    ).extract(CORPUS)
    assert found.triples == ONE.found.triples + TWO.found.triples
    assert found.mentions == ONE.found.mentions
    assert found.raw == (FACT, raw)
    found = CombinedExtractor((ONE, TWO)).extract(CORPUS)
    assert (found.raw, found.entities) == (
        None,
        ONE.found.entities + TWO.found.entities,
    )


def test_a_given_extraction_depends_on_its_raw_triples() -> None:
    raw = [None, (), (FACT,)]
    assert (
        len(
            {GivenExtraction(Extraction((FACT,), raw=each)).fingerprint for each in raw}
        )
        == 3
    )


def test_the_graph_merges_what_several_sources_say() -> None:
    graph = KnowledgeGraph.build(CombinedExtractor((ONE, TWO)).extract(CORPUS), CORPUS)
    assert graph.n_triples == 2
    assert (graph.types[0], graph.descriptions[0]) == ("title", "Of 1994.")
    assert graph.notes["exact duplicate triples merged in the graph"] == 1


def test_notes_are_kept_for_each_source() -> None:
    assert CombinedExtractor((ONE, TWO)).extract(CORPUS).notes == {
        "Given 1: dropped": 2,
        "Given 2: dropped": 3,
    }
    mixed = CombinedExtractor((Mentions(), ONE)).extract(CORPUS).notes
    assert mixed == {"Given: dropped": 2}


def test_the_fingerprint_is_that_of_the_sources_in_their_order() -> None:
    assert isinstance(CombinedExtractor((ONE, TWO)), Extractor)
    assert (
        len(
            {
                CombinedExtractor(sources).fingerprint
                for sources in [(ONE, TWO), (TWO, ONE), (ONE, ONE)]
            }
        )
        == 3
    )


@pytest.mark.parametrize("given", [(ONE,), (ONE, "mentions")])
def test_a_union_of_one_or_of_what_is_no_source_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="at least two sources"):
        CombinedExtractor(given)


@pytest.mark.parametrize("name", ["openie.json", "a+b.json", "a+openie_2.json"])
def test_names_joined_by_a_plus_are_a_union_and_paths_may_hold_one(
    tmp_path: Path, name: str
) -> None:
    file = tmp_path / name
    file.write_text(json.dumps({"docs": []}))
    assert SOURCES.build(
        f"openie({file})+cooccurrence+mentions+subkgs({file})"
    ) == CombinedExtractor(
        (HippoRAGOpenIE(file), Cooccurrence(), Mentions(), KG2RAGSubgraphs(file))
    )
