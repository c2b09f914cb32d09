"""Other names of the same things, as the texts themselves state them."""

from __future__ import annotations

import pytest

from kg2rag.extraction import Extraction
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.text.normalisation import is_date_or_number
from kg2rag.types import Corpus, Passage


def extracted(*pages: str) -> Extraction:
    """What `Mentions` finds in passages p0, p1, … written "title: text"."""
    parts = (page.partition(": ") for page in pages)
    return Mentions().extract(
        Corpus.from_passages(
            [
                Passage(f"p{i}", title, text, f"d{i}", 0)
                for i, (title, _, text) in enumerate(parts)
            ]
        )
    )


def others(*pages: str) -> dict[str, tuple[str, ...]]:
    return {
        entity.name: entity.aliases
        for entity in extracted(*pages).entities
        if entity.aliases
    }


def facts(extraction: Extraction) -> set[str]:
    """ "tail, passage" of every triple."""
    return {f"{triple.tail}, {triple.passage_id}" for triple in extraction.triples}


UNION = "European Union: The European Union (EU) is a union."
LEFT = "Ann: She left the EU."


@pytest.mark.parametrize(
    ("text", "alias"),
    [
        pytest.param("He led the European Union (EU).", "EU", id="after the expansion"),
        pytest.param(
            "He led the EU (European Union).", "EU", id="before the expansion"
        ),
        pytest.param("He led the European Union (E.U.).", "E.U.", id="with full stops"),
        pytest.param(
            "He led the European Union (EU, founded in 1993).",
            "EU",
            id="first in a longer bracket",
        ),
        pytest.param("The European Union (UN) met.", "", id="other letters"),
        pytest.param("The European Union ( ) met.", "", id="no letters"),
        pytest.param("The EU ( ) met.", "", id="no expansion"),
        pytest.param("The EU (a pact) met.", "", id="another expansion"),
    ],
)
def test_an_acronym_beside_its_expansion_is_an_alias(text: str, alias: str) -> None:
    assert others("European Union: A union.", f"Ann: {text}") == (
        {"European Union": (alias,)} if alias else {}
    )


def test_function_words_may_be_missing_from_an_acronym_or_in_it() -> None:
    text = "Ann: The Bank of England (BE) and the League of Nations (LON)."
    found = others("Bank of England: A bank.", "League of Nations: A league.", text)
    assert found == {"Bank of England": ("BE",), "League of Nations": ("LON",)}


def test_a_passage_that_names_the_acronym_mentions_its_meaning() -> None:
    found = extracted(UNION, LEFT)
    assert facts(found) == {"European Union, p1"}
    assert ("European Union", 0) in [
        (m.entity, m.sentence) for m in found.mentions if m.passage_id == "p1"
    ]


def test_an_acronym_counts_letter_by_letter() -> None:
    assert (
        facts(
            extracted(
                "Integrated Test: The Integrated Test (IT) is a test.",
                "Ann: It ran. It won.",
            )
        )
        == set()
    )


def test_an_acronym_may_be_spelt_as_a_function_word() -> None:
    pages = (
        "World Health Organization: The World Health Organization (WHO) is a body.",
        "Ann: The WHO met. Who won?",
    )
    assert facts(extracted(*pages)) == {"World Health Organization, p1"}


def test_a_shared_name_that_is_an_acronym_goes_into_its_meaning() -> None:
    found = extracted(UNION, LEFT, "Bob: He joined the EU.")
    assert "EU" not in [entity.name for entity in found.entities]
    assert facts(found) == {"European Union, p1", "European Union, p2"}
    assert found.notes == {
        "names joined to what they stand for": 1,
        "mentions by an alias": 3,
    }


def test_the_strength_counts_the_passages_that_use_the_alias() -> None:
    found = extracted(UNION, LEFT, "Bob: He left the European Union.")
    # 10 ln(1 + 3/2) / ln(1 + 3).
    assert {triple.strength for triple in found.triples} == {6.61}


