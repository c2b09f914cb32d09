import pandas as pd
import pytest

from kg2rag.datasets import from_frames

CORPUS = pd.DataFrame({"id": ["p1", "p2"], "title": ["Ada", None], "text": ["Ada wrote.", "Charles built."]})


def test_missing_cells_take_the_defaults():
    data = from_frames(CORPUS, pd.DataFrame({"id": ["q"], "text": ["Who?"], "gold": [["p2"]]}))
    assert data.corpus[1].title == ""
    assert data.corpus.doc_ids == ["p1", "p2"]
    assert data.questions[0].hops is None


def test_whole_numbers_survive_a_column_with_gaps():
    questions = pd.DataFrame({"id": ["a", "b"], "text": ["x", "y"], "hops": [2, None], "gold": [["p1"], ["p2"]]})
    assert [question.hops for question in from_frames(CORPUS, questions).questions] == [2, None]


def test_qrels_bring_grades():
    questions = pd.DataFrame({"id": ["q"], "text": ["Who?"], "answers": ["Ada"]})
    qrels = pd.DataFrame({"query_id": ["q", "q"], "passage_id": ["p1", "p2"], "grade": [3, 1]})
    data = from_frames(CORPUS, questions, qrels, name="mine")
    assert data.qrels == {"q": {"p1": 3, "p2": 1}}
    assert (data.name, data.questions[0].answers) == ("mine", ("Ada",))


def test_an_unknown_column_lists_the_known_ones():
    with pytest.raises(
        ValueError, match=r"custom questions: unknown column 'question'\. Known: id, text, gold, answers"
    ):
        from_frames(CORPUS, pd.DataFrame({"id": ["q"], "question": ["Who?"]}))


def test_a_missing_column_names_the_record():
    with pytest.raises(ValueError, match=r"custom questions, record 1 \('q'\): field 'text' is missing"):
        from_frames(CORPUS, pd.DataFrame({"id": ["q"], "gold": [["p1"]]}))


def test_an_id_that_is_a_number_is_refused():
    with pytest.raises(ValueError, match=r"custom corpus, record 1 \(1\): field 'id' must be a string, not int: 1"):
        from_frames(pd.DataFrame({"id": [1], "text": ["x"]}), pd.DataFrame({"id": ["q"], "text": ["Who?"]}))


def test_a_judgement_of_an_unknown_question_is_refused():
    questions = pd.DataFrame({"id": ["q"], "text": ["Who?"]})
    with pytest.raises(ValueError, match=r"custom qrels, record 1: query_id 'r' is not among the questions"):
        from_frames(CORPUS, questions, pd.DataFrame({"query_id": ["r"], "passage_id": ["p1"]}))


def test_gold_that_the_corpus_lacks_is_refused():
    with pytest.raises(ValueError, match=r"gold passage 'p9' is not in the corpus"):
        from_frames(CORPUS, pd.DataFrame({"id": ["q"], "text": ["Who?"], "gold": [["p9"]]}))
