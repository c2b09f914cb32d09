"""KG2RAG's published sub-graphs, and what is wrong with them. The raw triples are the release's own kind."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from kg2rag.extraction.importers.subkgs import KG2RAGSubgraphs, clean
from kg2rag.types import Corpus, Passage, Triple

PREAMBLE = "ere are the extracted triplets:\n\n"


Raw = tuple[str, str, str]


def cleaned(*raw: Raw, contents: str = "") -> tuple[list[Raw], dict[str, int]]:
    notes: Counter[str] = Counter()
    kept = clean(raw, "Ed Wood (film)", contents, notes)
    return kept, +notes


@pytest.mark.parametrize(
    ("raw", "contents"),
    [
        (("Ed Wood", "year", "1994"), ""),
        # the passage has the words
        (("Ed", "likes", "cat"), "Ed likes his cat among cats. Fed up."),
        # No copied example.
        (
            ("Scott Derrickson", "born", "1966"),
            "Scott Derrickson (born 1966)",
        ),
        (("Bangalore University", "graded", "A"), ""),  # a grade is no article
    ],
)
def test_a_triple_that_is_right_is_left_alone_and_uncounted(
    raw: Raw, contents: str
) -> None:
    assert cleaned(raw, contents=contents) == ([raw], {})


def test_no_letter_is_put_back_where_brackets_were_there_to_cut() -> None:
    kept, _ = cleaned(
        ("<Tim Burton", "nationality", "America"),
        contents="Tim Burton, American director",
    )
    assert kept == [("Tim Burton", "nationality", "America")]


@pytest.mark.parametrize(
    ("head", "cause"),
    [
        ("<Tim Burton", "cleaned: head after a '<'"),
        (PREAMBLE + "<Tim Burton", "cleaned: head after a preamble and '<'"),
        (
            "-----\nText: He <b> left.\nTriplets:< Tim  Burton",
            "cleaned: head after a preamble and '<'",
        ),
        (PREAMBLE + "Tim Burton", "cleaned: head after a preamble without '<'"),
        ("Text: Tim Burton:", "cleaned: head after a label"),
        ("</p><p>Tim Burton", "cleaned: head after a '>'"),
        ("*Tim Burton", "cleaned: marks around an end"),
    ],
)
def test_a_head_is_freed_of_what_the_model_said_before_it(
    head: str, cause: str
) -> None:
    kept, notes = cleaned((head, "born in", "Burbank"))
    assert kept == [("Tim Burton", "born in", "Burbank")]
    assert notes[cause] == 1


@pytest.mark.parametrize(
    "tail",
    ["Burbank>", "Burbank>$</$<", "Burbank>\n\nNote that there is only one triplet."],
)
def test_a_tail_ends_at_its_bracket(tail: str) -> None:
    kept, notes = cleaned(("Tim Burton", "born in", tail))
    assert kept == [("Tim Burton", "born in", "Burbank")]
    assert notes["cleaned: tail before a '>'"] == 1


def test_a_lost_letter_is_put_back_where_the_passage_has_the_word() -> None:
    kept, notes = cleaned(
        (PREAMBLE + "Agathe von Trapp", "of", "Trapp Family Singer"),
        ("gathe von Trapp", "wrote", "Memories"),
        contents="Agathe von Trapp of the Trapp Family Singers wrote Memories.",
    )
    assert kept == [
        ("Agathe von Trapp", "of", "Trapp Family Singers"),
        ("Agathe von Trapp", "wrote", "Memories"),
    ]
    assert notes["cleaned: lost letter put back"] == 2


def test_a_pronoun_is_read_as_the_title_and_what_a_sentence_states_twice_is_kept_once():
    kept, notes = cleaned(
        ("<It", "stars", "Johnny Depp"), ("Ed Wood (film)", "stars", "Johnny Depp>")
    )
    assert kept == [("Ed Wood (film)", "stars", "Johnny Depp")]
    assert (
        notes["cleaned: pronoun read as the title"]
        == notes["dropped: stated twice in a sentence"]
        == 1
    )


@pytest.mark.parametrize(
    ("raw", "cause"),
    [
        (("Ed Wood", "stars", ""), "dropped: a blank part"),
        (("Ed Wood", "", "film"), "dropped: a blank part"),
        (('""', "family", "Pieridae"), "dropped: a blank part"),
        (("Ed Wood", "sequel", "None"), "dropped: a null word as an end"),
        (
            ("was part of", "panicked retreat", "after"),
            "dropped: a function word as an end",
        ),
        (("After", "against", "Adelaide"), "dropped: a function word as an end"),
        (("Race", "and", "War on Drugs"), "dropped: a relation without a content word"),
        (("Montana", "...", "plains"), "dropped: a relation without a content word"),
        (("Ed Wood", "title", "ED WOOD"), "dropped: equal ends"),
        (("Ed Wood", "plot", "x" * 101), "dropped: an end of more than 100 characters"),
        (
            ("Scott Derrickson", "born in", "1966"),
            "dropped: copied from the prompt's example",
        ),
    ],
)
def test_a_triple_that_says_nothing_is_dropped_and_counted(
    raw: Raw, cause: str
) -> None:
    assert cleaned(raw) == ([], {cause: 1})


RECORDS = [
    {
        "title": "Ed Wood",
        "sentences": {
            "0": [["<Ed Wood", "year", "1994"]],
            "2": [["It", "stars", "Johnny Depp"]],
        },
    },
    {"title": "Big Fish", "sentences": {"0": [["Big Fish", "year", "2003"]]}},
]
PARAGRAPHS = Corpus.from_passages(
    [Passage("Ed Wood", "Ed Wood", "A film. Or so. Ha.", "Ed Wood", 0)]
)
SENTENCES = Corpus.from_passages(
    [
        Passage(f"Ed Wood##{i}", "Ed Wood", text, "Ed Wood", i)
        for i, text in enumerate(["A film.", "Or so."])
    ]
)


def written(tmp_path: Path, *records: object) -> Path:
    file = tmp_path / "subkgs.jsonl"
    file.write_text("\n".join(map(json.dumps, records)))
    return file


def test_a_paragraph_gets_the_triples_of_all_its_sentences_and_a_sentence_its_own(
    tmp_path: Path,
) -> None:
    source = KG2RAGSubgraphs(written(tmp_path, *RECORDS))
    found = source.extract(PARAGRAPHS)
    year, stars = ("Ed Wood", "year", "1994"), ("Ed Wood", "stars", "Johnny Depp")
    assert found.triples == (Triple(*year, "Ed Wood"), Triple(*stars, "Ed Wood"))
    assert (found.notes["titles outside the corpus"], found.notes["triples read"]) == (
        1,
        2,
    )
    found = source.extract(SENTENCES)
    assert found.triples == (Triple(*year, "Ed Wood##0"),)
    assert found.notes["dropped: a sentence that is not exactly one passage"] == 1
    assert found.notes["passages without a triple"] == 1


def test_a_title_that_several_paragraphs_share_gets_raw_triples_alone(
    tmp_path: Path,
) -> None:
    corpus = Corpus.from_passages(
        [Passage(id_, "Ed Wood", f"Text {id_}.", id_, 0) for id_ in "ab"]
    )
    found = KG2RAGSubgraphs(written(tmp_path, *RECORDS)).extract(corpus)
    assert found.triples == ()
    assert found.notes["dropped: a sentence that is not exactly one passage"] == 2
    assert [triple.passage_id for triple in found.raw or ()] == ["a", "b", "a", "b"]


SAID = {
    "0": [["<Ed Wood", " year ", "1994>"], ["It", "is", ""]],
    "1": [["It", "is", "it"]] * 2,
}
RAW = [{"title": "Ed Wood", "sentences": SAID}]


def test_every_triple_is_kept_raw(tmp_path: Path) -> None:
    found = KG2RAGSubgraphs(written(tmp_path, *RAW)).extract(SENTENCES)
    assert found.triples == (Triple("Ed Wood", "year", "1994", "Ed Wood##0"),)
    assert found.raw == (
        Triple("<Ed Wood", " year ", "1994>", "Ed Wood##0"),
        Triple("It", "is", "", "Ed Wood##0"),
        *[Triple("It", "is", "it", "Ed Wood##1")] * 2,
    )


def test_no_common_title_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\.json"):
        KG2RAGSubgraphs(written(tmp_path, RECORDS[1])).extract(PARAGRAPHS)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([], "line 1: a list where an object is needed"),
        ({}, "record 1: field 'title' is missing"),
        ({"title": "Ed Wood"}, "record 1: sentences of 'Ed Wood' is None"),
        (
            {"title": "Ed Wood", "sentences": {"x": []}},
            "record 1: sentences of 'Ed Wood' .* is 'x'",
        ),
        (
            {"title": "Ed Wood", "sentences": {"0": {}}},
            "record 1: sentences of 'Ed Wood' 0 is {}",
        ),
        (
            {"title": "Ed Wood", "sentences": {"0": [["a", "b"]]}},
            r"record 1: sentences of 'Ed Wood' 0 0",
        ),
        (
            {"title": "Ed Wood", "sentences": {"0": [["a", "b", 3]]}},
            r"record 1: sentences of 'Ed Wood' 0 0 2 is 3",
        ),
    ],
)
def test_a_malformed_record_is_named(
    tmp_path: Path, record: object, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        KG2RAGSubgraphs(written(tmp_path, record)).extract(PARAGRAPHS)


@pytest.mark.realdata
def test_hotpotqa_300_is_cleaned_of_every_leftover(shared_data: Path) -> None:
    folder = shared_data / "hotpotqa-300"
    articles: dict[str, list[str]] = {}
    for question in json.loads((folder / "hotpot_dev_distractor.json").read_text()):
        articles.update(question["context"])
    corpus = Corpus.from_passages(
        [
            Passage(title, title, "".join(text), title, 0)
            for title, text in articles.items()
        ]
    )
    found = KG2RAGSubgraphs(folder / "subkgs.jsonl").extract(corpus)
    assert found.notes["triples read"] == 23_723
    assert (
        found.notes["cleaned: head after a '<'"]
        + found.notes["cleaned: head after a preamble and '<'"]
        == 12_532
    )
    lines = map(json.loads, (folder / "subkgs.jsonl").read_text().splitlines())
    stated = [
        tuple(parts)
        for record in lines
        for found in record["sentences"].values()
        for parts in found
    ]
    assert [
        (triple.head, triple.relation, triple.tail) for triple in found.raw or ()
    ] == stated
    dropped = sum(
        count for cause, count in found.notes.items() if cause.startswith("dropped")
    )
    assert len(found.triples) == 23_723 - dropped == 23_032
    for triple in found.triples:
        for end in (triple.head, triple.tail):
            assert not set(end) & set("<>\n"), triple
            assert "triplets extracted" not in end
