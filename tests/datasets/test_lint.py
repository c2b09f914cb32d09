import pandas as pd

from kg2rag.datasets import from_frames, info, lint, load
from kg2rag.datasets.lint import LONG

PLAIN = "Ada Lovelace wrote notes on the engine that Charles Babbage designed in London"


def findings(passages, questions):
    corpus = pd.DataFrame(passages, columns=["id", "title", "text"])
    data = from_frames(corpus, pd.DataFrame(questions))
    return {finding.check: finding for finding in lint(data).itertuples()}


def ask(**fields):
    return [
        {
            "id": "q",
            "text": "Who wrote notes?",
            "gold": ["p"],
            "answers": ["Ada Lovelace"],
            **fields,
        }
    ]


def test_a_clean_set_has_no_finding():
    assert findings([("p", "Ada", PLAIN)], ask()) == {}


def test_a_repeated_title_shows_the_later_passage():
    found = findings(
        [("p", "Ada", PLAIN), ("r", "Ada", "Ada is a language named after a countess")],
        ask(),
    )
    finding = found["passages whose title an earlier one has too"]
    assert (finding[3], finding.examples) == (1, ("r",))


def test_a_nearly_equal_passage_shows_its_twin():
    found = findings([("p", "A", PLAIN), ("r", "B", PLAIN.upper() + ".")], ask())
    (finding,) = (
        f
        for check, f in found.items()
        if check.startswith("passages that nearly repeat")
    )
    assert (finding.severity, finding.examples) == ("warning", ("r ~ p",))


def test_an_answer_inside_the_question_is_a_finding_at_word_boundaries_only():
    inside = findings([("p", "", PLAIN)], ask(text="Did Ada Lovelace write?"))
    assert inside["questions that contain their answer"].examples == ("q",)
    apart = findings([("p", "", PLAIN)], ask(text="What of Adams?", answers=["Ada"]))
    assert "questions that contain their answer" not in apart


def test_an_answer_is_sought_in_the_gold_passages_and_their_titles():
    found = findings([("p", "", PLAIN)], ask(answers=["Grace Hopper"]))
    (finding,) = found.values()
    assert tuple(finding)[1:] == (
        "note",
        "questions whose answer stands in no gold passage",
        1,
        ("q",),
    )
    assert findings([("p", "Grace Hopper", PLAIN)], ask(answers=["Grace Hopper"])) == {}
    assert set(findings([("p", "", PLAIN)], ask(answers=["Yes"]))) == {
        "questions answered yes or no"
    }


def test_a_repeated_question_and_several_hops_with_one_gold_passage_are_warnings():
    found = findings(
        [("p", "", PLAIN)],
        [*ask(hops=2), {**ask()[0], "id": "r", "text": "who wrote NOTES"}],
    )
    assert found["questions that repeat an earlier one"].examples == ("r",)
    assert found["questions of several hops with one gold passage"].examples == ("q",)


def test_short_and_long_passages_are_counted():
    long = " ".join(f"w{number}" for number in range(LONG + 1))
    found = findings([("p", "Ada Lovelace", long), ("r", "", "two words")], ask())
    assert [f.examples for f in found.values()] == [("r",), ("p",)]


def test_info_counts_by_type_and_hops(hotpot, write):
    data = load("hotpotqa", path=write("hotpot.json", hotpot))
    assert (
        lint(data).set_index("check").loc["loading: equal paragraphs merged", "count"]
        == 2
    )
    counts = info(data)
    assert counts["questions by type"] == {"bridge": 1, "comparison": 1}
    assert counts["questions by hops"] == {"2": 2}
    assert (counts["questions"], counts["passages"], counts["gold per question"]) == (
        2,
        3,
        2.0,
    )
    assert counts["candidates per question"] == 2.5
    # 14, 9 and 4 words
    assert counts["words per passage"] == 9.0
    assert counts["licence"] == "CC BY-SA 4.0"
