"""The generated world: exact gold, chains that hold in the text, controls that do what they say, equal bytes."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import islice, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kg2rag
from kg2rag.datasets.world import World, write
from kg2rag.datasets.world_texts import RELATIONS, root, roots

SMALL = World(passages=400, questions=40, seed=7)


def test_roots_with_different_numbers_are_different() -> None:
    step = roots(3) // 50_000
    assert len({root(number, 3) for number in range(0, roots(3), step)}) == len(range(0, roots(3), step))
    assert root(0, 2) == "brabra"
    assert root(1, 2) == "brabral"


def test_no_two_things_share_a_name() -> None:
    assert len({page.title for page in World(passages=20_000, questions=4).pages()}) == 20_000


def test_every_gold_passage_states_the_fact_of_its_hop() -> None:
    data = SMALL.dataset()
    for question in data.questions:
        for id_, (head, _, tail) in zip(question.gold, question.triples, strict=True):
            passage = data.corpus[data.corpus.row(id_)]
            assert passage.title == head
            assert tail in passage.text


def test_a_question_names_the_beginning_of_its_chain_and_asks_for_its_end() -> None:
    for question in SMALL.asked:
        assert question.triples[0][0] in question.text
        assert question.answers == (question.triples[-1][2],)
        assert question.answers[0] not in question.text
        assert all(left[2] == right[0] for left, right in pairwise(question.triples))
        assert len(question.gold) == len(question.triples) == question.hops  # each fact in another passage
    assert [sum(q.hops == hops for q in SMALL.asked) for hops in (1, 2, 3, 4)] == [10, 10, 10, 10]


def test_the_triples_without_noise_are_the_facts() -> None:
    found = {(t.head, t.relation, t.tail) for t in SMALL.triples()}
    assert all(set(question.triples) <= found for question in SMALL.asked)
    assert len(found) == sum(SMALL.counts[kind] * len(RELATIONS[kind]) for kind in SMALL.counts)


def test_noise_drops_and_exchanges_the_shares_asked_for() -> None:
    world = World(passages=5000, questions=4, dropped=0.2, wrong=0.1)
    facts = {(t.head, t.relation, t.tail) for t in World(passages=5000, questions=4).triples()}
    found = [(t.head, t.relation, t.tail) for t in world.triples()]
    wrong = sum(triple not in facts for triple in found)
    assert 1 - len(found) / len(facts) == pytest.approx(0.2, abs=0.01)
    assert wrong / len(facts) == pytest.approx(0.1, abs=0.01)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), passages=st.integers(100, 500), hops=st.sampled_from([(1,), (2, 4), (3,)]))
def test_any_world_is_a_sound_data_set(seed: int, passages: int, hops: tuple[int, ...]) -> None:
    data = World(passages=passages, questions=6, hops=hops, seed=seed).dataset()
    assert len(data.corpus) == passages
    assert len(data) == 6


def test_the_folder_reads_back_as_the_world_in_memory(tmp_path: Path) -> None:
    world = World(passages=300, questions=12)
    loaded = kg2rag.load("world", path=write(world, tmp_path / "w", progress=False))
    made = world.dataset()
    assert loaded.corpus.fingerprint == made.corpus.fingerprint
    assert loaded.questions == made.questions
    assert "synthetic" in loaded.name
    with pytest.raises(FileExistsError, match="exists"):
        write(world, tmp_path)


def test_equal_seeds_write_equal_bytes_under_any_hash_seed(tmp_path: Path) -> None:
    command = "from kg2rag.cli import main; main()"
    for name, hash_seed in (("a", "0"), ("b", "1")):
        arguments = [sys.executable, "-c", command, *"world --passages 500 --dropped 0.5 --out".split()]
        environment = {"PYTHONHASHSEED": hash_seed, "PATH": ""}
        subprocess.run([*arguments, str(tmp_path / name)], check=True, env=environment, capture_output=True)
    for file in ("corpus.jsonl", "questions.jsonl", "triples.jsonl", "world.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    folder = write(World(passages=100, questions=4), tmp_path / "w", progress=False)
    with (folder / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"id": "x", "title": "x", "text": "x"}) + "\n")
    with pytest.raises(ValueError, match=r"corpus\.jsonl"):
        kg2rag.load("world", path=folder)


def test_a_world_that_was_not_finished_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = list(islice(SMALL.pages(), 5))

    def broken(self: World) -> object:
        yield from first
        raise KeyboardInterrupt

    monkeypatch.setattr(World, "pages", broken)
    with pytest.raises(KeyboardInterrupt):
        write(World(passages=100, questions=4), tmp_path / "w", progress=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "controls",
    [
        {"hops": (5,)},
        {"hops": (2, 2)},
        {"wrong": 0.7, "dropped": 0.7},
        {"passages": 50},
    ],
)
def test_a_control_out_of_range_is_named(controls: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(controls))):
        World(**controls)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="300"):
        _ = World(passages=60, questions=300, hops=(1,)).asked


@pytest.mark.parametrize("manifest", ["{", "{}", '{"controls": {}, "sha256": {}}'])
def test_a_broken_manifest_is_named(tmp_path: Path, manifest: str) -> None:
    (tmp_path / "world.json").write_text(manifest)
    with pytest.raises(ValueError, match=r"world\.json"):
        kg2rag.load("world", path=tmp_path)
