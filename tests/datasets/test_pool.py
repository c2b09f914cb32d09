import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg2rag.datasets.pool import Pool

TITLES = st.sampled_from(["A", "A##1", "A##1##1", "B", " ", ""])


@given(st.lists(st.tuples(TITLES, st.sampled_from(["x", "y", "z"]))), st.booleans())
def test_every_distinct_paragraph_has_an_id_of_its_own(
    paragraphs, titles_are_documents
):
    pool = Pool(titles_are_documents=titles_are_documents)
    ids = {pair: pool.find_or_add(*pair).passage.id for pair in paragraphs}
    assert len(set(ids.values())) == len(ids)
    if ids:
        assert pool.corpus().ids == list(ids.values())


@given(
    st.lists(
        st.tuples(
            TITLES, st.lists(st.sampled_from(["x", "y", ""]), min_size=1, max_size=3)
        )
    )
)
def test_every_sentence_has_an_id_of_its_own(paragraphs):
    pool = Pool("sentence")
    for title, sentences in paragraphs:
        pool.find_or_add(title, " ".join(sentences), sentences)
    sizes = {}
    for title, sentences in paragraphs:
        # equal paragraphs are merged, whatever their split: the first one's holds
        if any(sentences):
            sizes.setdefault(
                (title, " ".join(sentences).strip()), sum(map(bool, sentences))
            )
    if sizes:
        assert len(pool.corpus()) == sum(sizes.values())  # Corpus refuses a repeated id


def test_texts_are_left_as_they_are_and_a_closed_pool_takes_no_new_paragraph_and_does_not_guess():
    pool = Pool()
    pool.find_or_add(" A ", " two  blanks ")
    pool.find_or_add(" A ", "y")
    assert (pool.find_or_add("A", " "), pool.notes) == (
        None,
        {"paragraphs without text left out": 1},
    )
    pool.closed_by = "corpus.json"
    assert pool.find_or_add("B", "y") is None
    assert pool.find_or_add(" A ", "z") is None
    assert next((one.id, one.title, one.text) for one in pool.corpus()) == (
        " A ",
        " A ",
        " two  blanks ",
    )


@pytest.mark.parametrize(
    ("index", "there"), [(0, True), (1, True), (2, False), (-1, False)]
)
def test_a_sentence_index_counts_from_zero(index, there):
    pool = Pool()
    assert pool.find_or_add("A", "x y", ["x", "y"]).has(index) is there
