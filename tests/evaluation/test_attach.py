"""A loaded comparison is joined again with the systems and questions that made it, and with no others."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import keep
import pandas as pd
import pytest

from kg2rag import BM25, Comparison, DataError, Dense, GraphAugment, KnowledgeBase, compare
from kg2rag.knowledge import KnowledgeBase as Base
from kg2rag.types import QADataset, Question

Worlds = Callable[..., KnowledgeBase]


@pytest.fixture
def kb(kb_of: Worlds) -> KnowledgeBase:
    return kb_of(("Kiln", "Built by Ida."), ("Ida", "A potter of Tam."), ("Tam", "Sold jugs."))


@pytest.fixture
def data(kb: KnowledgeBase) -> QADataset:
    questions = (Question("q1", "Who built the kiln?", {"p0": 1}), Question("q2", "Who sold jugs?", {"p2": 1}))
    return QADataset("pottery", kb.corpus, questions)


@pytest.fixture
def systems(kb: KnowledgeBase) -> dict[str, object]:
    return {"bm25": BM25(kb), "dense": Dense(kb)}


@pytest.fixture
def loaded(systems: dict[str, BM25], data: QADataset, tmp_path: Path) -> Comparison:
    result = compare(systems, data, metrics=["recall@1"], k=3, progress=False)
    return Comparison.load(result.save(tmp_path / "saved").parent)


def test_with_its_systems_and_questions_it_diagnoses_as_before(
    loaded: Comparison, systems: dict[str, BM25], data: QADataset
) -> None:
    joined = loaded.attach(systems, data)
    assert joined.waterfall("bm25", k=1).totals().loc["all", "gold"] == 2
    assert joined.scores.equals(loaded.scores)


def test_other_questions_are_refused(loaded: Comparison, systems: dict[str, BM25], data: QADataset) -> None:
    with pytest.raises(ValueError, match=r"the questions of 'pottery' \(1; then 2\)"):
        loaded.attach(systems, replace(data, questions=data.questions[:1]))
    other_gold = replace(data.questions[0], gold={"p1": 1})
    with pytest.raises(ValueError, match="their texts or their gold"):
        loaded.attach(systems, replace(data, questions=(other_gold, data.questions[1])))


def test_another_corpus_is_refused(loaded: Comparison, data: QADataset, kb_of: Worlds) -> None:
    other = kb_of(("Kiln", "Built by Ida."), ("Ida", "A potter of Tam."), ("Tam", "Sold pots."))
    there: dict[str, object] = {"bm25": BM25(other), "dense": Dense(other)}
    with pytest.raises(ValueError, match="corpus, graph or encoder that bm25, dense read"):
        loaded.attach(there, data)
    with pytest.raises(ValueError, match=r"the corpus \(3 passages; then 3\)"):
        loaded.attach(there, replace(data, corpus=other.corpus))


def test_other_parameters_and_other_systems_are_refused(
    loaded: Comparison, systems: dict[str, BM25], data: QADataset, kb: KnowledgeBase
) -> None:
    with pytest.raises(ValueError, match="the parameters of bm25"):
        loaded.attach({**systems, "bm25": BM25(kb, k1=1.5)}, data)
    with pytest.raises(ValueError, match="systems that are missing: dense"):
        loaded.attach({"bm25": systems["bm25"]}, data)
    with pytest.raises(ValueError, match="systems that are not in it: mine"):
        loaded.attach({**systems, "mine": systems["dense"]}, data)


@dataclass(frozen=True)
class Grown(BM25):
    """A system that has got a parameter since."""

    since: int = 0
    kb: Base = field(repr=False, default=None)  # type: ignore[assignment]


def test_a_parameter_that_came_later_counts_where_it_is_not_its_default(
    kb: KnowledgeBase, data: QADataset, tmp_path: Path
) -> None:
    result = compare({"grown": Grown(kb)}, data, metrics=["recall@1"], k=3, progress=False)
    then = {name: value for name, value in result.config["parameters"]["grown"].items() if name != "since"}
    older = replace(result, config={**result.config, "parameters": {"grown": then}}, inputs=None)
    assert older.attach({"grown": Grown(kb)}, data).inputs is not None
    with pytest.raises(ValueError, match="the parameters of grown"):
        older.attach({"grown": Grown(kb, since=1)}, data)


def test_a_file_among_the_parameters_counts_by_its_content(kb: KnowledgeBase, data: QADataset, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.write_text("one")
    there.write_text("one")

    @dataclass(frozen=True)
    class Reading(BM25):
        file: str = ""

    result = compare({"reading": Reading(kb, file=str(here))}, data, metrics=["recall@1"], k=3, progress=False)
    assert result.attach({"reading": Reading(kb, file=str(there))}, data).inputs is not None
    there.write_text("another")
    with pytest.raises(ValueError, match="the parameters of reading"):
        result.attach({"reading": Reading(kb, file=str(there))}, data)


@pytest.fixture
def kept(systems: dict[str, BM25], data: QADataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    saved = compare(systems, data, metrics=["recall@1"], k=3, progress=False, command="kg2rag compare").save(
        tmp_path / "s"
    )
    monkeypatch.setattr(keep, "RESULTS", tmp_path)
    keep.main(saved.parent, "kept", tmp_path)
    return tmp_path / "kept"


def test_a_kept_comparison_is_a_saved_one_without_texts(kept: Path, systems: dict[str, BM25], data: QADataset) -> None:
    saved, found = Comparison.load(kept.parent / "s"), Comparison.load(kept)
    assert found.to_frame().equals(saved.to_frame())
    assert found.curve.equals(saved.curve)
    assert set(found.per_query["question"]) == {""}
    joined = found.attach(systems, data)
    texts = "said"  # has texts of questions, and is not kept
    pd.testing.assert_frame_equal(joined.per_query, saved.per_query.drop(columns=texts), check_dtype=False)
    assert [one.passage_ids for one in joined.rankings["dense"]] == [one.passage_ids for one in saved.rankings["dense"]]


def test_one_that_was_kept_without_curves_has_a_table_and_a_page_without_them(
    kept: Path, systems: dict[str, BM25], data: QADataset
) -> None:
    assert "Recall by depth" in Comparison.load(kept).to_html()
    for name in ("curve.csv", "token_curve.csv", "sizes.csv"):
        (kept / name).unlink()
    found = Comparison.load(kept).attach(systems, data)
    assert found.to_markdown() == Comparison.load(kept.parent / "s").to_markdown()
    assert "Recall by depth" not in found.to_html()


def test_damaged_files_of_a_kept_comparison_are_named(kept: Path) -> None:
    (kept / "per_query.csv.xz").write_bytes(b"no xz")
    with pytest.raises(DataError, match=r"per_query\.csv\.xz"):
        Comparison.load(kept)
    (kept / "per_query.csv.xz").write_bytes(lzma.compress(b"a,b\n1,2\n"))
    with pytest.raises(DataError, match="has no column query_id, system"):
        Comparison.load(kept)
    (kept / "config.json").write_text(json.dumps([1]))
    with pytest.raises(DataError, match="no configuration of a comparison"):
        Comparison.load(kept)


def test_a_stage_that_got_a_parameter_is_found_inside_a_pipeline(kb: KnowledgeBase, data: QADataset) -> None:
    made = {"augmented": Dense(kb) >> GraphAugment(kb, hops=1)}
    result = compare(made, data, metrics=["recall@1"], k=3, progress=False)
    with pytest.raises(ValueError, match="the parameters of augmented"):
        result.attach({"augmented": Dense(kb) >> GraphAugment(kb, hops=2)}, data)
