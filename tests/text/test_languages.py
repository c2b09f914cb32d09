"""Words, names and languages of other scripts, with expectations that a reader of them would have."""

from __future__ import annotations

import unicodedata

import pytest

from kg2rag import BM25, KnowledgeBase
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.extraction.mentions.finding import find_mentions
from kg2rag.knowledge import LexicalSettings
from kg2rag.text.languages import guess_languages
from kg2rag.text.normalisation import JoinedTexts, Lexicon, normalise
from kg2rag.text.scripts import search_text
from kg2rag.text.sentences import split_sentences
from kg2rag.types import corpus_of

RUSSIAN = "Паром ведёт Марек Лунд, и он не знает, что будет в порту, когда придёт буря."
GERMAN = (
    "Die Fähre fährt nach Göteborg, und am Ruder steht nicht der Kapitän, "
    "sondern sein Sohn, der auch das Schiff hat."
)
GREEK = "Το πλοίο οδηγεί ο Μάρεκ Λουντ και δεν ξέρει τι θα γίνει στο λιμάνι όταν έρθει η καταιγίδα με τους ανέμους."


@pytest.mark.parametrize(
    ("texts", "languages"),
    [
        (
            ["The cat sat on the mat and it was not what they had seen."],
            {"latin": "english"},
        ),
        ([RUSSIAN], {"cyrillic": "russian", "latin": "english"}),
        ([GERMAN], {"latin": "german"}),
        ([GREEK], {"greek": "greek", "latin": "english"}),
        ([GERMAN, RUSSIAN], {"cyrillic": "russian", "latin": "german"}),
        (
            ["L'île est dans la mer, et les bateaux ne vont pas avec nous."],
            {"latin": "french"},
        ),
        (
            ["Kartımı kaybettim, ne yapmalıyım?", "İnternet şifremi unuttum."],
            {"latin": "turkish"},
        ),
        (["Miten uusin lainani?", "Mistä saan kortin?"], {"latin": "finnish"}),
        (["x = 3", "cat dog"], {"latin": "english"}),
        (["Beyoncé", "Zürich", "Naïve Bayes"], {"latin": "english"}),
        (["長江は中国で最も長い川です。"], {"latin": "english"}),
        ([], {"latin": "english"}),
    ],
)
def test_the_language_of_each_script_is_recognised(
    texts: list[str], languages: dict[str, str]
) -> None:
    assert guess_languages(texts) == languages


def test_a_language_that_is_given_holds_for_its_script() -> None:
    assert guess_languages([RUSSIAN], "german") == {
        "cyrillic": "russian",
        "latin": "german",
    }
    assert guess_languages(["cat"], "ukrainian") == {
        "cyrillic": "ukrainian",
        "latin": "english",
    }


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        (unicodedata.normalize("NFD", "Göteborg Zoë"), ["göteborg", "zoë"]),
        (
            "C++, C# and C; a+b, CD4+, 10+",
            ["c++", "c#", "and", "c", "a", "b", "cd4", "10"],
        ),
        ("go 🚀!", ["go", "🚀"]),
        ("об'єкт об’єкт об\u02bcєкт", ["обєкт"] * 3),
        ("col·legi co\u0140legi", ["collegi"] * 2),
        ("\u0133sje \u2167", ["ijsje", "viii"]),
        ("за\u0301мок", ["замок"]),
        ("東京タワーはABC", ["東京", "京タ", "タワ", "ワー", "ーは", "abc"]),
        ("水", ["水"]),
        ("हिन्दी भाषा", ["हिंदी", "भाषा"]),
        ("สวัสดี", ["สวั", "วัส", "สดี"]),
        (
            "co\u00adop\u200berative o\ufb03ce \uff21\uff22",
            ["cooperative", "office", "ab"],
        ),
        ("İstanbul", ["istanbul"]),
        ("שָׁלוֹם", ["שלום"]),
    ],
)
def test_words_are_those_of_unicode_and_pairs_of_letters_where_nothing_parts_them(
    text: str, terms: list[str]
) -> None:
    found = LexicalSettings(stemmer="none", stop_words=False).terms(text)
    assert found == [unicodedata.normalize("NFC", term) for term in terms]


