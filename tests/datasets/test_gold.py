"""Gold as people write it: paths in any spelling, pages, headings, titles, texts, and the shapes of other libraries."""

from __future__ import annotations

import json
import unicodedata
from types import SimpleNamespace

import pytest

import kg2rag
from kg2rag.datasets.documents.records.tables import read_questions
from kg2rag.types import Passage

DECOMPOSED = unicodedata.normalize("NFD", "Übersicht.md")
FARES = "The crossing costs nine crowns for every ship that comes from Ostholm in the summer of the year."
CORPUS = [
    Passage(
        f"sub/{DECOMPOSED}",
        "Overview",
        "Everything stands here.",
        f"sub/{DECOMPOSED}",
        0,
    ),
    Passage(
        "sub/fare.md#0",
        "Fares",
        "Sailings\nThe Halina leaves at noon.",
        "sub/fare.md",
        0,
        {"headings": ["Sailings"]},
    ),
    Passage(
        "sub/fare.md#1",
        "Fares",
        f"Crossing fee\n{FARES}",
        "sub/fare.md",
        1,
        {"headings": ["Crossing fee"]},
    ),
    Passage(
        "a.pdf#0",
        "Manual",
        "Marek Lund waits.",
        "a.pdf",
        0,
        {"page": 1, "last_page": 2},
    ),
    Passage("a.pdf#1", "Manual", "Ida Berg goes home.", "a.pdf", 1, {"page": 3}),
]


def gold_of(*pieces):
    data = kg2rag.from_frames(CORPUS, [{"question": "Who?", "gold": list(pieces)}])
    return data.unit, list(data.questions[0].gold)


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        ("sub/\u00dcbersicht.md", f"sub/{DECOMPOSED}"),
        ("./sub/fare.md", "sub/fare.md"),
        ("sub\\fare.md", "sub/fare.md"),
        ("/home/ida/docs/sub/fare.md", "sub/fare.md"),
        ("fare.md", "sub/fare.md"),
        ("Fares", "sub/fare.md"),
        ("SUB\\FARE.MD", "sub/fare.md"),
        ("file:///home/ida/sub/f%61re.md", "sub/fare.md"),
        ("https://docs.example.org/sub/fare/", "sub/fare.md"),
        ("/sub/fare/index.html", "sub/fare.md"),
        ("sub/%C3%9Cbersicht", f"sub/{DECOMPOSED}"),
        ("manual", "a.pdf"),
        ("/home/ida/docs/a.pdf", "a.pdf"),
        ("C:\\Daten\\a.pdf", "a.pdf"),
    ],
)
def test_a_document_is_known_by_every_spelling_of_its_path_and_by_its_title(
    piece, expected
):
    assert gold_of(piece) == ("document", [expected])


def test_a_record_is_known_by_its_id_if_only_one_file_has_it():
    corpus = {
        "hindi.trec#DOC-1": "Marek Lund waits.",
        "hindi.trec#DOC-2": "Ida Berg goes home.",
        "tamil.trec#DOC-2": "The Halina leaves at noon.",
    }
    data = kg2rag.from_frames(corpus, [{"question": "Who?", "gold": "DOC-1"}])
    assert dict(data.questions[0].gold) == {"hindi.trec#DOC-1": 1}
    with pytest.raises(ValueError, match="DOC-2"):
        kg2rag.from_frames(corpus, [{"question": "Who?", "gold": "DOC-2"}])


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        ("a.pdf#page=2", "a.pdf#0"),
        ("./a.pdf#page=3", "a.pdf#1"),
        ("sub/fare.md#crossing-fee", "sub/fare.md#1"),
        ("Fares#Sailings", "sub/fare.md#0"),
        ("Crossing fee", "sub/fare.md#1"),
        ("the  crossing costs NINE crowns for every ship", "sub/fare.md#1"),
        (f"Fees. {FARES} And so on.", "sub/fare.md#1"),
    ],
)
def test_a_passage_is_known_by_its_page_its_heading_and_its_text(piece, expected):
    assert gold_of(piece) == ("passage", [expected])


@pytest.mark.parametrize("piece", ["q1.3", "Q1.2", "sub/q1"])
def test_an_id_is_no_path_in_other_capitals_or_of_another_ending(piece):
    corpus = [
        {"id": "q1.2", "text": "One text."},
        {"id": "q2", "text": "Another text."},
    ]
    with pytest.raises(ValueError, match=piece):
        kg2rag.from_frames(corpus, [{"question": "Who?", "gold": piece}])


