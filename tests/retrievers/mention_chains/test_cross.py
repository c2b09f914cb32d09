"""The cross-encoder's order: what it reads, how scores add up, and what is said where weights are missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny_cross import save_network, tiny_weights

from kg2rag.compute import Store
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers import systems
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.mention_chains.cross import CONTEXT_WORDS, CrossOrder, network_of, paired, read_weights
from kg2rag.retrievers.mention_chains.paths import ChainPaths
from kg2rag.retrievers.mention_chains.searched import UNLINKED
from kg2rag.testing.trial import difference
from kg2rag.testing.working_out import worked_out
from kg2rag.testing.worlds import queries
from kg2rag.types import Corpus, ParameterError, Passage


@pytest.fixture(scope="module")
def weights(kb: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny_weights(kb.store, tmp_path_factory.mktemp("cross") / "tiny.toml")


def test_a_pair_is_the_question_with_the_beginning_of_the_passage_before_and_the_passage() -> None:
    long = " ".join(f"w{i}" for i in range(100))
    corpus = Corpus.from_passages([Passage("a", "Ann", long, "a", 0), Passage("b", "Bob", "He ran.", "b", 0)])
    assert paired("Who ran?", corpus, 1, None) == ("Who ran?", "Bob\nHe ran.")
    question, passage = paired("Who ran?", corpus, 1, 0)
    assert (question.split()[:4], passage) == (["Who", "ran?", "Ann", "w0"], "Bob\nHe ran.")
    assert len(question.split()) == 2 + CONTEXT_WORDS


def test_scores_are_the_sum_that_the_file_says(kb: KnowledgeBase, weights: str) -> None:
    asked = queries()[::4]
    before = systems.build("mention_chains", kb).retrieve_batch(asked, 100)
    after = systems.build("mention_chains+cross", kb, weights=weights, scored=5).retrieve_batch(asked, 100)
    network = network_of(read_weights(weights).folder(kb.store))
    for query, old, new in zip(asked, before, after, strict=True):
        if not len(old) or old.metadata["question"] == UNLINKED:
            assert difference(old, new) == ""
            continue
        assert isinstance(old.paths, ChainPaths)
        pairs = [paired(query.text, kb.corpus, row, old.paths.sources.get(row)) for row in old.rows[:5].tolist()]
        expected = dict(zip(old.rows.tolist(), old.scores[:5] + 0.5 * network.scores(pairs), strict=False))
        assert {row: new.scores[new.rows.tolist().index(row)] for row in expected} == pytest.approx(expected)
        assert new.rows[5:].tolist() == old.rows[5:].tolist()  # below them nothing moves
        assert [worked_out(new, hit) for hit in new] == pytest.approx(new.scores.tolist())


def test_cut_pairs_are_counted(kb: KnowledgeBase, weights: str) -> None:
    ask = systems.build("mention_chains+cross", kb, weights=weights, scored=3).retrieve
    assert ask("Who built the bridge? " * 30).metadata["pairs cut"] == 3  # one token a character
    assert ask("Who?").metadata["pairs cut"] < 3


def test_lengths_are_those_before_cutting(tmp_path: Path) -> None:
    network = network_of(save_network(tmp_path))
    assert network.lengths([("ab", "c"), ("a" * 90, "b" * 90)]).tolist() == [6, 183]
    assert np.isfinite(network.scores([("a" * 90, "b" * 90)])).all()


def test_a_coefficient_of_0_leaves_the_order_as_it_was(kb: KnowledgeBase, tmp_path: Path) -> None:
    file = tiny_weights(kb.store, tmp_path / "none.toml", cross=0.0)
    before = systems.build("mention_chains", kb).retrieve_batch(queries()[::4], 50)
    after = systems.build("mention_chains+cross", kb, weights=file).retrieve_batch(queries()[::4], 50)
    assert [each.passage_ids for each in after] == [each.passage_ids for each in before]


def test_missing_weights_are_answered_with_the_command_that_makes_them(kb: KnowledgeBase, tmp_path: Path) -> None:
    file = tiny_weights(Store(tmp_path / "other"), tmp_path / "tiny.toml")
    elsewhere = KnowledgeBase.build(kb.corpus, kb.graph, store=Store(tmp_path / "empty"))
    with pytest.raises(ParameterError, match=r"not in .*empty.*kg2rag fit mention_chains\+cross --data tiny=FOLDER"):
        systems.build("mention_chains+cross", elsewhere, weights=file)


def test_the_rankings_of_another_system_are_refused(kb: KnowledgeBase, weights: str) -> None:
    with pytest.raises(ValueError, match="not a ranking of mention_chains"):
        (Dense(kb) >> CrossOrder(kb, weights=weights)).retrieve("Who?", 5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("format = ", "not TOML"),
        ("format = 7\n[recipe]", r"not a file of format 1 with a \[recipe\]"),
        ("format = 1", r"not a file of format 1 with a \[recipe\]"),
        ("format = 1\n[recipe]", r"\[order.one_passage\] must have finite numbers"),
        ("format = 1\n[recipe]\n[order.one_passage]\nchains = 1.0\ncross = nan", r"\[order.one_passage\] must have"),
    ],
)
def test_a_malformed_file_is_refused_by_what_is_wrong_in_it(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(ParameterError, match=message):
        read_weights(str(file))


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"weights must be a file written by .*, not 'none.toml'"):
        read_weights("none.toml")


def test_no_weights_come_with_the_package(kb: KnowledgeBase) -> None:
    with pytest.raises(ValueError, match=r"'mention_chains\+cross': weights must be .*, not ''; none comes with"):
        systems.build("mention_chains+cross", kb)


def test_systems_that_need_training_are_built_by_name_alone(kb: KnowledgeBase) -> None:
    assert not set(systems.TRAINED) & {*systems.names(), *systems.SYSTEMS, *systems.build_all(kb)}
    assert systems.parameters("mention_chains+cross")["scored"] == CrossOrder.scored
