"""Answers beside recall: twelve questions, one passage each, and readers whose answers are known beforehand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kg2rag import CompareOptions, Comparison, Recorded, compare, from_frames
from kg2rag.evaluation.passage_tokens import PassageTokens
from kg2rag.evaluation.reader_answers import contexts_of
from kg2rag.llm.reader import Answers
from kg2rag.llm.replies import Failure
from kg2rag.types import QADataset, Query, Ranking

N = 12


class Words:
    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


@dataclass(frozen=True)
class Plan:
    calls: int


@dataclass
class Keepers:
    """Answers with the keeper that the context names for the lighthouse of the question; `asked` counts contexts."""

    failing: Callable[[str, str], bool] = lambda *_: False
    is_blind_to: Callable[[str], bool] = lambda _: False
    asked: list[str] = field(default_factory=list)

    def plan(self, questions: Sequence[Query], contexts: Sequence[str]) -> Plan:
        return Plan(
            len(set(zip((query.text for query in questions), contexts, strict=True)))
        )

    def read(self, questions: Sequence[Query], contexts: Sequence[str]) -> Answers:
        self.asked += contexts
        return Answers(
            {
                q.id: self.answer(q.text, text)
                for q, text in zip(questions, contexts, strict=True)
            }
        )

    def answer(self, question: str, context: str) -> str | Failure:
        if self.failing(question, context):
            return Failure("output", "the model wrote no text")
        light = question.split()[-1].rstrip("?")
        if self.is_blind_to(light) or f"of {light} is" not in context:
            return "nobody"
        return context.split(f"of {light} is ")[1].split(".")[0]


@pytest.fixture(scope="module")
def data() -> QADataset:
    passages = [(f"p{i}", f"L{i}", f"The keeper of L{i} is Ann{i}.") for i in range(N)]
    questions = {
        "id": [f"q{i}" for i in range(N)],
        "text": [f"Who keeps L{i}?" for i in range(N)],
        "gold": [[f"p{i}"] for i in range(N)],
        "answers": [[f"Ann{i}"] for i in range(N)],
    }
    return from_frames(
        pd.DataFrame(passages, columns=["id", "title", "text"]),
        pd.DataFrame(questions),
        name="lights",
    )


def systems(data: QADataset) -> dict[str, Recorded]:
    """One that finds everything, and one that finds half of it."""
    gold = {f"q{i}": [(f"p{i}", 2.0), (f"p{(i + 1) % N}", 1.0)] for i in range(N)}
    half = {
        id_: hits if int(id_[1:]) < N // 2 else hits[::-1] for id_, hits in gold.items()
    }
    return {"all": Recorded(data.corpus, gold), "half": Recorded(data.corpus, half)}


def compared(data: QADataset, reader: Keepers, **options: object) -> Comparison:
    chosen = CompareOptions(
        counter=Words(), reader_tokens=10, progress=False, **options
    )  # type: ignore[arg-type]
    return compare(
        systems(data),
        data,
        metrics=["recall@1"],
        k=2,
        baseline="all",
        reader=reader,
        options=chosen,
    )


def test_every_system_is_read_within_the_same_tokens_between_two_bounds(
    data: QADataset,
) -> None:
    reader = Keepers()
    result = compared(data, reader)
    assert result.metrics == ["recall@1", "answer_em", "answer_f1", "answer_in_context"]
    assert result["answer_em"].to_dict() == {"all": 1.0, "half": 0.5}
    assert result["answer_in_context"].to_dict() == {"all": 1.0, "half": 0.5}
    # "[1]" and the seven words of one passage
    assert max(len(text.split()) for text in reader.asked) == 8
    assert result.sheet.bounds is not None
    bounds = result.sheet.bounds.set_index(["system", "metric"])["mean"]
    assert bounds["closed book", "answer_f1"] == 0.0
    assert bounds["gold passages", "answer_f1"] == 1.0
    assert "gold passages" in result.to_markdown()
    # Six questions of twelve differ, all in one direction: 2 / 2**6.
    tests = result.scores.set_index(["system", "metric"])["p_holm"]
    assert (
        tests["half", "answer_f1"] == tests["half", "recall@1"] == pytest.approx(2 / 64)
    )


@pytest.mark.parametrize(
    ("budget", "hits", "gold"),
    [
        (4, "[1] six\n\n[2] one two three", "[1] four five\n\n[2] six"),
        (2, "[1] six", "[1] four five"),
    ],
)
def test_a_context_numbers_the_hits_that_fit_and_so_do_the_gold_passages(
    budget: int, hits: str, gold: str
) -> None:
    texts = pd.DataFrame(
        {"id": ["a", "b", "c"], "text": ["one two three", "four five", "six"]}
    )
    questions = pd.DataFrame(
        {"id": ["q"], "text": ["Who?"], "gold": [["b", "c"]], "answers": [["x"]]}
    )
    data = from_frames(texts, questions, name="three")
    run = [
        Ranking.from_scores(
            "q", np.array([2, 0, 1]), np.array([3.0, 2.0, 1.0]), data.corpus.ids
        )
    ]
    contexts = contexts_of(
        {"system": run}, data, PassageTokens(data.corpus, Words()), budget
    )
    assert contexts == {"system": [hits], "closed book": [""], "gold passages": [gold]}


def test_as_many_questions_are_needed_as_the_bounds_and_the_spread_say(
    data: QADataset,
) -> None:
    perfect = " ".join(compared(data, Keepers()).sheet.reader_notes)
    # A point of recall is worth a point of F1, and the differences are the same: so is the number
    # of questions.
    needed = perfect.split("difference needs ")[1].split(" questions by answer_f1")[0]
    assert f"{needed} questions by recall@1" in perfect
    assert "from 0.0 to 100.0" in perfect
    # A reader that understands a part of the passages makes as much less of a point.
    third = " ".join(
        compared(
            data, Keepers(is_blind_to=lambda light: int(light[1:]) % 3 > 0)
        ).sheet.reader_notes
    )
    assert "(0.0 without passages, 33.3 with them)" in third
    # Four questions of twelve: p is 2 / 2**4.
    assert "cannot separate the systems" in third
    half = " ".join(
        compared(
            data, Keepers(is_blind_to=lambda light: int(light[1:]) % 2 > 0)
        ).sheet.reader_notes
    )
    assert "about 2.5 points of answer_f1" in half


def test_no_star_for_a_reader_that_makes_nothing_of_passages(data: QADataset) -> None:
    result = compared(data, Keepers(is_blind_to=lambda _: True))
    tests = result.scores.set_index(["system", "metric"])["p_holm"]
    assert np.isnan(tests["half", "answer_f1"])
    assert tests["half", "recall@1"] < 0.05
    assert "cannot separate the systems" in " ".join(result.sheet.reader_notes)


def test_a_failed_answer_is_counted_and_its_question_left_out_of_answers_only(
    data: QADataset,
) -> None:
    result = compared(
        data,
        Keepers(lambda question, context: "L0?" in question and "L0 is" in context),
    )
    assert result.missing_answers == 3  # of both systems and of the gold passages
    assert result["answer_em"].to_dict() == {"all": 1.0, "half": pytest.approx(5 / 11)}
    assert result["recall@1"].to_dict() == {"all": 1.0, "half": 0.5}
    assert len(result.scores_of("answer_em")["all"]) == N - 1
    assert "3 of 48 answers failed" in " ".join(result.sheet.reader_notes)
    with pytest.raises(RuntimeError, match=r"'q0'.*the model wrote no text"):
        compared(data, Keepers(lambda *_: True))


def test_nothing_is_sent_unless_the_plan_is_confirmed(data: QADataset) -> None:
    reader, plans = Keepers(), list[str]()

    def refuse(plan: str) -> bool:
        plans.append(plan)
        return False

    # 12 closed book, 12 gold, 6 of `half`; `all` reads the gold
    with pytest.raises(RuntimeError, match="calls=30"):
        compared(data, reader, confirm=refuse)
    assert plans == ["Plan(calls=30)"]
    assert not reader.asked


def test_what_cannot_be_read_is_refused_before_any_work(data: QADataset) -> None:
    with pytest.raises(TypeError, match="Reader"):
        compared(data, "gpt")  # type: ignore[arg-type]
    blank = pd.DataFrame({"id": ["q0"], "text": ["Who?"], "gold": [["p0"]]})
    without = from_frames(
        pd.DataFrame({"id": ["p0"], "text": ["A text."]}), blank, name="blank"
    )
    with pytest.raises(ValueError, match="blank: 1 of 1 questions have no gold answer"):
        compare(["bm25"], without, reader=Keepers())


def test_answers_are_saved_and_loaded_with_the_comparison(
    data: QADataset, tmp_path: Path
) -> None:
    result = compared(data, Keepers())
    result.save(tmp_path)
    loaded = Comparison.load(tmp_path)
    pd.testing.assert_frame_equal(loaded.answers, result.answers)
    assert loaded.sheet.reader_notes == result.sheet.reader_notes
    page = (tmp_path / "report.html").read_text()
    assert "closed book" in page
    result.save(tmp_path / "public", texts=False)
    assert Comparison.load(tmp_path / "public").answers["answer"].isna().all()