def test_documents_beside_passages_are_all_their_passages_and_counted():
    assert gold_of("sub/fare.md", "a.pdf#page=3") == (
        "passage",
        ["sub/fare.md#0", "sub/fare.md#1", "a.pdf#1"],
    )


def test_an_unknown_id_is_an_error_that_names_the_nearest():
    with pytest.raises(ValueError, match=r"sub/fare\.md"):
        gold_of("sub/fair.md")
    with pytest.raises(ValueError, match="page=9"):
        gold_of("a.pdf#page=9")


def test_a_text_that_no_passage_holds_is_named_and_its_question_is_not_scored():
    rows = [
        {"id": "a", "question": "Who?", "gold": FARES},
        {"id": "b", "question": "What?", "gold": "Nobody wrote this text"},
    ]
    data = kg2rag.from_frames(CORPUS, rows)
    assert [question.id for question in data.questions] == ["a"]
    assert [query.id for query in data.unjudged] == ["b"]
    assert any(
        "Nobody wrote this text" in note and "'b'" in note
        for note in data.source["notes"]
    )


@pytest.mark.parametrize(
    "questions",
    [
        {"Who waits?": "a.pdf"},
        {"Who waits?": ["a.pdf"]},
        {"Who waits?": {"a.pdf": 1}},
        [{"user_input": "Who waits?", "reference_contexts": ["Marek Lund waits."]}],
        [{"query": "Who waits?", "retrieval_gt": [["a.pdf#0"]]}],
        [{"query": "Who waits?", "qrels": {"a.pdf#0": 2}}],
        {
            "queries": {"q": "Who waits?"},
            "relevant_docs": {"q": ["a.pdf#0"]},
            "corpus": {},
        },
        SimpleNamespace(queries={"q": "Who waits?"}, relevant_docs={"q": ["a.pdf#0"]}),
    ],
)
def test_the_shapes_of_other_libraries(questions):
    [question] = kg2rag.from_frames(CORPUS, questions).questions
    assert question.text == "Who waits?"
    assert set(question.gold) <= {"a.pdf", "a.pdf#0"}


def test_contexts_are_gold_unless_a_system_answered_from_them():
    row = {"question": "What does the crossing cost?", "contexts": [FARES[:60]]}
    [question] = kg2rag.from_frames(CORPUS, [row]).questions
    assert dict(question.gold) == {"sub/fare.md#1": 1}
    data = kg2rag.from_frames(CORPUS, [row | {"answer": "Nine crowns."}])
    assert not data.questions
    assert len(data.unjudged) == 1


@pytest.mark.parametrize("judgements", ["relevant_docs", "qrels"])
@pytest.mark.parametrize("gold", [["u-1"], {"u-1": 2}])
@pytest.mark.parametrize("entry", [FARES, {"title": "", "text": FARES}])
def test_ids_of_the_corpus_that_a_file_of_questions_brings_are_found_by_their_texts(
    tmp_path, judgements, gold, entry
):
    """LlamaIndex's EmbeddingQAFinetuneDataset has the ids of its nodes; so have sets of MTEB."""
    file = tmp_path / "val_dataset.json"
    value = {
        "queries": {"q": "What does it cost?", "r": "Who?"},
        "corpus": {"u-1": entry, "u-2": "Another text that nobody judged."},
        judgements: {"q": gold},
        "mode": "text",
    }
    file.write_text(json.dumps(value))
    data = kg2rag.from_frames(CORPUS, read_questions(file))
    assert list(data.questions[0].gold) == ["sub/fare.md#1"]
    assert [query.id for query in data.unjudged] == ["r"]
    note = "gold found by its text in the questions' own corpus"
    assert data.source["notes"][note] == 1


def test_the_reference_is_the_answer_beside_that_of_a_system():
    row = {"question": "Who waits?", "gold": "a.pdf", "answer": "Ida."}
    [question] = kg2rag.from_frames(CORPUS, [row | {"ground_truth": "Lund"}]).questions
    assert question.answers == ("Lund",)


def test_ids_with_texts_are_questions_without_gold():
    data = kg2rag.from_frames(CORPUS, {"q1": "Who waits at the pier?"})
    assert [query.text for query in data.unjudged] == ["Who waits at the pier?"]


@pytest.mark.parametrize(
    "cell", ["a.pdf; sub/fare.md", "a.pdf|fare.md", "a.pdf, Fares", "manual\nfare.md\n"]
)
def test_a_cell_that_joins_names_is_several_pieces_of_gold(cell):
    assert gold_of(cell) == ("document", ["a.pdf", "sub/fare.md"])


