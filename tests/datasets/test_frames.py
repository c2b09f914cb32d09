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


ASKED = pd.DataFrame({"id": ["q"], "text": ["Who?"], "gold": [["p1"]]})


@pytest.mark.parametrize(
    ("frames", "named"),
    [
        ({"questions": pd.DataFrame({"id": ["q"], "question": ["Who?"]})}, "custom questions.*'question'.*text, gold"),
        ({"questions": ASKED.drop(columns="text")}, r"custom questions, record 1 \('q'\): field 'text'"),
        ({"corpus": CORPUS.assign(id=[1, 2])}, r"custom corpus, record 1 \(1\): field 'id'.*1"),
        ({"qrels": pd.DataFrame({"query_id": ["r"], "passage_id": ["p1"]})}, "custom qrels, record 1: .*'r'"),
        ({"questions": ASKED.assign(gold=[["p9"]])}, "'p9'"),
    ],
)
def test_a_wrong_frame_is_named(frames, named):
    with pytest.raises(ValueError, match=named):
        from_frames(**{"corpus": CORPUS, "questions": ASKED} | frames)