def first(texts: dict[str, str], query: str) -> str | None:
    ids = BM25(KnowledgeBase.build(texts)).retrieve(query, k=1).passage_ids
    return ids[0] if ids else None


@pytest.mark.parametrize(
    ("texts", "query", "found"),
    [
        (
            {"a": unicodedata.normalize("NFD", GERMAN), "b": "Der Leuchtturm steht."},
            "göteborg",
            "a",
        ),
        (
            {
                "a": RUSSIAN,
                "b": "Маяк стоит на скале, и он виден с моря, когда не идёт дождь.",
            },
            "порты",
            "a",
        ),
        (
            {
                "a": GREEK,
                "b": "Ο φάρος είναι στο βουνό και δεν φαίνεται από τη θάλασσα όταν βρέχει.",
            },
            "πλοία",
            "a",
        ),
        (
            {"a": "玛丽居里发现了镭元素。", "b": "长江是中国最长的河流。"},
            "最长的河流是？",
            "b",
        ),
        ({"a": "서울은 한국의 수도이다.", "b": "부산에는 항구가 있다."}, "항구", "b"),
        ({"a": "แมวนอนบนเสื่อ", "b": "เรือออกจากท่าเรือ"}, "ท่าเรือ", "b"),
        ({"a": "The o\ufb03ce is open.", "b": "The ship."}, "office", "a"),
    ],
)
def test_a_passage_is_found_by_its_words_in_any_language(
    texts: dict[str, str], query: str, found: str
) -> None:
    assert first(texts, query) == found


TURKISH = "{} gülleriyle bilinen bir ildir ve çok eski olan bu şehir için ne denir, ama daha da güzel."
HEBREW = "{} היא עיר הבירה של המדינה וגם העיר הגדולה בה, אבל לא כל מי שגר בה נולד כאן."
CROATIAN = "{} je grad na rijeci, ali nije ni na moru niti u planini, što su svi ondje znali kada je bilo kasno."


@pytest.mark.parametrize(
    ("template", "written", "query"),
    [
        (TURKISH, "ISPARTA", "ısparta"),
        (TURKISH, "Isparta", "ISPARTA"),
        (TURKISH, "İZMİR", "izmir"),
        (TURKISH, "Isparta", "isparta"),
        (HEBREW, "יְרוּשָׁלַיִם", "ירושלים"),
        (CROATIAN, "Gradovima", "gradova"),
        (
            "Die {} des Schiffs ist nicht die, die der Sohn auch kennt, und er hat sie.",
            "Größe",
            "GRÖSSE",
        ),
        ("Beyoncé sang {}.", "Déjà Vu", "deja"),
        ("Der Schlauch ist {} lang, und er ist nicht rot.", "25 m", "25m"),
        ("Der Bohrer {} ist rot, und er ist nicht alt.", "HP457D", "HP 457 D"),
        ("Der {} ist rot, und der Bohrer ist nicht alt.", "Akku", "Akkubohrer"),
        (
            "Das {} ist alt, und es hat ein neues Dach.",
            "Kreiskrankenhaus",
            "Krankenhaus",
        ),
        (
            "Die {} ist neu, und sie ist nicht hoch.",
            "Wärmepumpenförderung",
            "Wärmepumpe",
        ),
        ("The model {} is new.", "gpt-4o", "GPT4o"),
        ("The part {} is new.", "6ES7 214-1AG40-0XB0", "6ES72141AG400XB0"),
        (
            "De {} staan in de stalling, en het is daar koud.",
            "fietsen",
            "fietsenstalling",
        ),
        ("The hotline is {}.", "1900 6035", "19006035"),
        ("The cable is of type {}.", "CAT6", "\u0421\u0410\u04226"),
        ("بازگشت کالا تا {} روز ممکن است.", "\u06f7", "7"),
        ("{} चमड़े का है।", "कीमत", "क़ीमत"),
        ("यह {} है।", "सितम्बर", "सितंबर"),
        ("{} في المدينة.", "المكتبة", "المكتبه"),
        ("The song {} is old.", "Naive", "naïve"),
        ("The port of {} is old.", "Łódź", "Lodz"),
        ("{} տունը գտնվում է այնտեղ և այսօր։", "Սևան", "ՍԵՒԱՆ"),
    ],
)
def test_a_word_is_found_in_any_of_its_spellings(
    template: str, written: str, query: str
) -> None:
    texts = {"a": template.format(written), "b": template.format("Xyz")}
    assert first(texts, query) == "a"


