import pytest

from kg2rag.datasets import load

CORPUS = [
    {
        "id": "p1",
        "doc_id": "d1",
        "title": "Ada",
        "text": "Ada wrote notes. She liked engines.",
    },
    {
        "id": "p2",
        "doc_id": "d1",
        "title": "Ada",
        "text": "Ada met Charles. They talked.",
    },
]
QUESTION = {
    "id": "q1",
    "question": "Whom did Ada meet?",
    "answers": ["Charles"],
    "type": "relationship",
    "hops": 1,
    "gold": ["p2"],
    "supporting": [["p2", 0]],
    "triples": [["Ada", "met", "Charles", "p2"]],
}


@pytest.fixture
def folder(write):
    write("corpus.jsonl", CORPUS)
    write("triples.jsonl", "")
    return write("questions.jsonl", [QUESTION]).parent


def test_supporting_sentences_are_counted_over_the_whole_document(folder):
    # p1 has the document's sentences 0 and 1, so the first of p2 is its third.
    data = load("bundled", path=folder)
    assert data.questions[0].supporting == (("d1", 2),)
    assert [passage.position for passage in data.corpus] == [0, 1]
    assert data.questions[0].triples == (("Ada", "met", "Charles"),)
    assert data.graph_files == {"triples": folder / "triples.jsonl"}


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("gold", ["p9"], "gold names passage 'p9', which corpus.jsonl lacks"),
        (
            "supporting",
            [["p9", 0]],
            "supporting names passage 'p9', which corpus.jsonl lacks",
        ),
        (
            "triples",
            [["a", "b", "c", "p9"]],
            "triples names passage 'p9', which corpus.jsonl lacks",
        ),
        ("supporting", [["p2", 2]], "supporting names sentence 2 of 'p2', which has 2"),
        ("gold", [], "field 'gold'"),
    ],
)
def test_references_that_lead_nowhere_are_refused(folder, write, field, value, message):
    write("questions.jsonl", [{**QUESTION, field: value}])
    with pytest.raises(
        ValueError, match=rf"questions\.jsonl, line 1 \('q1'\): .*{message}"
    ):
        load("bundled", path=folder)


def test_the_set_that_comes_with_the_package_loads_without_a_path():
    data = load("bundled")
    assert len(data) >= 80
    assert len(data.corpus) >= 120
    assert set(data.graph_files) >= {"triples"}
