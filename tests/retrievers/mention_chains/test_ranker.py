"""Coefficients from a file: what is read, and what is refused."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from kg2rag.retrievers.mention_chains.candidates import START, STEP
from kg2rag.retrievers.mention_chains.chains import DEFAULT, Linear, read_coefficients
from kg2rag.types import ParameterError

TEXT = (files("kg2rag.retrievers.mention_chains") / "coefficients.toml").read_text(encoding="utf-8")
ROOT = Path(__file__).parents[3]


def test_a_linear_model_is_intercept_and_sum() -> None:
    model = Linear({"a": 2.0, "b": -1.5}, 0.25)
    assert model({"a": np.array([1.0, 0.0]), "b": np.array([0.0, 1.0])}).tolist() == [2.25, -1.25]
    assert model.formula == "2 · a + (0 - 1.5) · b + 0.25"
    assert Linear({"start": 1.0, "second": 0.0}).formula == "start"


def test_the_packages_coefficients_say_on_what_they_were_fitted() -> None:
    found = read_coefficients(DEFAULT)
    assert found.fitted["questions"] == {"musique": 310, "hotpotqa": 300, "2wiki": 500}
    assert len(found.fitted["files"]) == 3  # type: ignore[arg-type]
    assert tuple(found.ranker(tokens=True).start.coefficients) == START
    assert tuple(found.ranker(tokens=True).step.coefficients) == STEP
    assert "tokens_joint" not in found.ranker(tokens=False).step.coefficients


def test_those_for_musique_100_were_fitted_without_its_questions() -> None:
    found = read_coefficients(str(ROOT / "eval/coefficients/mention_chains_without_musique100.toml"))
    assert found.fitted["questions"] == {"musique": 210, "hotpotqa": 300, "2wiki": 500}


def test_a_file_that_is_written_again_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(TEXT)
    before = read_coefficients(str(file)).ranker(tokens=True)
    file.write_text(TEXT.replace("third = 0.5", "third = 0.75"))
    import os

    os.utime(file, ns=(1, 1))
    assert before.orders["one_chain"].coefficients["third"] == 0.5
    assert read_coefficients(str(file)).ranker(tokens=True).orders["one_chain"].coefficients["third"] == 0.75


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("format = 1", "format = 9"), "format is 9, not 1"),
        (("format = 1", "format = "), "not TOML"),
        (("[with_tokens.start]", "[with_tokens.begin]"), r"no table \[with_tokens.start\]"),
        (("bm25 = ", "bm26 = "), r"\[with_tokens.start\] has 'bm26'. Known: intercept, bm25, walk_gap"),
        (("third = 0.5\n", ""), r"third in \[order.one_chain\] must be a finite number, not None"),
        (("third = 0.5", "third = nan"), "third in .* must be a finite number, not nan"),
        (("third = 0.5", "third = true"), "third in .* must be a finite number, not True"),
    ],
)
def test_a_malformed_file_is_refused_by_what_is_wrong_in_it(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(TEXT.replace(*change, 1))
    with pytest.raises(ParameterError, match=message):
        read_coefficients(str(file))


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"coefficients must be .* a file written by .*, not 'none.toml'"):
        read_coefficients("none.toml")