def test_an_english_word_is_not_divided_into_two_others():
    texts = {"a": "The body of a whale is large, and every whale has one."}
    assert not BM25(KnowledgeBase.build(texts)).retrieve("whalebody", 3).passage_ids


def test_a_word_that_differs_in_accents_is_told_and_a_known_word_is_not_respelled():
    texts = {"a": "A song of Beyoncé.", "b": "Rose and rosé.", "c": "An async rose."}
    system = BM25(KnowledgeBase.build(texts))
    assert system.retrieve("Beyonce", 3).notes.display_fields()["respelled"] == (
        "beyonc → beyoncé",
    )
    # the stem of a misspelled word is no word without accents
    assert not system.retrieve("asynclient", 3).passage_ids
    ranking = system.retrieve("rosé", 3)
    assert ranking.passage_ids == ["b"]
    assert "respelled" not in ranking.notes.display_fields()


def test_a_script_of_one_language_needs_no_stop_words_to_be_recognised() -> None:
    assert guess_languages(["சென்னை தலைநகரம்", "The city."])["tamil"] == "tamil"
    assert guess_languages(
        ["The β-cell and all of the other cells that they had seen. " * 9]
    ) == {"latin": "english"}


@pytest.mark.parametrize(
    "texts",
    [
        [
            "L'Algérie est un pays du nord de l'Afrique, et elle n'est pas une île dans la mer.",
            "Camus a quitté l'Algérie avec sa femme, mais il ne l'a pas oubliée.",
        ],
        [
            "Al-Khwarizmi worked in Baghdad.",
            "The word goes back to a book of al\u2011Khwarizmi.",
        ],
        ["IĞDIR bir ildir.", "Burada güzel Iğdır."],
        ["The coast of Hawai\u02bbi.", "She came to Hawai'i late."],
    ],
)
def test_spellings_of_a_name_join_the_passages_that_have_it(texts: list[str]) -> None:
    titles = ("One", "Two")
    corpus = corpus_of(
        [
            {"id": title, "title": title, "text": text}
            for title, text in zip(titles, texts, strict=True)
        ]
    )
    table = find_mentions(corpus)
    assert (table.document_frequency == 2).any()


def test_stop_words_of_the_language_of_a_corpus_are_no_terms() -> None:
    table = KnowledgeBase.build(
        {"a": GERMAN, "b": GERMAN.replace("Fähre", "Yacht")}
    ).mentions
    assert not {"die", "nicht", "auch", "und"} & {
        word for key in table.keys for word in key.split()
    }


def test_a_query_without_a_word_that_any_passage_has_is_told() -> None:
    system = BM25(KnowledgeBase.build({"a": "The cat.", "b": "A dog."}))
    assert system.retrieve("zebra", 3).notes.warning
    assert not system.retrieve("cat", 3).notes.warning