def test_a_cell_with_a_name_that_the_corpus_lacks_is_refused():
    with pytest.raises(kg2rag.DataError, match=r"a\.pdf;b\.pdf"):
        gold_of("a.pdf;b.pdf")


def test_a_missing_path_of_many_words_is_no_text():
    with pytest.raises(
        kg2rag.DataError, match=r"guide/getting-started/first-steps\.md"
    ):
        gold_of("a.pdf", "guide/getting-started/first-steps.md")


def test_a_gold_text_without_blanks_is_found_in_its_script():
    text = "渡船每天中午离开港口前往奥斯托姆岛。"
    corpus = [Passage("1", "", text), Passage("2", "", "船长住在山上的一座小房子里。")]
    data = kg2rag.from_frames(
        corpus, [{"question": "什么时候?", "gold": "渡船每天中午离开港口"}]
    )
    assert list(data.questions[0].gold) == ["1"]


def test_gold_that_no_passage_holds_is_not_called_unjudged():
    rows = [
        {"question": "Who?", "gold": "a.pdf"},
        {
            "question": "When?",
            "gold": "The ferry of Nordholm sinks in a storm at night.",
        },
        {"question": "Where?"},
    ]
    data = kg2rag.from_frames(CORPUS, rows)
    assert (len(data.unjudged), data.unmatched) == (2, 1)
    result = kg2rag.compare(["bm25"], data, metrics=["recall@5"])
    counts = {"questions": 2, "judged": 0, "unmatched": 1}
    assert result.config["data"]["without_gold"] == counts


def test_a_document_that_only_begins_ids_of_passages_is_all_of_them():
    corpus = [
        {"id": id_, "text": f"Text of {id_}."}
        for id_ in ("FT911-3-0", "FT911-3-1", "FT911-4#0", "12_chunk_0", "12_chunk_1")
    ]
    questions = [
        {"question": "Who?", "gold": "FT911-3"},
        {"question": "When?", "gold": "12"},
        {"question": "Why?", "gold": "FT911-4"},
    ]
    data = kg2rag.from_frames(corpus, questions)
    assert [list(question.gold) for question in data.questions] == [
        ["FT911-3-0", "FT911-3-1"],
        ["12_chunk_0", "12_chunk_1"],
        ["FT911-4#0"],
    ]
    assert 3 in data.source["notes"].values()
    with pytest.raises(ValueError, match="FT911-5"):
        kg2rag.from_frames(corpus, [{"question": "Who?", "gold": "FT911-5"}])


def test_passages_that_share_only_standing_phrases_with_a_text_are_no_gold():
    standing = "The rule applies to all sites and to temporary staff alike, and managers repeat it once a year."
    facts = {
        "fare": "A crossing costs nine crowns for children and twelve for adults.",
        "dogs": "Dogs travel on the upper deck and wear a muzzle unless they are small enough for a basket.",
        "late": "After a delay of two hours the operator refunds half of the price.",
        "bikes": "Bicycles are stored behind the ramp and are lifted over by the crew.",
        "cars": "Cars queue in lane four until the mate waves them on to the ferry.",
        "food": "The galley sells soup, bread and coffee until the lights are dimmed.",
    }
    corpus = [{"id": id_, "text": f"{standing} {fact}"} for id_, fact in facts.items()]
    questions = [
        {"question": "Who pays?", "gold": f"1-hop. {standing} {facts['fare']}"},
        {
            "question": "Is it late with a dog?",
            "gold": f"{facts['dogs']} {standing} {facts['late']}",
        },
    ]
    data = kg2rag.from_frames(corpus, questions)
    assert [set(question.gold) for question in data.questions] == [
        {"fare"},
        {"dogs", "late"},
    ]


def test_a_passage_that_repeats_a_part_of_the_passage_with_the_whole_text_is_no_gold():
    corpus = [{"id": "whole", "text": FARES}, {"id": "end", "text": FARES[24:]}]
    data = kg2rag.from_frames(corpus, [{"question": "How much?", "gold": FARES}])
    assert set(data.questions[0].gold) == {"whole"}


PAGES = [
    Passage(f"a.pdf#{page}", "Timetable", text, "a.pdf", page, {"page": page})
    for page, text in ((1, "The ferry leaves at noon."), (2, "Dogs pay nothing."))
]


