import pytest

from kg2rag.datasets import load


def test_the_official_setting_is_the_default_and_offers_each_question_its_own_paragraphs(
    hotpot, write
):
    data = load("hotpotqa", path=write("hotpot.json", hotpot))
    assert data.setting == "distractor"
    assert data.queries[0].candidates == ("Ed Wood", "Tim Burton", "Paris")
    assert data.queries[1].candidates == ("Paris", "Tim Burton")
    pooled = load("hotpotqa", path=write("hotpot.json", hotpot), setting="pooled")
    assert (pooled.queries[0].candidates, pooled.questions) == (None, data.questions)


def test_paragraph_text_is_the_files_sentences_joined_and_their_split_is_kept_stripped(
    hotpot, write
):
    data = load("hotpotqa", path=write("hotpot.json", hotpot))
    corpus, source = data.corpus, data.source
    assert (corpus.ids, source["notes"]) == (
        ["Ed Wood", "Tim Burton", "Paris"],
        {"equal paragraphs merged": 2},
    )
    assert (source["levels"], list(source["files"])) == (
        {"easy": 1, "hard": 1},
        ["hotpot.json"],
    )
    assert (
        corpus[0].text == "Ed Wood is a film by Tim Burton. It is in black and white."
    )
    assert corpus.sentences(0) == [
        "Ed Wood is a film by Tim Burton.",
        "It is in black and white.",
    ]
    question = data.questions[0]
    assert question.gold == {"Ed Wood": 1, "Tim Burton": 1}
    assert question.supporting == (("Ed Wood", 0), ("Tim Burton", 1))
    assert (question.type, question.hops, question.answers) == (
        "bridge",
        2,
        ("Burbank",),
    )


def test_sentences_as_passages_carry_their_index_and_are_the_gold(hotpot, write):
    data = load("hotpotqa", path=write("hotpot.json", hotpot), passages="sentence")
    assert data.corpus.ids == [
        "Ed Wood##0",
        "Ed Wood##1",
        "Tim Burton##0",
        "Tim Burton##1",
        "Paris##0",
    ]
    passage = data.corpus[3]
    assert (passage.doc_id, passage.position, passage.text) == (
        "Tim Burton",
        1,
        "He was born in Burbank.",
    )
    assert data.questions[0].gold == {"Ed Wood##0": 1, "Tim Burton##1": 1}
    assert data.questions[1].candidates == (
        "Paris##0",
        "Tim Burton##0",
        "Tim Burton##1",
    )
    # the blank of the file
    assert (
        data.corpus.joined(": ", exact=True)[1] == "Ed Wood:  It is in black and white."
    )


def test_an_empty_sentence_is_no_passage_but_keeps_its_index(hotpot, write):
    hotpot[0]["context"][1][1].insert(1, " ")
    hotpot[0]["supporting_facts"][1][1] = 2
    hotpot.pop()
    data = load("hotpotqa", path=write("hotpot.json", hotpot), passages="sentence")
    assert [id_ for id_ in data.corpus.ids if id_.startswith("Tim")] == [
        "Tim Burton##0",
        "Tim Burton##2",
    ]
    assert data.questions[0].gold == {"Ed Wood##0": 1, "Tim Burton##2": 1}


def test_one_title_with_two_texts_makes_two_documents(hotpot, write):
    hotpot[1]["context"][0][1] = ["Paris is a myth."]
    data = load("hotpotqa", path=write("hotpot.json", hotpot))
    assert data.corpus.ids == ["Ed Wood", "Tim Burton", "Paris", "Paris##1"]
    assert data.corpus.doc_ids[3] == "Paris##1"
    assert data.corpus.titles[3] == "Paris"
    assert data.questions[1].gold == {"Paris##1": 1, "Tim Burton": 1}


def test_a_supporting_sentence_beyond_its_paragraph_is_counted_and_the_paragraph_stays_gold(
    hotpot, write
):
    hotpot[0]["supporting_facts"][0][1] = 9
    data = load("hotpotqa", path=write("hotpot.json", hotpot))
    assert data.questions[0].gold == {"Ed Wood": 1, "Tim Burton": 1}
    assert data.questions[0].supporting == (("Tim Burton", 1),)
    assert (
        data.source["notes"]["supporting sentences that their paragraph does not have"]
        == 1
    )
    hotpot[0]["supporting_facts"] = [["Ed Wood", 9]]
    # no gold sentence is left
    data = load("hotpotqa", path=write("hotpot.json", hotpot), passages="sentence")
    assert [question.id for question in data.questions] == ["h2"]
    assert data.source["notes"]["questions left without gold"] == 1


def test_a_wrong_record_names_file_field_and_value(hotpot, write):
    def refused(record, named):
        with pytest.raises(ValueError, match=named):
            load("hotpotqa", path=write("hotpot.json", [hotpot[0], record]))

    without = {
        key: value for key, value in hotpot[1].items() if key != "supporting_facts"
    }
    refused(without, r"hotpot\.json, record 2 \('h2'\): field 'supporting_facts'")
    refused(
        {**without, "supporting_facts": [["Lyon", 0]]},
        r"record 2 \('h2'\): supporting_facts .*'Lyon'",
    )
    refused(
        {**without, "supporting_facts": [["Paris", "1"]]},
        r"field 'supporting_facts\[0\]\[1\]'.*'1'",
    )
    refused({**hotpot[1], "context": "Paris"}, r"field 'context'.*'Paris'")


def test_the_split_chooses_among_the_official_files_of_a_folder(hotpot, write):
    folder = write("hotpot_dev_distractor_v1.json", hotpot).parent
    write("hotpot_train_v1.1.json", hotpot[:1])
    write("subkgs.jsonl", [{"title": "Paris", "sentences": {}}])
    assert load("hotpotqa", path=folder, split="train").graph_files == {
        "subkgs": folder / "subkgs.jsonl"
    }
    assert len(load("hotpotqa", path=folder, split="train")) == 1
    assert len(load("hotpotqa", path=folder, split="validation")) == 2
    with pytest.raises(
        ValueError, match=r"hotpot_dev_distractor_v1\.json, hotpot_train"
    ):
        load("hotpotqa", path=folder)


def test_hipporags_corpus_beside_the_questions_gives_the_order(hotpot, write):
    corpus = [
        [title, "".join(sentences)]
        for record in hotpot
        for title, sentences in record["context"]
    ]
    folder = write(
        "hotpotqa_corpus.json", [{"title": t, "text": x} for t, x in reversed(corpus)]
    ).parent
    write("hotpotqa.json", hotpot)
    assert load("hotpotqa", path=folder).corpus.ids == [
        "Tim Burton",
        "Paris",
        "Ed Wood",
    ]
    with pytest.raises(ValueError, match="'sentence'"):
        load("hotpotqa", path=folder, passages="sentence")
