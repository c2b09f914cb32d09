import json

import numpy as np
import pandas as pd
import pytest

from kg2rag.datasets import from_folder, from_frames, from_texts

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
    assert "1 × gold of grade 0" in repr(data)


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


KILT = {
    "input": "When?",
    "output": [
        {"answer": "noon", "provenance": [{"wikipedia_id": "p1", "section": "Times"}]},
        {"answer": "at noon"},
        {"provenance": [{"wikipedia_id": 77, "title": "Dogs"}]},
    ],
    "meta": {"partial_evidence": []},
}
QASPER = {
    "question": "When?",
    "answers": [
        {"answer": {"extractive_spans": ["noon"], "evidence": [FERRIES["p1"]]}},
        {"answer": {"free_form_answer": "at noon", "evidence": [FERRIES["p2"]]}},
    ],
}


@pytest.mark.parametrize("row", [KILT, QASPER], ids=["KILT", "QASPER"])
def test_answers_may_have_their_gold(row):
    corpus = [
        {"id": "p1", "text": FERRIES["p1"]},
        {"id": "p2", "title": "Dogs", "text": FERRIES["p2"]},
    ]
    [question] = from_frames(corpus, [row]).questions
    assert (dict(question.gold), question.answers) == (
        {"p1": 1, "p2": 1},
        ("noon", "at noon"),
    )


def test_a_question_whose_answers_have_no_evidence_is_not_scored():
    answers = [{"answer": {"unanswerable": True, "evidence": []}}]
    rows = [QASPER, {"question": "Why?", "answers": answers}]
    assert [query.text for query in from_frames(FERRIES, rows).unjudged] == ["Why?"]


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


PAGES = [
    {
        "id": "ferry.md",
        "title": "Ferry",
        "text": "The ferry leaves at six o'clock.",
        "url": "https://x.org/Ferry",
    },
    {"id": "dogs.md", "title": "Dogs", "text": "All dogs must wear a muzzle."},
    {"id": "bikes.md", "title": "Bikes", "text": "Bikes ride free of charge."},
]


def golds(questions):
    data = from_frames(PAGES, questions)
    return {question.text: dict(question.gold) for question in data.questions}


@pytest.mark.parametrize(
    "words", [("ja", "nein"), ("yes", "no"), (True, False), (2, 0)]
)
def test_rows_of_judged_pairs_are_one_question_each(words):
    yes, no = words
    rows = [
        {"Frage": "When?", "Datei": "ferry.md", "Passend": yes},
        {"Frage": "When?", "Datei": "dogs.md", "Passend": no},
        {"Frage": "Who pays?", "Datei": "bikes.md", "Passend": yes},
        {"Frage": "Why?", "Datei": "dogs.md", "Passend": no},
    ]
    if yes == 2:  # numbers need a name that says so
        rows = [{**row, "Relevanz": row["Passend"]} for row in rows]
    grade = max(int(yes == 2) + 1, 1)
    data = from_frames(PAGES, rows)
    assert {q.text: dict(q.gold) for q in data.questions} == {
        "When?": {"ferry.md": grade},
        "Who pays?": {"bikes.md": grade},
    }
    assert [query.text for query in data.unjudged] == ["Why?"]


def test_numbers_that_differ_for_one_question_are_no_grades():
    rows = [
        {"question": "When?", "gold": "ferry.md", "page": 3},
        {"question": "When?", "gold": "dogs.md", "page": 0},
    ]
    assert golds(rows) == {"When?": {"ferry.md": 1, "dogs.md": 1}}


@pytest.mark.parametrize(
    "column", ["rating", "Grade", "label", "score", "judgement", "relevance", "rel"]
)
@pytest.mark.parametrize("as_text", [False, True])
def test_rows_of_pairs_are_judged_by_a_column_of_numbers(column, as_text):
    pairs = [("ferry.md", 3), ("dogs.md", 0), ("bikes.md", -1), ("ferry.md", 1)]
    rows = [
        {"query": "When?", "docid": name, column: str(grade) if as_text else grade}
        for name, grade in pairs
    ]
    data = from_frames(PAGES, rows)
    assert data.qrels == {"0": {"ferry.md": 3}}
    assert data.source["notes"]["gold of grade 0, not relevant, left out"] == 2
    assert any(repr(column) in note for note in data.source["notes"])


def test_pairs_that_nobody_judged_are_no_gold():
    rows = [
        {"query": "When?", "docid": "ferry.md", "rating": 2},
        {"query": "When?", "docid": "dogs.md", "rating": None},
    ]
    assert golds(rows) == {"When?": {"ferry.md": 2}}


