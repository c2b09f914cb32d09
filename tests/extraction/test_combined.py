"""Several sources as one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from kg2rag.extraction import Entity, Extraction, Extractor, Mention
from kg2rag.extraction.cooccurrence import Cooccurrence
from kg2rag.extraction.importers.hipporag import HippoRAGOpenIE
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.extraction.sources import SOURCES, CombinedExtractor, GivenExtraction
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.types import Corpus, Passage, Triple

CORPUS = Corpus.from_passages([Passage("p0", "Ed Wood", "A film.", "d", 0), Passage("p1", "Ann", "Ed Wood.", "e", 0)])


@dataclass(frozen=True)
class Given:
    """A source that finds what it is told to."""

    found: Extraction
    fingerprint: str = "given"

    def extract(self, corpus: Corpus) -> Extraction:  # noqa: ARG002
        return self.found


FACT = Triple("Ed Wood", "is", "film", "p0")
ONE = Given(Extraction((FACT,), (Mention("Ed Wood", "p0"),), (Entity("Ed Wood", "title"),), {"dropped": 2}), "one")
TWO = Given(
    Extraction(
        (FACT, Triple("Ann", "saw", "Ed Wood", "p1")), (), (Entity("Ed Wood", "film", "Of 1994."),), {"dropped": 3}
    ),
    "two",
)


def test_what_the_sources_found_stands_one_after_the_other() -> None:
    found = CombinedExtractor((ONE, TWO)).extract(CORPUS)
    assert found.triples == ONE.found.triples + TWO.found.triples
    assert found.mentions == ONE.found.mentions
    assert found.entities == ONE.found.entities + TWO.found.entities


def test_raw_triples_stand_beside_those_of_sources_that_have_no_others() -> None:
    raw = Triple("<Ann", "saw", "", "p1")
    found = CombinedExtractor((ONE, Given(Extraction(TWO.found.triples, raw=(raw,))))).extract(CORPUS)
    assert found.triples == ONE.found.triples + TWO.found.triples
    assert found.raw == (FACT, raw)
    assert CombinedExtractor((ONE, TWO)).extract(CORPUS).raw is None


def test_a_given_extraction_depends_on_its_raw_triples() -> None:
    raw = [None, (), (FACT,)]
    assert len({GivenExtraction(Extraction((FACT,), raw=each)).fingerprint for each in raw}) == 3


def test_the_graph_merges_what_several_sources_say() -> None:
    graph = KnowledgeGraph.build(CombinedExtractor((ONE, TWO)).extract(CORPUS), CORPUS)
    assert graph.n_triples == 2
    assert (graph.types[0], graph.descriptions[0]) == ("title", "Of 1994.")
    assert graph.notes["exact duplicate triples merged in the graph"] == 1


def test_notes_are_kept_for_each_source() -> None:
    assert CombinedExtractor((ONE, TWO)).extract(CORPUS).notes == {"Given 1: dropped": 2, "Given 2: dropped": 3}
    mixed = CombinedExtractor((Mentions(), ONE)).extract(CORPUS).notes
    assert mixed == {"Given: dropped": 2}


def test_the_fingerprint_is_that_of_the_sources_in_their_order() -> None:
    assert isinstance(CombinedExtractor((ONE, TWO)), Extractor)
    assert CombinedExtractor((ONE, TWO)).fingerprint == CombinedExtractor((ONE, TWO)).fingerprint
    assert len({CombinedExtractor(sources).fingerprint for sources in [(ONE, TWO), (TWO, ONE), (ONE, ONE)]}) == 3


def test_a_union_of_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least two sources, not 1"):
        CombinedExtractor((ONE,))


def test_what_is_no_source_is_refused() -> None:
    with pytest.raises(ValueError, match="'mentions' is no source"):
        CombinedExtractor((ONE, "mentions"))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["openie.json", "a+b.json", "a+openie_2.json"])
def test_names_joined_by_a_plus_are_a_union_and_paths_may_hold_one(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text(json.dumps({"docs": []}))
    assert SOURCES.build(f"mentions+openie({file})") == CombinedExtractor((Mentions(), HippoRAGOpenIE(file)))
    assert SOURCES.build(f"openie({file})+cooccurrence+mentions") == CombinedExtractor(
        (HippoRAGOpenIE(file), Cooccurrence(), Mentions())
    )


def test_an_unknown_source_in_a_union_is_named() -> None:
    with pytest.raises(ValueError, match="Unknown graph source 'mention'"):
        SOURCES.build("mention+cooccurrence")
