"""The mention table of many passages at once is that of the rules, one sentence after another."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mentions_one_by_one import as_reference, found_one_by_one

from kg2rag.datasets import load
from kg2rag.extraction.mentions.finding import find_mentions
from kg2rag.extraction.mentions.table import mention_sentences
from kg2rag.types import Corpus, Passage

WORDS = """Ed Wood Tim Burton tim burton. The the of Émile Zola's ½ 1984 May iPhone (film) Sweeney-Todd é\u0301 _x_ !
¿""".split()
TEXT = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


@st.composite
def corpora(draw: st.DrawFn) -> Corpus:
    """A few passages that share words, some without a title, some with sentences that no other has."""
    pages = draw(
        st.lists(st.tuples(TEXT, TEXT.filter(str.strip)), min_size=1, max_size=6)
    )
    passages = [
        Passage(f"p{i}", title, text, f"d{i}", 0)
        for i, (title, text) in enumerate(pages)
    ]
    given = draw(
        st.lists(
            st.none() | st.lists(TEXT, max_size=3),
            min_size=len(pages),
            max_size=len(pages),
        )
    )
    return Corpus.from_passages(passages, given)  # type: ignore[arg-type]


@settings(deadline=None, max_examples=40)  # the first example compiles
@given(corpora(), st.integers(15, 80))
def test_the_table_is_that_of_the_rules_whatever_the_shards(
    corpus: Corpus, size: int
) -> None:
    expected = found_one_by_one(corpus)
    assert as_reference(find_mentions(corpus)) == expected
    assert as_reference(find_mentions(corpus, size=size)) == expected


def test_the_table_of_the_teaching_set_is_that_of_the_rules() -> None:
    corpus = load("bundled").corpus
    assert as_reference(find_mentions(corpus, size=20_000)) == found_one_by_one(corpus)


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "folder"), [("musique", "musique-100"), ("cosqa", "cosqa-500")]
)
def test_the_table_of_public_texts_is_that_of_the_rules(
    name: str, folder: str, shared_data: Path
) -> None:
    corpus = load(name, path=shared_data / folder).corpus
    assert as_reference(find_mentions(corpus, size=1 << 18)) == found_one_by_one(corpus)


def test_every_mention_has_the_text_of_its_sentence_and_each_text_is_there_once():
    corpus = load("bundled").corpus
    table = find_mentions(corpus)
    places, texts = mention_sentences(table, corpus)
    pairs = list(zip(table.row.tolist(), table.sentence.tolist(), strict=True))
    expected = [
        f"{corpus.titles[row]}: {corpus.sentences(row)[number]}"
        for row, number in pairs
    ]
    assert [texts[place] for place in places] == expected
    assert len(texts) == len(set(pairs))


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (
            [
                "Die Stadt ehrte den Architekten Peter Zumthor, und er kam nicht.",
                "Das ist ein Gebäude von Peter Zumthor, das nicht alt ist.",
            ],
            "Peter Zumthor",
        ),
        (
            [
                "Университет Николая Лобачевского стоит на реке, и он не стар.",
                "В городе учился и Николай Лобачевский, который не был стар.",
            ],
            "Николай Лобачевский",
        ),
        (
            [
                "L'écrivain Paul Claudel est né dans ce village qui n'est pas grand.",
                "D'après Paul Claudel, il n'y a pas de plus grand sculpteur que lui.",
            ],
            "Paul Claudel",
        ),
        (
            [
                "Adam Mickiewicz nie urodził się w tym mieście, ale w innym.",
                "Wiersze Adama Mickiewicza są znane i nie są krótkie.",
            ],
            "Adam Mickiewicz",
        ),
        (
            [
                "Orhan Pamuk çok ünlü bir yazardır ve bu kitap onun değildir.",
                "Bu romanı Orhan Pamuk'un yazdığı söylenir ama bu doğru değil.",
            ],
            "Orhan Pamuk",
        ),
        (
            [
                "Критики хвалили Владимира Бортко за сериал, но он не был рад.",
                "Режиссёр Владимир Бортко снял сериал, который был не нов.",
            ],
            "Владимир Бортко",
        ),
        (
            [
                "Il quadro si trova nella Galleria degli Uffizi, che non è lontana.",
                "La Galleria degli Uffizi è chiusa e non si sa quando aprirà di nuovo.",
            ],
            "Galleria degli Uffizi",
        ),
    ],
)
def test_a_name_of_another_language_is_found_beside_other_capitalised_words(
    texts: list[str], name: str
) -> None:
    passages = [Passage(str(i), "", text, str(i), 0) for i, text in enumerate(texts)]
    table = find_mentions(Corpus.from_passages(passages))
    assert table.names == [name]
    assert table.row.tolist() == [0, 1]


def test_a_name_beside_a_noun_is_one_with_the_name_of_other_passages() -> None:
    texts = [
        "Anna Großmann lobte den Rat, und sie war nicht allein.",
        "Der Rat lobte auch Anna Großmann, die nicht da war.",
        "Der Rat wählte Bürgermeisterin Anna Großmann, und das war gut.",
    ]
    passages = [Passage(str(i), "", text, str(i), 0) for i, text in enumerate(texts)]
    table = find_mentions(Corpus.from_passages(passages))
    is_anna = table.key == table.names.index("Anna Großmann")
    assert table.row[is_anna].tolist() == [0, 1, 2]


def test_a_whole_name_is_not_divided() -> None:
    texts = [
        "Das Schloss Bad Homburg ist alt, und es steht nicht leer.",
        "Man sieht das Schloss Bad Homburg, wenn man nicht schläft.",
        "Die Stadt Bad Homburg hat es gekauft, und sie ist nicht arm.",
    ]
    passages = [Passage(str(i), "", text, str(i), 0) for i, text in enumerate(texts)]
    table = find_mentions(Corpus.from_passages(passages))
    assert table.names == ["Schloss Bad Homburg"]