@pytest.mark.parametrize("column", ["score", "label"])
def test_one_number_a_question_is_no_grade(column):
    rows = [
        {"question": "When?", "gold": "ferry.md", column: 7},
        {"question": "Who pays?", "gold": "bikes.md", column: 0},
    ]
    assert golds(rows) == {"When?": {"ferry.md": 1}, "Who pays?": {"bikes.md": 1}}


@pytest.mark.parametrize("column", ["docno", "pid", "document_id", "corpus-id"])
def test_gold_may_be_numbers_in_a_column_of_ids(column):
    corpus = [{"id": 7, "text": "Ada wrote."}, {"id": 8, "text": "Bob bakes."}]
    data = from_frames(corpus, [{"query": "Who?", column: 8}])
    assert data.qrels == {"0": {"8": 1}}


@pytest.mark.parametrize("column", ["context", "source_text", "Chunk"])
def test_a_context_that_stands_in_passages_is_gold_and_is_noted(column):
    other = "No page of this town says so."
    texts = ["The ferry leaves at six", "Bikes ride free of charge.", other]
    rows = [
        {
            "query": f"Question {number}?",
            column: text,
            "response": "All dogs must wear a muzzle.",
            "ground_truth": "Six.",
        }
        for number, text in enumerate(texts)
    ]
    data = from_frames(PAGES, rows)
    assert data.qrels == {"0": {"ferry.md": 1}, "1": {"bikes.md": 1}}
    assert data.questions[0].answers == ("Six.",)
    assert any(column in note for note in data.source["notes"])
    assert [query.text for query in data.unjudged] == ["Question 2?"]


def test_contexts_that_no_passage_holds_are_no_gold():
    rows = [{"query": "When?", "context": "The user asks on a small telephone."}]
    assert len(from_frames(PAGES, rows).unjudged) == 1


def test_the_notes_of_questions_are_added_to_those_of_documents(tmp_path):
    (tmp_path / "a.md").write_text("The ferry leaves at noon.")
    (tmp_path / "b.bin").write_bytes(bytes(9))
    documents = from_folder(tmp_path)
    data = documents.with_questions(
        [{"question": "When?", "gold": {"a.md": 1}, "x": 1}]
    )
    assert documents.source["notes"].items() < data.source["notes"].items()
    assert any("'x'" in note for note in data.source["notes"])


def test_repeated_answers_are_one():
    row = {"question": "When?", "gold": "ferry.md", "answers": ["six", "6", "six"]}
    assert from_frames(PAGES, [row]).questions[0].answers == ("six", "6")


def test_a_flag_of_questions_is_no_grade_of_their_gold():
    rows = [
        {"question": "When?", "gold": "ferry.md", "is_hard": False},
        {"question": "Who pays?", "gold": "bikes.md", "is_hard": True},
    ]
    assert golds(rows) == {"When?": {"ferry.md": 1}, "Who pays?": {"bikes.md": 1}}


def test_columns_that_name_documents_are_gold_where_no_other_column_is():
    rows = [
        {
            "Prompt": "When?",
            "Answer": "Six.",
            "link_1": "https://x.org/Ferry",
            "link_2": "dogs.md",
            "topic": "pets",
        },
        {"Prompt": "Who pays?", "Answer": "Nobody.", "link_1": "bikes.md"},
    ]
    data = from_frames(PAGES, rows)
    assert {q.text: set(q.gold) for q in data.questions} == {
        "When?": {"ferry.md", "dogs.md"},
        "Who pays?": {"bikes.md"},
    }
    assert data.questions[0].answers == ("Six.",)
    assert any("link_1, link_2" in note for note in data.source["notes"])


@pytest.mark.parametrize(
    "column",
    ["goldChunkIds", "expected_docs", "relevant_document", "ground_truth_context"],
)
def test_a_name_that_says_so_is_a_column_of_gold(column):
    assert golds([{"query": "When?", column: "ferry.md"}]) == {"When?": {"ferry.md": 1}}


def test_texts_behind_labels_are_each_gold():
    context = "Document 0: The ferry leaves at six o'clock.\n\nDocument 1: Bikes ride free of charge."
    assert golds([{"question": "When?", "reference_context": context}]) == {
        "When?": {"ferry.md": 1, "bikes.md": 1}
    }


def test_lists_of_lists_in_arrays_are_gold_as_autorag_writes_it(tmp_path):
    frame = pd.DataFrame(
        [
            {
                "query": "When?",
                "retrieval_gt": [["ferry.md"], ["dogs.md"]],
                "generation_gt": ["Six."],
            }
        ]
    )
    frame.to_parquet(tmp_path / "qa.parquet")
    data = from_frames(PAGES, pd.read_parquet(tmp_path / "qa.parquet"))
    assert set(data.questions[0].gold) == {"ferry.md", "dogs.md"}
    assert data.questions[0].answers == ("Six.",)


