"""Coefficients from a file: what is read, and what is refused."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from kg2rag.retrievers.mention_chains.coefficients import (
    DEFAULT,
    Linear,
    Ranker,
    digest,
    read_coefficients,
)
from kg2rag.retrievers.mention_chains.retriever import TRAINING
from kg2rag.retrievers.mention_chains.signals import MODELS, START, STEP
from kg2rag.types import ParameterError

TEXT = (files("kg2rag.retrievers.mention_chains") / "coefficients.toml").read_text(
    encoding="utf-8"
)


def test_a_linear_model_is_intercept_and_sum() -> None:
    model = Linear({"a": 2.0, "b": -1.5}, 0.25)
    assert model({"a": np.array([1.0, 0.0]), "b": np.array([0.0, 1.0])}).tolist() == [
        2.25,
        -1.25,
    ]
    assert model.formula == "2 · a + (0 - 1.5) · b + 0.25"
    assert Linear({"start": 1.0, "second": 0.0}).formula == "start"


def test_the_packages_coefficients_say_on_what_they_were_fitted() -> None:
    found = read_coefficients(DEFAULT)
    assert set(found.fitted["questions"]) == set(TRAINING)  # type: ignore[call-overload]
    assert "musique-100" in str(found.fitted["without"])
    assert tuple(found.ranker(tokens=True).start.coefficients) == START
    assert tuple(found.ranker(tokens=True).step.coefficients) == STEP
    assert not {"tokens", "tokens_joint"} & {
        name
        for model in MODELS
        for name in getattr(found.ranker(tokens=False), model).coefficients
    }


def test_a_score_is_a_mixture_of_two_experts() -> None:
    none = Linear({})
    ranker = Ranker(
        none,
        none,
        Linear({"cosine": 4.0}),
        Linear({"second": 2.0}),
        Linear({"linked": 2.0}, -1.0),
    )
    assert ranker.chain_weight({"linked": 0.5}) == 0.5
    assert ranker.order(0.25).coefficients == {"cosine": 3.0, "second": 0.5}
    # Without chains, their signals are not read.
    assert ranker.order(0.0).formula == "4 · cosine"


def test_a_file_that_is_written_again_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(TEXT)
    before = read_coefficients(str(file)).ranker(tokens=True)
    file.write_text(re.sub(r"(?m)^third = .*$", "third = 0.75", TEXT))
    import os

    os.utime(file, ns=(1, 1))
    assert before.chain.coefficients["third"] != 0.75
    assert (
        read_coefficients(str(file)).ranker(tokens=True).chain.coefficients["third"]
        == 0.75
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((r"^format = 4", "format = 9"), "9"),
        ((r"^format = 4", "format = "), "TOML"),
        ((r"^\[with_tokens.start\]", "[with_tokens.begin]"), r"\[with_tokens.start\]"),
        ((r"^bm25 = ", "bm26 = "), r"\[with_tokens.start\] .*'bm26'.* bm25, walk_gap"),
        ((r"^third = .*$", ""), r"third in \[with_tokens.chain\] .* None"),
        ((r"^third = .*$", "third = nan"), "third in .* nan"),
        ((r"^third = .*$", "third = true"), "third in .* True"),
    ],
)
def test_a_malformed_file_is_refused_by_what_is_wrong_in_it(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(re.sub(*change, TEXT, count=1, flags=re.MULTILINE))
    with pytest.raises(ParameterError, match=message):
        read_coefficients(str(file))


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"coefficients.*'none\.toml'"):
        read_coefficients("none.toml")


def test_questions_that_were_fitted_on_are_known_again_by_their_texts() -> None:
    found = read_coefficients(DEFAULT)
    assert len(found.seen) > 2500
    assert digest("Who wrote it?") == digest("who wrote  it") != digest("who wrote her")
