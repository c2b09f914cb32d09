"""Which entities of a graph a query names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from word_embedder import WordEmbedder

import kg2rag
from kg2rag.compute import Store
from kg2rag.extraction import Entity, Extraction
from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.retrievers.linking.linkers import (
    ChainLinker,
    EmbeddingLinker,
    FuzzyLinker,
    Linker,
    NGramLinker,
    PhraseLinker,
)
from kg2rag.types import Corpus, Passage, Query

CORPUS = Corpus.from_passages([Passage("p", "P", "Text.", "d", 0)])
CITIES = (
    "New York",
    "New York City",
    "York",
    "Saint-Étienne",
    "run_in_threadpool",
    "It",
    "C++",
)

Build = Callable[..., KnowledgeBase]


@pytest.fixture
def kb_of(tmp_path_factory: pytest.TempPathFactory) -> Build:
    def make(*entities: str | Entity) -> KnowledgeBase:
        records = tuple(
            Entity(entity) if isinstance(entity, str) else entity for entity in entities
        )
        graph = KnowledgeGraph.build(Extraction(entities=records), CORPUS)
        return KnowledgeBase.build(
            CORPUS,
            graph,
            embedder=WordEmbedder(),
            store=Store(tmp_path_factory.mktemp("s")),
        )

    return make


def linked(linker: Linker, kb: KnowledgeBase, text: str) -> list[tuple[str, str]]:
    """(entity, what named it) of one query."""
    return [
        (kb.graph.names[link.entity], text[slice(*link.span)])
        for link in linker.link_batch([Query("q", text)])[0]
    ]


@pytest.mark.parametrize("linker", [NGramLinker, FuzzyLinker])
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("who told us how to use it", []),
        ("Use of the film", []),  # the first word has a capital anyway
        ("who directed Us", ["Us"]),
        ("WHO USES US", []),
        ("the statement use of php", ["use"]),  # a name without capitals
        ("us and giants", ["Us and Giants"]),
    ],
)
def test_a_plain_word_is_a_name_only_in_the_capitals_of_the_name(
    kb_of: Build, linker: Callable[..., Linker], text: str, names: list[str]
) -> None:
    php = ["use"] if "php" in text else ["Use"]
    kb = kb_of("Us", "Us and Giants", "Now", *php)
    assert [name for name, _ in linked(linker(kb), kb, text)] == names


def test_the_longest_name_at_each_place_is_linked_longest_first(kb_of: Build) -> None:
    kb = kb_of(*CITIES)
    assert linked(NGramLinker(kb), kb, "Is York, or New York, like New York City?") == [
        ("New York City", "New York City"),
        ("New York", "New York"),
        ("York", "York"),
    ]


def test_a_name_of_any_length_is_linked(kb_of: Build) -> None:
    name = "Museum of Modern Art in New York City"
    kb = kb_of(name, "New York City")
    assert linked(NGramLinker(kb), kb, f"who built the {name.lower()}?") == [
        (name, name.lower())
    ]


@pytest.mark.parametrize(
    ("text", "entity"),
    [
        ("trains to SAINT ETIENNE", "Saint-Étienne"),
        ("trains to saint-e\u0301tienne.", "Saint-Étienne"),
        ("what does run_in_threadpool do", "run_in_threadpool"),
        ("what does `run in threadpool` do", "run_in_threadpool"),
        ("in new   york?", "New York"),
    ],
)
def test_case_accents_and_punctuation_make_no_difference(
    kb_of: Build, text: str, entity: str
) -> None:
    kb = kb_of(*CITIES)
    assert [name for name, _ in linked(NGramLinker(kb), kb, text)] == [entity]


def test_at_most_limit_entities_are_linked_each_once(kb_of: Build) -> None:
    kb = kb_of(*"bcdefgh")
    assert [name for name, _ in linked(NGramLinker(kb), kb, "h h g f e d c b")] == [
        "h",
        "g",
        "f",
        "e",
        "d",
    ]
    assert len(linked(NGramLinker(kb, limit=7), kb, "h h g f e d c b")) == 7


def test_an_alias_links_to_its_entity_unless_another_bears_it_as_a_name(
    kb_of: Build,
) -> None:
    kb = kb_of(Entity("Big Apple Records", aliases=("York", "BAR")), "York")
    assert linked(NGramLinker(kb), kb, "York or bar") == [
        ("York", "York"),
        ("Big Apple Records", "bar"),
    ]


def test_a_phrase_is_linked_to_names_that_share_its_words_the_most_alike_first(
    kb_of: Build,
) -> None:
    kb = kb_of("New York City", "New York", "Paris")
    found = PhraseLinker(kb).link_batch([Query("q", "where is New York")])[0]
    assert [(kb.graph.names[link.entity], link.confidence) for link in found] == [
        ("New York", 1.0),
        ("New York City", pytest.approx(2 / 3)),
    ]
    assert found[0].span == (9, 17)
    assert found[0].linker == "phrase"


def test_a_vector_links_names_of_cosine_55_and_more(kb_of: Build) -> None:
    kb = kb_of("a b c d", "a b e", "a f")
    # "a b c": 3 / sqrt(3 · 4) = .866; 2 / sqrt(3 · 3) = .667; 1 / sqrt(3 · 2) = .408
    found = EmbeddingLinker(kb).link_batch([Query("q", "a b c")])[0]
    assert [(link.entity, link.span, link.linker) for link in found] == [
        (0, (0, 5), "embedding"),
        (1, (0, 5), "embedding"),
    ]
    assert [link.confidence for link in found] == pytest.approx([3 / 12**0.5, 2 / 3])


def test_the_first_linker_that_finds_anything_decides_query_by_query(
    kb_of: Build,
) -> None:
    kb = kb_of("New York", "a b c d")
    chain = ChainLinker((NGramLinker(kb), EmbeddingLinker(kb)))
    queries = [
        Query("1", "a b c"),
        Query("2", "a new york b c d"),
        Query("3", "nothing"),
    ]
    assert [[link.linker for link in found] for found in chain.link_batch(queries)] == [
        ["embedding"],
        ["n-gram"],
        [],
    ]


@pytest.mark.parametrize("linker", [NGramLinker, PhraseLinker, FuzzyLinker])
@pytest.mark.parametrize("text", ["Where is Lodz?", "Where is Łódź?", "Where is Łodz?"])
def test_a_letter_that_no_keyboard_has_is_written_by_the_plain_one(
    kb_of: Build, linker: Callable[..., Linker], text: str
) -> None:
    assert linked(linker(kb_of("Łódź", "Loda")), kb_of("Łódź", "Loda"), text) == [
        ("Łódź", text[9:13])
    ]


@pytest.mark.parametrize("linker", [NGramLinker, PhraseLinker, FuzzyLinker])
def test_a_name_that_is_spelt_as_a_function_word_needs_its_capitals(
    kb_of: Build, linker: Callable[..., Linker]
) -> None:
    kb = kb_of("WHO", "Geneva")
    if linker is not FuzzyLinker:
        assert linked(linker(kb), kb, "What did WHO say?") == [("WHO", "WHO")]
    assert linked(linker(kb), kb, "Was it Doctor Who or who else?") == []


EVERY = [NGramLinker, PhraseLinker, FuzzyLinker, EmbeddingLinker]


@pytest.mark.parametrize("linker", EVERY)
@pytest.mark.parametrize(
    "text", ["", "the of and", "?!", "\x00", "🙂🙂", "\u0301", "\ud800"]
)
def test_hostile_texts_name_nothing(
    kb_of: Build, linker: Callable[..., Linker], text: str
) -> None:
    assert linker(kb_of(*CITIES)).link_batch([Query("q", text)]) == [[]]


@pytest.mark.parametrize("linker", EVERY)
def test_an_empty_graph_has_nothing_to_name(
    kb_of: Build, linker: Callable[..., Linker]
) -> None:
    assert linker(kb_of()).link_batch([Query("q", "New York"), Query("r", "")]) == [
        [],
        [],
    ]


@pytest.mark.parametrize("linker", EVERY)
@pytest.mark.parametrize(
    "unit", ["New York City ", "«", "The ", "New York and ", "é", "a-", "A" + " " * 99]
)
def test_a_hundred_kilobytes_are_linked(
    kb_of: Build, linker: Callable[..., Linker], unit: str
) -> None:
    (links,) = linker(kb_of(*CITIES)).link_batch(
        [Query("q", unit * (100_000 // len(unit)))]
    )
    assert len(links) <= len(CITIES)


def test_a_name_must_hold_all_words_of_a_phrase(kb_of: Build) -> None:
    kb = kb_of("Tim Roth", "Tim Burton", "Sir Tim Burton", "Burton")
    assert linked(PhraseLinker(kb), kb, "films of Tim Burton") == [
        ("Tim Burton", "Tim Burton"),
        ("Sir Tim Burton", "Tim Burton"),
    ]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Explain Auth Service", ["Auth Service"]),
        ("Please Explain Auth Service", ["Auth Service"]),
        ("Does Auth Service Break?", ["Auth Service"]),
        ("Why Does Auth Service Fail", ["Auth Service"]),
        ("Auth Service OAuth Provider", ["Auth Service", "OAuth Provider"]),
        ("Tim Burton's Auth Service", ["Auth Service"]),
        ("Please Explain Author Services", []),
    ],
)
def test_names_within_a_capitalised_phrase_are_found(
    kb_of: Build, text: str, names: list[str]
) -> None:
    kb = kb_of("Auth Service", "OAuth Provider")
    assert linked(PhraseLinker(kb), kb, text) == [(name, name) for name in names]


def test_a_possessive_is_no_word_that_a_name_must_hold(kb_of: Build) -> None:
    kb = kb_of("Tim Burton", "Ed Wood")
    found = PhraseLinker(kb).link_batch([Query("q", "in Tim Burton's film")])[0]
    assert [(kb.graph.names[link.entity], link.confidence) for link in found] == [
        ("Tim Burton", 1.0)
    ]
    assert linked(
        PhraseLinker(kb_of("O'Brien's Pub", "Pub")),
        kb_of("O'Brien's Pub", "Pub"),
        "at O’Brien’s Pub",
    ) == [("O'Brien's Pub", "O’Brien’s Pub")]


@pytest.mark.parametrize(
    ("text", "names"), [("Who made C++?", ["C++"]), ("Is it C or C#?", ["C", "C#"])]
)
def test_a_mark_at_the_end_of_a_name_is_part_of_it(
    kb_of: Build, text: str, names: list[str]
) -> None:
    kb = kb_of("C", "C++", "C#")
    assert [name for name, _ in linked(PhraseLinker(kb), kb, text)] == names


@pytest.mark.realdata
@pytest.mark.full
def test_the_least_cosine_has_the_highest_f1_on_training_questions_as_documented(
    shared_data: Path,
) -> None:
    reported = {
        question.text
        for question in kg2rag.load(
            "musique", path=shared_data / "musique-100"
        ).questions
    }
    cosines, right, asked = list[float](), list[bool](), 0
    for name, folder in (
        ("musique", "musique"),
        ("hotpotqa", "hotpotqa"),
        ("2wikimultihopqa", "2wiki"),
    ):
        path = shared_data / "train" / folder / f"{folder}_train.jsonl"
        data = kg2rag.load(name, path=path, setting="pooled")
        kb = KnowledgeBase.build(data.corpus)
        questions = [
            question for question in data.questions if question.text not in reported
        ]
        queries = [Query(question.id, question.text) for question in questions]
        for question, links in zip(
            questions,
            EmbeddingLinker(kb, min_cosine=-1.0).link_batch(queries),
            strict=True,
        ):
            gold = {data.corpus.row(id_) for id_ in question.gold}
            cosines += [link.confidence for link in links]
            right += [
                bool(gold & set(kb.graph.mentions.of(link.entity)[0].tolist()))
                for link in links
            ]
        asked += len(questions)
    found, is_right, steps = (
        np.array(cosines),
        np.array(right),
        np.arange(30, 85, 5) / 100,
    )
    kept = [found >= least - 1e-9 for least in steps]
    f1 = [2 * is_right[keep].sum() / (keep.sum() + is_right.sum()) for keep in kept]
    best = int(np.argmax(f1))
    assert (asked, steps[best]) == (1010, EmbeddingLinker(kb).min_cosine)
    assert is_right[kept[best]].mean() == pytest.approx(0.70, abs=0.01)
    assert is_right[kept[best]].sum() / is_right.sum() == pytest.approx(0.76, abs=0.01)
