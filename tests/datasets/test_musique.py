import pytest

from kg2rag.datasets import load


def test_the_corpus_is_the_union_of_paragraphs_and_repeated_titles_are_numbered(
    musique, write
):
    data = load("musique", path=write("musique.json", musique))
    assert data.corpus.ids == ["Acme", "X", "Acme##1", "Ann"]
    assert data.corpus.doc_ids == ["Acme", "X", "Acme", "Ann"]
    assert [passage.position for passage in data.corpus] == [0, 0, 1, 0]
    assert data.qrels == {
        "2hop__1_2": {"X": 1, "Acme##1": 1},
        "3hop1__3_4_5": {"X": 1, "Ann": 1},
    }


def test_type_and_hops_come_from_the_id_and_aliases_are_answers(musique, write):
    first, second = load("musique", path=write("musique.json", musique)).questions
    assert (first.type, first.hops, first.answers) == ("2hop", 2, ("Ann", "Anne"))
    assert (second.type, second.hops) == ("3hop1", 3)
    musique[0]["id"] = "mine"  # of another shape: the decomposition tells the hops
    question = load("musique", path=write("musique.json", musique)).questions[0]
    assert (question.type, question.hops) == ("", 2)


def test_a_decomposition_gives_the_order_of_the_hops(musique, write):
    record = musique[0]
    gold = [at for at, one in enumerate(record["paragraphs"]) if one["is_supporting"]]
    record["question_decomposition"] = [
        {"paragraph_support_idx": at} for at in reversed(gold)
    ]
    question = load("musique", path=write("musique.json", musique)).questions[0]
    assert question.chain == tuple(reversed(question.gold))
    # one hop is not placed
    record["question_decomposition"] = [{"paragraph_support_idx": gold[0]}, {}]
    assert load("musique", path=write("musique.json", musique)).questions[0].chain == ()


def test_json_lines_read_like_json(musique, write):
    lines = load("musique", path=write("musique_ans_v1.0_dev.jsonl", musique))
    whole = load("musique", path=write("musique.json", musique))
    assert lines.questions == whole.questions
    assert lines.corpus.fingerprint == whole.corpus.fingerprint


def test_a_corpus_file_beside_the_questions_gives_the_order(musique, write):
    corpus = [
        {"title": "Ann", "text": "Ann was born in Rome."},
        {"title": "Acme", "text": "Acme was founded by Ann."},
        {"title": "X", "text": "X is made by Acme."},
        {"title": "Acme", "text": "Acme is a town."},
    ]
    folder = write("musique_corpus.json", corpus).parent
    write("musique.json", musique)
    data = load("musique", path=folder)
    assert [passage.text for passage in data.corpus] == [row["text"] for row in corpus]
    assert data.questions[0].gold == {"X": 1, "Acme": 1}
    assert list(data.source["files"]) == ["musique.json", "musique_corpus.json"]


def test_gold_that_the_corpus_file_lacks_names_paragraph_and_file(musique, write):
    folder = write(
        "musique_corpus.json", [{"title": "Acme", "text": "Acme is a town."}]
    ).parent
    write("musique.json", musique)
    message = r"record 1 \('2hop__1_2'\): the supporting paragraph 'X' is not in musique_corpus\.json"
    with pytest.raises(ValueError, match=message):
        load("musique", path=folder)


def test_unanswerable_questions_are_left_out_and_counted(musique, write):
    twin = {**musique[0], "answerable": False}  # of the same id, which is no duplicate
    data = load("musique", path=write("musique.json", [*musique, twin]))
    assert [question.id for question in data.questions] == ["2hop__1_2", "3hop1__3_4_5"]
    assert data.source["notes"]["unanswerable questions left out"] == 1


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("is_supporting", False, "is_supporting"),
        (
            "is_supporting",
            "perhaps",
            r"field 'paragraphs\[0\]\.is_supporting'.*'perhaps'",
        ),
        ("paragraph_text", " ", "paragraph 'X'"),
    ],
)
def test_a_wrong_record_is_named(musique, write, field, value, named):
    for paragraph in musique[1]["paragraphs"]:
        paragraph[field] = value
    with pytest.raises(ValueError, match=rf"record 2 \('3hop1__3_4_5'\).*{named}"):
        load("musique", path=write("musique.json", musique))


def test_a_set_in_which_nothing_can_be_judged_and_one_of_equal_ids_are_refused(
    musique, write
):
    with pytest.raises(ValueError, match="none of its 1 records"):
        load(
            "musique", path=write("musique.json", [{**musique[0], "answerable": False}])
        )
    with pytest.raises(ValueError, match=r"record 2 \('2hop__1_2'\)"):
        load("musique", path=write("musique.json", [musique[0], musique[0]]))
