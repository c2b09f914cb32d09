"""Which questions are for choosing, and which for judging."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from kg2rag.experiments.sweep.split import Split
from kg2rag.types import QADataset


def test_each_type_gives_its_share(data: QADataset) -> None:
    (labels,) = Split(dev=0.25).labels([data])
    counts = Counter((question.type, label) for question, label in zip(data.questions, labels, strict=True))
    assert counts == {("even", "dev"): 5, ("even", "test"): 15, ("odd", "dev"): 5, ("odd", "test"): 15}


def test_another_seed_is_another_split_of_the_same_size(data: QADataset) -> None:
    (first,), (second,) = Split(seed=0).labels([data]), Split(seed=1).labels([data])
    assert first != second
    assert first.count("dev") == second.count("dev") == 20


def test_a_split_depends_on_the_questions_alone(data: QADataset) -> None:
    assert Split().labels([data]) == Split().labels([replace(data, name="other")])


def test_two_sets_are_dev_and_test(data: QADataset) -> None:
    labels = Split(dev="train", test="validation").labels([data, data])
    assert [set(one) for one in labels] == [{"dev"}, {"test"}]


def test_a_split_that_leaves_no_dev_question_is_refused(data: QADataset) -> None:
    with pytest.raises(ValueError, match=r"split\.dev = 0\.01 of 40 questions leaves none for dev"):
        Split(dev=0.01).labels([data])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dev": 1.0}, "expected a share between 0 and 1"),
        ({"dev": "train"}, "Give dev as a share alone"),
        ({"dev": "train", "test": "train"}, "Give dev as a share alone"),
        ({"dve": 0.5}, r"Unknown key split\.dve\. Known: dev, seed, stratify, test\."),
        ({"seed": -1}, "expected a whole number"),
    ],
)
def test_what_is_no_split_is_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Split.read(given)
