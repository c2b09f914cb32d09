import pytest

from kg2rag.datasets import load


def _chunk(id_, title, text):
    return {"chunk_id": id_, "source_title": title, "source_para_idx": 0, "text": text}


def _question(id_, gold, split):
    return {
        "id": id_,
        "question": f"What of {id_}?",
        "answer": "A",
        "hop_type": "bridge",
        "hop_count": 2,
        "gold_support_chunk_ids": gold,
        "gold_triples": [["A", "knows", "B"]],
        "split": split,
    }


@pytest.fixture
def folder(write):
    write("questions.jsonl", [_question("q1", ["c1"], "dev"), _question("q2", ["c2", "c3"], "test")])
    write("test_ids.txt", "q2\n")
    write("graph_corpus_ids.txt", "c3\nc2\n")
    write("triples_resolved.jsonl", "{}\n")
    return write("corpus.jsonl", [_chunk("c1", "A", "a a"), _chunk("c2", "B", "b b"), _chunk("c3", "B", "c c")]).parent


def test_the_test_questions_over_the_graphs_chunks_are_the_default(folder):
    data = load("2wiki-kg", path=folder)
    assert data.corpus.ids == ["c2", "c3"]
    assert [question.id for question in data.questions] == ["q2"]
    assert data.source["split"] == "test"


def test_all_has_everything_and_offers_no_graph(folder):
    data = load("2wiki-kg", path=folder, split="all")
    assert (len(data), len(data.corpus), data.graph_files) == (2, 3, {})


def test_the_triples_are_offered_with_the_test_split(folder):
    assert load("2wiki-kg", path=folder).graph_files == {"triples": folder / "triples_resolved.jsonl"}


def test_gold_triples_hops_and_type_are_kept(folder):
    question = load("2wiki-kg", path=folder).questions[0]
    assert (question.type, question.hops, question.triples) == ("bridge", 2, (("A", "knows", "B"),))


def test_gold_outside_the_split_names_question_and_chunk(folder, write):
    write("test_ids.txt", "q1\n")
    with pytest.raises(ValueError, match=r"questions\.jsonl, line 1 \('q1'\): gold names passage 'c1'"):
        load("2wiki-kg", path=folder)


def test_an_id_list_that_names_an_unknown_question_is_refused(folder, write):
    write("test_ids.txt", "q2\nq7\n")
    with pytest.raises(ValueError, match=r"test_ids\.txt names 'q7', which questions\.jsonl lacks \(1 such ids\)"):
        load("2wiki-kg", path=folder)
