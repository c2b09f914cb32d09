"""Names that stand together, and how surprising that is."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kg2rag.extraction import Extractor, Mention
from kg2rag.extraction.cooccurrence import Cooccurrence, strengths_of
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.types import Corpus, Passage


def corpus(*texts: str, titles: tuple[str, ...] = ()) -> Corpus:
    """Passages p0, p1, … of these texts."""
    names = titles or ("",) * len(texts)
    return Corpus.from_passages(
        [
            Passage(f"p{i}", title, text, f"d{i}", 0)
            for i, (title, text) in enumerate(zip(names, texts, strict=True))
        ]
    )


def joined(given_corpus: Corpus) -> list[tuple[str, str, str]]:
    return [
        (t.head, t.tail, t.passage_id)
        for t in Cooccurrence().extract(given_corpus).triples
    ]


TEXTS = ("Ann met Bob. Cid slept.", "Ann met Bob.", "Cid met Dot.", "Dot slept.")


def test_names_in_one_sentence_are_joined_once_a_passage() -> None:
    assert joined(corpus(*TEXTS)) == [
        ("Ann", "Bob", "p0"),
        ("Ann", "Bob", "p1"),
        ("Cid", "Dot", "p2"),
    ]
    found = Cooccurrence().extract(corpus("He slept. Ann met Bob.", "Ann met Bob."))
    assert found.mentions[:2] == (Mention("Ann", "p0", 1), Mention("Bob", "p0", 1))


def test_the_strength_is_discounted_normalised_pmi() -> None:
    # Windows that name something: p0 has two, p1, p2 and p3 one each, so n = 5.
    # Ann and Bob: 2 of 5 hold both, as often as either: npmi = ln(5·2/4) / ln(5/2) = 1; 10 · 1 ·
    # 2/3.
    # Cid and Dot: 1 holds both, 2 each: npmi = ln(5·1/4) / ln(5/1) = 0.13865; 10 · 0.13865 · 1/2.
    strengths = {
        (t.head, t.tail): t.strength
        for t in Cooccurrence().extract(corpus(*TEXTS)).triples
    }
    assert strengths == {("Ann", "Bob"): 6.667, ("Cid", "Dot"): 0.693}


def test_names_in_every_window_are_as_strong_as_their_count_allows() -> None:
    assert strengths_of({("a", "b"): 3}, {"a": 3, "b": 3}, 3) == {("a", "b"): 7.5}


def test_pairs_no_more_frequent_than_chance_are_left_out_and_counted() -> None:
    # 8 windows, Ann in 4, Bob in 6, both in 3: 8·3 / (4·6) = 1, just chance.
    given_corpus = corpus(
        *["Ann met Bob."] * 3, "Ann.", *["Bob."] * 3, "Ken and Lea.", "Ken and Lea."
    )
    found = Cooccurrence().extract(
        corpus(*["Ann met Bob."] * 3, "Ann.", *["Bob."] * 3, "Ken.", "Nothing.")
    )
    assert found.triples == ()
    assert found.notes == {"pairs no more frequent than chance left out": 1}
    # 9 windows: a little more than chance, and Ken
    assert len(Cooccurrence().extract(given_corpus).triples) == 5


def test_the_title_stands_in_every_sentence_of_its_passage() -> None:
    given_corpus = corpus(
        "It flows. It passes Porto.", "A city.", titles=("Douro", "Porto")
    )
    assert joined(given_corpus) == [("Douro", "Porto", "p0")]


def test_two_pages_that_one_name_may_stand_for_are_not_joined() -> None:
    titles = ("Rebecca (novel)", "Rebecca (film)", "Ann")
    assert joined(
        corpus("A story.", "A film.", "She read Rebecca.", titles=titles)
    ) == [
        ("Ann", "Rebecca (novel)", "p2"),
        ("Ann", "Rebecca (film)", "p2"),
    ]


def test_an_entity_keeps_its_fifty_strongest_partners() -> None:
    # Hub meets A0x most often, and A51x least; the rest of the world is about Zed.
    texts = [f"Hub met A{i}x." for i in range(52) for _ in range(53 - i)]
    found = Cooccurrence().extract(corpus(*texts, *["Zed."] * 500))
    partners = Counter(
        end for pair in {(t.head, t.tail) for t in found.triples} for end in pair
    )
    assert partners["Hub"] == 50
    assert partners.keys() == {"Hub", *(f"A{i}x" for i in range(50))}
    assert found.notes == {"pairs beyond the 50 strongest of an end left out": 2}


def test_of_a_long_list_the_rarest_are_joined() -> None:
    names = [f"N{i}x" for i in range(21)]
    found = Cooccurrence().extract(
        corpus(", ".join(names), *(f"{name}." for name in names), "N3x.")
    )
    assert {end for t in found.triples for end in (t.head, t.tail)} == {*names} - {
        "N3x"
    }
    assert found.notes["windows with more than 20 entities, the rarest joined"] == 1
    assert isinstance(Cooccurrence(), Extractor)


words = st.lists(
    st.sampled_from(["Ann", "Bob", "Cid", "Dot", "Eve"]), min_size=1, max_size=5
)


@given(st.lists(words, min_size=1, max_size=12))
def test_every_corpus_gives_a_graph_with_strengths_in_range(
    sentences: list[list[str]],
) -> None:
    given_corpus = corpus(*(", ".join(names) + " met." for names in sentences))
    graph = KnowledgeGraph.build(Cooccurrence().extract(given_corpus), given_corpus)
    assert all(0 < strength < 10 for strength in graph.triples.strengths)
    assert all(
        head != tail
        for head, tail in zip(graph.triples.heads, graph.triples.tails, strict=True)
    )
