"""Names in the cases of their language are found where a text or a question has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kg2rag.extraction.mentions.finding import find_mentions
from kg2rag.extraction.mentions.table import MentionTable
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.linking import of
from kg2rag.text.inflection import lexicon_of
from kg2rag.types import Corpus, Passage, Query

GERMAN = {
    "Albert Einstein": "Er war ein Physiker, der in Ulm geboren wurde und in Princeton starb.",
    "Rotes Kreuz": "Das ist eine Organisation, die auch in Genf arbeitet.",
    "Müll": "Der Abfall ist nicht schön, und er ist auch nicht gut.",
    "Theorie": "Die Arbeit Albert Einsteins ist nicht leicht, und Müller war nicht hier.",
    "Sitz": "Er liegt nicht weit von hier und gehört zur Arbeit des Roten Kreuzes.",
}
RUSSIAN = {
    "Москва": "Это столица, и она стоит на реке, которая так же называется.",
    "Антон Чехов": "Он был писатель и врач, и он жил на море, где написал свои пьесы.",
    "Мелихово": "Усадьба Антона Чехова стоит недалеко от Москвы, и его сестра Мария жила там.",
    "Музей": "О Марии и об Антоне Чехове рассказывает музей в Москве. Он не один.",
}
POLISH = {
    "Fryderyk Chopin": "Był on kompozytorem i pianistą, który żył w Paryżu, ale nie był tam sam.",
    "Kraków": "To jest miasto nad Wisłą, które było stolicą, ale nie jest nią teraz.",
    "Festiwal": "Muzyka Fryderyka Chopina jest w Krakowie grana co roku, ale nie tylko tam.",
}


def corpus_of(pages: dict[str, str]) -> Corpus:
    return Corpus.from_passages(
        [Passage(title, title, text, title, 0) for title, text in pages.items()]
    )


def named(table: MentionTable, title: str, corpus: Corpus) -> set[str]:
    """The names that a passage mentions."""
    row = corpus.row(title)
    return {table.names[key] for key in table.key[table.row == row].tolist()}


@pytest.mark.parametrize(
    ("pages", "title", "names"),
    [
        (GERMAN, "Theorie", {"Albert Einstein"}),  # "Müller" is no form of "Müll"
        (GERMAN, "Sitz", {"Rotes Kreuz"}),
        (RUSSIAN, "Мелихово", {"Антон Чехов", "Москва", "Мария"}),
        (RUSSIAN, "Музей", {"Антон Чехов", "Москва", "Мария"}),
        (POLISH, "Festiwal", {"Fryderyk Chopin", "Kraków"}),
    ],
)
def test_a_passage_mentions_names_in_any_case(
    pages: dict[str, str], title: str, names: set[str], tmp_path: Path
) -> None:
    corpus = corpus_of(pages)
    table = find_mentions(corpus)
    assert named(table, title, corpus) == names
    table.save(tmp_path)
    loaded = MentionTable.load(tmp_path)
    for name in names:
        question = f"… {name} …"
        assert loaded.named_in(question) == table.named_in(question) != []


@pytest.mark.parametrize(
    ("pages", "question", "name"),
    [
        (GERMAN, "Wovon handelt Albert Einsteins Theorie der Zeit?", "Albert Einstein"),
        (GERMAN, "Wo liegt der Sitz des Roten Kreuzes?", "Rotes Kreuz"),
        (RUSSIAN, "Кто написал о Чехове и Москве?", "Москва"),
        (RUSSIAN, "Где стоит усадьба Антона Чехова?", "Антон Чехов"),
        (POLISH, "Gdzie grano muzykę Fryderyka Chopina?", "Fryderyk Chopin"),
    ],
)
@pytest.mark.parametrize("linker", ["ngram", "phrase"])
def test_a_question_links_a_name_in_any_case(
    pages: dict[str, str], question: str, name: str, linker: str
) -> None:
    kb = KnowledgeBase.build(corpus_of(pages))
    assert name in {
        kb.graph.names[link.entity]
        for link in of(linker, kb).link_batch([Query("q", question)])[0]
    }


@pytest.mark.parametrize(
    ("keys", "text", "found"),
    [
        (["peter", "peters"], "Peters Haus", ["peters"]),  # as it is written
        (["einstein", "albert einstein"], "Albert Einsteins Haus", ["albert einstein"]),
        (["hans"], "Han Solo", []),  # a name loses no s
        (["schill", "fisch", "bad"], "Schiller, Fischer und Baden", []),
    ],
)
def test_a_form_is_found_where_no_name_is_written(
    keys: list[str], text: str, found: list[str]
) -> None:
    lexicon = lexicon_of(keys, {"latin": "german"})
    assert [keys[code] for code, _ in lexicon.find(text)] == found


def test_a_form_of_several_names_is_none() -> None:
    languages = {"cyrillic": "russian"}
    keys = ["александр", "александра"]
    assert not list(lexicon_of(keys, languages).find("Александру"))
    assert [code for code, _ in lexicon_of(keys[:1], languages).find("Александру")] == [
        0
    ]
    # "Иванов" is a name of its own
    assert not list(lexicon_of(["иван"], languages).find("Иванов"))
    assert [code for code, _ in lexicon_of(["иванов"], languages).find("Ивановым")] == [
        0
    ]


@pytest.mark.parametrize(
    ("language", "name", "form"),
    [
        ("czech", "praha", "praze"),
        ("czech", "karel capek", "karla capka"),
        ("finnish", "helsinki", "helsingissa"),
        ("finnish", "tampere", "tampereella"),
        ("finnish", "virtanen", "virtaselle"),
        ("polish", "maria", "marii"),
        ("russian", "павел", "павла"),
        ("russian", "сергеи", "сергея"),
        ("russian", "китаи", "китаем"),
        ("ukrainian", "киів", "києва"),
        ("ukrainian", "харків", "харкові"),
        ("german", "gottingen", "goettingens"),
        ("arabic", "بغداد", "ببغداد"),
        ("arabic", "القاهره", "وبالقاهره"),
        ("arabic", "الجامعه", "للجامعه"),
        ("hebrew", "ירושלים", "ובירושלים"),
        ("hebrew", "תל אביב", "בתל אביב"),
        ("hungarian", "budapest", "budapestrol"),
    ],
)
def test_a_name_is_found_where_its_stem_changes_or_a_prefix_is_joined(
    language: str, name: str, form: str
) -> None:
    script = "cyrillic" if language in ("russian", "ukrainian") else language
    if language in ("czech", "finnish", "german", "hungarian", "polish"):
        script = "latin"
    lexicon = lexicon_of([name, "x"], {script: language})
    assert [code for code, _ in lexicon.find(form, capitals=False)] == [0]


def test_a_letter_of_a_name_is_no_prefix() -> None:
    lexicon = lexicon_of(["باريس", "اريس"], {"arabic": "arabic"})
    assert [code for code, _ in lexicon.find("باريس", capitals=False)] == [0]


def test_english_has_no_forms() -> None:
    assert not list(lexicon_of(["einstein"], {}).find("Einsteins"))