@pytest.mark.parametrize(
    ("name", "pages"),
    [("Seite", [1, 2]), ("page", [0, 1]), ("source_page", ["p. 1", "2"])],
)
def test_a_column_of_pages_beside_documents_names_the_gold(name, pages):
    rows = [
        {"Frage": text, "Quelle": "docs/a.pdf", name: page}
        for text, page in zip(("When?", "Who pays?"), pages, strict=True)
    ]
    data = kg2rag.from_frames(PAGES, rows)
    assert [set(one.gold) for one in data.questions] == [{"a.pdf#1"}, {"a.pdf#2"}]


def test_pages_of_documents_without_pages_are_left_out():
    rows = [{"question": "Who pays?", "gold": "sub/fare.md", "page": 7}]
    data = kg2rag.from_frames(CORPUS, rows)
    assert (data.unit, set(data.questions[0].gold)) == ("document", {"sub/fare.md"})


def test_ids_of_another_tool_give_way_to_the_context_around_the_answer():
    answer = {"text": "noon", "answer_start": 21, "document_id": 7}
    corpus = [
        {"id": "start", "text": f"Halina sails from pier noon. {FARES}"},
        {"id": "end", "text": f"{FARES[::-1]} Dogs travel on the upper deck for free."},
    ]
    context = " ".join(passage["text"] for passage in corpus)
    row = {"question": "When?", "document_id": 7, "context": context}
    data = kg2rag.from_frames(corpus, [{**row, "answers": [answer]}])
    assert set(data.questions[0].gold) == {"start"}
    assert any("'document_id'" in note for note in data.source["notes"])


def test_a_grade_in_the_record_of_a_passage_is_that_of_the_gold():
    chunks = [{"text": FARES, "expected_score": 2.0}]
    chunks += [{"text": CORPUS[1].text, "expected_score": 0.0}]
    row = {"query": "How much?", "expected_chunks": chunks}
    data = kg2rag.from_frames(CORPUS, [row])
    assert data.questions[0].gold == {"sub/fare.md#1": 2}


def test_references_that_rows_judge_are_the_gold():
    labels = {FARES: "relevant", CORPUS[1].text: "unrelated"}
    rows = [
        {"input": "How much?", "reference": text, "label": label}
        for text, label in labels.items()
    ]
    data = kg2rag.from_frames(CORPUS, rows)
    assert data.questions[0].gold == {"sub/fare.md#1": 1}


def test_a_column_of_ground_truth_contexts_may_be_short_for_it():
    row = {"Questions": "How much?", "GT Answers": "nine", "GT RAG Contexts": FARES}
    data = kg2rag.from_frames(CORPUS, [row])
    assert data.questions[0].answers == ("nine",)
    assert data.questions[0].gold == {"sub/fare.md#1": 1}


def test_steps_of_strategyqa_without_evidence_are_no_gold():
    evidence = [[[["D1"]], ["operation"]], [[["D1", "D2"], "no_evidence"]]]
    row = {"question": "Is it?", "answer": True, "evidence": evidence}
    corpus = [{"id": f"D{n}", "text": "One text."} for n in (1, 2, 3)]
    data = kg2rag.from_frames(corpus, [row])
    assert set(data.questions[0].gold) == {"D1", "D2"}
    assert data.questions[0].answers == ("yes",)


def test_lists_of_responses_of_argilla_are_grades():
    responses = {FARES: ["relevant", "not relevant"], CORPUS[1].text: ["not relevant"]}
    rows = [
        {"id": n, "question": "Fee?", "passage": text, "relevance.responses": words}
        for n, (text, words) in enumerate(responses.items())
    ]
    data = kg2rag.from_frames(CORPUS, rows)
    assert [question.gold for question in data.questions] == [{"sub/fare.md#1": 1}]


def test_labels_of_azure_are_grades():
    truth = [
        {"document_id": id_, "query_relevance_label": grade}
        for id_, grade in (("sub/fare.md#0", 0), ("sub/fare.md#1", 4))
    ]
    row = {"query": "Fee?", "retrieval_ground_truth": truth}
    data = kg2rag.from_frames(CORPUS, [row])
    assert data.questions[0].gold == {"sub/fare.md#1": 4}


def test_evidence_in_records_is_found_by_its_text():
    evidence = [
        {"evidence_text": FARES, "doc_name": "fare", "evidence_page_num": 5},
    ]
    rows = [{"question_text": "How much?", "evidence": evidence}]
    data = kg2rag.from_frames(CORPUS, rows)
    assert data.questions[0].gold == {"sub/fare.md#1": 1}