@pytest.mark.parametrize(
    ("pages", "expected", "note"),
    [
        pytest.param(
            (UNION, "Emory University: Emory University (EU) is a school.", LEFT),
            {"EU, p0", "EU, p1", "EU, p2"},  # a name that three passages share
            "aliases with several meanings left out",
            id="two meanings in the corpus",
        ),
        pytest.param(
            (UNION, "EU: A song.", LEFT),
            {"EU, p0", "EU, p2"},
            "aliases that are titles or shared names left out",
            id="the title of a page",
        ),
        pytest.param(
            (
                "San Juan, Rico: San Juan, known as El Rico, is a city.",
                "Ann: In San Juan.",
                "Bob: By San Juan.",
            ),
            {"San Juan, p0", "San Juan, p1", "San Juan, p2"},
            "aliases that are titles or shared names left out",
            id="another name of a page, which passages share",
        ),
        pytest.param(
            ("Ann: She led the Bird Club (BC).",),
            set(),
            "aliases of what no two passages name",
            id="of what nothing else names",
        ),
    ],
)
def test_an_alias_of_no_one_meaning_is_left_out_and_counted(
    pages: tuple[str, ...], expected: set[str], note: str
) -> None:
    found = extracted(*pages)
    assert (facts(found), found.notes[note]) == (expected, 1)


@pytest.mark.parametrize(
    ("title", "text", "alias"),
    [
        (
            "Bubye River",
            "The Bubye River, also known as Bubi River, is a river.",
            "Bubi River",
        ),
        ("New South Wales", "New South Wales (abbreviated as NSW) is a state.", "NSW"),
        (
            "Al Bano",
            'Al Bano Carrisi (born 1943), better known as "Al Bano", is a singer.',
            "Al Bano Carrisi",
        ),
        (
            "Lady Gaga",
            "Stefani Germanotta, known professionally as Lady Gaga, is a singer.",
            "Stefani Germanotta",
        ),
        ("Publix", "Publix Super Markets, Inc. is a chain.", "Publix Super Markets"),
        (
            "Church of the Gesù",
            "The Church of the Gesù, called Il Gesù, is a church.",
            "Il Gesù",
        ),
    ],
)
def test_the_first_sentence_of_a_page_states_its_other_names(
    title: str, text: str, alias: str
) -> None:
    assert others(f"{title}: {text}")[title] == (alias,)


@pytest.mark.parametrize(
    ("title", "text"),
    [
        pytest.param(
            "Catholic Church",
            "The Catholic Church is led by the Bishop, known as the Pope.",
            id="after the verb",
        ),
        pytest.param(
            "South African rand",
            "The South African rand is money.",
            id="the beginning of a longer name",
        ),
        pytest.param(
            "Basketball in New York",
            "The Brooklyn Nets were founded.",
            id="no word of the title",
        ),
        pytest.param(
            "History of the Brooklyn Nets",
            "The Brooklyn Nets were founded.",
            id="what the page is about",
        ),
        pytest.param("Paris, Texas", "Paris is a city.", id="one word"),
        pytest.param("The Birds", "The Birds is a film.", id="the title itself"),
        pytest.param("May Day", "May Day, known as May, is a day.", id="a month"),
        pytest.param("Ann", "No verb here, known as Bob.", id="no verb"),
    ],
)
def test_what_a_first_sentence_does_not_call_its_subject_is_no_alias(
    title: str, text: str
) -> None:
    assert others(f"{title}: {text}") == {}


def test_a_page_does_not_mention_itself_by_its_alias() -> None:
    assert (
        facts(
            extracted(
                "European Union: The European Union (EU) is a union. The EU grew."
            )
        )
        == set()
    )


def test_a_title_that_is_a_year_is_no_hub() -> None:
    found = extracted(
        "1984: A novel by Orwell.",
        "Ann: Born in 1984.",
        "Apollo 11: In 1984.",
        "Bob: On Apollo 11.",
    )
    assert facts(found) == {"Apollo 11, p3"}
    assert found.notes == {"mentions of dates and numbers left out": 2}
    assert "1984" in [entity.name for entity in found.entities]


@pytest.mark.parametrize(
    ("key", "expected"),
    [("12th", True), ("7 july 1990", True), ("apollo 11", False), ("may smith", False)],
)
def test_dates_and_numbers_are_told_from_names(key: str, expected: bool) -> None:
    assert is_date_or_number(key) is expected


def test_the_fingerprint_tells_whether_terms_were_read() -> None:
    assert Mentions().fingerprint != Mentions(terms=False).fingerprint
