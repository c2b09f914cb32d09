import pytest

from kg2rag.datasets import load

TITLED = [
    {
        "id": "t1",
        "question": "Where was the director of Ed Wood born?",
        "answer": "Burbank",
        "type": "compositional",
        "evidences": [
            ["Ed Wood", "director", "Tim Burton"],
            ["Tim Burton", "place of birth", "Burbank"],
        ],
        "gold_titles": ["Ed Wood", "Tim Burton"],
        "supporting_facts": None,
        "gold_status": "derived-strong",
    },
    {
        "id": "t2",
        "question": "Is Paris a city?",
        "answer": "yes",
        "type": "bridge_comparison",
        "evidences": [],
    }
    | {
        "gold_titles": ["Paris"],
        "supporting_facts": [["Paris", 0]],
        "gold_status": "authoritative",
    },
]
CORPUS = [
    {"title": "Paris", "text": "Paris is a city."},
    {"title": "Ed Wood", "text": "Ed Wood is a film by Tim Burton."},
    {"title": "Tim Burton", "text": "Tim Burton was born in Burbank."},
]


@pytest.fixture
def folder(write):
    write("questions.jsonl", TITLED)
    return write("2wikimultihopqa_corpus.json", CORPUS).parent


def test_official_records_bring_triples_and_hops_and_join_sentences_with_a_blank(
    hotpot, write
):
    for record in hotpot:
        record["type"] = "compositional"
        record["context"] = [
            [title, [s.strip() for s in sentences]]
            for title, sentences in record["context"]
        ]
        record["evidences"] = [["Ed Wood", "director", "Tim Burton"]]
    data = load("2wiki", path=write("dev.json", hotpot))
    assert data.corpus[1].text == "Tim Burton directs films. He was born in Burbank."
    assert data.questions[0].triples == (("Ed Wood", "director", "Tim Burton"),)
    assert (data.questions[0].hops, data.setting, data.name) == (
        2,
        "pooled",
        "2wikimultihopqa",
    )


def test_gold_titles_are_looked_up_in_the_corpus_file(folder):
    data = load("2wiki", path=folder)
    assert data.corpus.ids == ["Paris", "Ed Wood", "Tim Burton"]
    assert data.qrels == {"t1": {"Ed Wood": 1, "Tim Burton": 1}, "t2": {"Paris": 1}}
    assert [question.supporting for question in data.questions] == [(), (("Paris", 0),)]
    assert [question.hops for question in data.questions] == [2, 4]
    assert data.source["gold_status"] == {"authoritative": 1, "derived-strong": 1}


@pytest.mark.parametrize(
    "corpus",
    [CORPUS[:2], [*CORPUS, {"title": "Tim Burton", "text": "Another of that name."}]],
)
def test_a_gold_title_that_the_corpus_lacks_or_has_twice_is_named(
    folder, write, corpus
):
    write("2wikimultihopqa_corpus.json", corpus)
    with pytest.raises(
        ValueError, match=r"line 1 \('t1'\).*'Tim Burton'.*2wikimultihopqa_corpus\.json"
    ):
        load("2wiki", path=folder)


def test_what_needs_each_questions_own_paragraphs_or_the_corpus_file_is_refused(
    folder, write
):
    for option, value in {"setting": "distractor", "passages": "sentence"}.items():
        with pytest.raises(ValueError, match=option):
            load("2wiki", path=folder, **{option: value})
    (folder / "2wikimultihopqa_corpus.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"2wikimultihopqa_corpus\.json"):
        load("2wiki", path=write("questions.jsonl", TITLED))
