import json

import numpy as np
import pandas as pd
import pytest

from kg2rag.datasets import from_frames, from_texts

CORPUS = pd.DataFrame(
    {
        "id": ["p1", "p2"],
        "title": ["Ada", None],
        "text": ["Ada wrote.", "Charles built."],
    }
)


def test_missing_cells_take_the_defaults():
    data = from_frames(
        CORPUS, pd.DataFrame({"id": ["q"], "text": ["Who?"], "gold": [["p2"]]})
    )
    assert data.corpus[1].title == ""
    assert data.corpus.doc_ids == ["p1", "p2"]
    assert data.questions[0].hops is None


def test_whole_numbers_survive_a_column_with_gaps():
    questions = pd.DataFrame(
        {
            "id": ["a", "b"],
            "text": ["x", "y"],
            "hops": [2, None],
            "gold": [["p1"], ["p2"]],
        }
    )
    assert [question.hops for question in from_frames(CORPUS, questions).questions] == [
        2,
        None,
    ]


def test_questions_without_gold_are_kept_apart_and_counted():
    data = from_frames(
        CORPUS,
        pd.DataFrame({"id": ["a", "b"], "text": ["x", "y"], "gold": [["p1"], None]}),
    )
    assert ([one.id for one in data.questions], [one.id for one in data.unjudged]) == (
        ["a"],
        ["b"],
    )
    assert "1 without gold" in repr(data)
    assert data.source["notes"] == {"questions without gold, not scored": 1}


def test_gold_may_have_grades():
    questions = pd.DataFrame(
        {
            "id": ["q"],
            "text": ["Who?"],
            "answers": ["Ada"],
            "gold": [{"p1": 3, "p2": 1}],
        }
    )
    data = from_frames(CORPUS, questions, name="mine")
    assert data.qrels == {"q": {"p1": 3, "p2": 1}}
    assert (data.name, data.questions[0].answers) == ("mine", ("Ada",))


def test_judgements_that_are_no_mapping_are_refused_and_not_dropped():
    questions = pd.DataFrame(
        {"id": ["q"], "text": ["Who?"], "gold": [["p1"]], "judged": ["yes"]}
    )
    with pytest.raises(ValueError, match="judged"):
        from_frames(CORPUS, questions)


ASKED = pd.DataFrame({"id": ["q"], "text": ["Who?"], "gold": [["p1"]]})


@pytest.mark.parametrize(
    ("frames", "named"),
    [
        (
            {"questions": ASKED.drop(columns="text")},
            r"custom questions, record 1 \('q'\): field 'text'",
        ),
        (
            {"corpus": CORPUS.assign(id=[1, None])},
            r"custom corpus, record 2: its id is None",
        ),
        ({"corpus": CORPUS.assign(text=[1, 2])}, r"custom corpus, record 1: text is 1"),
        ({"questions": ASKED.assign(gold=[["p9"]])}, "'p9'.*such as 'p1'"),
        (
            {"corpus": CORPUS.rename(columns={"text": "question"})},
            r"record 1: no text; it has .*contents",
        ),
    ],
)
def test_a_wrong_frame_is_named(frames, named):
    with pytest.raises(ValueError, match=named):
        from_frames(**{"corpus": CORPUS, "questions": ASKED} | frames)


@pytest.mark.parametrize(
    ("corpus", "questions", "gold"),
    [
        (
            ["Ada wrote.", "Charles built."],
            [{"question": "Who wrote?", "gold": 0}],
            "0",
        ),
        (
            {"a": "Ada wrote.", 7: "Charles built."},
            [{"query": "Who built?", "gold": 7, "answer": "Charles"}],
            "7",
        ),
        (
            CORPUS.assign(id=[1.0, 2.0]),
            pd.DataFrame({"question": ["Who?"], "gold": ["1"], "level": ["easy"]}),
            "1",
        ),
        (
            CORPUS.set_index("id"),
            pd.DataFrame({"qid": [4], "question": ["Who?"], "gold": [["p2"]]}),
            "p2",
        ),
        (
            [{"_id": "x", "contents": "Ada wrote.", "url": "http://x"}],
            [{"text": "Who?", "gold": {"x": 2}}],
            "x",
        ),
    ],
)
def test_passages_and_questions_are_taken_in_the_shape_that_people_have(
    corpus, questions, gold
):
    data = from_frames(corpus, questions)
    assert list(data.questions[0].gold) == [gold]
    assert data.corpus[data.corpus.row(gold)].text in ("Ada wrote.", "Charles built.")


def test_other_columns_are_metadata_that_a_filter_uses_and_other_fields_of_questions_are_counted():
    data = from_frames(CORPUS.assign(lang=["en", "fr"]), ASKED.assign(level="easy"))
    assert data.corpus[1].metadata == {"lang": "fr"}
    assert data.corpus.where(lang="fr") == ("p2",)
    assert data.corpus.where(lang=["en", "fr"]) == ("p1", "p2")
    with pytest.raises(KeyError, match=r"year.*lang"):
        data.corpus.where(year=2020)
    assert data.source["notes"] == {
        "values of the questions' column 'level' left out": 1
    }


