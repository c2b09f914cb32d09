"""`eval/fit.py`, from training questions to a file that `mention_chains` reads."""

from __future__ import annotations

import tomllib
from pathlib import Path

import alternatives
import fit
import pytest

from kg2rag.compute import SentenceEncoder
from kg2rag.datasets import load
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers import systems
from kg2rag.types import Query


@pytest.fixture(scope="module")
def sets() -> fit.Sets:
    """The bundled questions but two, as three sets."""
    examples = fit.examples_of(load("bundled"), {"q001", "q002"}, SentenceEncoder())
    return {name: examples[at::3] for at, name in enumerate("abc")}


def written(sets: fit.Sets) -> str:
    return fit.coefficients_file(
        sets, {"a", "b"}, {"a": load("bundled")}, SentenceEncoder()
    )


def test_the_file_says_what_it_was_fitted_on_and_the_system_reads_it(
    sets: fit.Sets, kb: KnowledgeBase, tmp_path: Path
) -> None:
    (tmp_path / "own.toml").write_text(written(sets))
    record = tomllib.loads((tmp_path / "own.toml").read_text())["fitted"]
    assert sum(record["questions"].values()) == len(load("bundled").questions) - 2
    assert record["files"] == {
        f"a/{name}": digest for name, digest in load("bundled").source["files"].items()
    }
    own = systems.build("mention_chains", kb, coefficients=str(tmp_path / "own.toml"))
    question = [Query("q", kb.corpus[0].text)]
    default = systems.build("mention_chains", kb).retrieve_batch(question, 10)[0]
    assert (
        own.retrieve_batch(question, 10)[0].scores.tolist() != default.scores.tolist()
    )


def test_the_same_questions_give_the_same_bytes(sets: fit.Sets) -> None:
    assert written(sets) == written(sets)


def test_a_mixture_learns_which_expert_is_right_by_the_gate() -> None:
    # Where a title is named, gold is second in a chain; where none is, it has the highest cosine.
    import numpy as np

    known = []
    for titles in (0.0, 1.0) * 10:
        right, wrong = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
        signals = {
            "bm25_score": np.zeros(3),
            "cosine": wrong if titles else right,
            "third": np.zeros(3),
        }
        signals |= {"second": right if titles else wrong, "titles": np.full(3, titles)}
        signals |= {"walk_named": np.zeros(3), "linked": np.zeros(3)}
        known.append((signals, np.array([True, False, False])))
    models = fit.fit_mixture([known], tokens=False)
    assert models["single"].coefficients["cosine"] > 0
    assert models["chain"].coefficients["second"] > 0
    assert (
        models["gate"].intercept
        < 0
        < models["gate"].intercept + models["gate"].coefficients["titles"]
    )


def test_every_alternative_orders_every_question_of_the_set_left_out(
    sets: fit.Sets,
) -> None:
    found = alternatives.scored(sets, {"a", "b"})
    assert set(found["set"]) == set("abc")
    assert found.groupby("system").size().nunique() == 1
    assert found["recall@5"].between(0, 1).all()
