import pytest

from kg2rag.datasets import load

TITLED = [
    {
        "id": "t1",
        "question": "Where was the director of Ed Wood born?",
        "answer": "Burbank",
        "type": "compositional",
        "evidences": [["Ed Wood", "director", "Tim Burton"], ["Tim Burton", "place of birth", "Burbank"]],
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


def test_official_records_bring_triples_and_hops_and_join_sentences_with_a_blank(hotpot, write):
    for record in hotpot:
        record["type"] = "compositional"
        record["context"] = [[title, [s.strip() for s in sentences]] for title, sentences in record["context"]]
        record["evidences"] = [["Ed Wood", "director", "Tim Burton"]]
    data = load("2wiki", path=write("dev.json", hotpot))
    assert data.corpus[1].text == "Tim Burton directs films. He was born in Burbank."
    assert data.questions[0].triples == (("Ed Wood", "director", "Tim Burton"),)
    assert (data.questions[0].hops, data.setting, data.name) == (2, "pooled", "2wikimultihopqa")


def test_gold_titles_are_looked_up_in_the_corpus_file(folder):
    data = load("2wiki", path=folder)
    assert data.corpus.ids == ["Paris", "Ed Wood", "Tim Burton"]
    assert data.qrels == {"t1": {"Ed Wood": 1, "Tim Burton": 1}, "t2": {"Paris": 1}}


def test_supporting_sentences_are_kept_where_known(folder):
    first, second = load("2wiki", path=folder).questions
    assert (first.supporting, second.supporting) == ((), (("Paris", 0),))
    assert (first.hops, second.hops) == (2, 4)


def test_how_the_gold_was_found_stands_in_the_source(folder):
    assert load("2wiki", path=folder).source["gold_status"] == {"authoritative": 1, "derived-strong": 1}


def test_a_gold_title_that_the_corpus_lacks_is_named(folder, write):
    write("2wikimultihopqa_corpus.json", CORPUS[:2])
    message = r"questions\.jsonl, record 1 \('t1'\): the gold title 'Tim Burton' is not in 2wikimultihopqa_corpus\.json"
    with pytest.raises(ValueError, match=message):
        load("2wiki", path=folder)


def test_a_gold_title_that_stands_twice_is_ambiguous(folder, write):
    write("2wikimultihopqa_corpus.json", [*CORPUS, {"title": "Ed Wood", "text": "Ed Wood directed films."}])
    with pytest.raises(ValueError, match=r"the gold title 'Ed Wood' occurs 2 times in"):
        load("2wiki", path=folder)


def test_titles_without_the_corpus_file_ask_for_it(write):
    with pytest.raises(FileNotFoundError, match=r"2wikimultihopqa_corpus\.json must lie beside it"):
        load("2wiki", path=write("questions.jsonl", TITLED))


def test_the_distractor_setting_is_refused_where_questions_have_no_paragraphs(folder):
    with pytest.raises(ValueError, match="only setting 'pooled' is possible"):
        load("2wiki", path=folder, setting="distractor")


def test_sentence_passages_are_refused_over_a_corpus_of_paragraphs(folder):
    with pytest.raises(ValueError, match="passages 'sentence' needs the official file in a"):
        load("2wiki", path=folder, passages="sentence")
