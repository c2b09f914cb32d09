"""Links between documents as a graph, by hand and from a folder."""

from __future__ import annotations

from math import log
from pathlib import Path

import pytest

import kg2rag
from kg2rag import KnowledgeBase
from kg2rag.compute import Store
from kg2rag.extraction import Entity
from kg2rag.extraction.links import Links
from kg2rag.types import Corpus, Passage, Triple


def corpus(**links: list[list[str]]) -> Corpus:
    titles = {"a": "Ferry", "b": "Crew", "c": "Harbour", "d": ""}
    return Corpus.from_passages(
        [
            Passage(id_, title, "Text.", metadata={"links": links.get(id_, [])})
            for id_, title in titles.items()
        ]
    )


def test_a_link_is_a_fact_between_two_titles_stated_by_the_passage_that_has_it():
    found = Links().extract(
        corpus(
            a=[["the crew", "b"], ["crew list", "b"]], d=[["crew", "b"], ["port", "c"]]
        )
    )
    # Two of four passages link to Crew, one to Harbour.
    weaker = round(10 * log(1 + 4 / 2) / log(5), 3)
    assert found.triples == (
        Triple("Ferry", "links to", "Crew", "a", weaker),
        Triple("d", "links to", "Crew", "d", weaker),
        Triple("d", "links to", "Harbour", "d", 10.0),
    )
    assert found.entities[1] == Entity(
        "Crew", "title", aliases=("the crew", "crew list")
    )
    assert found.notes == {"links read": 4, "passages without a link": 2}


def test_words_that_lead_to_several_titles_or_are_a_title_are_no_alias_and_links_within_a_title_are_left_out():
    found = Links().extract(
        corpus(
            a=[["here", "b"], ["Harbour", "b"], ["1984", "b"], ["x y", "a"]],
            b=[["here", "c"]],
        )
    )
    assert all(not entity.aliases for entity in found.entities)
    assert found.notes["links within a title, left out"] == 1


@pytest.mark.parametrize(
    ("link", "said"),
    [(["words"], "'words'"), (["words", "q"], "'q'"), ([1, "b"], "1, 'b'")],
)
def test_a_malformed_link_names_the_passage_and_the_link(
    link: list[str], said: str
) -> None:
    with pytest.raises(ValueError, match=f"'a'.*{said}"):
        Links().extract(corpus(a=[link]))


def test_a_folder_of_notes_is_joined_by_its_wiki_links(tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "Ferry.md").write_text(
        "# Ferry\n\nIt is steered as the [[Crew|people on board]] say.\n"
    )
    (folder / "Crew.md").write_text(
        "# Crew\n\nMarek Lund, see the [ferry](Ferry.md).\n"
    )
    data = kg2rag.from_folder(folder)
    graph = KnowledgeBase.build(data, "links", store=Store(tmp_path / "store")).graph
    assert {str(graph.triple(at)) for at in range(graph.n_triples)} == {
        "Ferry -[links to]-> Crew",
        "Crew -[links to]-> Ferry",
    }
