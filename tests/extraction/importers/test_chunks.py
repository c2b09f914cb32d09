"""Chunks of other tools, and the passages that they are."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from kg2rag.extraction.importers.exported import ChunkMap
from kg2rag.types import Corpus, Passage

ONE = "Ed Wood is a film by Tim Burton about a director."
TWO = "Tim Burton was born in Burbank and draws in his spare time."
CORPUS = Corpus.from_passages(
    [
        Passage("p0", "Ed Wood", ONE, "d0", 0),
        Passage("p1", "Tim Burton", TWO, "d1", 0),
        Passage("p2", "", "Too short.", "d2", 0),
    ]
)


def matched(chunks: dict[str, str]) -> tuple[ChunkMap, dict[str, int]]:
    notes: Counter[str] = Counter()
    found = ChunkMap.of(chunks, CORPUS, Path("chunks.json"), notes)
    return found, +notes


@pytest.mark.parametrize(
    ("id_", "text", "rows"),
    [
        pytest.param("p1", "whatever it says", [1], id="by id"),
        pytest.param("c", ONE, [0], id="by text"),
        pytest.param("c", f"Ed Wood\n{ONE}", [0], id="by contents"),
        pytest.param("c", f"  Ed  Wood\r\n{ONE} ", [0], id="whitespace apart"),
        pytest.param("c", "Too short.", [2], id="short and whole"),
    ],
)
def test_a_chunk_that_is_a_passage(id_: str, text: str, rows: list[int]) -> None:
    found, notes = matched({id_: text})
    assert found.rows[id_] == rows
    assert notes["chunks that are passages"] == 1


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        pytest.param(
            f"Ed Wood\n\n{ONE}\n\nTim Burton\n\n{TWO}", [0, 1], id="holds two"
        ),
        pytest.param("lm by Tim Burton about a direc", [0], id="a part"),
        pytest.param(f"{ONE} {TWO[:-5]}", [0, 1], id="one of them is cut"),
        pytest.param(f"{ONE} {TWO[:20]}", [0], id="a passage of which little is there"),
        pytest.param(
            f"url: x\ntitle: y.\n# Ed Wood\n\n*{ONE.replace(' by ', ' by [')}](z)",
            [0],
            id="marks and metadata",
        ),
        pytest.param(
            f"{TWO.upper()} {ONE.replace(' ', '  ')}",
            [0, 1],
            id="another order, case and blanks",
        ),
        pytest.param(f"{ONE} Too short.", [0], id="short passages are none"),
        pytest.param("Another text, and of enough words.", [], id="none"),
        pytest.param(
            " ".join(sorted(ONE.split())), [], id="its words in another order"
        ),
    ],
)
def test_a_chunk_is_laid_on_the_passages_that_have_its_words_in_order(
    text: str, rows: list[int]
) -> None:
    found, notes = matched({"c": text, "p2": ""})
    assert found.rows["c"] == rows
    assert notes["chunks outside the corpus"] == (not rows)
    assert notes["passages in no chunk"] == 2 - len(rows)


def test_the_share_of_the_words_that_were_placed_is_told() -> None:
    # 11 words of ONE, and nine that no passage has.
    _, notes = matched({"c": f"{ONE} one two three four five six seven eight nine"})
    assert notes["percent of the words of other chunks that passages have"] == 55


def test_what_every_chunk_repeats_places_nothing() -> None:
    licence = (
        "You may copy this text under the terms of the licence that comes with it."
    )
    corpus = Corpus.from_passages(
        [Passage("a", "", licence + " " + ONE), Passage("b", "", licence + " " + TWO)]
    )
    chunks = {f"c{number}": f"{licence} Page {number}." for number in range(9)} | {
        "one": f"{licence} {ONE}"
    }
    assert ChunkMap.of(chunks, corpus, Path("chunks.json"), Counter()).rows["one"] == [
        0
    ]


@pytest.mark.parametrize("chunks", [{}, {"x": "Another text."}])
def test_an_export_that_shares_nothing_with_the_corpus_is_an_error(
    chunks: dict[str, str],
) -> None:
    with pytest.raises(
        ValueError, match=rf"chunks.json: none of {len(chunks)} chunks.*Load the corpus"
    ):
        matched(chunks)


BOTH, _ = matched({"both": f"{ONE} {TWO}", "one": ONE})


@pytest.mark.parametrize(
    ("names", "passages"),
    [
        (["Ed Wood", "Tim Burton"], ["p0"]),
        (["Burbank", "Los Angeles"], ["p1"]),
        (["Tim Burton"], ["p0", "p1"]),
        (["tim BURTON", "burbank"], ["p1"]),
        (["Burton about", "spare time"], ["p0", "p1"]),
        (["Ed"], ["p0"]),
    ],
)
def test_of_the_passages_in_a_chunk_those_state_it_that_have_its_names(
    names: list[str], passages: list[str]
) -> None:
    assert BOTH.passages(["both"], names, "relations", Counter()) == passages


@pytest.mark.parametrize(
    ("chunks", "passages", "note"),
    [
        (
            ["both"],
            ["p0", "p1"],
            "given to every passage of their chunk, as none has the names",
        ),
        (["gone", "one"], ["p0"], "of chunks whose text the export lacks"),
    ],
)
def test_what_its_chunk_does_not_name_or_no_chunk_states_is_counted(
    chunks: list[str], passages: list[str], note: str
) -> None:
    notes: Counter[str] = Counter()
    assert BOTH.passages(chunks, ["Paris"], "relations", notes) == passages
    assert +notes == {f"relations {note}": 1}


@pytest.mark.realdata
def test_passages_are_found_in_the_overlapping_chunks_of_their_concatenation(
    shared_data: Path,
) -> None:
    documents = json.loads(
        (shared_data / "musique-100" / "musique_corpus.json").read_text()
    )[:400]
    corpus = Corpus.from_passages(
        [
            Passage(f"m{i}", d["title"], d["text"], d["title"], 0)
            for i, d in enumerate(documents)
        ]
    )
    text = "\n\n".join(corpus.contents)
    chunks = {
        f"chunk-{start}": text[start : start + 5000]
        for start in range(0, len(text), 4000)
    }
    notes: Counter[str] = Counter()
    found = ChunkMap.of(chunks, corpus, Path("chunks.json"), notes)
    # What must come out, found the slow way.
    whole = {
        id_: {row for row, passage in enumerate(corpus) if passage.text in chunk}
        for id_, chunk in chunks.items()
    }
    assert all(whole[id_] <= set(found.rows[id_]) for id_ in chunks)
    assert notes["passages in no chunk"] <= len(corpus) - len(
        set().union(*whole.values())
    )
