"""`verify`: two runs under different conditions are compared byte for byte, and a difference is found."""

from __future__ import annotations

import pytest

from kg2rag.experiments.verification import Verification, verify


@pytest.mark.slow
def test_two_runs_of_a_comparison_are_equal_byte_for_byte() -> None:
    result = verify(["bundled", "--systems", "bm25,dense,mention_ppr", "--limit", "20"])
    assert result.differing == []
    assert "scores.csv" in result.checksums


def test_a_file_that_differs_or_is_missing_is_named() -> None:
    assert Verification({"a": ("1", "1"), "b": ("1", "2"), "c": ("1", None)}).differing == ["b", "c"]


def test_a_run_that_fails_says_why() -> None:
    with pytest.raises(RuntimeError, match="nothing"):
        verify(["nothing"])
