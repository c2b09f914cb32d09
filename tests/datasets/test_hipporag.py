import pytest

from kg2rag.datasets import load

CORPUS = [
    {"idx": 0, "title": "Paris", "text": "Paris is a city."},
    {
        "idx": 1,
        "title": "Tim Burton",
        "text": "Tim Burton directs films. He was born in Burbank.",
    },
    {
        "idx": 2,
        "title": "Ed Wood",
        "text": "Ed Wood is a film by Tim Burton. It is in black and white.",
    },
]


@pytest.fixture
def tiny(hotpot, write):
    """A corpus file and questions -> the set that they make."""

    def make(corpus, questions=hotpot):
        write("tiny.json", questions)
        return load("hipporag", path=write("tiny_corpus.json", corpus).parent)

    return make


def test_the_name_of_the_set_is_the_name_of_its_files(hotpot, tiny):
    data = tiny(CORPUS)
    assert data.name == "tiny"
    assert data.corpus.ids == ["Paris", "Tim Burton", "Ed Wood"]
    assert data.corpus.sentences(1) == [
        "Tim Burton directs films.",
        "He was born in Burbank.",
    ]
    assert data.questions[0].gold == {"Ed Wood": 1, "Tim Burton": 1}


def test_a_questions_file_finds_its_corpus(hotpot, write):
    write("tiny_corpus.json", CORPUS)
    write("other_corpus.json", CORPUS)
    questions = write("tiny.json", hotpot)
    assert load("hipporag", path=questions).name == "tiny"
    with pytest.raises(ValueError, match=r"other_corpus\.json, tiny_corpus\.json"):
        load("hipporag", path=questions.parent)


def test_an_object_from_titles_to_sentences_is_a_corpus_too(hotpot, write):
    titles = {
        title: sentences for record in hotpot for title, sentences in record["context"]
    }
    folder = write("hotpotqa_corpus.json", titles).parent
    write("hotpotqa.json", hotpot)
    data = load("hipporag", path=folder)
    assert data.corpus.ids == ["Ed Wood", "Tim Burton", "Paris"]
    assert data.corpus[1].text == "Tim Burton directs films. He was born in Burbank."


def test_a_paragraph_that_differs_in_text_is_matched_by_its_only_title_and_counted(
    hotpot, tiny
):
    hotpot[0]["context"][2][1] = ["Paris is  a city."]
    data = tiny(CORPUS)
    assert data.questions[0].candidates == ("Ed Wood", "Tim Burton", "Paris")
    assert data.source["notes"] == {
        "paragraphs matched by title, their text differs": 1
    }


def test_a_distractor_that_the_corpus_lacks_leaves_the_question_without_candidates(
    hotpot, tiny
):
    data = tiny(CORPUS[1:], hotpot[:1])
    assert data.questions[0].candidates is None
    assert data.questions[0].gold == {"Ed Wood": 1, "Tim Burton": 1}


def test_gold_that_the_corpus_lacks_is_named(hotpot, tiny):
    with pytest.raises(ValueError, match=r"record 1 \('h1'\).*'Ed Wood'.*tiny_corpus"):
        tiny(CORPUS[:2], hotpot)
    with pytest.raises(ValueError, match=r"tiny_corpus\.json, record 4: .*'text'"):
        tiny([*CORPUS, {"title": "Void", "text": " "}])
    with pytest.raises(
        ValueError,
        match=r"\['id', 'question'\]; one of paragraphs, contexts, gold_titles, evidences, context",
    ):
        tiny(CORPUS, [{"id": "q", "question": "Why?"}])


def test_musiques_questions_are_told_by_their_fields(musique, tiny):
    paragraphs = [p for record in musique for p in record["paragraphs"]]
    corpus = [{"title": p["title"], "text": p["paragraph_text"]} for p in paragraphs]
    data = tiny(corpus, musique)
    assert data.corpus.doc_ids == ["Acme", "X", "Acme", "Ann"]
    assert data.questions[0].gold == {"X": 1, "Acme##1": 1}


@pytest.mark.parametrize(
    ("answer", "answers"),
    [
        ({"answer": ["Acme", "Acme Ltd"]}, ("Acme", "Acme Ltd")),
        ({"reference": ["Acme"]}, ("Acme",)),
        (
            {"obj": "Acme", "possible_answers": '["Acme", "Acme Ltd"]'},
            ("Acme", "Acme Ltd"),
        ),
    ],
)
def test_natural_questions_and_popqa_have_their_own_names_of_fields(
    tiny, answer, answers
):
    contexts = [
        {"title": p["title"], "text": p["text"], "is_supporting": p is CORPUS[1]}
        for p in CORPUS
    ]
    [question] = tiny(
        CORPUS, [{"id": 7, "question": "Who?", "contexts": contexts, **answer}]
    ).questions
    assert (question.id, question.gold, question.answers) == (
        "7",
        {"Tim Burton": 1},
        answers,
    )