def test_languages_other_than_english_are_in_the_notes() -> None:
    notes = (
        BM25(KnowledgeBase.build({"a": GERMAN, "b": GERMAN + " Nein."}))
        .retrieve("Fähre", 1)
        .notes
    )
    assert notes.display_fields()["languages"] == ("german",)
    assert (
        "languages"
        not in BM25(KnowledgeBase.build({"a": "The cat."}))
        .retrieve("cat", 1)
        .notes.display_fields()
    )


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        (
            "Марек Лунд",
            ["Паром ведёт Марек Лунд каждый день.", "В порту сидит Марек Лунд утром."],
        ),
        (
            "Μάρεκ Λουντ",
            ["Το πλοίο οδηγεί ο Μάρεκ Λουντ.", "Στο λιμάνι κάθεται ο Μάρεκ Λουντ."],
        ),
        (
            "Մարեկ Լունդ",
            [
                "Նավը վարում է Մարեկ Լունդ ամեն օր.",
                "Նավահանգստում է Մարեկ Լունդ այսօր.",
            ],
        ),
        (
            "Göteborg",
            [
                unicodedata.normalize("NFD", f"Wir fahren nach Göteborg {when}.")
                for when in ("heute", "jetzt")
            ],
        ),
        ("Göteborg", ["Wir sind in Göte\u00adborg heute.", "Er kam aus Göteborg an."]),
    ],
)
def test_a_name_that_two_passages_share_is_found_in_scripts_with_capitals(
    name: str, texts: list[str]
) -> None:
    corpus = corpus_of(
        {str(row): {"title": f"T{row}", "text": text} for row, text in enumerate(texts)}
    )
    table = find_mentions(corpus)
    assert name in table.names
    assert table.row[table.key == table.names.index(name)].tolist() == [0, 1]


def test_a_function_word_of_another_script_begins_no_name() -> None:
    corpus = corpus_of(
        {
            str(row): f"Это было. В Москве {word}."
            for row, word in enumerate(("снег", "дождь"))
        }
    )
    assert {"Москве"} == set(find_mentions(corpus).names)


def test_titles_are_found_where_no_blank_parts_words() -> None:
    corpus = corpus_of(
        {
            "a": {
                "title": "長江",
                "text": "長江は中国で最も長い川です。上海を通ります。",
            },
            "b": {"title": "上海", "text": "上海は長江の河口にある都市です。"},
            "c": {"title": "水", "text": "水平な所です。"},
        }
    )
    table = find_mentions(corpus)
    named = {
        (row, table.names[key])
        for row, key in zip(table.row.tolist(), table.key.tolist(), strict=True)
    }
    assert named == {(0, "上海"), (1, "長江")}


def test_passages_without_capitals_are_joined_by_the_rare_terms_that_they_share():
    texts = ["玛丽居里发现了镭元素。", "镭元素有放射性。", "长江在中国。"]
    corpus = corpus_of(
        {
            str(row): {"title": f"第{row}页", "text": text}
            for row, text in enumerate(texts)
        }
    )
    found = Mentions().extract(corpus)
    assert {
        (mention.entity, mention.passage_id)
        for mention in found.mentions
        if mention.entity == "镭 元 素"
    } == {
        ("镭 元 素", "0"),
        ("镭 元 素", "1"),
    }


def test_sentences_end_at_the_marks_of_their_script() -> None:
    assert split_sentences("長江は長い。上海は？はい！") == [
        "長江は長い。",
        "上海は？",
        "はい！",
    ]
    assert split_sentences("Он ушёл. Она осталась.") == ["Он ушёл.", "Она осталась."]


def test_a_name_without_marks_and_layout_is_one_name() -> None:
    assert (
        normalise("Göte\u00adborg")
        == normalise(unicodedata.normalize("NFD", "GÖTEBORG"))
        == "goteborg"
    )
    assert normalise("パリ") != normalise("バリ")
    assert normalise("\ufb01le") == "file"
    assert search_text("plain") == "plain"
    assert search_text("exam\u00ad\n  ple") == "example"


def test_places_of_names_are_those_of_the_text_as_it_is_written() -> None:
    text = unicodedata.normalize("NFD", "Im Café Noir")
    (match,) = Lexicon(["cafe noir"]).find(text)
    assert text[slice(*match[1])] == text[3:]
    assert JoinedTexts([text]).text == text


