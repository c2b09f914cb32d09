"""Numbers and parameters under names that trackers of experiments take; the rule for names is MLflow's."""

from __future__ import annotations

import math
import posixpath
import re

import pandas as pd
import pytest

import kg2rag
from kg2rag import BM25, Comparison, Dense
from kg2rag.evaluation import tracking
from kg2rag.knowledge import KnowledgeBase
from kg2rag.types import QADataset, Question

ALLOWED = re.compile(r"[A-Za-z0-9_\-. /]{1,250}")  # of MLflow, every version; newer ones take a colon, too


def assert_taken(names: object) -> None:
    """Each name has allowed signs alone, is its own normal path, and is no folder of another's: MLflow keeps files."""
    known = list(names)  # type: ignore[call-overload]
    for name in known:
        assert ALLOWED.fullmatch(name), name
        assert posixpath.normpath(name) == name
        assert not any(other.startswith(f"{name}/") for other in known)


@pytest.fixture(scope="module")
def compared(kb: KnowledgeBase) -> Comparison:
    gold = [kb.corpus.ids[row] for row in range(8)]
    questions = tuple(Question(f"q{row}", kb.corpus[row].text[:40], {id_: 1}) for row, id_ in enumerate(gold))
    data = QADataset("world", kb.corpus, questions)
    systems = {"bm25": BM25(kb), "dense+bm25": kg2rag.fuse(Dense(kb), BM25(kb)), "Dense-1.0_x": Dense(kb)}
    metrics = ["recall@5", "recall@500tokens", "ndcg_burges@10", "all_recall@5", "r-precision"]
    return kg2rag.compare(systems, data, metrics=metrics, baseline="bm25")


def test_every_number_of_the_table_has_a_name_that_is_taken(compared: Comparison) -> None:
    flat, table = compared.flat_metrics(), compared.to_frame()
    assert_taken(flat)
    assert all(type(value) is float and not math.isnan(value) for value in flat.values())
    assert flat["bm25/recall_at_5"] == table.loc["bm25", "recall@5"]
    assert flat["dense_plus_bm25/recall_at_500tokens"] == table.loc["dense+bm25", "recall@500tokens"]
    assert flat["Dense-1.0_x/ms_per_query"] == table.loc["Dense-1.0_x", "ms_per_query"]
    assert flat["bm25/tokens_per_query"] == table.loc["bm25", "tokens_per_query"]
    rows = compared.scores.set_index(["system", "metric"])
    assert flat["bm25/recall_at_5_low"] == rows.loc[("bm25", "recall@5"), "ci_low"]
    assert flat["dense_plus_bm25/r-precision_p_holm"] == rows.loc[("dense+bm25", "r-precision"), "p_holm"]
    assert "bm25/recall_at_5_p_holm" not in flat  # the baseline is not tested against itself
    assert len([name for name in flat if name.startswith("bm25/")]) == 5 * 3 + 2


def test_parameters_are_short_texts_that_say_what_was_run(compared: Comparison) -> None:
    flat = compared.flat_parameters()
    assert_taken(flat)
    assert all(isinstance(value, str) and len(value) <= 500 for value in flat.values())
    assert (flat["data/name"], flat["data/questions"], flat["baseline"]) == ("world", "8", "bm25")
    assert flat["system/bm25"].startswith("BM25(k1=0.9")
    assert flat["fingerprint"] == compared.config["fingerprint"]


def test_names_that_become_one_are_refused() -> None:
    scores = pd.DataFrame({"system": ["a+b", "a_plus_b"], "metric": "recall@5", "mean": 1.0})
    with pytest.raises(
        ValueError, match=r"recall@5 of a\+b and recall@5 of a_plus_b would both be called 'a_plus_b/rec"
    ):
        tracking.metrics_of(scores, pd.DataFrame())


def test_signs_that_no_tracker_takes_are_written_out() -> None:
    assert tracking.key("a/b", "x=1:%*é") == "a-b/x-1__percent_star_"
    assert tracking.numbers([(("a",), None), (("b",), 1), (("c",), math.nan)]) == {"b": 1.0}
    assert tracking.shortened("x" * 600) == "x" * 499 + "…"
