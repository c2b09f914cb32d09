"""Training of the cross-encoder: which pairs, which weights move, interruption, and the file that comes out."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest
from tiny_cross import save_network

from kg2rag.compute import SentenceEncoder, Store
from kg2rag.datasets import load
from kg2rag.experiments.fitting import cross, cross_pairs, cross_training, fit_cross
from kg2rag.experiments.fitting.cross_pairs import Group, groups_of
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers import systems
from kg2rag.retrievers.mention_chains.cross import read_weights
from kg2rag.types import QADataset

GROUPS = [Group(f"who {word}?", (f"it {word} here", "a bridge", "by anna"), (1.0, 0.0, 0.0)) for word in "abcdefghijkl"]


@pytest.fixture(scope="module")
def data() -> QADataset:
    return load("bundled")


def test_a_group_has_gold_on_the_right_alone_and_never_what_is_on_the_left(data: QADataset) -> None:
    texts = dict(zip(data.corpus.contents, range(len(data.corpus)), strict=True))
    groups = groups_of(data, data.questions, 0)
    assert len(groups) > 100
    by_text = {question.text: question for question in data.questions}
    with_context = 0
    for group in groups:
        question = next(text for text in by_text if group.question.startswith(text))
        gold = {row for rows in data.gold_rows(by_text[question]).values() for row in rows}
        labels = [float(texts[passage] in gold) for passage in group.passages]
        assert list(group.labels) == labels
        assert labels.count(1.0) == cross_pairs.RIGHT
        assert 1 <= labels.count(0.0) <= cross_pairs.WRONG
        before = group.question.removeprefix(question).split()
        with_context += bool(before)
        assert not before or all(passage.split()[: len(before)] != before for passage in group.passages)
    assert 0 < with_context < len(groups)


def test_groups_are_drawn_by_the_seed(data: QADataset) -> None:
    questions = data.questions[:20]
    assert groups_of(data, questions, 0) == groups_of(data, questions, 0) != groups_of(data, questions, 1)


def test_one_question_of_eight_is_held_out_and_those_left_out_are_in_neither_part(data: QADataset) -> None:
    left = {question.id for question in data.questions[:16]}
    train, held = cross.split({"bundled": data}, left, 0)["bundled"]
    ids = [question.id for question in (*train, *held)]
    assert sorted(ids) == sorted({question.id for question in data.questions} - left)
    assert len(held) == -(-len(ids) // cross.HELD)


def test_a_set_of_too_few_questions_is_refused_by_name(data: QADataset) -> None:
    left = {question.id for question in data.questions[7:]}
    with pytest.raises(ValueError, match="bundled: 7 questions are left; at least 8 are needed"):
        cross.split({"bundled": data}, left, 0)


def test_the_recipe_says_what_the_weights_depend_on(data: QADataset, tmp_path: Path) -> None:
    encoder, store, sets = SentenceEncoder(str(save_network(tmp_path / "a"))), Store(tmp_path / "store"), {"b": data}
    parts = cross.split(sets, (), 0)
    first = cross.recipe_of(sets, parts, 0, encoder, store)
    assert first == cross.recipe_of(sets, parts, 0, encoder, store)
    other = SentenceEncoder(str(save_network(tmp_path / "b", seed=1)))
    fewer = cross.split(sets, {data.questions[0].id}, 0)
    changed = [
        cross.recipe_of(sets, parts, 1, encoder, store),
        cross.recipe_of(sets, parts, 0, other, store),
        cross.recipe_of(sets, fewer, 0, encoder, store),
    ]
    assert all(each != first for each in changed)
    assert {f"b/{name}": digest for name, digest in data.source["files"].items()} == first["files"]  # type: ignore[attr-defined]


def test_recall_is_of_the_first_five_by_the_weighted_sum() -> None:
    signals = np.array([[6.0, 0], [5, 0], [4, 0], [3, 0], [2, 0], [1, 9]])
    block = cross.Block(signals, np.array([True, False, False, False, False, True]), 1.0)
    assert cross._recall(block, np.array([1.0, 0.0])) == 0.5
    assert cross._recall(block, np.array([1.0, 1.0])) == 1.0


def test_a_kind_of_few_held_out_questions_keeps_the_order() -> None:
    block = cross.Block(np.array([[0.0, 3.0], [1.0, 1.0], [2.0, 0.0]]), np.array([True, False, False]), 1.0)
    few = cross._held([[[block]] * (cross.LEAST - 1)])
    assert (few.questions, dict(few.coefficients)) == (cross.LEAST - 1, {"chains score": 1.0, "cross": 0.0})
    fitted = cross._held([[[block]] * cross.LEAST]).coefficients
    assert fitted["chains score"] < 0 < fitted["cross"]  # the logit is right every time, the score never


class TestTraining:
    """With the trainer itself, on a network that takes a second."""

    @pytest.fixture(autouse=True)
    def _needs_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("accelerate", reason="the trainer needs the extra `train`")
        monkeypatch.setattr(cross_training, "SAVED", 1)

    def test_an_interrupted_training_ends_in_the_same_weights(self, tmp_path: Path) -> None:
        base, checkpoints = str(save_network(tmp_path / "base")), tmp_path / "checkpoints"
        whole, record = cross_training.trained(base, GROUPS, checkpoints, 0)
        assert (record["steps"], record["pairs"]) == (3, 36)
        shutil.rmtree(checkpoints / "checkpoint-3")  # as if killed after the second step
        resumed, _ = cross_training.trained(base, GROUPS, checkpoints, 0)
        assert whole.device == resumed.device
        for (name, first), (_, second) in zip(whole.state_dict().items(), resumed.state_dict().items(), strict=True):
            assert first.tolist() == second.tolist(), name

    def test_the_first_layers_and_the_embeddings_stay(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        base = save_network(tmp_path / "base")
        moved = {}
        for layers in (0, 1):
            monkeypatch.setitem(cross_training.SETTINGS, "frozen_layers", layers)
            network, _ = cross_training.trained(str(base), GROUPS, tmp_path / f"frozen-{layers}", 0)
            before = cross_training.network_from(str(base)).state_dict()
            after = network.state_dict()
            moved[layers] = {name for name, values in before.items() if values.tolist() != after[name].tolist()}
        assert not any("embeddings" in name for name in moved[0] | moved[1])
        assert any("layer.0" in name for name in moved[0])
        assert not any("layer.0" in name for name in moved[1])
        assert any("classifier" in name for name in moved[1])

    def test_from_questions_to_a_system(self, data: QADataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cross, "LEAST", 1)
        base, store = SentenceEncoder(str(save_network(tmp_path / "base"))), Store(tmp_path / "store")
        left = {question.id for question in data.questions[40:]}
        text = fit_cross({"bundled": data}, leave_out=left, base=base, store=store)
        record = tomllib.loads(text)
        assert record["recipe"]["questions"] == record["fitted"]["groups"] == 35
        assert sum(each["questions"] for each in record["held"].values()) <= 5
        assert not (store.root / "training").exists() or not list((store.root / "training").iterdir())
        file = tmp_path / "cross.toml"
        file.write_text(text, encoding="utf-8")
        kb = KnowledgeBase.build(data.corpus)
        assert read_weights(str(file)).folder(store).is_dir()
        with pytest.raises(ValueError, match="not in"):
            systems.build("mention_chains+cross", kb, weights=str(file))  # its store is another
        again = fit_cross({"bundled": data}, leave_out=left, base=base, store=store)
        assert again == text  # nothing is trained twice


def test_without_the_extra_the_trainer_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformers.utils.is_accelerate_available", lambda: False)
    with pytest.raises(ImportError, match=r"pip install 'kg2rag\[train\]'"):
        cross_training.trained(str(tmp_path), GROUPS, tmp_path / "checkpoints", 0)