FILLER = {
    "x": "The harbour office opens at nine.",
    "y": "Bread is baked in the early morning.",
}


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The path is 10km long.", "10 km"),
        ("The path is 10 km long.", "10km"),
        ("The patch MS17-010 closes it.", "ms17010"),
        ("The bridge cost 1,000,000 crowns.", "1000000"),
        ("Plants take up CO₂ at noon.", "CO2"),
        ("The flat has 80 m².", "80 m2"),
        ("Die Bibliothek öffnet um neun.", "Bibliotheken"),
        ("The train to München leaves at noon.", "Muenchen"),
        ("The train to Muenchen leaves at noon.", "München"),
        ("הספינה יוצאת בצהריים.", "ספינה"),
    ],
)
def test_a_word_that_no_text_has_is_found_in_another_form(text: str, query: str):
    assert BM25(KnowledgeBase.build({**FILLER, "a": text})).retrieve(query, 1)[
        0
    ].passage_id == ("a")


@pytest.mark.parametrize(
    ("texts", "query"),
    [
        (
            [
                "L'œuvre de Zola n'est pas dans ce musée.",
                "Une oeuvre de jeunesse est dans ce musée.",
            ],
            "oeuvre",
        ),
        (
            [
                "A informação não está no sistema da empresa.",
                "nao tenho informacao sobre o pedido",
            ],
            "informação",
        ),
        (["Kraków nie leży nad morzem.", "On mieszka w Krakowie od dawna."], "Krakow"),
        (["Książka nie jest moja.", "ta ksiazka nie jest stara"], "książka"),
        (["Phở bò Nam Định rất ngon.", "quan pho bo o Ha Noi ngon nhat"], "pho bo"),
    ],
)
def test_a_word_is_found_with_and_without_accents_in_one_corpus(texts, query):
    ranking = BM25(KnowledgeBase.build([*texts, "Brno 7"])).retrieve(query, 3)
    assert sorted(ranking.passage_ids) == ["0", "1"]


def test_a_word_with_accents_is_not_one_with_others():
    texts = [
        "Con ma ở trong nhà của tôi.",
        "Má tôi không có ở nhà.",
        "Mà tôi không biết.",
    ]
    bm25 = BM25(KnowledgeBase.build(texts))
    assert bm25.retrieve("má", 3).passage_ids[0] == "1"
    assert "2" not in bm25.retrieve("má", 3).passage_ids


def test_an_identifier_is_divided_beside_its_digits_only():
    kb = KnowledgeBase.build({**FILLER, "a": "The htr and the pm are on l2."})
    assert BM25(kb).retrieve("htrpml2", 3).passage_ids == []


def test_words_with_the_same_beginning_replace_only_a_query_that_no_text_has():
    kb = KnowledgeBase.build({**FILLER, "a": "Die Bibliothek öffnet um neun."})
    assert BM25(kb).retrieve("Bibliotheken bread", 3).passage_ids == ["y"]
    ranking = BM25(kb).retrieve("Bibliotheken", 3)
    assert ranking.passage_ids == ["a"]
    assert ranking.notes.respelled == ("bibliotheken → bibliothek",)
    assert BM25(kb).retrieve("Bibers", 3).passage_ids == []


def test_languages_without_a_stemmer_have_truncated_words():
    settings = LexicalSettings(language="ukrainian")
    languages = guess_languages(["метро"], "ukrainian")
    assert settings.terms("станція станцій станціями", languages) == ["станц"] * 3
    vietnamese = guess_languages(["người"], "vietnamese")
    assert LexicalSettings().terms("nghiêng", vietnamese) == ["nghiêng"]


def test_names_of_other_texts_are_mentioned_in_a_text_in_capitals():
    corpus = corpus_of(
        {
            "a": "MAREK LUND STEERS THE FERRY.",
            "b": "In the port we met Marek Lund again.",
            "c": "On the pier waited Marek Lund.",
        }
    )
    table = find_mentions(corpus)
    rows = table.row[table.key == table.keys.index("marek lund")]
    assert rows.tolist() == [0, 1, 2]


def test_a_query_word_that_no_passage_has_is_in_the_notes() -> None:
    kb = KnowledgeBase.build({"a": "The port of Bergen is old."})
    ranking = BM25(kb).retrieve("Which port has Praze?", k=1)
    assert ranking.passage_ids == ["a"]
    assert ranking.notes.display_fields()["missing"] == ("praze",)