def test_questions_are_read_from_a_spreadsheet(tmp_path):
    pytest.importorskip("python_calamine")
    file = tmp_path / "questions.xlsx"
    with pd.ExcelWriter(file) as writer:
        pd.DataFrame({"Hinweis": ["Bitte ausfüllen"]}).to_excel(
            writer, sheet_name="Info", index=False
        )
        pd.DataFrame({"Frage": ["When?"], "Quelle": ["ferry.md"]}).to_excel(
            writer, sheet_name="Fragen", index=False
        )
    (tmp_path / "wiki").mkdir()
    (tmp_path / "wiki" / "ferry.md").write_text("The ferry leaves at six.")
    data = from_folder(tmp_path / "wiki").with_questions(file)
    assert [question.text for question in data.questions] == ["When?"]


EXPORTS = {
    "langfuse.json": [
        {
            "id": "i1",
            "input": {"question": "When?"},
            "expectedOutput": {"answer": "Six."},
            "metadata": {"source": "ferry.md"},
        }
    ],
    "langsmith.jsonl": {
        "inputs": {"question": "When?"},
        "outputs": {"answer": "Six."},
        "metadata": {"source": "ferry.md"},
    },
    "llamaindex.json": {
        "examples": [
            {
                "query": "When?",
                "query_by": {"type": "ai"},
                "reference_contexts": ["The ferry leaves at six."],
                "reference_answer": "Six.",
            }
        ]
    },
    "trivia.json": {
        "Data": [
            {
                "Question": "When?",
                "Answer": {"Value": "Six.", "Aliases": []},
                "gold_doc": "ferry.md",
            }
        ]
    },
    "argilla.json": [
        {
            "id": "r1",
            "fields": {"question": "When?"},
            "metadata": {"source": "ferry.md"},
            "suggestions": {"answer": {"value": "Seven.", "agent": None}},
            "responses": {"answer": [{"value": "Six.", "user_id": "5f8d"}]},
            "status": "completed",
        }
    ],
    "argilla_flat.jsonl": {
        "id": "r1",
        "question": "When?",
        "source": "ferry.md",
        "answer.responses": ["Six."],
        "answer.responses.users": ["5f8d"],
        "answer.suggestion": "Seven.",
    },
    "phoenix.json": {
        "data": {
            "dataset_id": "D1",
            "examples": [
                {
                    "id": "E1",
                    "input": {"question": "When?"},
                    "output": {"answer": "Six."},
                    "metadata": {"source": "ferry.md"},
                }
            ],
        }
    },
    "phoenix_columns.jsonl": {
        "example_id": "E1",
        "input_question": "When?",
        "output_answer": "Six.",
        "metadata_source": "ferry.md",
    },
    "labelstudio.json": [
        {
            "id": 1,
            "data": {
                "question": "When?",
                "passage": "All dogs.",
                "document": "ferry.md",
            },
            "expected_answer": "Six.",
        }
    ],
}


@pytest.mark.parametrize("name", EXPORTS)
def test_questions_of_test_sets_of_tools_have_their_gold_and_answers(tmp_path, name):
    (tmp_path / "wiki").mkdir()
    (tmp_path / "wiki" / "ferry.md").write_text("The ferry leaves at six.")
    (tmp_path / "wiki" / "dogs.md").write_text("All dogs must wear a muzzle.")
    (tmp_path / name).write_text(json.dumps(EXPORTS[name]))
    data = from_folder(tmp_path / "wiki").with_questions(tmp_path / name)
    [question] = data.questions
    assert (question.text, dict(question.gold)) == ("When?", {"ferry.md": 1})
    assert question.answers == ("Six.",)


def test_arrays_within_the_cells_of_a_parquet_file_are_lists(tmp_path):
    answers = {"text": ["noon", "at noon"], "answer_start": [21, 18]}
    row = {"question": "When?", "context": FERRIES["p1"], "answers": answers}
    file = tmp_path / "squad.parquet"
    pd.DataFrame([row]).to_parquet(file)
    frame = pd.read_parquet(file)
    for questions in (frame, frame.to_dict("records"), file):
        [question] = from_texts(FERRIES).with_questions(questions).questions
        assert dict(question.gold) == {"p1": 1}
        assert question.answers[:2] == ("noon", "at noon")


def test_a_column_called_text_beside_that_of_questions_is_no_question():
    corpus = [{"id": "a", "text": "One text."}]
    rows = [{"question": "Which?", "text": "One text.", "gold": "a"}]
    data = from_frames(corpus, rows)
    assert [question.text for question in data.questions] == ["Which?"]
