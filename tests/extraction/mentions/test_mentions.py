"""Which titles and names a passage mentions, by rules."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kg2rag.extraction import Mention
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.extraction.mentions.finding import find_mentions
from kg2rag.extraction.mentions.table import MentionTable
from kg2rag.types import Corpus, Passage


def corpus(*pages: tuple[str, str]) -> Corpus:
    """Passages p0, p1, … of these titles and texts."""
    return Corpus.from_passages(
        [
            Passage(f"p{i}", title, text, f"d{i}", 0)
            for i, (title, text) in enumerate(pages)
        ]
    )


def mentioned(*pages: tuple[str, str]) -> set[tuple[int, int, str]]:
    """(row, sentence, how the key is written) of every mention."""
    table = find_mentions(corpus(*pages))
    return {
        (row, sentence, table.names[key])
        for row, sentence, key in zip(
            table.row.tolist(), table.sentence.tolist(), table.key.tolist(), strict=True
        )
    }


FILMS = (
    (
        "Rebecca (1940 film)",
        "Rebecca is a film by Alfred Hitchcock. It rests on a novel.",
    ),
    (
        "Alfred Hitchcock",
        "Alfred Hitchcock made Rebecca (1940 film) and The Birds. He saw the birds.",
    ),
    ("The Birds", "A horror film. Alfred Hitchcock directed it."),
    ("Rebecca (novel)", "A story by Daphne du Maurier."),
    ("Daphne du Maurier", "She wrote Rebecca."),
)


def test_c_with_signs_is_a_name_of_its_own() -> None:
    languages = (
        ("C", "A language of Unix."),
        ("C++", "A language with classes."),
        ("C#", "A language by Microsoft."),
    )
    found = mentioned(
        *languages,
        ("Bjarne Stroustrup", "Bjarne Stroustrup made C++ of C."),
        ("Mono", "Mono runs C#."),
    )
    assert {name for row, _, name in found if row == 3} == {"C++", "C"}
    assert {name for row, _, name in found if row == 4} == {"C#"}


def test_titles_are_found_where_other_passages_name_them_and_nowhere_else() -> None:
    assert mentioned(*FILMS) == {
        (0, 0, "Alfred Hitchcock"),
        (1, 0, "Rebecca (1940 film)"),
        (1, 0, "The Birds"),
        (2, 1, "Alfred Hitchcock"),
        (3, 0, "Daphne du Maurier"),
        (4, 0, "Rebecca"),
    }


def test_a_title_that_two_pages_bear_points_to_both_and_one_with_its_brackets_to_its_own():
    table = find_mentions(corpus(*FILMS))
    key = table.keys.index("rebecca")
    assert (table.pages_of(key).tolist(), table.pages[key]) == ([0, 3], 2)
    assert table.pages_of(table.keys.index("rebecca 1940 film")).tolist() == [0]


def test_a_lower_case_title_is_mentioned_in_lower_case() -> None:
    assert mentioned(
        ("uvicorn", "A server."), ("FastAPI", "It is served by uvicorn.")
    ) == {(1, 0, "uvicorn")}


def test_a_title_that_is_a_function_word_is_no_key() -> None:
    assert mentioned(("It", "A novel."), ("King", "It was he. He wrote It.")) == set()


NAMES = [
    pytest.param(
        "He met Tim Burton.", "Tim Burton won.", {"Tim Burton"}, id="two words"
    ),
    pytest.param(
        "The Louvre is big.",
        "We saw the Louvre.",
        {"Louvre"},
        id="leading function words are cut",
    ),
    pytest.param(
        "Burton's film.", "A film of Burton.", {"Burton"}, id="possessives are cut"
    ),
    pytest.param(
        "The Maya- and Inca-like.", "Maya.", {"Maya"}, id="trailing hyphens are cut"
    ),
    pytest.param(
        "Born in March.", "He left in March.", set(), id="months are no names"
    ),
    pytest.param(
        "Born to June Smith.",
        "He saw June Smith.",
        {"June Smith"},
        id="a month in a name is kept",
    ),
    pytest.param(
        "Water is wet and water is clear.",
        "Water and water.",
        set(),
        id="usually lower case is no name",
    ),
    pytest.param(
        "The University of the Arts.",
        "A University of the Arts.",
        {"University of the Arts"},
        id="of the",
    ),
    pytest.param(
        "Émile Zola wrote.",
        "By Émile Zola.",
        {"Émile Zola"},
        id="accented capitals begin names",
    ),
    pytest.param(
        "The iPhone.", "An iPhone.", set(), id="a capital inside a word begins none"
    ),
    pytest.param("I saw X.", "X is here.", set(), id="one letter is no name"),
    pytest.param(
        "J.R.R. Tolkien wrote to George W. Bush.",
        "He read J.R.R. Tolkien, and so did George W. Bush.",
        {"J.R.R. Tolkien", "George W. Bush"},
        id="initials with dots belong to names",
    ),
]


@pytest.mark.parametrize(("first", "second", "names"), NAMES)
def test_names_are_capitalised_phrases_that_two_passages_share(
    first: str, second: str, names: set[str]
) -> None:
    assert {name for _, _, name in mentioned(("", first), ("", second))} == names


def test_a_name_in_one_passage_alone_is_none_however_often_it_stands_there() -> None:
    assert mentioned(("", "Tim Burton. Tim Burton."), ("", "Nobody.")) == set()


def test_names_that_overlap_a_title_are_the_title() -> None:
    pages = (
        ("Ed Wood", "A film."),
        ("", "The film Ed Wood Junior."),
        ("", "The film Ed Wood Junior."),
    )
    assert mentioned(*pages) == {(1, 0, "Ed Wood"), (2, 0, "Ed Wood")}


def test_sentences_count_from_zero_by_the_sources_own_split() -> None:
    passages = [
        Passage("p0", "Ed Wood", "A film.", "d", 0),
        Passage("p1", "", "No. Yes. Ed Wood.", "e", 0),
    ]
    given = Corpus.from_passages(passages, [["A film."], ["No. Yes.", "Ed Wood."]])
    assert find_mentions(given).sentence.tolist() == [1]


def test_a_question_needs_no_capitals() -> None:
    table = find_mentions(corpus(*FILMS))
    named = table.named_in("who directed the birds and rebecca? the birds")
    assert [table.names[key] for key in named] == ["The Birds", "Rebecca"]


@pytest.mark.parametrize("pages", [FILMS, (("", "nothing here"),)])
def test_a_table_that_was_saved_is_loaded_as_it_was(
    pages: tuple[tuple[str, str], ...], tmp_path: Path
) -> None:
    table = find_mentions(corpus(*pages))
    table.save(tmp_path)
    again = MentionTable.load(tmp_path)
    assert (again.keys, again.names, again.n_titles) == (
        table.keys,
        table.names,
        table.n_titles,
    )
    for column in ("page_key", "page_row", "key", "row", "sentence"):
        np.testing.assert_array_equal(getattr(again, column), getattr(table, column))
        assert getattr(again, column).dtype == np.int32


def test_triples_join_titles_with_what_their_text_names() -> None:
    extraction = Mentions().extract(corpus(*FILMS))
    # 10 ln(1 + 5/df) / ln(1 + 5), which falls with the passages that name the tail.
    assert {
        (str(triple), triple.passage_id, triple.strength)
        for triple in extraction.triples
    } == {
        ("Rebecca (1940 film) -[mentions]-> Alfred Hitchcock", "p0", 6.992),
        ("Alfred Hitchcock -[mentions]-> Rebecca (1940 film)", "p1", 10),
        ("Alfred Hitchcock -[mentions]-> The Birds", "p1", 10),
        ("The Birds -[mentions]-> Alfred Hitchcock", "p2", 6.992),
        ("Rebecca (novel) -[mentions]-> Daphne du Maurier", "p3", 10),
        ("Daphne du Maurier -[mentions]-> Rebecca (1940 film)", "p4", 10),
        ("Daphne du Maurier -[mentions]-> Rebecca (novel)", "p4", 10),
    }
    aliases = {entity.name: entity.aliases for entity in extraction.entities}
    assert (aliases["Rebecca (novel)"], aliases["The Birds"]) == (("Rebecca",), ())


def test_a_passage_without_a_title_gives_mentions_alone() -> None:
    extraction = Mentions().extract(
        corpus(("Ed Wood", "A film."), ("", "He saw Ed Wood."))
    )
    assert extraction.triples == ()
    assert extraction.mentions == (
        Mention("Ed Wood", "p0"),
        Mention("Ed Wood", "p1", 0),
    )


FOUND = """
from kg2rag.datasets import load
from kg2rag.extraction.sources import SOURCES
found = repr(SOURCES.build("mentions+cooccurrence").extract(load("bundled").corpus))
"""


def test_the_same_mentions_are_found_under_any_hash_seed() -> None:
    here: dict[str, str] = {}
    exec(FOUND, here)
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1",
    }
    command = [sys.executable, "-c", f"{FOUND}\nprint(found, end='')"]
    assert (
        subprocess.check_output(command, env=environment, text=True, encoding="utf-8")
        == here["found"]
    )


def test_a_key_counts_once_for_each_passage_that_mentions_it() -> None:
    table = find_mentions(
        corpus(
            *FILMS,
            ("Psycho", "Alfred Hitchcock. Then Alfred Hitchcock again, and The Birds."),
        )
    )
    pairs = set(zip(table.key.tolist(), table.row.tolist(), strict=True))
    counts = [sum(key == found for found, _ in pairs) for key in range(len(table.keys))]
    assert table.document_frequency.tolist() == counts