def test_a_document_is_known_by_its_name_without_the_ending():
    assert gold_of("Fare") == ("document", ["sub/fare.md"])


def test_texts_of_positives_are_the_gold():
    row = {"query": "How much?", "positive": [FARES], "negative": [CORPUS[1].text]}
    data = kg2rag.from_frames(CORPUS, [row])
    assert data.questions[0].gold == {"sub/fare.md#1": 1}


def test_selected_passages_of_ms_marco_are_the_gold():
    passages = {
        "is_selected": [0, 1],
        "passage_text": [CORPUS[1].text, FARES],
        "url": ["a", "b"],
    }
    rows = [{"query": "How much?", "passages": passages, "answers": ["nine"]}]
    data = kg2rag.from_frames(CORPUS, rows)
    assert data.questions[0].gold == {"sub/fare.md#1": 1}


def test_ids_of_answers_are_preferred_to_those_of_a_haystack():
    corpus = [{"id": f"s_{n}", "text": "One text."} for n in range(4)]
    row = {"haystack_session_ids": ["s_0", "s_1", "s_2"], "answer_session_ids": ["s_2"]}
    data = kg2rag.from_frames(corpus, [{"question": "When?", **row}])
    assert set(data.questions[0].gold) == {"s_2"}


@pytest.mark.parametrize("cell", ["- fare.md\n- a.pdf", "1. fare.md\n2. a.pdf"])
def test_a_cell_may_be_a_list_with_marks(cell):
    assert gold_of(cell) == ("document", ["sub/fare.md", "a.pdf"])


def test_questions_of_iirc_have_records_as_context_and_typed_answers():
    context = [{"text": FARES, "passage": "main", "indices": [0, 9]}]
    spans = [{"text": "nine crowns", "passage": "main"}]
    rows = [
        {"question": "Fee?", "context": context, "answer": {"answer_spans": spans}},
        {"question": "Who?", "context": [], "answer": {"type": "none"}},
    ]
    data = kg2rag.from_frames(CORPUS, rows)
    assert data.questions[0].answers == ("nine crowns",)
    assert data.questions[0].gold == {"sub/fare.md#1": 1}
    assert [query.text for query in data.unjudged] == ["Who?"]


def test_examples_of_langsmith_may_be_a_list_of_objects():
    outputs = {"answer": "nine", "reference_context": [FARES]}
    rows = [{"id": "e1", "inputs": {"question": "Fee?"}, "outputs": outputs}]
    data = kg2rag.from_frames(CORPUS, rows)
    assert data.questions[0].answers == ("nine",)
    assert data.questions[0].gold == {"sub/fare.md#1": 1}


def test_a_column_may_have_rows_of_the_corpus_as_gold():
    corpus = [{"text": "One text."}, {"text": "Another text."}]
    row = {"question": "Which?", "text": "Another text.", "idx_gold_in_corpus": 1}
    assert kg2rag.from_frames(corpus, [row]).questions[0].gold == {"1": 1}


def test_references_with_their_places_are_finer_than_the_name_of_a_file():
    references = json.dumps([{"content": FARES, "start_index": 3, "end_index": 9}])
    row = {"question": "Fee?", "references": references, "corpus_id": "fare"}
    data = kg2rag.from_frames(CORPUS, [row])
    assert data.questions[0].gold == {"sub/fare.md#1": 1}


def test_texts_that_all_stand_in_passages_precede_names_of_documents():
    row = {"input": "Fee and dogs?", "source_file": "a.pdf", "context": [FARES]}
    data = kg2rag.from_frames(CORPUS, [row])
    assert data.questions[0].gold == {"sub/fare.md#1": 1}


def test_a_question_that_its_context_does_not_answer_has_no_gold():
    rows = [
        {"question": "Fee?", "context": FARES, "is_impossible": False},
        {"question": "Who?", "context": FARES, "is_impossible": True},
    ]
    data = kg2rag.from_frames(CORPUS, rows)
    assert [question.text for question in data.questions] == ["Fee?"]
    assert [query.text for query in data.unjudged] == ["Who?"]


def test_columns_of_files_may_lack_the_ending_and_answers_be_in_another_language():
    row = {"Question": "Qui ?", "Réponse attendue": "rien", "Fichier": "A", "Page": 2}
    data = kg2rag.from_frames(PAGES, [row])
    assert data.questions[0].gold == {"a.pdf#2": 1}
    assert data.questions[0].answers == ("rien",)
