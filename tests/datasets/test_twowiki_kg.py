import pytest

from kg2rag.datasets import load


def _chunk(id_, title, text):
    return {"chunk_id": id_, "source_title": title, "source_para_idx": 0, "text": text}


def _question(id_, gold):
    about = {
        "id": id_,
        "question": f"What of {id_}?",
        "answer": "A",
        "hop_type": "bridge",
        "hop_count": 2,
    }
    return about | {
        "gold_support_chunk_ids": gold,
        "gold_triples": [["A", "knows", "B"]],
    }


@pytest.fixture
def folder(write):
    write("questions.jsonl", [_question("q1", ["c1"]), _question("q2", ["c2", "c3"])])
    write("test_ids.txt", "q2\n")
    write("graph_corpus_ids.txt", "c3\nc2\n")
    write("triples_resolved.jsonl", "{}\n")
    return write(
        "corpus.jsonl",
        [_chunk("c1", "A", "a a"), _chunk("c2", "B", "b b"), _chunk("c3", "B", "c c")],
    ).parent


def test_the_test_questions_over_the_graphs_chunks_are_the_default(folder):
    data = load("2wiki-kg", path=folder)
    assert data.corpus.ids == ["c2", "c3"]
    assert [question.id for question in data.questions] == ["q2"]
    assert data.source["split"] == "test"
    assert data.graph_files == {"triples": folder / "triples_resolved.jsonl"}
    (question,) = data.questions
    assert (question.type, question.hops, question.triples) == (
        "bridge",
        2,
        (("A", "knows", "B"),),
    )


def test_all_has_everything_and_offers_no_graph(folder):
    data = load("2wiki-kg", path=folder, split="all")
    assert (len(data), len(data.corpus), data.graph_files) == (2, 3, {})


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ("q1\n", r"questions\.jsonl, line 1 \('q1'\): gold names passage 'c1'"),
        (
            "q2\nq7\n",
            r"test_ids\.txt names 'q7', which questions\.jsonl lacks \(1 such ids\)",
        ),
    ],
)
def test_what_the_list_names_and_the_set_lacks_is_refused(folder, write, ids, message):
    write("test_ids.txt", ids)
    with pytest.raises(ValueError, match=message):
        load("2wiki-kg", path=folder)