def test_gold_may_name_documents():
    corpus = [
        {"id": at, "doc_id": "d", "text": text}
        for at, text in enumerate(["Ada wrote.", "Charles built."])
    ]
    assert from_frames(corpus, [{"question": "Who?", "gold": "d"}]).unit == "document"


@pytest.mark.parametrize(
    ("gold", "qrels"),
    [
        ('["p1", "p2"]', {"p1": 1, "p2": 1}),
        ("['p1', 'p2']", {"p1": 1, "p2": 1}),
        ("['p1' 'p2']", {"p1": 1, "p2": 1}),
        ('{"p1": 2}', {"p1": 2}),
        ({"p1": 2.0, "p2": None}, {"p1": 2}),
        ({"p1": np.int64(2), "p2": 0}, {"p1": 2}),
        ([("p1", 2)], {"p1": 2}),
    ],
)
def test_gold_is_read_as_tables_write_lists_and_grades(gold, qrels):
    data = from_frames(CORPUS, [{"question": "Who?", "gold": gold, "answers": "[Ada]"}])
    assert data.qrels == {"0": qrels}
    assert data.questions[0].answers == ("[Ada]",)


def test_gold_of_grade_0_is_left_out_and_counted():
    data = from_frames(CORPUS, [{"question": "Who?", "gold": {"p1": 1, "p2": 0}}])
    assert data.source["notes"] == {"gold of grade 0, not relevant, left out": 1}


FERRIES = {
    "p1": "The ferry leaves at noon from the northern pier.",
    "p2": "Bread is baked early in the old town.",
}


@pytest.mark.parametrize(
    "gold",
    [
        {"positive_passages": [{"docid": "p1", "title": "", "text": "…"}]},
        {"evidence_list": [{"title": "News", "fact": FERRIES["p1"], "url": "u"}]},
        {"pos": [FERRIES["p1"]], "neg": [FERRIES["p2"]]},
    ],
    ids=["Tevatron", "MultiHop-RAG", "sentence-transformers"],
)
def test_gold_may_be_records_of_passages(gold):
    data = from_frames(FERRIES, [{"query": "When does it leave?", **gold}])
    assert dict(data.questions[0].gold) == {"p1": 1}


def test_answers_may_be_those_of_squad():
    answers = {"text": ["noon", "at noon"], "answer_start": [21, 18]}
    question = {"question": "When?", "gold": "p1", "answers": answers}
    assert from_frames(FERRIES, [question]).questions[0].answers == ("noon", "at noon")


def test_the_gold_of_squad_is_the_context_of_its_answers():
    answers = {"text": ["noon"], "answer_start": [21]}
    question = {"question": "When?", "context": FERRIES["p1"], "answers": answers}
    assert dict(from_frames(FERRIES, [question]).questions[0].gold) == {"p1": 1}


def test_questions_of_squad_are_read_at_any_depth(tmp_path):
    questions = [
        {
            "id": "q",
            "question": "When?",
            "answers": [{"text": "noon", "answer_start": 21}],
        }
    ]
    paragraphs = [{"context": FERRIES["p1"], "qas": questions}]
    file = tmp_path / "squad.json"
    file.write_text(json.dumps({"data": [{"title": "T", "paragraphs": paragraphs}]}))
    data = from_texts(FERRIES).with_questions(file)
    assert [(one.id, dict(one.gold)) for one in data.questions] == [("q", {"p1": 1})]


def test_goldens_of_deepeval_are_questions_whose_gold_is_their_context(tmp_path):
    golden = {
        "input": "When?",
        "actual_output": None,
        "expected_output": "At noon.",
        "context": [FERRIES["p1"]],
    }
    file = tmp_path / "goldens.json"
    file.write_text(json.dumps([golden]))
    [question] = from_texts(FERRIES).with_questions(file).questions
    assert (question.text, question.answers) == ("When?", ("At noon.",))
    assert dict(question.gold) == {"p1": 1}


def test_the_paragraphs_of_hotpotqa_are_no_gold():
    context = [["Ferries", [FERRIES["p1"]]], ["Other", ["A distractor."]]]
    data = from_frames(FERRIES, [{"question": "When?", "context": context}])
    assert (len(data.questions), len(data.unjudged)) == (0, 1)


def test_an_answer_of_a_spreadsheet_may_be_a_number():
    rows = [
        {"question": "When?", "gold": "p1", "answer": "At noon."},
        {"question": "How much?", "gold": "p1", "answer": 28.0},
    ]
    questions = from_frames(FERRIES, rows).questions
    assert [question.answers for question in questions] == [("At noon.",), ("28",)]
